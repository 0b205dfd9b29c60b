# SPDX-License-Identifier: Apache-2.0
"""The heap in hardware as a user sees it: `godwit heap`, a full heap, limits of the configuration, Arrow on its memory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import godwit
from godwit import cards
from godwit.errors import ArgumentError, InputError, OutOfMemory

PAGE = 4096
CONFIG = Path(__file__).resolve().parents[2] / "crates/godwit/tests/heap.toml"
HEAP = 8 << 20
WAIT_CYCLES = 60_000


@pytest.fixture(scope="module")
def heap_library():
    return cards.ensure(CONFIG).library


@pytest.fixture
def card(heap_library):
    with godwit.open(f"sim:{heap_library}") as card:
        yield card


def test_a_full_heap_stops_the_kernel_and_says_why(card):
    source, target = card.malloc(2 * HEAP), card.malloc(2 * HEAP)
    with pytest.raises(
        OutOfMemory, match=rf"kernel `memcopy` got no frame of the heap within {WAIT_CYCLES} cycles"
    ):
        card.launch("memcopy", src=source, dst=target, bytes=2 * HEAP, iterations=1)
    assert card.heap().region["lacks"]
    target.free()
    target = card.malloc(PAGE)
    source.to_numpy()[0] = 3
    card.launch("memcopy", src=source, dst=target, bytes=PAGE, iterations=1)
    assert target.to_numpy()[0] == 3
    assert not card.heap().region["lacks"]


def test_a_store_of_the_program_that_finds_no_frame_ends_it_with_words(heap_library):
    program = f"""
import godwit
with godwit.open("sim:{heap_library}") as card:
    memory = card.malloc({2 * HEAP})
    print("begun", flush=True)
    memory.to_numpy()[::{PAGE}] = 1
    print("not reached")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == -signal.SIGBUS, done
    assert done.stdout == "begun\n"
    assert f"got no frame of the heap within {WAIT_CYCLES} cycles" in done.stderr
    assert "SIGBUS: the program's touch of 0x2000" in done.stderr and "heap.memory_bytes" in done.stderr


def test_frames_taken_ahead_are_there_or_refused(card):
    memory = card.malloc(2 * HEAP)
    memory.populate(1 << 20, offset=PAGE)
    report = card.heap()
    assert [(each.asked_bytes, each.taken_bytes) for each in report.allocations] == [(2 * HEAP, 1 << 20)]
    memory.to_numpy()[PAGE : PAGE + (1 << 20)] = 5
    assert card.heap().region["taken"] == 1 << 20
    with pytest.raises(OutOfMemory, match="0 are free"):
        memory.populate()
    with pytest.raises(ArgumentError, match="not in heap memory"):
        memory.populate(PAGE, offset=2 * HEAP)
    assert (memory.to_numpy()[PAGE : PAGE + (1 << 20)] == 5).all()


def test_arrow_on_heap_memory_is_the_memory(card):
    memory = card.malloc(1 << 30)
    view = memory.to_numpy("int32", 1000)
    view[:] = range(1000)
    array = memory.to_arrow(pa.int32(), 1000)
    assert array.buffers()[1].address == memory.address and len(array) == 1000
    view[7] = -7
    assert array[7].as_py() == -7
    del view
    with pytest.raises(ArgumentError, match="live numpy views"):
        memory.free()
    with pytest.raises(ArgumentError, match="it holds"):
        memory.to_arrow(pa.int64(), 1 << 40)
    for data_type in (
        pa.utf8(),
        pa.dictionary(pa.int8(), pa.utf8()),
        pa.struct([("a", pa.int8())]),
        pa.null(),
    ):
        with pytest.raises(ArgumentError, match="not one buffer of fixed width"):
            memory.to_arrow(data_type, 1)
    del array
    memory.free()


def test_the_report_adds_up(card):
    large, grouped, small = (
        card.malloc(PAGE),
        card.malloc(20 << 30, granule=64 << 10),
        card.malloc(9, small=True),
    )
    other = card.context()
    theirs = other.malloc(3 * PAGE)
    for memory, count in ((large, 1), (grouped, 1), (small, 1), (theirs, 3 * PAGE)):
        memory.to_numpy()[:count] = 1
    report = card.heap()
    assert [(each.asked_bytes, each.taken_bytes, each.small) for each in report.allocations] == [
        (PAGE, PAGE, False),
        (20 << 30, 64 << 10, False),
        (9, PAGE, True),
        (3 * PAGE, 3 * PAGE, False),
    ]
    assert len({each.context for each in report.allocations}) == 2
    assert [(each.count, each.used) for each in report.slots] == [(1024, 1 + 4 + 1), (1024, 1)]
    region = report.region
    assert region["bytes"] == HEAP == region["free"] + region["taken"] + region["tables"] + region["in_hand"]
    assert region["clean"] + region["dirty"] == region["free"]
    free = sum(size * count for size, count in report.groups.items())
    assert free == region["free"] + region["in_hand"]
    assert report.largest_free_bytes == 2 << 20
    assert report.internal_percent == pytest.approx(100 * (PAGE - 9) / region["taken"])
    other.close()
    assert len({each.context for each in card.heap().allocations}) == 1


def test_strict_memory_and_a_quota_are_what_the_configuration_says():
    settings = ["heap.strict=true", "heap.quota=3"]
    library = cards.ensure(CONFIG, settings).library
    with godwit.open(f"sim:{library}") as card:
        with pytest.raises(OutOfMemory, match="is strict"):
            card.malloc(HEAP + PAGE)
        most = card.malloc(HEAP // 2)
        with pytest.raises(OutOfMemory, match="is strict"):
            most.realloc(2 * HEAP)
        kept = [card.malloc(1), card.malloc(1)]
        with pytest.raises(OutOfMemory, match="as many allocations as it may"):
            card.malloc(1)
        card.context().malloc(1)
        kept.pop().free()
        card.malloc(1)


def test_the_command_shows_the_heap_before_and_after(call, heap_library):
    done = call("heap", "--config", CONFIG, "--json", "--events")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    before, after = report["heap"], report["after_frees"]
    assert [slots["used"] for slots in before["slots"]] == [3, 5]
    assert [slots["used"] for slots in after["slots"]] == [1, 0]
    assert before["region"]["taken"] > after["region"]["taken"] == 8 * PAGE
    assert after["region"]["dirty"] == 0 and not after["region"]["reclaiming"]
    events = [event["event"] for event in report["events"]]
    counters = report["counters"]
    for event, counter in (("command", "commands"), ("touch", "touches"), ("parked", "parked")):
        assert events.count(event) == counters[counter], event
    # 8 of malloc, 2 of realloc, 6 of free; the other context's end frees one that nobody commanded.
    assert counters["commands"] == 16 and counters["refused"] == 0
    assert counters["touches"] >= 3
    for event, counter in (("reclaim", "reclaimed"), ("scrub", "scrubbed")):
        frames = sum(each["value"] for each in report["events"] if each["event"] == event)
        assert frames == counters[counter] > 0
    cycles = [event["cycle"] for event in report["events"]]
    assert cycles == sorted(cycles)


def test_the_command_prints_tables_and_says_what_is_wrong(call, heap_library):
    done = call("heap", "--config", CONFIG)
    assert done.returncode == 0, done.stderr
    for part in (
        "before the frees: 8 MiB",
        "slots: 3 of 1024 of 8 GiB, 5 of 1024 of 64 KiB",
        "free groups:",
        "asked",
    ):
        assert part in done.stdout, done.stdout
    done = call("heap", "--config", "tiny")
    assert done.returncode == 1 and "a heap needs walker.levels = 4" in done.stderr
    done = call("heap", "--config", CONFIG, "--set", "heap.slots=0")
    assert done.returncode == 1 and "a card without a heap" in done.stderr


def test_a_card_without_a_heap_says_so(library):
    with godwit.open(f"sim:{library}") as card:
        with pytest.raises(InputError, match="has no heap"):
            card.heap()
        with pytest.raises(godwit.errors.DeviceError, match=r"heap\.slots"):
            card.malloc(1)


def test_looking_changes_nothing(card):
    memory = card.malloc(4 * PAGE)
    memory.to_numpy()[:] = 1
    first, second = card.heap(), card.heap()
    assert first == second
    assert np.array_equal(memory.to_numpy(), np.ones(4 * PAGE, np.uint8))


@pytest.fixture
def table(tmp_path):
    rows = np.arange(70_000) % 997 - 300
    path = tmp_path / "in.parquet"
    mask = np.arange(len(rows)) % 13 == 0
    pq.write_table(pa.table({"x": pa.array(rows, pa.int32(), mask=mask), "row": np.arange(len(rows))}), path)
    return path


def test_a_heap_is_added_for_outputs_that_are_to_be_there(heap_library):
    from godwit.run import on_heap
    from godwit.run.workload import Setup

    for outputs, overrides in (
        ("heap", ("heap.slots=1024",)),
        ("malloc", ("heap.slots=1024",)),
        ("mapped", ()),
        (None, ("heap.slots=1024",)),
    ):
        setup, there = on_heap.prepared(Setup(), outputs)
        assert (setup.overrides, there) == (overrides, outputs != "mapped")
    # What cannot have one, or is to have none, has none.
    for without in (Setup(config="tiny"), Setup(overrides=("heap.slots=0",)), Setup(memory="copy")):
        assert on_heap.prepared(without, None) == (without, False)
    with_one = Setup(config=str(CONFIG))
    assert on_heap.prepared(with_one, None) == (with_one, True) == on_heap.prepared(with_one, "heap")


def split(call, table, *more):
    return call(
        "run", "split", "--input", table, "--column", "x", "--where", "> 15", "--output-dir", table.parent / "out",
        "--config", CONFIG, "--json", *more,
    )  # fmt: skip


def test_split_writes_outputs_that_nobody_sized(call, table, heap_library):
    done = split(call, table, "--row-numbers")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    value = {name: each["value"] for name, each in report["figures"].items()}
    assert report["outputs_on"] == "heap"
    written = [pq.read_table(table.parent / "out" / f"{name}.parquet") for name in ("matches", "rest")]
    wanted = [value is not None and value > 15 for value in pq.read_table(table)["x"].to_pylist()]
    assert written[0]["row"].to_pylist() == [row for row, match in enumerate(wanted) if match]
    assert written[1]["row"].to_pylist() == [row for row, match in enumerate(wanted) if not match]
    rows = len(wanted)
    assert value["outputs_asked"] == 4 * rows and value["outputs_mapped"] >= 8 * rows
    groups = sum(-(-4 * len(table) // (64 << 10)) for table in written)
    assert value["outputs_taken"] == groups * (64 << 10)
    # Two tables for each of the two slots, and the one that all slots share.
    assert value["outputs_peak"] - value["outputs_taken"] == 5 * PAGE
    assert value["first_touches"] == groups
    assert 0.9 < value["heap_ratio"] < 1.5


def test_split_writes_rows_into_outputs_that_nobody_sized(call, table, heap_library):
    done = split(call, table, "--rows", "--set", 'card.kernels=["split_rows","split_text"]')
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    value = {name: each["value"] for name, each in report["figures"].items()}
    assert report["outputs_on"] == "heap"
    column = pq.read_table(table)["x"]
    mask = pc.fill_null(pc.greater(column, 15), False)
    written = [pq.read_table(table.parent / "out" / f"{name}.parquet")["x"] for name in ("matches", "rest")]
    assert written[0].equals(column.filter(mask)) and written[1].equals(column.filter(pc.invert(mask)))
    # S_B + S_C: the values of A once, and a bit for each row that may be null.
    bitmap = (len(written[1]) + 7) // 8
    assert value["outputs_asked"] == 4 * len(column) + bitmap <= report["input_bytes"]
    groups = sum(-(-size // (64 << 10)) for size in (4 * len(written[0]), 4 * len(written[1]), bitmap))
    assert value["outputs_taken"] == groups * (64 << 10)
    assert value["first_touches"] == groups
    assert value["outputs_mapped"] >= 8 * len(column)
    assert 0.9 < value["heap_ratio"] < 1.5


def test_arrow_with_validity_on_heap_memory_is_the_memory(card):
    memory, bits = card.malloc(1 << 20), card.malloc(1)
    memory.to_numpy("int64", 8)[:] = range(8)
    bits.to_numpy()[0] = 0b1010_0101
    array = memory.to_arrow(pa.int64(), 7, bits)
    assert array.to_pylist() == [0, None, 2, None, None, 5, None]
    assert [buffer.address for buffer in array.buffers()] == [bits.address, memory.address]
    with pytest.raises(ArgumentError, match="live numpy views"):
        bits.free()
    with pytest.raises(ArgumentError, match="it has 8 bits"):
        memory.to_arrow(pa.int64(), 9, bits)
    del array
    bits.free()
    memory.free()


def test_split_on_mapped_outputs_and_what_cannot_be(call, table, heap_library):
    done = split(call, table, "--outputs", "mapped")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["outputs_on"] == "mapped"
    assert "heap_cycles" not in report["figures"]
    for more, words in (
        (("--outputs", "heep"), "no outputs 'heep'"),
        (("--outputs", "heap", "--memory", "copy"), "does not go with --memory copy"),
        (("--outputs", "heap", "--set", "heap.slots=0"), "a card without a heap"),
    ):
        done = split(call, table, *more)
        assert done.returncode == 1 and words in done.stderr, done.stderr
