# SPDX-License-Identifier: Apache-2.0
"""`godwit run split --outputs malloc`, kernels `split_malloc` and `split_text_malloc`: outputs that a kernel allocates, the program takes
over, and frees.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import godwit
from godwit.card import plan
from godwit.card.interface import KernelError
from godwit.errors import ArgumentError, OutOfMemory, StatusError
from godwit.spec import layout

CONFIG = Path(__file__).resolve().parents[2] / "crates/godwit/tests/heap.toml"
KERNELS = 'card.kernels=["split_rows","split_text","split_malloc","split_text_malloc"]'
OUTPUTS = ("matches", "rest", "rest_validity")
TEXT_OUTPUTS = tuple(f"{side}_{part}" for side in OUTPUTS[:2] for part in ("offsets", "text", "validity"))
KIB, MIB = 1 << 10, 1 << 20
REFUSALS = {c.name: c.value for g in layout.load() if g.name == "heap" for c in g.constants}


@pytest.fixture(scope="module")
def library():
    from godwit import cards

    return cards.ensure(CONFIG, [KERNELS]).library


@pytest.fixture
def card(library):
    with godwit.open(f"sim:{library}") as card:
        yield card


def above(card, array, constant=0, context=None):
    """The rows of an int64 array above a constant, by the kernel: its result."""
    context = context or card.default_context
    column = context.put(array).column()
    return context.launch("split_malloc", **column, op=0, constant=constant)


def settle(card):
    """What is free of the heap when all that was freed is back."""
    for _ in range(20):
        card.native.run(10_000)
    return card.heap_free()


@pytest.mark.parametrize("data_type", [pa.int32(), pa.int64(), pa.float32(), pa.float64()], ids=str)
def test_both_files_hold_exactly_the_rows_that_python_puts_there(call, tmp_path, seed, data_type):
    rng = np.random.default_rng(seed)
    for nullable in (True, False):
        values = rng.integers(-4, 5, 900).astype(object)
        if pa.types.is_floating(data_type):
            values[rng.random(900) < 0.1] = math.nan
        if nullable:
            values[rng.random(900) < 0.2] = None
        array = pa.array(values.tolist(), data_type)
        pq.write_table(pa.table({"x": array}), tmp_path / "in.parquet")
        done = call(
            "run", "split", "--outputs", "malloc", "--input", tmp_path / "in.parquet", "--column", "x", "--where", "> 1",
            "--output-dir", tmp_path / "out", "--config", CONFIG, "--set", KERNELS, "--json",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        sides = [], []
        for value in array.to_pylist():
            sides[not (value is not None and value > 1)].append(repr(value))
        for name, wanted in zip(("matches", "rest"), sides, strict=True):
            found = pq.read_table(tmp_path / "out" / f"{name}.parquet")["x"].to_pylist()
            assert [repr(value) for value in found] == wanted
        assert report["outputs_on"] == "malloc"
        figures = {name: figure["value"] for name, figure in report["figures"].items()}
        assert {"cycles", "heap_cycles", "malloc_cycles", "malloc_ratio"} <= set(figures)
        # malloc and the cut to its length, of each output.
        assert figures["malloc_commands"] == 2 * (2 + nullable) and figures["malloc_grown"] == 0
        # 64 KiB a granule, as when the host allocates them.
        assert figures["malloc_taken"] == (2 + nullable) * 64 * KIB == figures["outputs_taken"]


@pytest.mark.parametrize(
    ("numbers", "names"),
    [
        ([], []),
        ([None, None, None], ["a", None, ""]),
        ([2, 3, 4], [None, None, None]),
        ([0, 1, None], ["", "", ""]),
        (None, None),
    ],
    ids=["no row", "numbers all null", "text all null", "no byte, one side", "900 rows"],
)
def test_a_text_column_is_split_beside_it(call, tmp_path, seed, numbers, names):
    if numbers is None:
        rng = np.random.default_rng(seed)
        numbers = [None if rng.random() < 0.2 else int(rng.integers(-4, 5)) for _ in range(900)]
        pool = "aé€𝄞" * 100
        names = [
            None if rng.random() < 0.3 else pool[: rng.integers(0, rng.choice([3, 200]))] for _ in numbers
        ]
    path = tmp_path / "in.parquet"
    table = pa.table({"name": pa.array(names, pa.string()), "x": pa.array(numbers, pa.int64())})
    pq.write_table(table, path)
    done = call(
        "run", "split", "--outputs", "malloc", "--input", path, "--column", "x", "--where", "> 1", "--text", "name",
        "--output-dir", tmp_path / "out", "--config", CONFIG, "--set", KERNELS, "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    mask = pc.fill_null(pc.greater(table["x"], 1), False)
    for name, wanted in (("matches", mask), ("rest", pc.invert(mask))):
        found = pq.read_table(tmp_path / "out" / f"{name}.parquet")
        assert found.equals(table.select(["x", "name"]).filter(wanted))
    assert report["outputs_on"] == "malloc"
    figures = {name: figure["value"] for name, figure in report["figures"].items()}
    assert {f"text_{name}" for name in ("cycles", "heap_cycles", "malloc_cycles", "malloc_ratio")} <= set(
        figures
    )
    # malloc of each output, what it was given more, and the cut to its length or its end.
    grown = figures["text_malloc_grown"]
    assert figures["text_malloc_commands"] == 2 * (6 if None in names else 4) + grown
    assert figures["text_malloc_taken"] == figures["text_outputs_taken"]


@pytest.mark.parametrize("rows", [[], [None, None], [5], [0, None]], ids=str)
def test_an_output_without_rows_has_no_memory(card, rows):
    array = pa.array(rows, pa.int64())
    result = above(card, array, 1)
    matches = sum(row is not None and row > 1 for row in rows)
    assert result.match_count == matches
    assert bool(result.matches) == (matches > 0) and bool(result.rest) == (matches < len(rows))
    assert bool(result.rest_validity) == (None in rows)


def test_outputs_grow_are_arrow_arrays_of_exactly_their_length_and_are_freed_by_their_caller(card, seed):
    rng = np.random.default_rng(seed)
    before = settle(card)
    values = rng.integers(-100, 100, 100_000)
    array = pa.array(values, mask=rng.random(len(values)) < 0.1)
    result = above(card, array, 50)
    mask = pa.compute.fill_null(pa.compute.greater(array, 50), False)
    wanted = array.filter(mask), array.filter(pa.compute.invert(mask))
    count = result.match_count
    assert result.grown >= 5
    memory = {
        name: card.adopt(result.results[name], nbytes)
        for name, nbytes in zip(
            OUTPUTS, (8 * count, 8 * (len(array) - count), (len(array) - count + 7) // 8), strict=True
        )
    }
    sizes = {each.address: each.asked_bytes for each in card.heap().allocations}
    assert sizes == {each.address: each.nbytes for each in memory.values()}
    found = (
        memory["matches"].to_arrow(array.type, count),
        memory["rest"].to_arrow(array.type, len(array) - count, memory["rest_validity"]),
    )
    for got, expected in zip(found, wanted, strict=True):
        got.validate(full=True)
        assert got.equals(expected)
    with pytest.raises(ArgumentError, match="live numpy views"):
        memory["rest"].free()
    del found, got
    # It is like any other: it grows, and what is new reads as zero.
    memory["matches"].realloc(8 * count + MIB)
    assert not memory["matches"].to_numpy("int64")[count:].any()
    for each in memory.values():
        each.free()
    assert not card.heap().allocations
    # Tables of before are the context's until it ends.
    assert settle(card) >= before - 64 * 4 * KIB


def texts(card, numbers, text, **change):
    """Arguments of split_text_malloc: rows of `text` by whether an int64 is above 0."""
    bits, offsets, data = text.buffers()
    given = {
        **card.put(numbers).column(),
        "op": 0,
        "constant": 0,
        "offsets": card.put(np.frombuffer(offsets, "i4")),
        "text": card.put(np.frombuffer(data, "u1")),
        "text_bytes": len(data),
    }
    if bits is not None:
        given["text_validity"] = card.put(np.frombuffer(bits, "u1"))
    return {**given, **change}


def test_texts_grow_are_arrow_arrays_of_exactly_their_length_and_are_freed_by_their_caller(card, seed):
    rng = np.random.default_rng(seed)
    before = settle(card)
    numbers = pa.array(rng.integers(-100, 100, 20_000))
    words = [None if rng.random() < 0.1 else "é" * int(rng.integers(0, 20)) for _ in range(len(numbers))]
    text = pa.array(words, pa.string())
    result = card.launch("split_text_malloc", **texts(card, numbers, text))
    mask = pc.greater(numbers, 0)
    wanted = {"matches": text.filter(mask), "rest": text.filter(pc.invert(mask))}
    assert result.match_count == len(wanted["matches"]) and result.grown >= 4
    text_bytes = {"matches": result.match_bytes, "rest": text.buffers()[2].size - result.match_bytes}
    memory = {}
    for side, array in wanted.items():
        rows = len(array)
        for part, nbytes in (
            ("offsets", 4 * rows + 4),
            ("text", text_bytes[side]),
            ("validity", (rows + 7) // 8),
        ):
            memory[f"{side}_{part}"] = card.adopt(result.results[f"{side}_{part}"], nbytes)
    sizes = {each.address: each.asked_bytes for each in card.heap().allocations}
    assert sizes == {each.address: each.nbytes for each in memory.values()}
    for side, array in wanted.items():
        parts = [
            pa.py_buffer(memory[f"{side}_{part}"].to_numpy()) for part in ("validity", "offsets", "text")
        ]
        found = pa.Array.from_buffers(pa.string(), len(array), parts)
        found.validate(full=True)
        assert found.equals(array)
        del found, parts
    for each in memory.values():
        each.free()
    assert not card.heap().allocations
    assert settle(card) >= before - 64 * 4 * KIB


def test_what_is_adopted_must_be_the_contexts_own(card):
    result = above(card, pa.array([1, 2, 3]))
    with pytest.raises(ArgumentError, match="nothing is allocated there"):
        card.adopt(result.matches + (8 << 30) * 500, 8)
    with pytest.raises(ArgumentError, match="named by its first byte"):
        card.adopt(result.matches + 8, 8)
    with pytest.raises(ArgumentError, match="at least one byte"):
        card.adopt(result.matches, 0)
    with card.context() as other, pytest.raises(ArgumentError, match="another context's"):
        other.adopt(result.matches, 8)
    for address in (-1, 1 << 64):
        with pytest.raises(ArgumentError, match="no address"):
            card.adopt(address, 8)
    with card.adopt(result.matches, 3 * 8) as memory:
        assert memory.to_numpy("int64").tolist() == [1, 2, 3]
        with pytest.raises(ArgumentError, match="already"):
            card.adopt(result.matches, 3 * 8)
    with pytest.raises(ArgumentError, match="nothing is allocated there"):
        card.adopt(result.matches, 3 * 8)


def test_addresses_that_this_process_uses_are_refused_and_the_memory_stays_the_kernels(card):
    import mmap
    from ctypes import CDLL, c_int, c_size_t, c_void_p, get_errno

    fixed = 0x100000 | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # MAP_FIXED_NOREPLACE
    library = CDLL(None, use_errno=True)
    library.mmap.restype = c_void_p
    library.mmap.argtypes = [c_void_p, c_size_t, c_int, c_int, c_int, c_size_t]
    result = above(card, pa.array([1, 2, 3]))
    assert library.mmap(result.matches, 4096, 3, fixed, -1, 0) == result.matches, get_errno()
    try:
        with pytest.raises(OutOfMemory, match="address space"):
            card.adopt(result.matches, 3 * 8)
    finally:
        library.munmap(c_void_p(result.matches), c_size_t(4096))
    assert card.adopt(result.matches, 3 * 8).to_numpy("int64").tolist() == [1, 2, 3]


def test_a_refusal_ends_the_launch_with_the_heaps_sentence(card):
    array = pa.array([1, -2, 3])
    blocks = []
    with pytest.raises(OutOfMemory, match="no slot is free"):
        while True:
            blocks.append(card.malloc(4096))
    for _ in range(2):
        with pytest.raises(StatusError, match="refused it memory: no slot is free") as refused:
            above(card, array)
        assert refused.value.status == 16 + REFUSALS["no_slot"]
        assert refused.value.result.matches == refused.value.result.rest == 0
        # One slot is not enough for two outputs.
        blocks.pop().free()
        settle(card)
    # What the kernel had of the first two it gave back.
    assert above(card, array).match_count == 2
    for block in blocks:
        block.free()


def test_a_refusal_of_one_of_six_outputs_leaves_none(card):
    numbers, text = pa.array([1, -2, 3]), pa.array(["a", None, "c"])
    given = texts(card, numbers, text)
    blocks = []
    with pytest.raises(OutOfMemory, match="no slot is free"):
        while True:
            blocks.append(card.malloc(4096))
    for _ in range(6):
        with pytest.raises(StatusError, match="refused it memory: no slot is free") as refused:
            card.launch("split_text_malloc", **given)
        assert refused.value.status == 16 + REFUSALS["no_slot"]
        assert not any(refused.value.result.results[name] for name in TEXT_OUTPUTS)
        blocks.pop().free()
        settle(card)
    # All six are free again.
    assert card.launch("split_text_malloc", **given).match_count == 2
    for block in blocks:
        block.free()


def test_offsets_that_do_not_fit_their_text_leave_nothing(card):
    numbers, text = pa.array(np.arange(-50, 50)), pa.array(["abc"] * 100)
    before = settle(card)
    for text_bytes in (0, 299, 301, 1000):
        with pytest.raises(StatusError) as refused:
            card.launch("split_text_malloc", **texts(card, numbers, text, text_bytes=text_bytes))
        assert refused.value.status == 3
        assert not any(refused.value.result.results[name] for name in TEXT_OUTPUTS)
    # Each of them took two granules at least; tables are the context's until it ends.
    assert settle(card) >= before - 64 * 4 * KIB


def test_a_granule_that_does_not_exist_is_refused(card):
    column = card.put(pa.array([1, 2, 3])).column()
    with pytest.raises(StatusError, match="granule does not exist") as refused:
        card.launch("split_malloc", **column, op=0, constant=0, granule=10)
    assert refused.value.status == 16 + REFUSALS["argument"]


def test_a_heap_without_frames_stops_the_kernel_and_the_card_goes_on(card):
    array = pa.array(np.arange(-40_000, 40_000))
    with card.context() as context:
        full = context.malloc(8 * MIB)
        with pytest.raises(OutOfMemory):
            full.populate()
        with pytest.raises(OutOfMemory, match="split_malloc"):
            above(card, array, context=context)
        text = pa.array(["x" * 20] * len(array))
        with pytest.raises(OutOfMemory, match="split_text_malloc"):
            context.launch("split_text_malloc", **texts(context, array, text))
    settle(card)
    result = above(card, array)
    assert result.match_count == 39_999


def test_a_card_without_a_heap_is_refused():
    with pytest.raises(KernelError, match="split_malloc allocates memory by itself") as refused:
        plan.plan("tiny", ['card.kernels=["split_malloc"]'])
    assert "heap.slots" in (refused.value.hint or "")
