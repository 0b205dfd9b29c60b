# SPDX-License-Identifier: Apache-2.0
"""What the simulation puts around the card: device memory, the link, the host."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from godwit.spec.sections.fields import Legal, Section, Size, power_of_two

REFRESH_PERIOD = ("t_rfc_ns", "t_rcd_ns", "t_ras_ns", "t_rp_ns")
"""What fits between two refreshes at least: one of them, and a row opened, used and closed. A cycle of the card comes on top,
since memory decides once a cycle."""

REFRESH_NS_MAX = 1_000_000

MEMORY_NAME = r"^[a-z][a-z0-9_-]{0,30}$"
PLACES = ("device", "host")
"""Where a buffer may be, whatever memories a card has: no name of one."""

MEMORY_BLOCK = 1 << 21
"""Memories begin and end at multiples of it where there are several, so that large pages and blocks of the heap fit each."""

LITEDRAM_BYTES = 8 << 30
"""One rank of 8 Gb devices on the 64-bit channel of `litedram-ddr4`."""


class Memory(Section):
    """Device memory of the simulated card. `fixed` uses the first group of fields, `litedram-ddr4` controller_mhz, `banked`
    the rest. Written `[[memory]]`, once for each, there are several
    ([memory models](memory-models.md#several-memories)); `memory.NAME.field` is then a field of one, `memory.field` the first's.
    """

    name: str = Field(
        default="memory", pattern=MEMORY_NAME, description="what programs call it, where there are several"
    )
    bytes: Size = Field(
        default=0,
        ge=0,
        le=1 << 40,
        multiple_of=MEMORY_BLOCK,
        description="its size; 0 = what the others leave of card.memory_bytes, for the first one only",
    )
    heap_bytes: Size = Field(
        default=0,
        ge=0,
        le=64 << 30,
        multiple_of=MEMORY_BLOCK,
        description="what the heap gives of a further one: the end of it; of the first that is heap.memory_bytes",
    )
    heap_strict: bool = Field(
        default=False,
        description="an allocation of the heap in this memory that is larger than what is free there is refused, as heap.strict says of all",
    )
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

    @field_validator("name")
    @classmethod
    def _no_place(cls, name: str) -> str:
        """A name that says which memory it is."""
        if name in PLACES:
            raise ValueError(f"must be another name: {' and '.join(PLACES)} are places that every card has")
        return name

    def least_refresh_ns(self, clock_mhz: float) -> float:
        """The least `t_refi_ns` that is a period: below it no access would end between two refreshes."""
        return sum(getattr(self, name) for name in REFRESH_PERIOD) + 1000 / clock_mhz


PAYLOADS = "a power of two from 128 to 4096"
"""Sizes that PCI Express knows for payloads and read requests."""


class HostLink(Section):
    """The link between host and card. `rate` uses bandwidth_gbps and to_host_gbps, `packets` the fields behind them; both the latencies."""

    model: Literal["rate", "packets"] = Field(
        default="rate",
        description="`rate`: a byte costs the same whatever it comes with; `packets`: headers, payload sizes, completions and tags of "
        "PCI Express ([memory models](memory-models.md#the-host-link))",
    )
    latency_ns: float = Field(
        ge=0, le=1e6, strict=False, description="from asking for bytes to the first of them"
    )
    bandwidth_gbps: float = Field(
        gt=0,
        le=1000,
        strict=False,
        description="rate: payload, 10^9 bytes a second: to the card, and from it where `to_host_gbps` says nothing else",
    )
    to_host_gbps: float = Field(
        default=0.0,
        ge=0,
        le=1000,
        strict=False,
        description="rate: the same from the card to the host; 0 = as to the card",
    )
    register_latency_ns: float = Field(
        ge=0, le=1e6, strict=False, description="round trip of one register access"
    )
    packet_gbps: float = Field(
        default=7.235,
        gt=0,
        le=1000,
        strict=False,
        description="packets: 10^9 bytes of packets a second, headers included, in each direction: PCIe 3.0 x8",
    )
    request_header_bytes: int = Field(
        default=24,
        ge=0,
        le=64,
        description="packets: of a read request, or a write beside its payload: framing, sequence number, checksum, header",
    )
    completion_header_bytes: int = Field(
        default=20, ge=0, le=64, description="packets: the same of read data"
    )
    max_payload_bytes: Annotated[int, AfterValidator(power_of_two), Legal(PAYLOADS)] = Field(
        default=256, ge=128, le=4096, description="packets: payload of a packet at most"
    )
    max_read_request_bytes: Annotated[int, AfterValidator(power_of_two), Legal(PAYLOADS)] = Field(
        default=512, ge=128, le=4096, description="packets: what one request reads at most"
    )
    completion_bytes: Annotated[
        int,
        AfterValidator(power_of_two),
        Legal("0, or a power of two from read_completion_boundary to max_payload_bytes"),
    ] = Field(
        default=0,
        ge=0,
        le=4096,
        description="packets: payload that the host gives a packet of read data at most; 0 = max_payload_bytes",
    )
    read_completion_boundary: Annotated[int, AfterValidator(power_of_two), Legal("64 or 128")] = Field(
        default=64,
        ge=64,
        le=128,
        description="packets: where packets of read data end, but for the last of a request",
    )
    tags: int = Field(default=256, ge=1, le=1024, description="packets: read requests under way at most")

    @model_validator(mode="after")
    def _completions(self) -> HostLink:
        """A completion ends at a boundary, and is no larger than a packet."""
        if (
            self.completion_bytes
            and not self.read_completion_boundary <= self.completion_bytes <= self.max_payload_bytes
        ):
            raise ValueError(
                f"completion_bytes: legal is 0, or read_completion_boundary ({self.read_completion_boundary}) to "
                f"max_payload_bytes ({self.max_payload_bytes}), found {self.completion_bytes}"
            )
        return self


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
