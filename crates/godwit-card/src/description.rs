// SPDX-License-Identifier: Apache-2.0
//! What a card says about itself (`gw_card_describe`).

use serde::Deserialize;
use serde_json::{Map, Value};

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

/// The part of the configuration that the runtime works with; the rest is in [`Description::json`].
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    /// `[card]`
    pub card: CardConfig,
    /// `[axi]`
    pub axi: AxiConfig,
    /// `[walker]`
    pub walker: WalkerConfig,
    /// `[contexts]`
    pub contexts: ContextsConfig,
    /// `[dma]`
    #[serde(default)]
    pub dma: DmaConfig,
    /// `[heap]`
    #[serde(default)]
    pub heap: HeapConfig,
    /// `[page_cache]`
    #[serde(default)]
    pub page_cache: PageCacheConfig,
    /// `[page_requests]`
    #[serde(default)]
    pub page_requests: PageRequestsConfig,
    /// `[memory]`, or the first `[[memory]]`
    #[serde(default)]
    pub memory: MemoryConfig,
    /// The other ones
    #[serde(default)]
    pub further_memory: Vec<MemoryConfig>,
    /// `[host_link]`
    #[serde(default)]
    pub host_link: HostLinkConfig,
    /// `[host]`
    #[serde(default)]
    pub host: HostConfig,
}

/// `[host]`: what the host's own work costs.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct HostConfig {
    /// From an interrupt line to its handler.
    pub interrupt_ns: f64,
    /// From there until who waits for it runs.
    pub wakeup_ns: f64,
    /// Rate of staging, 10^9 bytes a second; 0: it takes no time.
    pub staging_gbps: f64,
    /// A page that a kernel touched: found, given a frame, entered.
    pub page_ns: f64,
    /// A group of pages of the program goes to the card, without the copy; and each page of it.
    pub leave_ns: f64,
    /// See `leave_ns`.
    pub leave_page_ns: f64,
    /// A group of pages comes home, without the copy; and each page of it.
    pub return_ns: f64,
    /// See `return_ns`.
    pub return_page_ns: f64,
}

/// `[card]`
#[derive(Debug, Clone, Deserialize)]
pub struct CardConfig {
    /// Clock in MHz.
    pub clock_mhz: f64,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// Masters driven from outside; their port numbers follow the kernels'.
    #[serde(default)]
    pub external_ports: u32,
    /// Cycles without progress after which the card is given up; 0: never.
    #[serde(default)]
    pub watchdog_cycles: u64,
}

/// `[memory]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct MemoryConfig {
    /// What programs call it.
    pub name: String,
    /// Its size; of the first one what the others leave.
    pub bytes: u64,
    /// What the heap gives of it, if it is not the first.
    pub heap_bytes: u64,
    /// The heap gives of it no allocation that is larger than what is free.
    pub heap_strict: bool,
    /// How its accesses are timed.
    pub model: String,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            name: "memory".to_owned(),
            bytes: 0,
            heap_bytes: 0,
            heap_strict: false,
            model: String::new(),
        }
    }
}

impl Config {
    /// The memories in the order of their addresses, each with the first of them and its size.
    pub fn memories(&self) -> Vec<(&MemoryConfig, u64, u64)> {
        let further: u64 = self.further_memory.iter().map(|memory| memory.bytes).sum();
        let rest = self.card.memory_bytes.saturating_sub(further);
        let sizes = self.further_memory.iter().map(|memory| memory.bytes);
        let mut first = 0;
        std::iter::once(&self.memory)
            .chain(&self.further_memory)
            .zip(std::iter::once(rest).chain(sizes))
            .map(|(memory, bytes)| {
                first += bytes;
                (memory, first - bytes, bytes)
            })
            .collect()
    }
}

/// `[axi]`
#[derive(Debug, Clone, Deserialize)]
pub struct AxiConfig {
    /// Bits of an AXI ID.
    pub id_width: u32,
    /// Bits of a data beat.
    pub data_width: u32,
}

/// `[walker]`
#[derive(Debug, Clone, Deserialize)]
pub struct WalkerConfig {
    /// Levels of the page tables: 3 Sv39, 4 Sv48, 5 Sv57.
    pub levels: u32,
}

/// `[contexts]`
#[derive(Debug, Clone, Deserialize)]
pub struct ContextsConfig {
    /// Contexts the hardware holds.
    pub count: u32,
}

/// `[dma]`
#[derive(Debug, Clone, Default, Deserialize)]
pub struct DmaConfig {
    /// Descriptors under way; 0: the card has no page DMA.
    pub slots: u32,
}

/// `[heap]`
#[derive(Debug, Clone, Default, Deserialize)]
pub struct HeapConfig {
    /// Slots of each class; 0: the card has no heap.
    pub slots: u32,
    /// Device memory that it gives: the end of it.
    pub memory_bytes: u64,
    /// Memory of the host that it gives over the link; 0: none.
    #[serde(default)]
    pub host_bytes: u64,
    /// No allocation is larger than what is free, in whatever memory.
    #[serde(default)]
    pub strict: bool,
    /// The same in memory of the host alone.
    #[serde(default)]
    pub host_strict: bool,
    /// Allocations that a context may have; 0: as many as there are slots.
    #[serde(default)]
    pub quota: u32,
    /// Cycles without a frame after which who waits for one is given up.
    #[serde(default)]
    pub wait_cycles: u64,
}

/// `[page_cache]`
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct PageCacheConfig {
    /// Pages cached; 0: the card has no page cache.
    pub pages: u32,
    /// Groups of host memory whose lines over the link are counted at a time; 0: none.
    #[serde(default)]
    pub counters: u32,
}

/// `[page_requests]`
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct PageRequestsConfig {
    /// Pages asked for at a time; 0: the card has no page requests.
    pub places: u32,
}

/// `[host_link]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default)]
pub struct HostLinkConfig {
    /// What a byte costs there.
    pub model: LinkModel,
    /// From asking for bytes to the first of them.
    pub latency_ns: f64,
    /// `Rate`: payload, 10^9 bytes a second.
    pub bandwidth_gbps: f64,
    /// `Packets`: the same of packets, headers included.
    pub packet_gbps: f64,
    /// `Packets`: header of a packet of read data.
    pub completion_header_bytes: u32,
    /// `Packets`: payload of a packet at most.
    pub max_payload_bytes: u32,
    /// `Packets`: payload of a packet of read data at most; 0: `max_payload_bytes`.
    pub completion_bytes: u32,
}

/// Models of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkModel {
    /// A byte costs the same whatever it comes with.
    Rate,
    /// Packets with headers, as PCI Express.
    Packets,
}

/// A link that costs nothing.
impl Default for HostLinkConfig {
    fn default() -> Self {
        Self {
            model: LinkModel::Rate,
            latency_ns: 0.0,
            bandwidth_gbps: f64::INFINITY,
            packet_gbps: f64::INFINITY,
            completion_header_bytes: 0,
            max_payload_bytes: 256,
            completion_bytes: 0,
        }
    }
}

impl HostLinkConfig {
    /// Payload that a long read brings to the card, 10^9 bytes a second.
    pub fn payload_gbps(&self) -> f64 {
        match self.model {
            LinkModel::Rate => self.bandwidth_gbps,
            LinkModel::Packets => {
                let payload = f64::from(match self.completion_bytes {
                    0 => self.max_payload_bytes,
                    most => most,
                });
                self.packet_gbps * payload / (payload + f64::from(self.completion_header_bytes))
            }
        }
    }
}

/// A kernel of the card.
#[derive(Debug, Clone, Deserialize)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Number of its first port.
    pub port: u32,
    /// All of its ports; empty when it has only `port`.
    #[serde(default)]
    pub ports: Vec<u32>,
    /// It has an interrupt; without one it is asked whether it is done.
    #[serde(default = "yes")]
    pub interrupt: bool,
    /// It has streams to the heap, and allocates by itself.
    #[serde(default)]
    pub allocates: bool,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<Arg>,
}

fn yes() -> bool {
    true
}

impl Kernel {
    /// Numbers of its ports.
    pub fn ports(&self) -> &[u32] {
        match self.ports.as_slice() {
            [] => std::slice::from_ref(&self.port),
            ports => ports,
        }
    }

    /// The result by which it says how it ended: 0 is well.
    pub fn status(&self) -> Option<&Arg> {
        self.args.iter().find(|arg| arg.status)
    }
}

/// An argument of a kernel.
#[derive(Debug, Clone, Deserialize)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ArgKind,
    /// What the kernel does with a buffer.
    #[serde(default)]
    pub access: Option<ArgAccess>,
    /// Offset of its register in the kernel's control block.
    pub offset: u64,
    /// It says how a launch ended: 0 is well.
    #[serde(default)]
    pub status: bool,
    /// What a launch gives when it is not told.
    #[serde(default)]
    pub default: Option<u64>,
    /// What it is, in the words of the kernel's manifest.
    #[serde(default)]
    pub description: String,
}

/// Kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgKind {
    /// A pointer, 64 bits.
    Buffer,
    /// A number of 32 bits.
    U32,
    /// A number of 64 bits.
    U64,
    /// A result register of 32 bits.
    OutU32,
    /// A result register of 64 bits.
    OutU64,
}

impl ArgKind {
    /// Whether the kernel writes it and the host reads it.
    pub fn is_result(self) -> bool {
        matches!(self, Self::OutU32 | Self::OutU64)
    }

    /// Its name as in the kernel's description.
    pub fn name(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::OutU32 => "out_u32",
            Self::OutU64 => "out_u64",
        }
    }
}

/// What a kernel does with a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ArgAccess {
    /// Reads it.
    #[serde(rename = "r")]
    Read,
    /// Writes it.
    #[serde(rename = "w")]
    Write,
    /// Both.
    #[serde(rename = "rw")]
    ReadWrite,
}

impl ArgAccess {
    /// Whether the kernel writes the buffer.
    pub fn writes(self) -> bool {
        self != Self::Read
    }
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
