// SPDX-License-Identifier: Apache-2.0
//! What a card says about itself (`gw_card_describe`).

mod config;
mod kernel;

use serde::Deserialize;
use serde_json::{Map, Value};

pub use config::{
    Config, HeapConfig, HostConfig, HostLinkConfig, LinkModel, NapotConfig, PageRequestsConfig,
};
pub use kernel::{Arg, ArgAccess, ArgKind, Kernel};

/// A card: its configuration, its kernels, and the hashes it was built from.
#[derive(Debug, Clone, Deserialize)]
pub struct Description {
    /// Name of the configuration.
    pub name: String,
    /// Hash of everything the card was built from.
    pub hash: String,
    /// Hash of the registers and layouts it was generated from.
    pub spec_hash: u32,
    /// Whether it can record waves.
    #[serde(default)]
    pub waves: bool,
    /// The configuration as resolved.
    pub config: Config,
    /// Kernels, in order of their ports.
    pub kernels: Vec<Kernel>,
    /// The description as the card gave it.
    #[serde(skip)]
    pub json: String,
}

impl Description {
    /// Parses what a card said; the error names the field.
    pub fn parse(json: &str) -> Result<Self, String> {
        let mut parsed: Self = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if !matches!(parsed.config.walker.levels, 3..=5) {
            return Err(format!(
                "walker.levels is {}, not 3, 4 or 5",
                parsed.config.walker.levels
            ));
        }
        parsed.json = json.to_owned();
        Ok(parsed)
    }

    /// What the card is when it is opened with these options, which it took: fields of `memory`, of one of several by its name, and of
    /// `host_link`, and `watchdog_cycles`.
    pub(crate) fn change(&mut self, options: &Map<String, Value>) {
        let mut changes: Vec<(String, &str, &Value)> = Vec::new();
        for section in ["memory", "host_link"] {
            let fields = options.get(section).and_then(Value::as_object);
            for (name, value) in fields.into_iter().flatten() {
                match value {
                    Value::Object(fields) => {
                        let place = self.place_of(name);
                        changes.extend(
                            fields
                                .iter()
                                .map(|(field, value)| (place.clone(), field.as_str(), value)),
                        );
                    }
                    _ => changes.push((section.to_owned(), name, value)),
                }
            }
        }
        let cycles = options.get("watchdog_cycles");
        changes.extend(cycles.map(|cycles| ("card".to_owned(), "watchdog_cycles", cycles)));
        let Ok(mut json) = serde_json::from_str::<Value>(&self.json) else {
            return;
        };
        for (section, field, value) in &changes {
            let section = json.pointer_mut(&format!("/config/{section}"));
            if let Some(Value::Object(fields)) = section {
                fields.insert((*field).to_owned(), (*value).clone());
            }
        }
        if let (false, Ok(changed)) = (changes.is_empty(), Self::parse(&json.to_string())) {
            *self = changed;
        }
    }

    /// Where the configuration has the memory of this name.
    fn place_of(&self, name: &str) -> String {
        let further = &self.config.further_memory;
        let number = further.iter().position(|memory| memory.name == name);
        number.map_or("memory".to_owned(), |number| {
            format!("further_memory/{number}")
        })
    }

    /// The kernel `name`.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Ports of the card: the first of each kernel, external ones, further ones of kernels.
    pub fn port_count(&self) -> u32 {
        let kernels = self.kernels.iter().flat_map(Kernel::ports);
        let last = kernels.max().map_or(0, |port| port + 1);
        last.max(self.kernels.len() as u32 + self.config.card.external_ports)
    }

    /// The port of external master `index`.
    pub fn external_port(&self, index: u32) -> Option<u32> {
        (index < self.config.card.external_ports).then(|| self.kernels.len() as u32 + index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"abi": 1, "name": "tiny", "hash": "ab", "spec_hash": 205, "waves": false,
        "config": {"card": {"clock_mhz": 250, "memory_bytes": 4096, "external_ports": 2, "kernels": ["split"]},
                   "axi": {"id_width": 4, "data_width": 512}, "walker": {"levels": 4, "requests": 8},
                   "contexts": {"count": 16}},
        "kernels": [{"name": "split", "port": 0, "description": "d",
                     "args": [{"name": "values", "kind": "buffer", "access": "r", "offset": 16},
                              {"name": "matched", "kind": "out_u64", "offset": 28}]}]}"#;

    #[test]
    fn memories_follow_one_another() {
        let of = |further: &str| {
            let json = format!(
                r#"{{"card": {{"clock_mhz": 1, "memory_bytes": 65536}}, "axi": {{"id_width": 4, "data_width": 512}},
                    "walker": {{"levels": 3}}, "contexts": {{"count": 1}}{further}}}"#
            );
            let config: Config = serde_json::from_str(&json).unwrap();
            let memories = config.memories();
            let names = memories
                .iter()
                .map(|(memory, first, bytes)| (memory.name.clone(), *first, *bytes));
            names.collect::<Vec<_>>()
        };
        assert_eq!(of(""), [("memory".to_owned(), 0, 65536)]);
        assert_eq!(
            of(
                r#", "memory": {"name": "a"}, "further_memory": [{"name": "b", "bytes": 16384}, {"name": "c", "bytes": 4096}]"#
            ),
            [
                ("a".to_owned(), 0, 45056),
                ("b".to_owned(), 45056, 16384),
                ("c".to_owned(), 61440, 4096)
            ]
        );
    }

    #[test]
    fn a_description_is_read_and_kept() {
        let parsed = Description::parse(JSON).unwrap();
        assert_eq!(parsed.json, JSON);
        assert_eq!(parsed.port_count(), 3);
        let several = JSON.replace(r#""port": 0,"#, r#""port": 0, "ports": [0, 3],"#);
        assert_eq!(Description::parse(&several).unwrap().port_count(), 4);
        assert_eq!(
            (parsed.external_port(1), parsed.external_port(2)),
            (Some(2), None)
        );
        let split = parsed.kernel("split").unwrap();
        assert_eq!(
            (split.args[0].kind, split.args[0].access),
            (ArgKind::Buffer, Some(ArgAccess::Read))
        );
        assert!(split.args[1].kind.is_result());
    }

    #[test]
    fn what_is_changed_at_opening_is_what_the_card_is() {
        let mut card = Description::parse(JSON).unwrap();
        card.change(&Map::new());
        assert_eq!(card.json, JSON);
        let options = r#"{"watchdog_cycles": 60, "waves": "x.fst"}"#;
        card.change(&serde_json::from_str(options).unwrap());
        assert_eq!(card.config.card.watchdog_cycles, 60);
        let json = JSON.replace(
            r#""contexts""#,
            r#""host_link": {"latency_ns": 900, "bandwidth_gbps": 8}, "contexts""#,
        );
        let mut card = Description::parse(&json).unwrap();
        assert_eq!(card.config.host_link.latency_ns, 900.0);
        let options = r#"{"host_link": {"latency_ns": 100}}"#;
        card.change(&serde_json::from_str(options).unwrap());
        assert_eq!(card.config.host_link.latency_ns, 100.0);
        let json = JSON.replace(
            r#""contexts""#,
            r#""memory": {"name": "a"}, "further_memory": [{"name": "b"}, {"name": "c"}], "contexts""#,
        );
        let mut card = Description::parse(&json).unwrap();
        let options = r#"{"memory": {"model": "banked", "c": {"model": "fixed"}}}"#;
        card.change(&serde_json::from_str(options).unwrap());
        let memories = card.config.memories();
        let models: Vec<_> = memories
            .iter()
            .map(|(memory, ..)| memory.model.as_str())
            .collect();
        assert_eq!(models, ["banked", "", "fixed"]);
    }

    #[test]
    fn payload_of_a_link_is_its_rate_or_packets_without_headers() {
        let with = |link: &str| {
            let given = format!(r#""walker": {{"levels": 4}}, "host_link": {link}"#);
            let json = JSON.replace(r#""walker": {"levels": 4, "requests": 8}"#, &given);
            Description::parse(&json).unwrap().config.host_link
        };
        let rate = with(r#"{"latency_ns": 900, "bandwidth_gbps": 6.5}"#);
        assert_eq!((rate.latency_ns, rate.payload_gbps()), (900.0, 6.5));
        let packets = r#"{"model": "packets", "bandwidth_gbps": 6.5, "packet_gbps": 8,
            "completion_header_bytes": 16, "max_payload_bytes": 128, "completion_bytes": 0}"#;
        assert_eq!(with(packets).payload_gbps(), 8.0 * 128.0 / 144.0);
        let short = packets.replace(r#""completion_bytes": 0"#, r#""completion_bytes": 64"#);
        assert_eq!(with(&short).payload_gbps(), 8.0 * 64.0 / 80.0);
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        let missing = Description::parse(&JSON.replace("\"levels\"", "\"depth\"")).unwrap_err();
        assert!(missing.contains("levels"), "{missing}");
        let wrong =
            Description::parse(&JSON.replace("\"levels\": 4", "\"levels\": 6")).unwrap_err();
        assert!(wrong.contains("6"), "{wrong}");
    }
}
