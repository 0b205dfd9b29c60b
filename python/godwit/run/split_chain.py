# SPDX-License-Identifier: Apache-2.0
"""``godwit run split-chain``: A is split into B and C, A is freed, and D is made of B and C in the memory that A had.

Kernels `split_rows` and, for a second column, `split_text`. All of it is on the heap in hardware, where nobody sizes what a kernel
writes; then once more in mapped buffers, which are as large as anything could become.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.api import OPERATOR_CODES
from godwit.arrow import DTYPE_CODES
from godwit.errors import CheckError, InputError, TooLarge, nearest
from godwit.outputs import OutputSet, check_png, placed
from godwit.report import Figure
from godwit.run import split_rows
from godwit.run.heap_tour import heap_events, with_heap
from godwit.run.memory_places import GRANULE, HeapPlace, MappedPlace, Place
from godwit.run.split import column_to_split, split_facts
from godwit.run.workload import Outcome, Setup, card_facts, launch
from godwit.units import bytes_text

if TYPE_CHECKING:
    import pyarrow as pa

    from godwit.api import Card
    from godwit.memory import Context
    from godwit.run.where import Predicate

OFFSET_BYTES = 4


@dataclass(frozen=True)
class Column:
    """A column of numbers, a predicate on it, and its rows as memory holds them."""

    name: str
    array: pa.Array
    predicate: Predicate

    @property
    def width(self) -> int:
        """Bytes of a value."""
        return self.array.type.bit_width // 8

    @cached_property
    def values(self) -> np.ndarray:
        """One unsigned number a row."""
        return split_rows.bits_of(self.array)

    @cached_property
    def valid(self) -> np.ndarray:
        """Whether a row is none of the NULLs."""
        return self.array.is_valid().to_numpy(zero_copy_only=False)

    @cached_property
    def matches(self) -> np.ndarray:
        """Whether a row matches, as pyarrow says."""
        return self.predicate.mask(self.array).to_numpy(zero_copy_only=False)

    def compared(self, values: int, rows: int, validity: int | None) -> dict[str, Any]:
        """The kernels' arguments for `rows` of it at these addresses."""
        return {
            "values": values,
            "validity": validity,
            "rows": rows,
            "offset": 0,
            "dtype": DTYPE_CODES[str(self.array.type)],
            "op": OPERATOR_CODES[self.predicate.operator],
            "constant": self.predicate.bits(self.array.type),
        }


@dataclass(frozen=True)
class Table:
    """A: the column that is split by, and the one that D is made of, which may be the same.

    Another column goes beside the first one as text does, with offsets: a row has the bytes of its value, a NULL none.
    """

    first: Column
    then: Column

    @property
    def beside(self) -> bool:
        """Whether they are two."""
        return self.first.name != self.then.name

    def parts(self) -> dict[str, np.ndarray]:
        """What A takes, by what it is."""
        found = {"values": self.first.values}
        if not self.first.valid.all():
            found["validity"] = np.packbits(self.first.valid, bitorder="little")
        if self.beside:
            found |= self.text(np.ones(len(self.first.valid), bool))
        return {name: data.view(np.uint8) for name, data in found.items()}

    def text(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The second column in the rows of a mask, as it goes beside the first."""
        valid = self.then.valid[rows]
        ends = np.cumsum(valid * self.then.width, dtype=np.int64).astype("i4")
        return {
            "offsets": np.concatenate([np.zeros(1, "i4"), ends]),
            "text": self.then.values[rows][valid],
        }

    @property
    def nbytes(self) -> int:
        """S_A."""
        return sum(data.nbytes for data in self.parts().values())


@dataclass
class Chain:
    """What one run took, and what it gave."""

    points: list[dict[str, Any]] = field(default_factory=list)
    """Steps in order: cycle, what was done, bytes of device memory that it has then, page tables among them."""
    launches: list[dict[str, Any]] = field(default_factory=list)
    made: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """D's values."""
    settle_cycles: int = 0
    """From the free of A until all of it is back."""

    @property
    def peak(self) -> int:
        """The most that it had, in bytes."""
        return max(point["bytes"] for point in self.points)

    @property
    def cycles(self) -> int:
        """Of all launches."""
        return sum(each["cycles"] for each in self.launches)


def run(
    setup: Setup,
    *,
    path: Path,
    column: str,
    where: str,
    then_column: str | None,
    then_where: str,
    output_dir: Path,
    granule: str = "4K",
    plot: Path | None = None,
) -> Outcome:
    """Splits the table in `path` on ``column`` `where` into B and C, frees it, and makes D of those rows of B and of C whose `then_column`
    matches `then_where`: ``then.parquet``.

    All of B, C, D and the rest of them is checked against pyarrow, on the heap and in mapped buffers, before anything is written.
    Raises GodwitError of some kind, and then leaves the output directory as it was.
    """
    import pyarrow as pa

    from godwit.run.memory_plot import draw

    granules = {"4K": 4096, "64K": GRANULE}
    if granule not in granules:
        raise InputError(
            f"no granule '{granule}'",
            found="granules: " + ", ".join(granules),
            hint=nearest(granule.upper(), granules),
        )
    if plot is not None:
        check_png(plot)
    table = _table(path, column, where, then_column or column, then_where)
    setup = with_heap(setup).with_kernel("split_rows", *(["split_text"] if table.beside else []))
    _require_heap(setup, table)
    with tempfile.TemporaryDirectory(prefix="godwit-chain-") as directory, OutputSet(output_dir) as files:
        events = Path(directory) / "events.arrow"
        with replace(setup, events=events).open() as card:
            most = len(table.first.values) * max(table.first.width, table.then.width)
            setup.require_memory(card, [table.nbytes, *[most] * 4, *[table.nbytes] * 4])
            setup.progress("split-chain on the heap", 0, 2)
            with card.context() as context:
                heap = _chain(card, HeapPlace(card, context, granules[granule]), context, table)
            setup.progress("split-chain in mapped buffers", 1, 2)
            with card.context() as context:
                mapped = _chain(card, MappedPlace(card, context, setup.page_size), context, table)
            setup.progress("split-chain", 2, 2)
            facts, clock_hz = card_facts(card, setup.page_size), card.clock_hz
        over_time = list(_over_time(heap, heap_events(events, heap.points[-1]["cycle"]), granules[granule]))
        made = pa.Array.from_buffers(table.then.array.type, len(heap.made), [None, pa.py_buffer(heap.made)])
        written = {"then": str(files.write("then.parquet", pa.table({table.then.name: made})))}
        try:
            with placed(plot) if plot else nullcontext() as place:
                if place:
                    draw(place, over_time, table.nbytes, clock_hz=clock_hz)
                # Neither is there without the other.
                files.commit()
        except OSError as error:
            raise InputError(
                f"cannot write '{plot}'", found=error.strerror or str(error), hint="--plot"
            ) from None
    described = {
        **split_facts(path, column, table.first.predicate, table.first.array, int(table.first.matches.sum())),
        "then": {"column": table.then.name, "where": str(table.then.predicate)},
        "made": len(made),
        "input_bytes": table.nbytes,
        "granule_bytes": granules[granule],
        "steps": heap.points,
        "steps_mapped": mapped.points,
        "launches": heap.launches,
        "memory_over_time": over_time,
        **({"plot": str(plot)} if plot else {}),
        "outputs": written,
    }
    subject = f"split-chain of {path.name}: {column} {table.first.predicate}, {table.then.name} {table.then.predicate}"
    return Outcome("split-chain", subject, described, list(_figures(table, heap, mapped)), facts)


def _table(path: Path, column: str, where: str, then_column: str, then_where: str) -> Table:
    """Both columns. Raises InputError for what the kernels do not take."""
    predicate, array = column_to_split(path, column, where)
    then_predicate, then_array = column_to_split(path, then_column, then_where, "--then-where")
    table = Table(Column(column, array, predicate), Column(then_column, then_array, then_predicate))
    text_bytes = then_array.nbytes if table.beside else 0
    if text_bytes >= 1 << 31:
        raise InputError(
            f"column '{then_column}' of '{path}' has {text_bytes:,} bytes",
            found="beside another column it has offsets of 32 bits: below 2 GiB",
            hint="split the file",
        )
    return table


def _require_heap(setup: Setup, table: Table) -> None:
    """Raises TooLarge when the heap's memory cannot hold the chain: two of A, an end of each buffer, tables."""
    from godwit.spec import config

    has = config.load(setup.config, setup.overrides).heap.memory_bytes
    needs = 2 * table.nbytes + table.nbytes // 64 + 12 * GRANULE
    if needs > has:
        enough = -(-needs // (2 << 20)) * 2
        raise TooLarge(
            f"the chain needs {bytes_text(needs)} of the heap: twice its input of {bytes_text(table.nbytes)}",
            found=f"the heap has {bytes_text(has)}",
            hint=f"less data, or a larger heap: --set heap.memory_bytes={enough}MiB",
        )


def _chain(card: Card, place: Place, context: Context, table: Table) -> Chain:
    """All steps, each checked. Raises CheckError."""
    chain = Chain()
    rows, first, then = len(table.first.values), table.first, table.then

    def step(what: str) -> None:
        chain.points.append({"cycle": card.stats()["cycles"], "what": what, "bytes": place.taken()})

    def split(kernel: str, **args: Any) -> Any:
        card.clear_counters()
        result = launch(card, context, kernel, args, "translate")
        touches = card.counters()["heap"]["touches"]
        chain.launches.append(
            {
                "kernel": kernel,
                "start_cycle": result.start_cycle,
                "end_cycle": result.end_cycle,
                "cycles": result.cycles,
                "first_touches": touches,
            }
        )
        return result

    step("begin")
    given = table.parts()
    a = {name: place.put(data) for name, data in given.items()}
    step("A is there")

    # Nobody knows what B and C become: each as large as A.
    nullable = "validity" in a
    b_and_c = {name: place.make(rows * first.width) for name in ("matches", "rest")}
    if nullable:
        b_and_c["rest_validity"] = place.make((rows + 7) // 8)
    compared = first.compared(a["values"].address, rows, a["validity"].address if nullable else None)
    outputs = {name: buffer.address for name, buffer in b_and_c.items()}
    count = split("split_rows", **compared, **{"rest_validity": None, **outputs}).match_count
    sides = {"matches": first.matches, "rest": ~first.matches}
    _require("B", count, int(first.matches.sum()))
    for name, mask in sides.items():
        _same(
            f"the values of {name}",
            place.read(b_and_c[name], int(mask.sum()) * first.width),
            first.values[mask],
        )
    if nullable:
        bits = np.packbits(first.valid[sides["rest"]], bitorder="little")
        _same("rest's validity", place.read(b_and_c["rest_validity"], len(bits)), bits)
    if table.beside:
        text = {
            f"{side}_{part}": place.make(given[part].nbytes) for side in sides for part in ("offsets", "text")
        }
        split(
            "split_text",
            **compared,
            offsets=a["offsets"].address,
            text=a["text"].address,
            text_bytes=given["text"].nbytes,
            **{name: buffer.address for name, buffer in text.items()},
        )
        for side, mask in sides.items():
            for part, wanted in table.text(mask).items():
                _same(f"the {part} of {side}", place.read(text[f"{side}_{part}"], wanted.nbytes), wanted)
        b_and_c |= text
    step("B and C are made of A")

    chain.settle_cycles = place.free(a.values())
    step("A is freed")

    if table.beside:
        # A NULL has no bytes, so what is there is valid.
        parts = [(b_and_c[f"{side}_text"], None, then.values[mask & then.valid], then.matches[mask & then.valid])
                 for side, mask in sides.items()]  # fmt: skip
    else:
        parts = [(b_and_c[side], b_and_c["rest_validity"] if nullable and side == "rest" else None, then.values[mask],
                  then.matches[mask]) for side, mask in sides.items()]  # fmt: skip
    total = sum(len(values) for _, _, values, _ in parts)
    made = {name: place.make(total * then.width) for name in ("matches", "rest")}
    if any(validity for _, validity, _, _ in parts):
        made["rest_validity"] = place.make((total + 7) // 8)
    done = {"matches": 0, "rest": 0}
    for source, validity, values, matches in parts:
        if not len(values):
            continue
        # Behind what the part before wrote.
        outputs = {name: made[name].address + done[name] * then.width for name in done}
        args = then.compared(source.address, len(values), validity.address if validity else None)
        bits_at = made["rest_validity"].address if validity else None
        found = split("split_rows", **args, **outputs, rest_validity=bits_at).match_count
        _require("D", found, int(matches.sum()))
        done["matches"] += found
        done["rest"] += len(values) - found
    for name in done:
        wanted = np.concatenate([values[matches == (name == "matches")] for _, _, values, matches in parts])
        got = place.read(made[name], done[name] * then.width)
        _same("D" if name == "matches" else "what is left", got, wanted)
        if name == "matches":
            chain.made = got
    if "rest_validity" in made:
        bits = np.packbits(first.valid[sides["rest"] & ~then.matches], bitorder="little")
        _same("the validity of what is left", place.read(made["rest_validity"], len(bits)), bits)
    step("D is made of B and C")
    place.free([*b_and_c.values(), *made.values()])
    step("all is freed")
    return replace(chain, made=chain.made.view(then.values.dtype))


def _require(name: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise CheckError(
            f"{name} has {found:,} rows more than before", found=f"pyarrow.compute gives {wanted:,}"
        )


def _same(what: str, got: np.ndarray, wanted: np.ndarray) -> None:
    """Byte by byte. Raises CheckError."""
    expected = wanted.view(np.uint8)
    if not np.array_equal(got, expected):
        at = (
            int(np.flatnonzero(got != expected)[0])
            if len(got) == len(expected)
            else min(len(got), len(expected))
        )
        raise CheckError(
            f"{what} are others than pyarrow.compute gives",
            found=f"{len(got):,} bytes, of {len(expected):,}; the first that differs is number {at:,}",
            hint="--axi-trace FILE records every access",
        )


def _over_time(chain: Chain, events: list[dict[str, Any]], granule: int) -> Iterator[dict[str, Any]]:
    """Bytes by cycle: the steps' as the heap counts them, and within launches what first touches give, tables not among that."""
    steps = iter(chain.points)
    bytes_now = 0
    point: dict[str, Any] | None = next(steps)
    for event in [*events, {"cycle": 1 << 63, "event": ""}]:
        while point and point["cycle"] <= event["cycle"]:
            bytes_now = point["bytes"]
            yield point
            point = next(steps, None)
        inside = any(each["start_cycle"] <= event["cycle"] <= each["end_cycle"] for each in chain.launches)
        if event["event"] == "touch" and inside:
            bytes_now += granule
        elif event["event"] == "reclaim" and point:
            bytes_now -= event["value"] * 4096
        else:
            continue
        yield {"cycle": event["cycle"], "what": event["event"], "bytes": bytes_now}


def _figures(table: Table, heap: Chain, mapped: Chain) -> Iterator[Figure]:
    """Both peaks beside S_A, and what they took."""

    def figure(name: str, label: str, unit: str, value: float) -> Figure:
        return Figure(name, label, unit, "simulated", value)

    size = table.nbytes
    bound = 2 * size + GRANULE
    yield figure("a_bytes", "A", "bytes", size)
    yield figure("peak_bytes", "most device memory taken, page tables too", "bytes", heap.peak)
    yield figure("peak_ratio", "... of A", "ratio", heap.peak / size if size else 0.0)
    yield figure("peak_bound", "goal: at most twice A and one granule of 64 KiB", "bytes", bound)
    yield figure("peak_reached", "... reached", "yes or no", heap.peak <= bound)
    yield figure("mapped_split", "mapped buffers: with A, B and C", "bytes", mapped.points[2]["bytes"])
    yield figure("mapped_peak", "... most", "bytes", mapped.peak)
    yield figure("mapped_ratio", "... of A", "ratio", mapped.peak / size if size else 0.0)
    yield figure("cycles", "cycles of all launches on the heap", "cycles", heap.cycles)
    yield figure("cycles_mapped", "... in mapped buffers", "cycles", mapped.cycles)
    touches = sum(each["first_touches"] for each in heap.launches)
    yield figure("first_touches", "first touches", "touches", touches)
    yield figure("settle_cycles", "from the free of A until it is back", "cycles", heap.settle_cycles)
