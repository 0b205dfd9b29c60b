# SPDX-License-Identifier: Apache-2.0
"""The one schema of configurations: what a card is made of, read by RTL, simulation, model and command line alike.

`docs/configuration.md` is made from the descriptions here (`python -m godwit.spec pages`), limits in C++ and SystemVerilog
by `limits`; `config` reads files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from godwit.errors import InputError
from godwit.units import parse_size

MAX_PORTS = 30
"""Ports a card can have: with those of the command queue and the walker, 32 memory ports."""

DMA_PORTS = 2
"""Memory ports of the page DMA, on a card that has one: device memory and host memory."""

HEAP_BLOCK = 2 << 20
"""The heap's memory is a number of these."""


STREAM_PORT = r"^[a-z][a-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*$"
"""A kernel and one of its streams."""

REFRESH_PERIOD = ("t_rfc_ns", "t_rcd_ns", "t_ras_ns", "t_rp_ns")
"""What fits between two refreshes at least: one of them, and a row opened, used and closed. A cycle of the card comes on top,
since memory decides once a cycle."""

REFRESH_NS_MAX = 1_000_000

LITEDRAM_BYTES = 8 << 30
"""One rank of 8 Gb devices on the 64-bit channel of `litedram-ddr4`."""


def _size(value: Any) -> Any:
    """Sizes may be written ``"4 GiB"``."""
    if isinstance(value, str):
        try:
            return parse_size(value)
        except InputError as error:
            raise ValueError(str(error)) from error
    return value


Size = Annotated[int, BeforeValidator(_size)]


@dataclass(frozen=True)
class Legal:
    """Legal values of a field in words, where its bounds do not say all."""

    text: str


def _power_of_two(value: int) -> int:
    if value < 0 or value & (value - 1):
        raise ValueError("must be a power of two")
    return value


def _none_or_from_two(what: str) -> Callable[[int], int]:
    """A check of a size: 0, which leaves `what` out, or a power of two from 2 on."""

    def check(value: int) -> int:
        if value == 1:
            raise ValueError(f"must be 0 (no {what}) or a power of two from 2 on")
        return _power_of_two(value)

    return check


class Section(BaseModel):
    """Base of all sections: unknown fields are errors, values are checked strictly."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Card(Section):
    """The card as a whole."""

    clock_mhz: float = Field(
        ge=1, le=1000, strict=False, description="clock of the IP, the kernels and the AXI ports"
    )
    clock_from: Literal["configured", "routed", "calibrated"] = Field(
        default="configured",
        description="what that clock is: `configured`: chosen; `routed`: of this design, placed and routed here; `calibrated`: from "
        "a routed or estimated clock here to another device, ± 25 % ([clocks](clocks.md))",
    )
    memory_bytes: Size = Field(
        ge=1 << 20,
        le=1 << 40,
        multiple_of=4096,
        description="device memory; only pages that are touched take host memory",
    )
    kernels: list[str] = Field(
        description="kernels on ports 0, 1, ...: names of Godwit's own, `NAME_2` a further copy of `NAME`; `--kernel` adds yours"
    )
    external_ports: int = Field(
        ge=0, le=16, description="AXI masters driven by the simulation itself, after the kernels' ports"
    )
    extra_ports: int = Field(
        default=0,
        ge=0,
        le=MAX_PORTS - 1,
        description="memory ports of kernels with several bundles, all but each one's first; the card builder sets it",
    )
    assertions: bool = Field(
        default=False,
        description="the RTL checks its own contracts while it runs, and stops at the first one broken; about a third slower",
    )
    profile_guided: bool = Field(
        default=False,
        description="the simulation is compiled twice, the second time for what a short run of the card's kernels showed: "
        "a fifth to a half faster, and twice as long to build",
    )
    watchdog_cycles: int = Field(
        ge=0,
        le=1 << 32,
        description="cycles without progress after which a run is given up as hung; 0 = never",
    )


class Axi(Section):
    """AXI4 ports."""

    id_width: int = Field(ge=1, le=6, description="bits of a transaction ID")
    data_width: Literal[64, 128, 256, 512, 1024] = Field(
        description="bits of the data bus; kernels' ports of other widths are adapted"
    )


class Translator(Section):
    """One address translator a port (gw_translator)."""

    l1_entries: int = Field(
        ge=1, le=64, description="translations kept by the L1 TLB of a port, pages of any size"
    )
    miss_entries: int = Field(
        ge=2, le=256, description="addresses a channel (AR, AW) can have waiting for a translation"
    )
    outstanding: int = Field(ge=1, le=256, description="bursts a channel can have in flight")
    buffered_ports: list[int] = Field(
        default=[],
        description="ports with a gw_port_buffer before their translator: for an accelerator whose channels wait for each other, or "
        "that may stop half way, when its accesses can be parked or others must not wait for it",
    )


L2_POLICIES = ("partition", "rehash", "hashed")
"""In the order of gw_pkg::l2_policy_e."""


class L2(Section):
    """The second-level TLB (gw_l2_tlb), shared by all ports: pages of all sizes in one array. Absent: none."""

    sets: Annotated[
        int, AfterValidator(_none_or_from_two("L2 TLB")), Legal("0, or a power of two from 2 to 65536")
    ] = Field(default=0, ge=0, le=65536, description="sets; 0 = no L2 TLB")
    ways: Annotated[int, AfterValidator(_power_of_two), Legal("a power of two from 1 to 16")] = Field(
        default=4, ge=1, le=16, description="entries of a set"
    )
    policy: Literal["partition", "rehash", "hashed"] = Field(
        default="hashed",
        description="how a page finds its set: `partition`: low four bits of the page number ignored, as Svnapot pages need; "
        "`rehash`: low bits in units of each page size; `hashed`: all bits of that, folded",
    )
    clusters: bool = Field(
        default=True, description="an entry covers up to 16 neighbouring pages whose frames lie in a row"
    )
    fill_entries: int = Field(
        default=64, ge=1, le=1024, description="answers of the walker that wait to be kept; more are not kept"
    )
    miss_entries: int = Field(
        default=32, ge=4, le=256, description="misses that wait for the walker while hits pass them"
    )


class Range(Section):
    """The range TLB (gw_range_tlb), beside the L2 TLB: whole buffers of any length. Absent: none."""

    entries: int = Field(default=0, ge=0, le=16, description="buffers it can hold; 0 = no range TLB")


class Walker(Section):
    """The page-table walker (gw_walker)."""

    levels: int = Field(
        ge=3, le=5, description="levels of the page tables at most: 3 = Sv39, 4 = Sv48, 5 = Sv57"
    )
    requests: int = Field(ge=2, le=256, description="walks in flight")
    lines: int = Field(ge=1, le=64, description="page-table lines being fetched or kept")
    line_beats: Annotated[int, AfterValidator(_power_of_two), Legal("a power of two from 1 to 16")] = Field(
        default=1,
        ge=1,
        le=16,
        description="beats of 64 bytes (eight entries) of such a line; a long one pays where memory takes few requests",
    )
    cache_entries: int = Field(ge=1, le=64, description="entries of the walk cache of each upper level")
    prefetch: bool = Field(
        default=True, description="the line after one that followed its predecessor is fetched ahead"
    )


class PageRequests(Section):
    """Page requests (gw_page_requests): pages that the host brings when they are touched. Absent: none."""

    places: Annotated[
        int, AfterValidator(_none_or_from_two("page requests")), Legal("0, or a power of two from 2 to 64")
    ] = Field(default=0, ge=0, le=64, description="pages asked for at a time; 0 = no page requests")


class Contexts(Section):
    """Contexts (processes)."""

    count: int = Field(ge=16, le=256, description="contexts that can be bound to ports at the same time")


class Dma(Section):
    """The page DMA (gw_page_dma): pages between host and device, with ports of its own. Absent: none."""

    slots: Annotated[
        int, AfterValidator(_none_or_from_two("page DMA")), Legal("0, or a power of two from 2 to 64")
    ] = Field(default=0, ge=0, le=64, description="descriptors under way; 0 = no page DMA")
    bursts: int = Field(
        default=32,
        ge=2,
        le=128,
        description="bursts of up to 1 KiB that a direction has read and not yet written, and that a port has to be answered",
    )
    buffer_lines: Annotated[int, AfterValidator(_power_of_two), Legal("a power of two from 32 to 4096")] = (
        Field(
            default=256,
            ge=32,
            le=4096,
            description="64-byte lines that a direction reads ahead: they cover latency × lines a cycle of what it reads from",
        )
    )
    fetch_lines: int = Field(
        default=8, ge=1, le=32, description="lines of two descriptors that are read ahead"
    )


class Heap(Section):
    """The heap in hardware (gw_heap): malloc, realloc and free, frames on first touch. Absent: none."""

    slots: Literal[0, 1024, 2048, 4096] = Field(
        default=0, description="slots of 8 GiB, and as many of 64 KiB; 0 = no heap"
    )
    memory_bytes: Size = Field(
        default=64 << 20,
        ge=HEAP_BLOCK,
        le=64 << 30,
        multiple_of=HEAP_BLOCK,
        description="device memory that the heap gives: the end of it",
    )
    lines: int = Field(default=4, ge=1, le=16, description="2 MiB blocks whose bitmaps are on chip")
    strict: bool = Field(
        default=False,
        description="an allocation larger than what is free is refused, instead of waiting for frames when it is touched",
    )
    quota: int = Field(
        default=0,
        ge=0,
        le=8192,
        description="allocations that a context may have; 0 = as many as there are slots",
    )

    @property
    def blocks(self) -> int:
        """2 MiB blocks of its memory."""
        return self.memory_bytes // HEAP_BLOCK

    @property
    def rtl_blocks(self) -> int:
        """... that the hardware has bits for."""
        return max(16, 1 << (self.blocks - 1).bit_length())


CACHE_REPLACEMENTS = ("lru", "plru", "fifo", "random")
"""In the order of gw_page_cache's parameter."""
CACHE_FILLS = ("used", "rest", "adaptive")
"""The same of what a miss reads."""


class PageCache(Section):
    """The page cache (gw_host_cache): pages of host memory that kernels use in place. Absent: none, each access goes over the link."""

    pages: Annotated[
        int, AfterValidator(_none_or_from_two("page cache")), Legal("0, or a power of two from 2 to 64")
    ] = Field(default=0, ge=0, le=64, description="pages cached; 0 = no page cache")
    page_kib: Annotated[int, AfterValidator(_power_of_two), Legal("a power of two from 4 to 64")] = Field(
        default=4, ge=4, le=64, description="KiB of a page"
    )
    replacement: Literal["lru", "plru", "fifo", "random"] = Field(
        default="lru", description="which page goes: true LRU, a bit a page, the oldest, any"
    )
    fill: Literal["used", "rest", "adaptive"] = Field(
        default="rest",
        description="what a miss reads: the lines its burst needs, then the rest of the 4 KiB, or that from a page's second miss on",
    )
    spare: int = Field(default=1, ge=1, le=32, description="pages kept free ahead, pages / 2 at most")
    reads: Annotated[int, AfterValidator(_power_of_two), Legal("a power of two from 2 to 16")] = Field(
        default=8, ge=2, le=16, description="read bursts under way"
    )
    writes: Annotated[int, AfterValidator(_power_of_two), Legal("a power of two from 2 to 16")] = Field(
        default=8, ge=2, le=16, description="write bursts under way"
    )
    fills: Annotated[int, AfterValidator(_power_of_two), Legal("a power of two from 2 to 16")] = Field(
        default=8, ge=2, le=16, description="reads over the link under way"
    )
    merges: Annotated[int, AfterValidator(_power_of_two), Legal("a power of two from 1 to 16")] = Field(
        default=4, ge=1, le=16, description="lines that stores wait for"
    )


class Memory(Section):
    """Device memory of the simulated card. `fixed` uses the first group of fields, `litedram-ddr4` controller_mhz, `banked`
    the rest.
    """

    model: Literal["fixed", "banked", "litedram-ddr4"] = Field(
        description="`fixed`: every read takes the same time; `banked`: DDR4 with row buffers; `litedram-ddr4`: the RTL of "
        "LiteDRAM's controller"
    )
    latency_cycles: int = Field(
        default=20,
        ge=0,
        le=100_000,
        description="fixed: data or answer come so many cycles later than the next one",
    )
    page_table_latency_cycles: int = Field(
        default=20, ge=0, le=100_000, description="fixed: the same on the walker's port"
    )
    requests_per_cycle: float = Field(
        default=1.0,
        ge=0.001,
        le=64,
        strict=False,
        description="fixed: bursts that memory takes a cycle, all ports together; 0.25 = one every four cycles",
    )
    controller_mhz: float = Field(
        default=200.0,
        ge=167,
        le=300,
        strict=False,
        description="litedram-ddr4: clock of the controller, an eighth of the DDR4's data rate; fixed when the card is built",
    )
    banks: int = Field(default=16, ge=1, le=1024, description="banked: banks, all groups together")
    row_bytes: Size = Field(
        default=8192,
        ge=64,
        le=1 << 20,
        multiple_of=64,
        description="banked: bytes of a row across the channel",
    )
    interleave_bytes: Size = Field(
        default=64,
        ge=64,
        le=1 << 20,
        multiple_of=64,
        description="banked: consecutive blocks of so many bytes go to consecutive banks",
    )
    bandwidth_gbps: float = Field(
        default=19.2,
        gt=0,
        le=1000,
        strict=False,
        description="banked: peak of the data bus, 10^9 bytes a second",
    )
    controller_ns: float = Field(
        default=56.0,
        ge=0,
        le=10000,
        strict=False,
        description="banked: controller and PHY, both ways together",
    )
    t_rcd_ns: float = Field(
        default=13.32, ge=0, le=1000, strict=False, description="banked: activate to read or write"
    )
    t_rp_ns: float = Field(
        default=13.32, ge=0, le=1000, strict=False, description="banked: precharge to activate"
    )
    t_cl_ns: float = Field(
        default=13.32, ge=0, le=1000, strict=False, description="banked: read to first data"
    )
    t_cwl_ns: float = Field(
        default=10.0, ge=0, le=1000, strict=False, description="banked: write to first data"
    )
    t_ras_ns: float = Field(
        default=32.0, ge=0, le=1000, strict=False, description="banked: activate to precharge"
    )
    t_ccd_ns: float = Field(
        default=5.0, ge=0, le=1000, strict=False, description="banked: column to column of one bank"
    )
    t_rtp_ns: float = Field(default=7.5, ge=0, le=1000, strict=False, description="banked: read to precharge")
    t_wr_ns: float = Field(
        default=15.0, ge=0, le=1000, strict=False, description="banked: last write data to precharge"
    )
    t_rfc_ns: float = Field(
        default=350.0, ge=0, le=10000, strict=False, description="banked: a refresh, all banks busy"
    )
    t_refi_ns: Annotated[
        float, Legal(f"0, or {' + '.join(REFRESH_PERIOD)} + a cycle of the card, to {REFRESH_NS_MAX}")
    ] = Field(
        default=7800.0,
        ge=0,
        le=REFRESH_NS_MAX,
        strict=False,
        description="banked: from one refresh to the next; 0 = none",
    )

    @model_validator(mode="after")
    def _geometry(self) -> Memory:
        """A row holds whole blocks."""
        if self.row_bytes % self.interleave_bytes:
            raise ValueError(
                f"row_bytes ({self.row_bytes}) must be a multiple of interleave_bytes ({self.interleave_bytes})"
            )
        return self

    def least_refresh_ns(self, clock_mhz: float) -> float:
        """The least `t_refi_ns` that is a period: below it no access would end between two refreshes."""
        return sum(getattr(self, name) for name in REFRESH_PERIOD) + 1000 / clock_mhz


class HostLink(Section):
    """The link between host and card."""

    latency_ns: float = Field(
        ge=0, le=1e6, strict=False, description="from asking for bytes to the first of them"
    )
    bandwidth_gbps: float = Field(
        gt=0,
        le=1000,
        strict=False,
        description="payload, 10^9 bytes a second: to the card, and from it where `to_host_gbps` says nothing else",
    )
    to_host_gbps: float = Field(
        default=0.0,
        ge=0,
        le=1000,
        strict=False,
        description="the same from the card to the host; 0 = as to the card",
    )
    register_latency_ns: float = Field(
        ge=0, le=1e6, strict=False, description="round trip of one register access"
    )


class Host(Section):
    """What the host's own work costs, in virtual time: the card's clock runs on meanwhile. Each is 0 where nothing is said."""

    interrupt_ns: float = Field(
        default=0.0, ge=0, le=1e6, strict=False, description="from an interrupt line to its handler"
    )
    wakeup_ns: float = Field(
        default=0.0,
        ge=0,
        le=1e6,
        strict=False,
        description="from there until the thread runs that waits for a launch or an explicit copy",
    )
    staging_gbps: float = Field(
        default=0.0,
        ge=0,
        le=1000,
        strict=False,
        description="rate at which bytes of an explicit copy go to or from memory of the driver, 10^9 a second, beside the page DMA; "
        "0 = no time",
    )
    page_ns: float = Field(
        default=0.0,
        ge=0,
        le=1e6,
        strict=False,
        description="a page of a reservation that a kernel touched: found, given a frame, entered",
    )
    leave_ns: float = Field(
        default=0.0,
        ge=0,
        le=1e6,
        strict=False,
        description="a group of pages of the program goes to the card: what it takes without the copy, once",
    )
    leave_page_ns: float = Field(
        default=0.0, ge=0, le=1e6, strict=False, description="the same, for each page of it"
    )
    return_ns: float = Field(
        default=0.0,
        ge=0,
        le=1e6,
        strict=False,
        description="a group of pages comes home: what it takes without the copy, once",
    )
    return_page_ns: float = Field(
        default=0.0, ge=0, le=1e6, strict=False, description="the same, for each page of it"
    )


class Stream(Section):
    """An AXI4-Stream between two kernels: `[[stream]]`, once for each."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    source: str = Field(
        alias="from", pattern=STREAM_PORT, description="who produces, `kernel.port`: written `from`"
    )
    target: str = Field(
        alias="to", pattern=STREAM_PORT, description="who consumes, `kernel.port`: written `to`"
    )
    depth: int = Field(default=2, ge=2, le=65536, description="transfers that the queue between them holds")


class Config(Section):
    """A configuration."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,47}$", description="name of the card: `sim:NAME`")
    description: str = Field(description="one sentence: what it is for")
    card: Card
    axi: Axi
    translator: Translator
    l2: L2 = L2()
    range: Range = Range()
    walker: Walker
    page_requests: PageRequests = PageRequests()
    contexts: Contexts
    dma: Dma = Dma()
    heap: Heap = Heap()
    page_cache: PageCache = PageCache()
    memory: Memory
    host_link: HostLink
    host: Host = Host()
    stream: list[Stream] = []

    @model_validator(mode="after")
    def _ports(self) -> Config:
        """The number of ports is what kernels and external ports need together."""
        duplicate = {kernel for kernel in self.card.kernels if self.card.kernels.count(kernel) > 1}
        if duplicate:
            raise ValueError(
                f"card.kernels: '{min(duplicate)}' is there twice; a further copy is '{min(duplicate)}_2'"
            )
        if not 1 <= self.ports <= self.most_ports:
            raise ValueError(
                f"card: {self.ports} ports (memory bundles of kernels and external_ports), legal is 1 to {self.most_ports}"
            )
        return self

    @model_validator(mode="after")
    def _buffers(self) -> Config:
        """Buffered ports are there, and named once."""
        found = self.translator.buffered_ports
        if len(set(found)) < len(found) or not set(found) <= set(range(self.ports)):
            raise ValueError(
                f"translator.buffered_ports: legal is each of 0 to {self.ports - 1} at most once, found {found}"
            )
        return self

    @model_validator(mode="after")
    def _spare(self) -> Config:
        """A page cache keeps at most half of its pages free."""
        if self.page_cache.pages and self.page_cache.spare > self.page_cache.pages // 2:
            raise ValueError(
                f"page_cache.spare: legal is 1 to {self.page_cache.pages // 2} with {self.page_cache.pages} pages, "
                f"found {self.page_cache.spare}"
            )
        return self

    @model_validator(mode="after")
    def _refresh(self) -> Config:
        """Between two refreshes there is time for an access."""
        least = self.memory.least_refresh_ns(self.card.clock_mhz)
        if self.memory.t_refi_ns and self.memory.t_refi_ns < least:
            raise ValueError(
                f"memory.t_refi_ns leaves no time between refreshes: legal is 0 (none) or {least:g} "
                f"({' + '.join(REFRESH_PERIOD)} + a cycle) to {REFRESH_NS_MAX}, found {self.memory.t_refi_ns:g}"
            )
        return self

    @model_validator(mode="after")
    def _capacity(self) -> Config:
        """The controller's DIMM has its size."""
        if self.memory.model == "litedram-ddr4" and self.card.memory_bytes > LITEDRAM_BYTES:
            raise ValueError(
                f"card.memory_bytes: memory.model litedram-ddr4 has at most {LITEDRAM_BYTES} bytes (8 GiB), "
                f"found {self.card.memory_bytes}"
            )
        return self

    @model_validator(mode="after")
    def _heap(self) -> Config:
        """The heap's window is whole entries of the root, and its memory the end of the card's."""
        if not self.heap.slots:
            return self
        if self.walker.levels != 4:
            raise ValueError(
                f"heap.slots: a heap needs walker.levels = 4, because its window is entries of Sv48's root, found {self.walker.levels}"
            )
        if self.card.memory_bytes % HEAP_BLOCK or self.heap.memory_bytes >= self.card.memory_bytes:
            raise ValueError(
                f"heap.memory_bytes: the heap's memory is the end of card.memory_bytes, a multiple of {HEAP_BLOCK} that leaves "
                f"some to the driver, found {self.heap.memory_bytes} of {self.card.memory_bytes}"
            )
        return self

    @property
    def ports(self) -> int:
        """Accelerator ports: the first one of each kernel, the external ones, further ones of kernels."""
        return len(self.card.kernels) + self.card.external_ports + self.card.extra_ports

    @property
    def most_ports(self) -> int:
        """Accelerator ports that it can have: page DMA, heap and page cache take some of `MAX_PORTS`."""
        others = int(self.heap.slots > 0) + int(self.page_cache.pages > 0)
        return MAX_PORTS - (DMA_PORTS if self.dma.slots else 0) - others

    @property
    def memory_ports(self) -> int:
        """Memory ports: the accelerator ports', the page DMA's, the heap's, the page cache's, the command queue's and the walker's."""
        return self.ports + MAX_PORTS - self.most_ports + 2

    def resolved(self) -> str:
        """All fields with their values as canonical JSON: the same configuration is the same text."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
