// SPDX-License-Identifier: Apache-2.0
//! Finding a built card: device names and the card cache.

use std::path::{Path, PathBuf};

use crate::CardError;

/// A card's shared library, found by a device name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardFile {
    /// The shared library.
    pub library: PathBuf,
}

#[derive(serde::Deserialize)]
struct Pointer {
    library: PathBuf,
}

/// The cache of built cards: `$GODWIT_CACHE`, or `~/.cache/godwit`.
pub fn cache_dir() -> PathBuf {
    match std::env::var_os("GODWIT_CACHE") {
        Some(path) if !path.is_empty() => path.into(),
        _ => std::env::home_dir()
            .unwrap_or_else(|| "/".into())
            .join(".cache/godwit"),
    }
}

impl CardFile {
    /// Resolves `sim:NAME` through the cache and `sim:/path/to/libgw_card.so` (also `./` and `../`) as it is.
    pub fn find(device: &str) -> Result<Self, CardError> {
        Self::find_in(device, &cache_dir())
    }

    /// As [`CardFile::find`], in another cache.
    pub fn find_in(device: &str, cache: &Path) -> Result<Self, CardError> {
        let bad = || CardError::BadName {
            name: device.to_owned(),
        };
        let name = device.strip_prefix("sim:").ok_or_else(bad)?;
        if name.starts_with(['/', '.']) {
            return Ok(Self {
                library: name.into(),
            });
        }
        if name.is_empty() || name.contains('/') {
            return Err(bad());
        }
        let cards = cache.join("cards");
        let path = cards.join(format!("{name}.json"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            let built = built(&cards);
            return Err(CardError::NotBuilt {
                name: name.to_owned(),
                closest: closest(name, built.iter().map(String::as_str)).map(str::to_owned),
                built,
            });
        };
        let broken = |problem: String| CardError::BadPointer {
            name: name.to_owned(),
            path: path.clone(),
            problem,
        };
        let pointer: Pointer =
            serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        // A relative library moves with the cache.
        let library = cards.join(pointer.library);
        if !library.is_file() {
            return Err(broken(format!(
                "the card's library {} is gone",
                library.display()
            )));
        }
        Ok(Self { library })
    }
}

/// Names of the built cards, sorted.
fn built(cards: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(cards)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            name.strip_suffix(".json").map(str::to_owned)
        })
        .collect();
    names.sort();
    names
}

/// The candidate that `name` was most likely meant to be, if any is close.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(name.len()) / 2)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cache(PathBuf);

    impl Cache {
        fn new(test: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("godwit-find-{test}-{}", std::process::id()));
            std::fs::create_dir_all(path.join("cards")).unwrap();
            Self(path)
        }

        fn point(&self, name: &str, text: &str) {
            std::fs::write(self.0.join(format!("cards/{name}.json")), text).unwrap();
        }
    }

    impl Drop for Cache {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_path_needs_no_cache() {
        let found = CardFile::find_in("sim:/a/libgw_card.so", Path::new("/nonexistent")).unwrap();
        assert_eq!(found.library, Path::new("/a/libgw_card.so"));
    }

    #[test]
    fn a_name_goes_through_its_pointer_file() {
        let cache = Cache::new("pointer");
        let library = cache.0.join("libgw_card.so");
        std::fs::write(&library, "").unwrap();
        let text = serde_json::json!({"name": "tiny", "hash": "1", "library": library}).to_string();
        cache.point("tiny", &text);
        assert_eq!(
            CardFile::find_in("sim:tiny", &cache.0).unwrap().library,
            library
        );
    }

    #[test]
    fn a_card_that_is_not_built_says_how_to_build_it() {
        let cache = Cache::new("missing");
        let none = CardFile::find_in("sim:tiny", &cache.0)
            .unwrap_err()
            .to_string();
        assert_eq!(
            none,
            "card `tiny` is not built: run `godwit card build --config tiny` (no card is built yet)"
        );
        cache.point("default", "{}");
        let near = CardFile::find_in("sim:defualt", &cache.0)
            .unwrap_err()
            .to_string();
        assert!(
            near.ends_with("(did you mean the built card `default`?)"),
            "{near}"
        );
        let far = CardFile::find_in("sim:fletcher", &cache.0)
            .unwrap_err()
            .to_string();
        assert!(far.ends_with("(built: default)"), "{far}");
    }

    #[test]
    fn a_pointer_to_nothing_is_named() {
        let cache = Cache::new("gone");
        cache.point("tiny", r#"{"library": "tiny-1/libgw_card.so"}"#);
        let gone = CardFile::find_in("sim:tiny", &cache.0)
            .unwrap_err()
            .to_string();
        assert!(
            gone.contains("is gone; run `godwit card build --config tiny --force`"),
            "{gone}"
        );
        cache.point("tiny", "not json");
        let broken = CardFile::find_in("sim:tiny", &cache.0).unwrap_err();
        assert!(matches!(broken, CardError::BadPointer { .. }), "{broken}");
    }

    #[test]
    fn other_kinds_of_devices_are_refused() {
        for name in ["tiny", "sim:", "sim:a/b", "fpga:0"] {
            let error = CardFile::find_in(name, Path::new("/nonexistent")).unwrap_err();
            assert!(
                matches!(error, CardError::BadName { .. }),
                "{name}: {error}"
            );
        }
    }

    #[test]
    fn only_a_near_name_is_suggested() {
        assert_eq!(closest("splt", ["array_sum", "split"]), Some("split"));
        assert_eq!(closest("x", ["array_sum", "split"]), None);
    }
}
