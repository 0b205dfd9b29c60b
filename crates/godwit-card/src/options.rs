// SPDX-License-Identifier: Apache-2.0
//! How a card is opened.

use std::path::Path;

use serde_json::Value;

use crate::CardError;

/// Options that name a file which the card writes.
const FILES: [&str; 3] = ["waves", "axi_trace", "events"];

/// How to open a card; the fields of `gw_card_open`'s options.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    pub(crate) options: serde_json::Map<String, Value>,
    pub(crate) spec_hash: Option<u32>,
}

impl OpenOptions {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Options from JSON text, an object.
    pub fn from_json(text: &str) -> Result<Self, CardError> {
        match serde_json::from_str(text) {
            Ok(Value::Object(options)) => Ok(Self {
                options,
                spec_hash: None,
            }),
            Ok(other) => Err(CardError::Options(format!(
                "expected a JSON object, found `{other}`"
            ))),
            Err(error) => Err(CardError::Options(format!("not JSON: {error}"))),
        }
    }

    /// Sets option `name`, for example `set("memory", json!({"latency_cycles": 50}))`.
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.options.insert(name.to_owned(), value.into());
        self
    }

    /// Names of the options that were set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.options.keys().map(String::as_str)
    }

    /// Option `name`, if it was set to a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.options.get(name).and_then(Value::as_str)
    }

    /// The same, with files of their own for what the card writes: `card.fst` is `card.1.fst`.
    pub(crate) fn numbered(&self, number: u32) -> Self {
        let mut other = self.clone();
        for name in FILES {
            if let Some(Value::String(file)) = other.options.get_mut(name) {
                let path = Path::new(file.as_str());
                let extension = path.extension().map(|ending| ending.to_string_lossy());
                let ending = extension
                    .map_or_else(|| number.to_string(), |ending| format!("{number}.{ending}"));
                *file = path.with_extension(ending).to_string_lossy().into_owned();
            }
        }
        other
    }

    /// Refuses cards that were generated from another spec than the one with this hash.
    pub fn require_spec(mut self, hash: u32) -> Self {
        self.spec_hash = Some(hash);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_card_writes_after_a_reset_is_in_files_of_its_own() {
        let text = r#"{"waves": "a.b/card.fst", "events": "seen", "watchdog_cycles": 7}"#;
        let options = OpenOptions::from_json(text).unwrap().numbered(2);
        let named = ["waves", "events", "axi_trace"].map(|name| options.text(name));
        assert_eq!(named, [Some("a.b/card.2.fst"), Some("seen.2"), None]);
        assert_eq!(options.options["watchdog_cycles"], 7);
    }
}
