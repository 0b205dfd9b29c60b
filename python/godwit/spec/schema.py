# SPDX-License-Identifier: Apache-2.0
"""The one schema of configurations: what a card is made of, read by RTL, simulation, model and command line alike.

`sections` has the parts. `docs/configuration.md` is made from their descriptions (`python -m godwit.spec pages`), limits in
C++ and SystemVerilog by `limits`; `config` reads files.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from godwit.spec.sections.fields import Section, Size
from godwit.spec.sections.surroundings import (
    LITEDRAM_BYTES,
    MEMORY_BLOCK,
    REFRESH_NS_MAX,
    REFRESH_PERIOD,
    Host,
    HostLink,
    Memory,
)
from godwit.spec.sections.translation import L2, Axi, Contexts, PageRequests, Range, Translator, Walker
from godwit.spec.sections.units import DMA_PORTS, HEAP_BLOCK, Dma, Heap, PageCache

MAX_PORTS = 30
"""Ports a card can have: with those of the command queue and the walker, 32 memory ports."""

MAX_MEMORIES = 8
"""Memories a card can have."""

STREAM_PORT = r"^[a-z][a-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*$"
"""A kernel and one of its streams."""


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
    further_memory: list[Memory] = Field(default=[], max_length=MAX_MEMORIES - 1)
    host_link: HostLink
    host: Host = Host()
    stream: list[Stream] = Field(default=[])

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

    @property
    def buffered_ports(self) -> list[int]:
        """Those that are named: whose kernels need it by themselves the card builder names, who reads their manifests."""
        found = self.translator.buffered_ports
        return [] if found == "auto" else found

    @model_validator(mode="after")
    def _buffers(self) -> Config:
        """Buffered ports are there, and named once."""
        found = self.buffered_ports
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
                f"page_cache.spare: legal is 0 to {self.page_cache.pages // 2} with {self.page_cache.pages} pages, "
                f"found {self.page_cache.spare}"
            )
        return self

    @model_validator(mode="after")
    def _ahead(self) -> Config:
        """Pages read ahead are a few of a page cache's, of 4 KiB each, with reads of their own."""
        cache = self.page_cache
        if not cache.ahead:
            return self
        most = min(cache.pages // 4, 16 - cache.fills)
        if cache.page_kib != 4:
            raise ValueError(
                f"page_cache.ahead: pages of 4 KiB only are read ahead, found page_cache.page_kib = {cache.page_kib}; set one of them to its default"
            )
        if cache.ahead > most:
            raise ValueError(
                f"page_cache.ahead: legal is 0 to {most} with {cache.pages} pages and {cache.fills} fills, found {cache.ahead}"
            )
        return self

    @model_validator(mode="after")
    def _eager(self) -> Config:
        """Pages of 4 KiB only are written before they leave."""
        cache = self.page_cache
        if cache.pages and cache.eager and cache.page_kib != 4:
            raise ValueError(
                f"page_cache.eager: pages of 4 KiB only are written before they leave, found page_cache.page_kib = {cache.page_kib}; "
                "set eager to false or page_kib to 4"
            )
        return self

    @model_validator(mode="after")
    def _counters(self) -> Config:
        """Access counters watch a page cache."""
        if self.page_cache.counters and not self.page_cache.pages:
            raise ValueError(
                f"page_cache.counters: {self.page_cache.counters} groups are counted of a page cache, and there is none; "
                "set page_cache.pages, or counters to 0"
            )
        return self

    @model_validator(mode="after")
    def _refresh(self) -> Config:
        """Between two refreshes there is time for an access."""
        for memory in self.memories:
            least = memory.least_refresh_ns(self.card.clock_mhz)
            if memory.t_refi_ns and memory.t_refi_ns < least:
                raise ValueError(
                    f"{self.section_of(memory)}.t_refi_ns leaves no time between refreshes: legal is 0 (none) or {least:g} "
                    f"({' + '.join(REFRESH_PERIOD)} + a cycle) to {REFRESH_NS_MAX}, found {memory.t_refi_ns:g}"
                )
        return self

    @model_validator(mode="after")
    def _several(self) -> Config:
        """Several memories have names of their own, and all of the card's memory together."""
        names = [memory.name for memory in self.memories]
        if twice := sorted(name for name in set(names) if names.count(name) > 1):
            raise ValueError(f"memory: '{twice[0]}' is there twice; each has a name of its own")
        for memory in self.further_memory:
            if not memory.bytes:
                raise ValueError(
                    f"{self.section_of(memory)}.bytes is missing: only the first memory has what the others leave"
                )
            if memory.model == "litedram-ddr4":
                raise ValueError(
                    f"{self.section_of(memory)}.model: litedram-ddr4 is for the first memory, legal here is fixed or banked"
                )
        left = self.card.memory_bytes - sum(memory.bytes for memory in self.further_memory)
        if self.further_memory and (left <= 0 or left % MEMORY_BLOCK):
            raise ValueError(
                f"memory.bytes: the first memory is what the others leave of card.memory_bytes, a multiple of {MEMORY_BLOCK}, "
                f"found {left} of {self.card.memory_bytes}"
            )
        if self.memory.bytes not in (0, left):
            raise ValueError(
                f"memory.bytes: legal is 0 or {left}, what the other memories leave of card.memory_bytes, found {self.memory.bytes}"
            )
        return self

    @model_validator(mode="after")
    def _capacity(self) -> Config:
        """The controller's DIMM has its size."""
        if self.memory.model == "litedram-ddr4" and self.sizes[0] > LITEDRAM_BYTES:
            raise ValueError(
                f"card.memory_bytes: memory.model litedram-ddr4 has at most {LITEDRAM_BYTES} bytes (8 GiB), "
                f"found {self.sizes[0]}"
            )
        return self

    @model_validator(mode="after")
    def _heap(self) -> Config:
        """The heap's window is whole entries of the root, and its memory the end of the card's."""
        with_heap = [memory for memory in self.further_memory if memory.heap_bytes]
        for memory in with_heap:
            if not self.heap.slots:
                raise ValueError(
                    f"{self.section_of(memory)}.heap_bytes: there is no heap; set heap.slots, or heap_bytes to 0"
                )
            if memory.heap_bytes > memory.bytes:
                raise ValueError(
                    f"{self.section_of(memory)}.heap_bytes: legal is 0 to {memory.bytes}, the memory's bytes, found {memory.heap_bytes}"
                )
        if self.memory.heap_bytes:
            raise ValueError(
                "memory.heap_bytes: what the heap gives of the first memory is heap.memory_bytes"
            )
        for memory in self.memories:
            part = self.heap.memory_bytes if memory is self.memory else memory.heap_bytes
            if memory.heap_strict and not (self.heap.slots and part):
                raise ValueError(
                    f"{self.section_of(memory)}.heap_strict: the heap has no part of that memory; legal is false"
                )
        if self.heap.host_strict and not self.heap.host_bytes:
            raise ValueError("heap.host_strict: the heap has no memory of the host; legal is false")
        if self.heap.host_bytes and not self.heap.slots:
            raise ValueError("heap.host_bytes: there is no heap; set heap.slots, or host_bytes to 0")
        if self.heap.host_bytes and self.page_cache.pages:
            raise ValueError(
                "heap.host_bytes: what the heap clears in memory of the host would stay in the page cache; legal is 0 with page_cache.pages"
            )
        if len(self.heap_parts) > MAX_MEMORIES:
            raise ValueError(
                f"heap.host_bytes: the heap has at most {MAX_MEMORIES} regions, found {len(self.heap_parts)}"
            )
        if not self.heap.slots:
            return self
        if self.walker.levels != 4:
            raise ValueError(
                f"heap.slots: a heap needs walker.levels = 4, because its window is entries of Sv48's root, found {self.walker.levels}"
            )
        if self.sizes[0] % HEAP_BLOCK or self.heap.memory_bytes >= self.sizes[0]:
            raise ValueError(
                f"heap.memory_bytes: the heap's memory is the end of the first memory, a multiple of {HEAP_BLOCK} that leaves "
                f"some to the driver, found {self.heap.memory_bytes} of {self.sizes[0]}"
            )
        return self

    @property
    def memories(self) -> list[Memory]:
        """All of them, in the order of their addresses."""
        return [self.memory, *self.further_memory]

    @property
    def sizes(self) -> list[int]:
        """Bytes of each of `memories`."""
        further = [memory.bytes for memory in self.further_memory]
        return [self.card.memory_bytes - sum(further), *further]

    @property
    def heap_parts(self) -> list[int]:
        """Bytes of each region of the heap, those of the first memory first and those of the host last."""
        further = [memory.heap_bytes for memory in self.further_memory]
        return [self.heap.memory_bytes, *(part for part in (*further, self.heap.host_bytes) if part)]

    @property
    def heap_regions(self) -> int:
        """... that the hardware has, a power of two."""
        return 1 << (len(self.heap_parts) - 1).bit_length()

    @property
    def heap_blocks(self) -> int:
        """2 MiB blocks that it has bits for, of each of them."""
        return max(16, 1 << (max(self.heap_parts) // HEAP_BLOCK - 1).bit_length())

    def section_of(self, memory: Memory) -> str:
        """How `--set` names it."""
        return f"memory.{memory.name}" if self.further_memory and memory is not self.memory else "memory"

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
