# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel split_text, with pyarrow as the reference."""

from dataclasses import dataclass

import cocotb
import numpy as np
import pyarrow as pa
from axi_memory import Policy
from cocotb_split import GUARD, OPS, TYPES, Case, column
from kernel_bench import Kernel

OFFSETS, BITS, TEXT = 0x4_0000, 0x4_8000, 0x5_0000
PLACES = (0x7_0000, 0x8_0000, 0xA_0000, 0xB_0000)  # matches: offsets, text; rest: offsets, text
BIT_PLACES = (0xE_0000, 0xF_0000)  # validity of matches and of rest
OUTPUTS = (
    *("matches_offsets", "matches_text", "rest_offsets", "rest_text"),
    *("matches_validity", "rest_validity"),
)


@dataclass
class Texts(Case):
    """One launch: a column that is compared, and the text beside it. Their slices begin at the same row."""

    text: pa.Array | None = None
    offsets_at: int = OFFSETS
    bits_at: int = BITS
    text_at: int = TEXT
    places: tuple[int, ...] = PLACES + BIT_PLACES

    @property
    def numbers(self) -> np.ndarray:
        """Offsets from those of the slice's first row on."""
        assert self.text is not None
        return np.frombuffer(self.text.buffers()[1], "i4", len(self.text) + 1, 4 * self.text.offset)

    def place(self, memory: bytearray) -> dict[str, int]:
        """As `Case.place`, with offsets and the text's bitmap as they are, and the text from the first row's first byte on."""
        args = super().place(memory)
        assert self.text is not None and self.text.offset == self.array.offset
        bits, offsets, data = self.text.buffers()
        begin, end = int(self.numbers[0]), int(self.numbers[-1])
        memory[self.offsets_at : self.offsets_at + offsets.size] = offsets.to_pybytes()
        memory[self.text_at : self.text_at + end - begin] = data.to_pybytes()[begin:end] if data else b""
        if bits is not None:
            memory[self.bits_at : self.bits_at + bits.size] = bits.to_pybytes()
        for name in ("matches", "rest"):
            del args[name]
        return {
            **args,
            **dict(zip(OUTPUTS, self.places, strict=True)),
            "text_validity": self.bits_at if bits is not None else 0,
            "offsets": self.offsets_at,
            "text": self.text_at,
            "text_bytes": end - begin,
        }

    def sides(self) -> list[pa.Array]:
        """The text of the rows that match and of the others, by pyarrow, from offset 0 on."""
        assert self.text is not None
        return [self.text.take(pa.array(rows)) for rows in self.expected()]

    def wanted(self) -> list[bytes]:
        """What each output holds, in the order of `OUTPUTS`: a NULL's bytes go with its row. No bitmaps without one of the text."""
        assert self.text is not None
        data = self.text.buffers()[2]
        whole, numbers = data.to_pybytes() if data else b"", self.numbers
        parts, bitmaps = [], []
        for rows in self.expected():
            texts = [whole[numbers[row] : numbers[row + 1]] for row in rows]
            parts += [np.cumsum([0, *map(len, texts)]).astype("i4").tobytes(), b"".join(texts)]
            valid = self.text.is_valid().to_numpy(zero_copy_only=False)[rows]
            bitmaps.append(np.packbits(valid.astype(bool), bitorder="little").tobytes())
        return parts + (bitmaps if self.text.buffers()[0] is not None and len(self.text) else [b"", b""])

    def compare(self, memory: bytearray) -> None:
        """What is at `places` are whole Arrow arrays, equal to those of pyarrow."""
        assert self.text is not None
        parts = [
            pa.py_buffer(bytes(memory[start : start + len(data)]))
            for start, data in zip(self.places, self.wanted(), strict=True)
        ]
        for side, array in enumerate(self.sides()):
            bits = parts[4 + side] if self.text.buffers()[0] is not None else None
            made = pa.Array.from_buffers(pa.utf8(), len(array), [bits, *parts[2 * side : 2 * side + 2]])
            made.validate(full=True)
            assert made.equals(array)


def texts(kernel: Kernel, rows: int, longest: int) -> pa.Array:
    """Random texts up to `longest` bytes, many of them empty, of letters with one and two bytes."""
    pool = "".join(kernel.random.choices("abcdefghijéß", k=4096))
    found = []
    for _ in range(rows):
        start, length = kernel.random.randrange(2048), kernel.random.randrange(longest + 1)
        found.append("" if kernel.random.random() < 0.2 else pool[start : start + length])
    return pa.array(found, pa.utf8())


async def check(kernel: Kernel, case: Texts, policy=None, **more) -> dict:
    """One launch, checked against pyarrow: bytes of all outputs and around them, and the arrays on them."""
    memory = kernel.memory.data
    args = case.place(memory)
    wanted = case.wanted()
    before = []
    for start, data in zip(case.places, wanted, strict=True):
        before.append(kernel.random.randbytes(len(data) + 2 * GUARD))
        memory[start - GUARD : start + len(data) + GUARD] = before[-1]
    found = await kernel.launch(policy, **args, **more)
    assert found["status"] == 0
    assert found["match_count"] == len(case.sides()[0])
    assert found["match_bytes"] == len(wanted[1])
    for start, data, old in zip(case.places, wanted, before, strict=True):
        around = old[:GUARD] + data + old[GUARD + len(data) :]
        assert bytes(memory[start - GUARD : start + len(data) + GUARD]) == around, (
            f"wrong bytes at {start:#x}"
        )
    case.compare(memory)
    return found


def with_nulls(kernel: Kernel, text: pa.Array) -> pa.Array:
    """The same bytes and offsets, a third of the rows NULL: some NULLs have bytes, as Arrow allows."""
    valid = np.array([kernel.random.random() < 0.7 for _ in range(len(text))], bool)
    bits = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(text.type, len(text), [bits, *text.buffers()[1:]])


def case(
    kernel: Kernel, dtype: pa.DataType, rows: int, longest: int, *, nulls: bool | None = None, **more
) -> Texts:
    """A random column with a text beside it, in which there may be NULLs, if IDs are wide enough, unless `nulls` says."""
    values = column(kernel, dtype, rows, kernel.random.random() < 0.5)
    text = texts(kernel, rows, longest)
    if nulls is None:
        nulls = nullable(kernel) and kernel.random.random() < 0.5
    if nulls:
        text = with_nulls(kernel, text)
    return Texts(values, kernel.random.randrange(len(OPS)), 0, text=text, **more)


def nullable(kernel: Kernel) -> bool:
    """Whether text may be NULL: bitmaps need IDs of their own."""
    return len(kernel.dut.m_axi_gmem_ARID) > 2


@cocotb.test()
async def sizes(dut):
    """No row, one, and sizes around beats of values and offsets; rows that are empty, short, and longer than beats."""
    kernel = await Kernel.create(dut, "split_text")
    for dtype in (pa.int32(), pa.float64()):
        for rows in (0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 127, 128, 129):
            for longest in (0, 3, 64, 200):
                await check(kernel, case(kernel, dtype, rows, longest, nulls=longest in (3, 200)))


@cocotb.test()
async def all_or_none_match(dut):
    """One side full and the other empty, both ways, and a column of NULLs only."""
    kernel = await Kernel.create(dut, "split_text")
    for rows in (1, 16, 160, 500):
        for op, matches in ((1, rows), (2, 0)):
            full = Texts(pa.array(np.arange(rows), pa.int32()), op, 0, text=texts(kernel, rows, 20))
            assert (await check(kernel, full))["match_count"] == matches
        nothing = Texts(pa.array([None] * rows, pa.int64()), 5, 1, text=texts(kernel, rows, 20))
        assert (await check(kernel, nothing))["match_count"] == 0
        for text in ([None] * rows, ["x"] * rows):
            bits = pa.py_buffer(bytes([0 if text[0] is None else 0xFF] * ((rows + 7) // 8)))
            array = pa.array(text, pa.utf8())
            array = pa.Array.from_buffers(array.type, rows, [bits, *array.buffers()[1:]])
            await check(kernel, Texts(pa.array(np.arange(rows) % 3, pa.int32()), 4, 1, text=array))


@cocotb.test()
async def random_launches(dut):
    """Random columns, slices, buffer addresses and operators on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "split_text")
    for _ in range(40):
        dtype = kernel.random.choice(TYPES)
        whole = case(kernel, dtype, kernel.random.randrange(1, 1500), kernel.random.choice([4, 20, 100]))
        offset = kernel.random.randrange(len(whole.array))
        whole.array, whole.text = whole.array.slice(offset), whole.text.slice(offset)
        whole.values += whole.array.type.bit_width // 8 * kernel.random.randrange(100)
        whole.offsets_at += 4 * kernel.random.randrange(100)
        whole.text_at += kernel.random.randrange(200)
        whole.bits_at += kernel.random.randrange(200)
        whole.places = tuple(start + kernel.random.randrange(200) for start in (*PLACES, *BIT_PLACES))
        await check(kernel, whole, kernel.random_policy(), max_cycles=400_000)


@cocotb.test()
async def one_row_a_cycle(dut):
    """Ideal memory: short rows go through one a cycle, long ones a beat of text a cycle and one more for its row."""
    kernel = await Kernel.create(dut, "split_text")
    for length, rows, nulls in ((4, 4000, False), (4, 4000, True), (16, 2000, False), (256, 200, False)):
        text = pa.array(["x" * length] * rows)
        if nulls:
            text = with_nulls(kernel, text)
        values = pa.array(np.arange(rows) % 2, pa.int32())
        found = await check(kernel, Texts(values, 4, 1, text=text), Policy(latency=20))
        dut._log.warning(f"{rows} rows of {length} bytes, NULLs {nulls}: {found['cycles']} cycles")
        assert found["cycles"] <= rows + length * rows // 64 + 2 * 20 + 2 * 64 + 40


@cocotb.test()
async def bad_arguments_touch_nothing(dut):
    """Too many rows or bytes, unknown types and operators: status 3 without a single access."""
    kernel = await Kernel.create(dut, "split_text")
    good = case(kernel, pa.int32(), 10, 5).place(kernel.memory.data)
    no_ids = [] if nullable(kernel) else [{"text_validity": BITS}]
    for bad in ({"rows": 1 << 32}, {"dtype": 4}, {"op": 6}, {"text_bytes": 1 << 31}, *no_ids):
        found = await kernel.launch(**{**good, **bad})
        assert found["status"] == 3
        assert not kernel.memory.read_bursts and not kernel.memory.write_bursts


@cocotb.test()
async def offsets_that_do_not_fit_the_text_end_with_status_3(dut):
    """More or fewer bytes than the offsets say, offsets that fall: the run ends, nothing hangs, and the next one is right."""
    kernel = await Kernel.create(dut, "split_text")
    rows = 100
    text = pa.array(["abcdefgh"] * rows)
    values = pa.array(np.arange(rows), pa.int32())
    for change in (-800, -1, 1, 64, 100):
        args = Texts(values, 0, 50, text=text).place(kernel.memory.data)
        found = await kernel.launch(**{**args, "text_bytes": args["text_bytes"] + change})
        assert found["status"] == 3, change
        await check(kernel, case(kernel, pa.int32(), 40, 30))
    args = Texts(values, 0, 50, text=text).place(kernel.memory.data)
    kernel.memory.data[OFFSETS + 40 : OFFSETS + 44] = (1).to_bytes(4, "little")
    assert (await kernel.launch(**args))["status"] == 3
    await check(kernel, case(kernel, pa.int32(), 40, 30))


@cocotb.test()
async def errors_end_the_run(dut):
    """An error on any buffer gives its status and a quiet bus, and the next run is right."""
    kernel = await Kernel.create(dut, "split_text")
    text = texts(kernel, 1500, 20)
    places = PLACES
    if nullable(kernel):
        text, places = with_nulls(kernel, text), (*PLACES, *BIT_PLACES)
    bad_case = Texts(column(kernel, pa.int32(), 1500, True, special=False), 0, 0, text=text)
    reads = [(bad_case.values, 1), (bad_case.validity, 1), (OFFSETS, 1), (TEXT, 1)]
    if nullable(kernel):
        reads.append((BITS, 1))
    for base, status in [*reads, *((place, 2) for place in places)]:
        for where in (0, 40 if base in BIT_PLACES else 100):
            place = [range(base + where, base + where + 1)]
            bad = Policy(
                latency=kernel.random.choice([2, 60]),
                stall_percent=kernel.random.choice([0, 40]),
                reorder=True,
                **{"read_errors" if status == 1 else "write_errors": place},
            )
            found = await kernel.launch(bad, **bad_case.place(kernel.memory.data), max_cycles=100_000)
            assert found["status"] == status, f"error at {base + where:#x}: {found}"
            await check(kernel, case(kernel, pa.int32(), 300, 20))
