# SPDX-License-Identifier: Apache-2.0
"""From an address of a kernel to a physical one: ports, TLBs, the walker, page requests, contexts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from godwit.spec.sections.fields import Legal, Replacement, Section, none_or_from_two, power_of_two


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
    replacement: Replacement = Field(
        default="plru",
        description="which of them goes: true LRU, a bit an entry, the oldest, any ([policies](blocks/gw_replace.md))",
    )
    miss_entries: int = Field(
        ge=2, le=256, description="addresses a channel (AR, AW) can have waiting for a translation"
    )
    outstanding: int = Field(ge=1, le=256, description="bursts a channel can have in flight")
    buffered_ports: Annotated[list[int] | Literal["auto"], Legal("auto, or ports")] = Field(
        default="auto",
        description="ports with a gw_port_buffer before their translator: for an accelerator whose channels wait for each other, or "
        "that may stop half way, when its accesses can be parked or others must not wait for it. `auto`: on a card with page "
        "requests or a heap those of kernels whose manifest does not say that they are `independent`",
    )


L2_POLICIES = ("partition", "rehash", "hashed")
"""In the order of gw_pkg::l2_policy_e."""


class L2(Section):
    """The second-level TLB (gw_l2_tlb), shared by all ports: pages of all sizes in one array. Absent: none."""

    sets: Annotated[
        int, AfterValidator(none_or_from_two("L2 TLB")), Legal("0, or a power of two from 2 to 65536")
    ] = Field(default=0, ge=0, le=65536, description="sets; 0 = no L2 TLB")
    ways: Annotated[int, AfterValidator(power_of_two), Legal("a power of two from 1 to 16")] = Field(
        default=4, ge=1, le=16, description="entries of a set"
    )
    policy: Literal["partition", "rehash", "hashed"] = Field(
        default="hashed",
        description="how a page finds its set: `partition`: low four bits of the page number ignored, as Svnapot pages need; "
        "`rehash`: low bits in units of each page size; `hashed`: all bits of that, folded",
    )
    replacement: Replacement = Field(
        default="plru",
        description="which entry of a set goes: true LRU, a tree of bits, the oldest, any ([policies](blocks/gw_replace.md))",
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
    line_beats: Annotated[int, AfterValidator(power_of_two), Legal("a power of two from 1 to 16")] = Field(
        default=1,
        ge=1,
        le=16,
        description="beats of 64 bytes (eight entries) of such a line; a long one pays where memory takes few requests",
    )
    cache_entries: int = Field(ge=1, le=64, description="entries of the walk cache of each upper level")
    prefetch: bool = Field(
        default=True, description="the line after one that followed its predecessor is fetched ahead"
    )
    napot: Literal["64K", "any"] = Field(
        default="64K",
        description="pages of several entries (N): `64K`: Svnapot; `any`: each power of two from 8 KiB to 1 GiB "
        "([page tables](page-tables.md#pages-of-any-power-of-two)), and [granules](blocks/heap.md#granules) of the heap from 4 KiB to 2 MiB",
    )


class PageRequests(Section):
    """Page requests (gw_page_requests): pages that the host brings when they are touched. Absent: none."""

    places: Annotated[
        int, AfterValidator(none_or_from_two("page requests")), Legal("0, or a power of two from 2 to 64")
    ] = Field(default=0, ge=0, le=64, description="pages asked for at a time; 0 = no page requests")


class Contexts(Section):
    """Contexts (processes)."""

    count: int = Field(ge=16, le=256, description="contexts that can be bound to ports at the same time")
