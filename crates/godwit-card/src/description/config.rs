// SPDX-License-Identifier: Apache-2.0
//! The configuration in a card's description, by section.

use serde::Deserialize;

/// The part of the configuration that the runtime works with; the rest is in [`Description::json`](super::Description::json).
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
    /// Pages of several entries.
    #[serde(default)]
    pub napot: NapotConfig,
}

/// `walker.napot`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum NapotConfig {
    /// 64 KiB only.
    #[default]
    #[serde(rename = "64K")]
    Svnapot,
    /// Any power of two from 8 KiB to 1 GiB.
    #[serde(rename = "any")]
    Any,
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
    /// Pages read ahead of who reads in order; 0: none.
    #[serde(default)]
    pub ahead: u32,
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
