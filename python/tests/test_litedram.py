# SPDX-License-Identifier: Apache-2.0
"""`memory.model = "litedram-ddr4"`: right data through the real controller, in the cycles the docs state."""

from __future__ import annotations

import numpy as np
import pytest

import godwit
from godwit.run.traffic import Plan
from godwit.spec import config

OVERRIDES = (
    "memory.model=litedram-ddr4",
    "walker.line_beats=8",
    "memory.controller_mhz=200",
    "card.clock_mhz=200",
    'card.kernels=["traffic"]',
    "card.external_ports=0",
)
SPAN = 64 << 20


@pytest.fixture(scope="module")
def dram():
    pytest.importorskip("litedram")
    with godwit.open("sim:default", overrides=OVERRIDES) as card:
        yield card


def launch(card: godwit.Card, buffer: godwit.Buffer, plan: Plan, mode: str = "bare"):
    """One run of the traffic generator that has to end well."""
    result = card.launch("traffic", mode=mode, **plan.args(buffer))
    assert result.status == 0
    return result


@pytest.fixture(scope="module")
def buffer(dram):
    memory = dram.default_context.empty(SPAN, contiguous=True)
    memory.to_numpy().view(np.uint64)[:] = np.random.default_rng(3).integers(0, 1 << 64, SPAN // 8, np.uint64)
    return memory


@pytest.mark.parametrize("mode", ["translate", "bare"])
def test_data_is_right(dram, buffer, mode, seed):
    """Random reads add up to what memory holds; mixed traffic writes what it should, and only that."""
    with dram.context() as context:
        memory = context.empty(1 << 20, contiguous=True)
        words = memory.to_numpy().view(np.uint64)
        words[:] = np.random.default_rng(seed).integers(0, 1 << 64, len(words), np.uint64)
        reads = Plan(300, 3136, 1000, "random", 5, seed=seed)
        result = dram.launch("traffic", context=context, mode=mode, **reads.args(memory))
        assert (result.status, result.checksum) == (0, reads.checksum(words))
        mixed = Plan(300, 3136, 1000, "random", 3, writes=100, seed=seed)
        wanted = words.copy()
        offsets, writes = mixed.accesses()
        for offset in offsets[writes].tolist():
            wanted[offset // 8 : offset // 8 + 8 * mixed.beats] = mixed.written(offset)
        result = dram.launch("traffic", context=context, mode=mode, **mixed.args(memory))
        assert result.status == 0
        assert np.array_equal(words, wanted)


def test_latencies_and_rates_are_the_stated_ones(dram, buffer):
    """Cycles of 5 ns at the kernel, physical addresses; the same on every machine."""
    one = {"outstanding": 1, "ids": 1}
    hit = launch(dram, buffer, Plan(64, 64, 400, **one))
    random = launch(dram, buffer, Plan(SPAN // 64, 64, 1000, "random", **one))
    linear = launch(dram, buffer, Plan(SPAN // 4096, 4096, 400, beats=64))
    eight = launch(dram, buffer, Plan(SPAN // 64, 64, 2000, "random", outstanding=8))
    row_hit = hit.latency_sum / hit.reads
    mean = random.latency_sum / random.reads
    linear_rate = 400 * 4096 / linear.run_cycles
    random_rate = 2000 * 64 / eight.run_cycles
    print(f"row hit {row_hit:.1f}, random {mean:.1f}, linear {linear_rate:.1f}, eight {random_rate:.2f}")
    assert 10 <= row_hit <= 20
    assert row_hit + 4 <= mean <= 32
    assert 50 <= linear_rate <= 64
    assert 2 <= random_rate <= 30


def test_a_walk_gets_the_beat_it_asks_for_first(dram):
    """Page-table lines of eight beats, none used twice: a walk of the last beat takes what one of the first does."""
    line = 8 * 8 * 4096  # mapped by one line
    latency = []
    for beat in (0, 7):
        with dram.context() as context:
            memory = context.empty(SPAN, page_size="4K", contiguous=True)
            start = -(-memory.address // line) * line + beat * line // 8
            plan = Plan(80, 3 * line, 80, outstanding=1)
            result = dram.launch("traffic", context=context, **plan.args(start))
            assert (result.status, result.reads) == (0, 80)
            latency.append(result.latency_sum / result.reads)
    print(f"first beat {latency[0]:.1f}, last beat {latency[1]:.1f}")
    assert abs(latency[1] - latency[0]) < 3


def test_a_memory_larger_than_the_dimm_is_an_error():
    with pytest.raises(config.ConfigError, match="at most 8589934592 bytes"):
        config.load("default", ["memory.model=litedram-ddr4", "card.memory_bytes=16GiB"])
    with pytest.raises(config.ConfigError, match="controller_mhz"):
        config.load("default", ["memory.controller_mhz=400"])
