# SPDX-License-Identifier: Apache-2.0
"""Plain numpy arrays of which the system decides what stays in the host's memory and what moves, on a real page cache with its access
counters, with pages that are asked for."""

from __future__ import annotations

import json

import numpy as np
import pytest

import godwit

PAGE, GROUP, LINE = 4096, 64 << 10, 64
OVERRIDES = [
    "page_cache.pages=16",
    "page_cache.fill=used",
    "page_cache.counters=256",
    'card.kernels=["traffic", "memcopy"]',
]
SEED = 0x5DEECE66D


@pytest.fixture
def card():
    with godwit.open("sim:default", shared=True, overrides=OVERRIDES) as card:
        yield card


def groups(count: int) -> np.ndarray:
    """Ones, in so many whole groups."""
    memory = np.ones((count + 1) * GROUP // 8, np.uint64)
    skip = -memory.ctypes.data % GROUP // 8
    return memory[skip : skip + count * GROUP // 8]


def traffic(card: godwit.Card, array: np.ndarray, *, density: int, times: int, writes: int = 0, start=False):
    """So many lines of each page, so many times each, in a circle."""
    positions = array.nbytes // PAGE * density
    arguments = {
        "base": array,
        "positions": positions,
        "stride": PAGE // density,
        "count": positions * times,
        "pattern": 0,
        "beats": 1,
        "writes": writes,
        "ids": 8,
        "outstanding": 16,
        "seed": SEED,
    }
    return (card.start if start else card.launch)("traffic", **arguments)


def where(card: godwit.Card, array: np.ndarray) -> set[str]:
    return {run.where for run in card.residency(array)}


def moved_for_reuse(card: godwit.Card) -> int:
    return card.migrations()["to_device"]["reuse"]


def test_groups_of_one_array_are_decided_on_each_for_itself(card):
    array = groups(4)
    often, seldom = array[: 2 * GROUP // 8], array[2 * GROUP // 8 :]
    card.advise(array, "auto")
    before = moved_for_reuse(card)
    for _ in range(2):
        done = traffic(card, often, density=16, times=16)
        assert done.checksum == 2 * 16 * 16 * 16 * LINE // 8
        traffic(card, seldom, density=1, times=1)
    assert (where(card, often), where(card, seldom)) == ({"device"}, {"in_place"})
    assert moved_for_reuse(card) - before == 2 * GROUP
    # The program takes all of it back, and each is at once where it belongs.
    array[:] = 2
    assert where(card, array) == {"host"}
    counts = card.migrations()
    assert traffic(card, often, density=1, times=1).checksum == 2 * 16 * 2 * LINE // 8
    traffic(card, seldom, density=1, times=1)
    assert (where(card, often), where(card, seldom)) == ({"device"}, {"in_place"})
    after = card.migrations()
    assert after["to_device"]["reuse"] == counts["to_device"]["reuse"]
    assert after["in_place"] - counts["in_place"] == 2 * GROUP


def test_nothing_that_a_kernel_writes_is_lost_when_its_pages_move_under_it(card):
    array = groups(3)
    offsets = np.arange(0, array.nbytes, 8, dtype=np.uint64)
    card.advise(array, "auto")
    before = moved_for_reuse(card)
    traffic(card, array, density=PAGE // LINE, times=8, writes=256)
    assert moved_for_reuse(card) - before == array.nbytes
    assert (array == (offsets ^ np.uint64(SEED))).all()


def test_the_program_touches_pages_that_are_being_decided_on(card, seed):
    array = groups(3)
    card.advise(array, "auto")
    launch = traffic(card, array, density=PAGE // LINE, times=6, writes=256, start=True)
    for index in np.random.default_rng(seed).integers(0, len(array), 100):
        assert array[index] in (1, int(index) * 8 ^ SEED)
    launch.result()
    assert (array == (np.arange(0, array.nbytes, 8, dtype=np.uint64) ^ np.uint64(SEED))).all()


def test_cycles_repeat_though_another_thread_decides():
    array, cycles = groups(2), []
    for _ in range(2):
        with godwit.open("sim:default", shared=True, overrides=OVERRIDES) as card:
            card.advise(array, "auto")
            before = moved_for_reuse(card)
            cycles.append(traffic(card, array, density=16, times=16).cycles)
            assert moved_for_reuse(card) - before == array.nbytes
            card.advise(array, "migrate")
        assert (array == 1).all()
    assert cycles[0] == cycles[1]


def test_a_run_says_what_stayed_and_what_moved(call):
    options = [text for override in OVERRIDES for text in ("--set", override)]
    done = call("run", "memcopy", "--bytes", "256KiB", "--memory", "auto", *options, "--json")
    assert done.returncode == 0, done.stderr
    value = {name: figure["value"] for name, figure in json.loads(done.stdout)["figures"].items()}
    for time in ("copied_time", "shared_time", "in_place_time", "auto_first_time", "auto_time"):
        assert value[time] > 0
    assert value["auto_first_stayed"] == 2 * 256 << 10 and value["auto_first_moved"] == 0
    assert value["auto_stayed"] + value["auto_moved"] == 2 * 256 << 10
    assert value["auto_time"] <= 1.25 * min(value["shared_time"], value["in_place_time"])


def test_without_access_counters_the_run_says_what_to_do_and_advice_moves(call):
    done = call("run", "memcopy", "--bytes", "64KiB", "--memory", "auto", "--set", "page_cache.pages=16")
    assert done.returncode == 1
    assert "needs a page cache with access counters" in done.stderr
    assert "--set page_cache.counters=256" in done.stderr
