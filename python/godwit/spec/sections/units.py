# SPDX-License-Identifier: Apache-2.0
"""What a card may have beside its translators: the page DMA, the heap, the page cache."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from godwit.spec.sections.fields import (
    Legal,
    Replacement,
    Section,
    Size,
    none_or_from,
    none_or_from_two,
    power_of_two,
)

DMA_PORTS = 2
"""Memory ports of the page DMA, on a card that has one: device memory and host memory."""


class Dma(Section):
    """The page DMA (gw_page_dma): pages between host and device, with ports of its own. Absent: none."""

    slots: Annotated[
        int, AfterValidator(none_or_from_two("page DMA")), Legal("0, or a power of two from 2 to 64")
    ] = Field(default=0, ge=0, le=64, description="descriptors under way; 0 = no page DMA")
    bursts: int = Field(
        default=32,
        ge=2,
        le=128,
        description="bursts of up to 1 KiB that a direction has read and not yet written, and that a port has to be answered",
    )
    buffer_lines: Annotated[int, AfterValidator(power_of_two), Legal("a power of two from 32 to 4096")] = (
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


HEAP_BLOCK = 2 << 20
"""The heap's memory is a number of these."""


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
        description="device memory that the heap gives: the end of it, of several memories of the first",
    )
    host_bytes: Size = Field(
        default=0,
        ge=0,
        le=64 << 30,
        multiple_of=HEAP_BLOCK,
        description="memory of the host that the heap gives as well, over the link, as the region `host`; 0 = none",
    )
    lines: int = Field(default=4, ge=1, le=16, description="2 MiB blocks whose bitmaps are on chip")
    strict: bool = Field(
        default=False,
        description="an allocation larger than what is free is refused, instead of waiting for frames when it is touched: in every "
        "memory; heap_strict of `[[memory]]` and host_strict say it of one",
    )
    host_strict: bool = Field(default=False, description="the same in the region `host` alone")
    quota: int = Field(
        default=0,
        ge=0,
        le=8192,
        description="allocations that a context may have; 0 = as many as there are slots",
    )
    wait_cycles: int = Field(
        default=1_000_000,
        ge=10_000,
        le=1_000_000_000,
        description="a kernel, or a touch of the host, that found no frame is given up after so many cycles without one, "
        "or three quarters of card.watchdog_cycles where that is less",
    )


CACHE_FILLS = ("used", "rest", "adaptive")
"""What a miss reads, in the order of gw_page_cache's parameter."""


class PageCache(Section):
    """The page cache (gw_host_cache): pages of host memory that kernels use in place. Absent: none, each access goes over the link."""

    pages: Annotated[
        int, AfterValidator(none_or_from_two("page cache")), Legal("0, or a power of two from 2 to 64")
    ] = Field(default=0, ge=0, le=64, description="pages cached; 0 = no page cache")
    page_kib: Annotated[int, AfterValidator(power_of_two), Legal("a power of two from 4 to 64")] = Field(
        default=4, ge=4, le=64, description="KiB of a page"
    )
    replacement: Replacement = Field(
        default="lru", description="which page goes: true LRU, a bit a page, the oldest, any"
    )
    fill: Literal["used", "rest", "adaptive"] = Field(
        default="rest",
        description="what a miss reads: the lines its burst needs, then the rest of the 4 KiB, or that from a page's second miss on",
    )
    rest_lines: int = Field(
        default=64,
        ge=1,
        le=64,
        description="lines of a rest that are asked for at a time: on a slow link few, so that wanted lines do not wait; 64 = all",
    )
    ahead: int = Field(
        default=0,
        ge=0,
        le=4,
        description="pages read ahead of who reads in order, pages / 4 at most, with fills 16 at most, of 4 KiB only; 0 = none",
    )
    eager: bool = Field(
        default=False,
        description="pages of 4 KiB that were written through are written to the host while the link is idle, and stay; else when they leave",
    )
    spare: int = Field(
        default=1,
        ge=0,
        le=32,
        description="pages kept free ahead, pages / 2 at most; 0 = a page goes when another one is wanted",
    )
    reads: Annotated[int, AfterValidator(power_of_two), Legal("a power of two from 2 to 16")] = Field(
        default=8, ge=2, le=16, description="read bursts under way"
    )
    writes: Annotated[int, AfterValidator(power_of_two), Legal("a power of two from 2 to 16")] = Field(
        default=8, ge=2, le=16, description="write bursts under way"
    )
    fills: Annotated[int, AfterValidator(power_of_two), Legal("a power of two from 2 to 16")] = Field(
        default=8, ge=2, le=16, description="reads over the link under way"
    )
    merges: Annotated[int, AfterValidator(power_of_two), Legal("a power of two from 1 to 16")] = Field(
        default=4, ge=1, le=16, description="lines that stores wait for"
    )
    counters: Annotated[
        int,
        AfterValidator(none_or_from(16, "access counters")),
        Legal("0, or a power of two from 16 to 4096"),
    ] = Field(
        default=0,
        ge=0,
        le=4096,
        description="groups of 64 KiB of host memory whose lines over the link are counted at a time (gw_access_counters); 0 = none",
    )
