# SPDX-License-Identifier: Apache-2.0
"""A parameter outside its legal range ends elaboration, with the range in the message."""

import subprocess

import pytest
import runner

from godwit import toolchain
from godwit.card import plan

BAD = [
    ("gw_l1_tlb", {"Entries": 0}, "Entries must be at least 1"),
    ("gw_l1_tlb", {"Levels": 6}, "Levels must be 3, 4 or 5"),
    ("gw_translator", {"MissEntries": 1}, "MissEntries must be 2 to 256"),
    ("gw_translator", {"Outstanding": 0}, "Max must be at least 1"),
    ("gw_l2_tlb", {"Sets": 12}, "Sets must be a power of two, 2 to 65536"),
    ("gw_l2_tlb", {"Sets": 1}, "Sets must be a power of two, 2 to 65536"),
    ("gw_l2_tlb", {"Ways": 3}, "Ways must be a power of two, 1 to 16"),
    ("gw_l2_tlb", {"Policy": 3}, "Policy must be L2Partition, L2Rehash or L2Hashed"),
    ("gw_l2_tlb", {"FillDepth": 2000}, "FillDepth must be 1 to 1024"),
    ("gw_second_level", {"MissDepth": 2}, "MissDepth must be 4 to 256"),
    ("gw_second_level", {"RangeEntries": 17}, "RangeEntries must be 0 to 16"),
    ("gw_range_tlb", {"Entries": 0}, "Entries must be 1 to 16"),
    ("gw_walker", {"Levels": 2}, "Levels must be 3 to 5"),
    ("gw_walker", {"Requests": 1}, "Requests must be 2 to 256"),
    ("gw_walker", {"Lines": 65}, "Lines must be 1 to 64"),
    ("gw_walker", {"LineBeats": 3}, "LineBeats must be 1, 2, 4, 8 or 16"),
    ("gw_walker", {"LineBeats": 32}, "LineBeats must be 1, 2, 4, 8 or 16"),
    ("gw_walker", {"CacheEntries": 0}, "CacheEntries must be at least 1"),
    ("gw_walker", {"NumContexts": 257}, "NumContexts must be 1 to 256"),
    ("gw_groups", {"Pools": 3}, "Pools must be a power of two"),
    ("gw_groups", {"Blocks": 24}, "Blocks must be a power of two"),
    ("gw_groups", {"Lines": 3}, "Lines must be 0, or a power of two up to 64"),
    ("gw_groups", {"BlockBits": 10}, "BlockBits must be WordBits to WordBits + 3"),
    ("gw_pte_unit", {"Clients": 0}, "Clients must be at least 1"),
    ("gw_pte_unit", {"Together": 16}, "Together must be 1, 2, 4 or 8"),
    ("gw_touch", {"Together": 3}, "Together must be 1, 2, 4 or 8"),
    ("gw_frames", {"Regions": 3}, "Regions must be 1, 2, 4 or 8"),
    ("gw_frames", {"Orders": 16}, "Orders must have order 0"),
    ("gw_touch", {"Orders": 16}, "Orders must have order 0"),
    ("gw_slots", {"Slots": 512}, "Slots must be a power of two, 1024 or more"),
    ("gw_slots", {"SmallOrder": 22}, "SmallOrder at most that"),
    ("gw_slots", {"SlotOrder": 23}, "LargeBase and SmallBase must be aligned"),
    ("gw_touch", {"Levels": 6}, "Levels must be 3 to 5"),
    ("gw_touch", {"TableRegion": 1}, "TableRegion one of them"),
    ("gw_reclaim", {"Units": 1}, "Units must be 2 or more"),
    ("gw_reclaim", {"Orders": 16}, "Orders must have order 0"),
    ("gw_scrub", {"Beats": 3}, "Beats must be 1, 2, 4, 8 or 16"),
    ("gw_fault", {"Pages": 128}, "Pages must be a power of two, 2 to 64"),
    ("gw_fault", {"Banks": 64}, "Banks must be a power of two, 1 to Pages / 2"),
    ("gw_fault", {"GenerationWidth": 0}, "GenerationWidth must be at least 1"),
    ("gw_miss", {"Depth": 0}, "Depth must be at least 1"),
    ("gw_miss", {"Pages": 128}, "Pages must be 2 to 64"),
    ("gw_miss", {"SoonCycles": 0}, "SoonCycles must be 1 to RetryCycles - 1"),
    ("gw_invalidate", {"FetchLines": 0}, "Lines must be at least 1"),
    ("gw_page_dma", {"Slots": 24}, "Slots must be a power of two, 2 to 64"),
    ("gw_page_dma", {"Bursts": 129}, "Bursts must be 2 to 128"),
    ("gw_page_dma", {"BufferLines": 48}, "Depth must be a power of two, 4 or more"),
]


def elaborate(top: str, parameters: dict[str, int]) -> subprocess.CompletedProcess:
    """What Verilator says of a block, with the options of a card."""
    packages = [runner.spec_dir() / name for name in runner.SPEC_PACKAGES]
    packages += [runner.RTL / name for name in runner.PACKAGES]
    command = [str(toolchain.verilator()), "--lint-only", *plan.LINT_OPTIONS]
    for path in sorted(path for path in runner.RTL.iterdir() if path.is_dir()):
        command += ["-y", str(path), f"-I{path}"]
    command += [f"-G{name}={value}" for name, value in parameters.items()]
    command += ["--top-module", top, *map(str, packages), f"{top}.sv"]
    return subprocess.run(command, env=toolchain.env(), capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("top", "parameters", "message"), BAD, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_bad_parameter_ends_elaboration(top, parameters, message):
    done = elaborate(top, parameters)
    assert done.returncode != 0
    assert message in done.stderr, done.stderr


@pytest.mark.parametrize("top", sorted({top for top, _, _ in BAD}))
def test_defaults_are_legal(top):
    done = elaborate(top, {})
    assert done.returncode == 0, done.stderr
