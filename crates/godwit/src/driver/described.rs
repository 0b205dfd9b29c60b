// SPDX-License-Identifier: Apache-2.0
//! What a card behind the driver is: its numbers are the driver's, names of kernels and places of their arguments are in a file.

use std::path::{Path, PathBuf};

use godwit_card::{Description, OpenOptions};
use godwit_core::layout;

use super::uapi::{ABI, INFO_DEMAND, Info};
use crate::Error;

/// The option that names the file.
const OPTION: &str = "description";
/// The environment's word for it.
const VARIABLE: &str = "GODWIT_DESCRIPTION";
/// Where it is when neither says anything: by the device's name.
const FOLDER: &str = "/etc/godwit";

/// The file that describes the card at `path`.
fn place(path: &str, options: &OpenOptions) -> Result<PathBuf, Error> {
    if let Some(other) = options.names().find(|name| *name != OPTION) {
        return Err(Error::Argument(format!(
            "option `{other}` is one of simulated cards: `{path}` takes `{OPTION}`, the file that describes the card"
        )));
    }
    if let Some(text) = options.text(OPTION) {
        return Ok(text.into());
    }
    if options.names().next().is_some() {
        return Err(Error::Argument(format!(
            "option `{OPTION}` is the path of a file, as text"
        )));
    }
    if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        return Ok(named.into());
    }
    let name = Path::new(path).file_name().unwrap_or_default();
    Ok(Path::new(FOLDER).join(name).with_extension("json"))
}

/// Reads it, and refuses it when it is another card's.
pub fn describe(path: &str, options: &OpenOptions, info: &Info) -> Result<Description, Error> {
    let file = place(path, options)?;
    let say = |problem: String| {
        Error::Hardware(format!(
            "{path}: {} {problem}; `godwit card info CONFIG --json` writes the description of a card, and `{OPTION}` of the options \
             or {VARIABLE} names the file",
            file.display()
        ))
    };
    let text =
        std::fs::read_to_string(&file).map_err(|error| say(format!("cannot be read ({error})")))?;
    let found = Description::parse(&text)
        .map_err(|problem| say(format!("describes no card ({problem})")))?;
    match differs(&found, info) {
        None => Ok(found),
        Some(what) => Err(say(format!("describes another card: {what}"))),
    }
}

/// What a description and the driver do not agree on.
fn differs(found: &Description, info: &Info) -> Option<String> {
    let config = &found.config;
    let user_bits = layout::PT_PAGE_SHIFT + layout::PT_LEVEL_BITS * config.walker.levels - 1;
    let flag = |on: bool| u64::from(on);
    let pairs = [
        ("spec_hash", found.spec_hash.into(), info.spec_hash.into()),
        ("kernels", found.kernels.len() as u64, info.kernels.into()),
        (
            "card.memory_bytes",
            config.card.memory_bytes,
            info.memory_bytes,
        ),
        ("bits of addresses", user_bits.into(), info.va_bits.into()),
        (
            "page requests",
            flag(config.page_requests.places > 0),
            flag(info.flags & INFO_DEMAND != 0),
        ),
    ];
    let mut wrong = pairs.iter().filter(|(_, file, driver)| file != driver);
    wrong
        .next()
        .map(|(what, file, driver)| format!("{what} {file} in the file, {driver} of the driver"))
}

/// Refuses a driver that this library was not made for.
pub fn check(path: &str, info: &Info) -> Result<(), Error> {
    if info.abi != ABI {
        return Err(Error::Hardware(format!(
            "{path}: the driver speaks version {} of its interface, this library {ABI}: take both from one release",
            info.abi
        )));
    }
    if info.spec_hash != layout::SPEC_HASH {
        return Err(Error::Hardware(format!(
            "{path}: card and driver were made from another spec ({:08x}) than this library ({:08x}): take all from one release",
            info.spec_hash,
            layout::SPEC_HASH
        )));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub const JSON: &str = r#"{"name": "test", "hash": "ab", "spec_hash": SPEC,
        "config": {"card": {"clock_mhz": 250, "memory_bytes": 65536}, "axi": {"id_width": 4, "data_width": 512},
                   "walker": {"levels": 4}, "contexts": {"count": 4}, "page_requests": {"places": 8},
                   "memory": {"name": "first"}, "further_memory": [{"name": "second", "bytes": 4096}]},
        "kernels": [{"name": "add", "port": 0,
                     "args": [{"name": "values", "kind": "buffer", "access": "r", "offset": 16},
                              {"name": "count", "kind": "u64", "offset": 28},
                              {"name": "scale", "kind": "u32", "offset": 40, "default": 3},
                              {"name": "sum", "kind": "out_u64", "offset": 48},
                              {"name": "status", "kind": "out_u32", "offset": 60, "status": true}]}]}"#;

    /// A card of the tests, as its file has it.
    pub fn json() -> String {
        JSON.replace("SPEC", &layout::SPEC_HASH.to_string())
    }

    /// ... and as the driver has it.
    pub fn info() -> Info {
        Info {
            abi: ABI,
            spec_hash: layout::SPEC_HASH,
            kernels: 1,
            contexts: 4,
            va_bits: 47,
            flags: INFO_DEMAND,
            memory_bytes: 65536,
            free_bytes: 4096,
            ..Info::default()
        }
    }

    #[test]
    fn a_file_of_another_card_is_refused_with_what_differs() {
        let found = Description::parse(&json()).unwrap();
        assert_eq!(differs(&found, &info()), None);
        let wrong = |info: Info| differs(&found, &info).unwrap();
        assert_eq!(
            wrong(Info {
                kernels: 2,
                ..info()
            }),
            "kernels 1 in the file, 2 of the driver"
        );
        assert!(wrong(Info { flags: 0, ..info() }).starts_with("page requests 1"));
        assert!(
            wrong(Info {
                va_bits: 38,
                ..info()
            })
            .starts_with("bits of addresses 47")
        );
        assert!(
            wrong(Info {
                memory_bytes: 1,
                ..info()
            })
            .contains("memory_bytes 65536")
        );
    }

    #[test]
    fn the_option_names_the_file_and_no_other_option_is_taken() {
        let named = OpenOptions::new().set("description", "/x/y.json");
        assert_eq!(
            place("/dev/godwit0", &named).unwrap(),
            Path::new("/x/y.json")
        );
        let refused = place("/dev/godwit0", &named.set("waves", "w")).unwrap_err();
        assert!(refused.to_string().contains("option `waves`"), "{refused}");
        let number = OpenOptions::new().set("description", 3);
        assert!(place("/dev/godwit0", &number).is_err());
        if std::env::var_os(VARIABLE).is_none() {
            let plain = place("/dev/godwit0", &OpenOptions::new()).unwrap();
            assert_eq!(plain, Path::new("/etc/godwit/godwit0.json"));
        }
    }

    #[test]
    fn a_file_that_is_not_there_says_how_to_make_it() {
        let options = OpenOptions::new().set("description", "/nowhere/card.json");
        let error = describe("/dev/godwit0", &options, &info()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("/nowhere/card.json cannot be read")
        );
        assert!(error.to_string().contains("godwit card info"), "{error}");
    }

    #[test]
    fn another_interface_and_another_spec_are_refused() {
        assert!(check("d", &info()).is_ok());
        let older = Info { abi: 1, ..info() };
        assert!(
            check("d", &older)
                .unwrap_err()
                .to_string()
                .contains("version 1")
        );
        let other = Info {
            spec_hash: 1,
            ..info()
        };
        assert!(
            check("d", &other)
                .unwrap_err()
                .to_string()
                .contains("00000001")
        );
    }
}
