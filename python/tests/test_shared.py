# SPDX-License-Identifier: Apache-2.0
"""Plain numpy arrays as arguments on the real card `sim:default`: their pages move and come back."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import godwit
from godwit.errors import ArgumentError
from godwit.shared import residency_over_time

PAGE = 4096


@pytest.fixture
def card():
    with godwit.open("sim:default", shared=True) as card:
        yield card


def copy_on(card: godwit.Card, source: np.ndarray, target: np.ndarray) -> None:
    card.launch("memcopy", src=source, dst=target, bytes=source.nbytes, iterations=1)


def away(card: godwit.Card, array: np.ndarray) -> int:
    """Bytes of an array that are on the card."""
    return sum(run.nbytes for run in card.residency(array) if run.where == "device")


def test_a_plain_array_is_summed_and_comes_back_by_itself(card):
    values = np.arange(100_000, dtype="int64")
    assert card.launch("array_sum", values=values, count=len(values), dtype=1).sum == values.sum()
    card.launch("array_sum", values=values, count=len(values), dtype=1)
    assert away(card, values) >= values.nbytes - 2 * PAGE
    values[50_000] += 1000
    assert away(card, values) < values.nbytes - 2 * PAGE
    result = card.launch("array_sum", values=values, count=len(values), dtype=1)
    assert result.sum == 100_000 * 99_999 // 2 + 1000
    assert (values == np.arange(100_000) + 1000 * (np.arange(100_000) == 50_000)).all()


def test_a_forked_child_frees_what_kernels_used(card):
    values = np.arange(100_000, dtype="int64")
    card.launch("array_sum", values=values, count=len(values), dtype=1)
    child = os.fork()
    if child == 0:
        del values
        os._exit(0)
    # One that hangs ends.
    late = threading.Timer(120, os.kill, (child, signal.SIGKILL))
    late.start()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    late.cancel()
    assert card.launch("array_sum", values=values, count=len(values), dtype=1).sum == values.sum()


def test_a_kernel_writes_into_a_plain_array(card):
    source = np.random.default_rng(3).integers(0, 256, 300_000, dtype="uint8")
    mapping = mmap.mmap(-1, source.nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    target = np.frombuffer(mapping, dtype="uint8")
    before = card.migrations()
    copy_on(card, source, target)
    after = card.migrations()
    # What was never touched is not copied to the card.
    assert after["cleared"] - before["cleared"] >= target.nbytes - 2 * PAGE
    assert (source == target).all()


def test_arrays_of_any_size_and_place(card):
    rng = np.random.default_rng(7)
    for count in (1, 7, 511, 513, 5000, 70_001):
        for skip in (0, 3):
            values = rng.integers(-(2**31), 2**31, count + skip, dtype="int64")[skip:]
            result = card.launch("array_sum", values=values, count=count, dtype=1)
            assert np.int64(np.uint64(result.sum).astype("int64")) == values.sum()


def test_kernels_and_threads_in_turns(card):
    data, copy = (np.zeros(200_000, dtype="int32") for _ in range(2))
    for turn in range(4):
        threads = [
            threading.Thread(target=lambda part: np.add(part, 1, out=part), args=(part,))
            for part in np.array_split(data, 3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        copy_on(card, data, copy)
        assert (copy == 2 * turn + 1).all()
        copy += 1
        copy_on(card, copy, data)
    assert (data == 8).all()


def test_pages_come_while_the_kernel_runs(card):
    values = np.arange(100_000, dtype="int64")
    before = card.migrations()
    card.launch("array_sum", values=values, count=len(values), dtype=1)
    after = card.migrations()
    assert after["to_device"]["launch"] == before["to_device"]["launch"]
    moved = after["to_device"]["request"] - before["to_device"]["request"]
    assert moved >= values.nbytes - 2 * PAGE
    requests = after["requests"] - before["requests"]
    assert after["batches"] > before["batches"]
    # Most of them come along with others.
    assert 0 < requests < values.nbytes // PAGE // 2
    assert after["prefetched"] - before["prefetched"] > moved // 2


def test_memory_of_a_running_kernel_is_touched_and_nobody_waits_for_its_end(card):
    source = np.arange(200_000, dtype="int64")
    target = np.zeros_like(source)
    before = card.migrations()["waited"]
    launch = card.start("memcopy", src=source, dst=target, bytes=source.nbytes, iterations=1)
    assert source[150_000] == 150_000
    assert target[150_000] in (0, 150_000)
    assert launch.result().cycles > 0
    assert (target == source).all()
    assert card.migrations()["waited"] == before


def test_children_have_the_memory(card):
    values = np.arange(100_000, dtype="int64")
    card.migrate_to_device(values)
    assert away(card, values) > 0
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(np.sum, (values,)) == values.sum()
    card.migrate_to_device(values)
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    assert values.sum() == 100_000 * 99_999 // 2


def test_by_hand(card):
    values = np.arange(100_000, dtype="int64")
    assert [run.where for run in card.residency(values)] == ["host"]
    card.prefetch(values)
    assert away(card, values) > 0
    card.migrate_to_host(values)
    assert away(card, values) == 0
    card.advise(values, "will_need")
    card.discard(values)
    assert values[50_000] == 0
    with pytest.raises(ArgumentError, match="will_need"):
        card.advise(values, "maybe")


def test_what_is_mostly_read_is_on_both_sides_until_somebody_writes(card):
    mapping = mmap.mmap(-1, 64 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    values = np.frombuffer(mapping, np.int64)
    values[:] = np.arange(len(values))
    card.advise(values, "read_mostly")
    arguments = {"values": values, "count": len(values), "dtype": 1}
    assert card.launch("array_sum", **arguments).sum == values.sum()
    assert {run.where for run in card.residency(values)} == {"both"}
    before = card.migrations()
    assert card.launch("array_sum", **arguments).sum == values.sum()
    assert card.migrations() == before
    assert before["duplicated"] >= values.nbytes
    values[0] = 5
    assert card.residency(values)[0].where == "host"
    assert card.launch("array_sum", **arguments).sum == values.sum()
    card.advise(values, "migrate")


def test_the_log_says_what_the_counts_say(card):
    before, earlier = card.migrations(), len(card.migration_log())
    values = np.frombuffer(mmap.mmap(-1, 100 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.int64)
    values[: len(values) // 2] = 3
    assert card.launch("array_sum", values=values, count=len(values), dtype=1).sum == values.sum()
    card.migrate_to_host(values)
    after, log = card.migrations(), card.migration_log()[earlier:]
    assert [move.time_ps for move in log] == sorted(move.time_ps for move in log)
    went = sum(move.nbytes for move in log if move.to_device)
    assert went == sum(move.nbytes for move in log if not move.to_device)
    assert residency_over_time(log)[-1][1] == 0
    copied = sum(after["to_device"].values()) - sum(before["to_device"].values())
    assert copied == sum(move.nbytes for move in log if move.to_device and move.copied)
    assert went == copied + after["cleared"] - before["cleared"]
    steps = {name: after["time_ps"][name] - value for name, value in before["time_ps"].items()}
    assert steps["request"] > 0 or not card.config["host"]["interrupt_ns"]
    assert steps["link"] > 0


def test_a_page_that_kernel_and_program_fight_for_moves_alone(card):
    source = np.frombuffer(mmap.mmap(-1, 32 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), np.uint8)
    source[:] = 5
    target = np.zeros_like(source)
    before = card.migrations()
    launch = card.start("memcopy", src=source, dst=target, bytes=source.nbytes, iterations=300)
    while not launch.done():
        source[3 * PAGE] = 5
    launch.result()
    after = card.migrations()
    assert after["thrashing"] > before["thrashing"]
    assert after["throttled"] > before["throttled"]
    assert (target == 5).all()


def test_a_file_takes_what_is_away(card, tmp_path):
    if not card.shared_memory.with_system_calls:
        pytest.skip("this process may not")
    values = np.arange(100_000, dtype="int64")
    card.migrate_to_device(values)
    values.tofile(tmp_path / "values")
    assert (np.fromfile(tmp_path / "values", dtype="int64") == np.arange(100_000)).all()


def test_what_is_no_memory_is_refused_with_words(card):
    values = np.arange(100, dtype="int64")
    with pytest.raises(ArgumentError, match="view with gaps"):
        card.launch("array_sum", values=values[::2], count=50, dtype=1)
    with pytest.raises(ArgumentError, match="not a numpy array"):
        card.launch("array_sum", values=[1, 2], count=2, dtype=1)
    with pytest.raises(ArgumentError, match="Python objects"):
        card.launch("array_sum", values=np.array([None]), count=1, dtype=1)
    values.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        copy_on(card, values, values)
    assert card.launch("array_sum", values=values, count=100, dtype=1).sum == 4950


def test_a_card_that_does_not_share_says_how():
    with godwit.open("sim:default") as card:
        with pytest.raises(ArgumentError, match="shared=True"):
            card.launch("array_sum", values=np.arange(3), count=3, dtype=1)
        with pytest.raises(ArgumentError, match="shared=True"):
            card.prefetch(np.arange(3))


def test_memory_is_home_when_the_card_is_closed():
    values = np.arange(100_000, dtype="int64")
    with godwit.open("sim:default", shared=True) as card:
        card.launch("array_sum", values=values, count=len(values), dtype=1)
    assert values.sum() == 100_000 * 99_999 // 2


def test_a_run_on_shared_memory_stands_beside_explicit_copies():
    from godwit.run import memcopy
    from godwit.run.workload import Setup

    nbytes = 40 * PAGE
    found = memcopy.run(Setup(memory="shared"), size_bytes=nbytes)
    figures = {figure.name: figure.value for figure in found.figures}
    assert figures["copied_time"] > 0
    assert figures["shared_time"] > 0
    # The input goes, the output is never touched before and comes home.
    assert figures["to_device_request"] == nbytes
    assert figures["pages_cleared"] == nbytes
    assert figures["to_host_touch"] == nbytes
    assert 0 < figures["pages_batches"] <= figures["pages_requests"]
    copied = memcopy.run(Setup(memory="copy"), size_bytes=nbytes)
    assert "shared_time" not in {figure.name for figure in copied.figures}
