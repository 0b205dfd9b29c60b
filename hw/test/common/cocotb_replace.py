# SPDX-License-Identifier: Apache-2.0
"""gw_replace beside lists of entries in the order of their use or filling, or their marks."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

NUM = int(os.environ["BENCH_NUM"])
POLICY = os.environ["BENCH_POLICY"]
ALL = set(range(NUM))


class Order:
    """True LRU and FIFO: entries from the oldest on."""

    def __init__(self, uses: bool) -> None:
        self.uses = uses
        self.order = list(range(NUM))

    def victim(self, eligible: set[int]) -> int | None:
        return next((entry for entry in self.order if entry in eligible), None)

    def touch(self, used: set[int], filled: set[int]) -> None:
        moved = used | filled if self.uses else filled
        # Of two in one cycle the lower one counts as the older.
        self.order = [entry for entry in self.order if entry not in moved] + sorted(moved)


class Marks:
    """Bit-PLRU."""

    def __init__(self) -> None:
        self.marked: set[int] = set()
        self.latest: set[int] = set()

    def victim(self, eligible: set[int]) -> int | None:
        return min(eligible - self.marked, default=None)

    def touch(self, used: set[int], filled: set[int]) -> None:
        kept = self.latest if self.marked == ALL else self.marked
        self.latest = used | filled
        self.marked = kept | self.latest


MODELS = {"lru": lambda: Order(True), "plru": Marks, "fifo": lambda: Order(False)}


def bits(entries: set[int]) -> int:
    return sum(1 << entry for entry in entries)


@cocotb.test()
async def the_choice_is_the_one_that_the_policy_names(dut):
    rng = random.Random(int(os.environ["GODWIT_SEED"]))
    cocotb.start_soon(Clock(dut.clk_i, 2).start())
    dut.rst_ni.value = 0
    dut.use_i.value, dut.fill_i.value, dut.eligible_i.value = 0, 0, 0
    await RisingEdge(dut.clk_i)
    await RisingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    model = MODELS[POLICY]() if POLICY in MODELS else None
    chosen = dict.fromkeys(range(NUM), 0)
    undecided = 0
    for _ in range(4000):
        used = {rng.randrange(NUM)} if rng.random() < 0.6 else set()
        filled = {rng.randrange(NUM)} if rng.random() < 0.2 else set()
        eligible = rng.choice((ALL, {entry for entry in ALL if rng.random() < 0.5}))
        dut.use_i.value, dut.fill_i.value, dut.eligible_i.value = bits(used), bits(filled), bits(eligible)
        await ReadOnly()
        found, valid = int(dut.onehot_o.value), int(dut.valid_o.value)
        assert valid == int(found != 0)
        if model is not None:
            victim = model.victim(eligible)
            assert found == (0 if victim is None else 1 << victim)
            undecided += victim is None and bool(eligible)
        else:
            assert (found & ~bits(eligible), valid) == (0, int(bool(eligible)))
            if eligible == ALL:
                chosen[found.bit_length() - 1] += 1
        await RisingEdge(dut.clk_i)
        if model is not None:
            model.touch(used, filled)
    assert (undecided > 0) == (POLICY == "plru")
    if POLICY == "random":
        # Numbers of entries between powers of two: some places count twice.
        least = sum(chosen.values()) / (1 << max(NUM - 1, 1).bit_length())
        assert min(chosen.values()) > 0.8 * least
        assert max(chosen.values()) < 2.4 * least
