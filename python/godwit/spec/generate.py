# SPDX-License-Identifier: Apache-2.0
"""Writes everything that is generated from ``spec/`` into one directory."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from godwit.spec import events, events_rtl, events_software, layout, limits, registers
from godwit.spec.schema import Config
from godwit.spec.sections.fields import REPLACEMENTS
from godwit.spec.sections.translation import L2_POLICIES
from godwit.spec.sections.units import CACHE_FILLS


def write_if_changed(path: Path, text: str) -> None:
    """Writes a file whole or not at all, and leaves its time alone when nothing changed (make and ccache look)."""
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    temporary.chmod(0o644)
    temporary.replace(path)


def config_package(config: Config) -> str:
    """`gw_config_pkg`: the parameters of gw_card."""
    values = {
        "NumKernels": (len(config.card.kernels), "kernels, the first bundle of each on port 0, 1, ..."),
        "NumExternal": (config.card.external_ports, "external masters, on the ports after them"),
        "NumExtra": (config.card.extra_ports, "further bundles of kernels, on the ports after those"),
        "NumPorts": (config.ports, "accelerator ports"),
        "IdWidth": (config.axi.id_width, "bits of an AXI ID"),
        "DataWidth": (config.axi.data_width, "bits of the AXI data bus"),
        "L1Entries": (config.translator.l1_entries, "translations kept by the L1 TLB of a port"),
        "L1Replacement": (
            REPLACEMENTS.index(config.translator.replacement),
            f"which of them goes: {config.translator.replacement}",
        ),
        "MissEntries": (config.translator.miss_entries, "addresses waiting for a translation, a channel"),
        "Outstanding": (config.translator.outstanding, "bursts in flight, a channel"),
        "PortBuffers": (
            sum(1 << port for port in config.buffered_ports),
            "bit i: gw_port_buffer before port i",
        ),
        "L2Sets": (config.l2.sets, "sets of the L2 TLB, 0 = none"),
        "L2Ways": (config.l2.ways, "entries of a set"),
        "L2Policy": (L2_POLICIES.index(config.l2.policy), f"gw_pkg::l2_policy_e: {config.l2.policy}"),
        "L2Replacement": (
            REPLACEMENTS.index(config.l2.replacement),
            f"which of them goes: {config.l2.replacement}",
        ),
        "L2Clusters": (int(config.l2.clusters), "entries cover clusters of pages"),
        "L2FillEntries": (config.l2.fill_entries, "answers that wait to be kept"),
        "L2MissEntries": (config.l2.miss_entries, "misses that wait for the walker"),
        "RangeEntries": (config.range.entries, "entries of the range TLB"),
        "Levels": (config.walker.levels, "levels of the page tables at most"),
        "WalkRequests": (config.walker.requests, "walks in flight"),
        "WalkLines": (config.walker.lines, "page-table lines fetched or kept"),
        "WalkLineBeats": (config.walker.line_beats, "beats of 64 bytes of such a line"),
        "WalkCacheEntries": (config.walker.cache_entries, "walk-cache entries of an upper level"),
        "WalkPrefetch": (int(config.walker.prefetch), "page-table lines are prefetched"),
        "AnyNapot": (int(config.walker.napot == "any"), "pages of any power of two"),
        "PageRequests": (config.page_requests.places, "pages asked for at a time, 0 = no page requests"),
        "NumContexts": (config.contexts.count, "contexts"),
        "HeapSlots": (config.heap.slots, "slots of the heap of each class, 0 = none"),
        "HeapRegions": (
            config.heap_regions,
            "memories it has frames in, and none where that is no power of two",
        ),
        "HeapBlocks": (config.heap_blocks, "2 MiB blocks of one at most"),
        "HeapLines": (config.heap.lines, "blocks whose bits are on chip"),
        "DmaSlots": (config.dma.slots, "descriptors of the page DMA under way, 0 = none"),
        "DmaBursts": (config.dma.bursts, "bursts of it under way, a direction"),
        "DmaBufferLines": (config.dma.buffer_lines, "lines it reads ahead, a direction"),
        "DmaFetchLines": (config.dma.fetch_lines, "lines of descriptors it reads ahead"),
        "CachePages": (config.page_cache.pages, "pages of the page cache, 0 = none"),
        "CachePageShift": (config.page_cache.page_kib.bit_length() + 9, "bits of an address within one"),
        "CacheReplacement": (
            REPLACEMENTS.index(config.page_cache.replacement),
            f"which of them goes: {config.page_cache.replacement}",
        ),
        "CacheFill": (
            CACHE_FILLS.index(config.page_cache.fill),
            f"what a miss reads: {config.page_cache.fill}",
        ),
        "CacheSpare": (config.page_cache.spare, "pages kept free"),
        "CacheRestLines": (config.page_cache.rest_lines, "lines of a rest that are asked for at a time"),
        "CacheAhead": (config.page_cache.ahead, "pages read ahead of who reads in order, 0 = none"),
        "CacheEager": (
            int(config.page_cache.eager),
            "pages that were written through are written to the host before they leave",
        ),
        "CacheReads": (config.page_cache.reads, "read bursts under way"),
        "CacheWrites": (config.page_cache.writes, "write bursts under way"),
        "CacheFills": (config.page_cache.fills, "reads over the link under way"),
        "CacheMerges": (config.page_cache.merges, "lines that stores wait for"),
        "CacheCounters": (
            config.page_cache.counters,
            "groups of 64 KiB whose lines over the link are counted, 0 = none",
        ),
    }
    lines = [
        f"  localparam int unsigned {name} = {value};  // {doc}" for name, (value, doc) in values.items()
    ]
    head = "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1"
    origin = (
        f"// Generated from configuration `{config.name}` by `python -m godwit.spec generate`; do not edit."
    )
    return "\n".join([head, origin, "package gw_config_pkg;", *lines, "endpackage", ""])


def shared_package(root: Path) -> Path:
    """`gw_spec_pkg` of a source tree, up to date: the one generated file that blocks read on their own, outside a card."""
    path = root / "build" / "spec" / "sv" / "gw_spec_pkg.sv"
    write_if_changed(path, layout.systemverilog(layout.load()))
    return path


def simulation_headers() -> dict[str, str]:
    """Headers that the C++ of every card includes, whatever its configuration."""
    return {"godwit_events.h": events_software.cpp(events.load()), "godwit_limits.h": limits.cpp()}


RTL_PACKAGES = (
    "gw_spec_pkg.sv",
    "gw_config_pkg.sv",
    *(f"{module}_pkg.sv" for module in registers.BLOCKS.values()),
)
"""What `generate_rtl` writes and is read first, in this order."""
RTL_MODULES = (
    *(
        f"{name}.sv"
        for module in registers.BLOCKS.values()
        for name in (module, registers.front_name(module))
    ),
    "gw_csr_events.sv",
)
"""What it writes and is read behind every package."""


def generate_rtl(out: Path, config: Config) -> None:
    """The SystemVerilog of one configuration, and the C and C++ constants: what a card build needs."""
    groups = layout.load()
    write_if_changed(out / "sv" / "gw_spec_pkg.sv", layout.systemverilog(groups))
    write_if_changed(out / "sv" / "gw_config_pkg.sv", config_package(config))
    write_if_changed(out / "c" / "godwit_layout.h", layout.c_header(groups))
    declared = events.load()
    write_if_changed(out / "sv" / "gw_csr_events.sv", events_rtl.module(declared))
    for name, text in simulation_headers().items():
        write_if_changed(out / "c" / name, text)
    with tempfile.TemporaryDirectory() as directory:
        for name in registers.BLOCKS:
            registers.regblock(
                registers.elaborate(config.contexts.count, config.ports, name), Path(directory)
            )
        for path in Path(directory).iterdir():
            write_if_changed(out / "sv" / path.name, path.read_text())


def generate(out: Path, config: Config) -> None:
    """All files below `out` (docs/architecture.md has the list)."""
    generate_rtl(out, config)
    write_if_changed(out / "rust" / "layout.rs", layout.rust(layout.load()))
    write_if_changed(out / "rust" / "counters.rs", events_software.rust(events.load()))
    write_if_changed(out / "regs" / "counters.rdl", events_rtl.rdl(events.load()))
    tops = [registers.elaborate(config.contexts.count, config.ports, name) for name in registers.BLOCKS]
    for top in tops:
        prefix = "" if top.inst_name == registers.MMU else f"{top.inst_name.removeprefix('gw_')}_"
        header = f"godwit_{prefix}regs.h"
        write_if_changed(out / "c" / header, registers.c_header(top, header))
        write_if_changed(out / "rust" / f"{prefix}regs.rs", registers.rust_constants(top))
    registers.html(tops, out / "html")
