# SPDX-License-Identifier: Apache-2.0
"""The suites of the papers still run: every row of the quick selection, in miniature and on the cards of other tests."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import godwit
from godwit import toolchain
from godwit.card import plan
from godwit.report import Row, rows_json
from godwit.spec import config

CONFIG = "default"
TRAFFIC = ('card.kernels=["traffic"]', 'walker.napot="any"')
HASHJOIN = ('card.kernels=["hashjoin"]',)


@pytest.fixture
def loads(monkeypatch):
    """bench.loads, with one card in place of all."""
    monkeypatch.syspath_prepend(toolchain.root())
    from bench import loads

    @contextmanager
    def traffic_card(name, overrides=(), *, memory=None, progress=None):
        with godwit.open(f"sim:{CONFIG}", overrides=TRAFFIC, memory=memory) as card:
            yield card

    monkeypatch.setattr(loads, "traffic_card", traffic_card)
    return loads


def check(suite, rows, path):
    """Every row is there once and has a number, unless it says that it is not built; the plot is a PNG."""
    names = [(row["row"], row["config"]) for row in json.loads(rows_json(rows))]
    assert len(set(names)) == len(names)
    for row in rows:
        assert (row.value is None) == ("not built" in row.row), row
        assert row.value is None or math.isfinite(row.value), row
    suite.plot(rows, path)
    assert path.read_bytes()[:4] == b"\x89PNG"


def silent(what, done, total):
    assert 0 <= done <= total


def test_prefetch_in_miniature(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(toolchain.root())
    from bench.suites import prefetch

    rows = prefetch.run(silent, quick=True)
    assert {row.kind for row in rows} == {"native", "modelled"}
    assert all(row.reached for row in rows)
    check(prefetch, rows, tmp_path / "prefetch.png")


def test_paper_w_in_miniature(loads, tmp_path, monkeypatch):
    from bench.suites import papers_w
    from bench.suites.papers_w import table

    monkeypatch.setattr(papers_w, "BURSTS", (1, 32))
    # The card of test_split_malloc.py.
    monkeypatch.setattr(table, "CONFIG", str(toolchain.root() / "crates/godwit/tests/heap.toml"))
    monkeypatch.setattr(table, "OVERRIDES", table.OVERRIDES[:1])
    amount = papers_w.Amount(
        128 << 20, beats=200, bursts=30, linear_bytes=256 << 10, linear_bursts=(16,), linear_pages=("128K",)
    )
    rows = papers_w.run(silent, quick=True, amount=amount)
    assert sum(row.row.startswith("linear reads") for row in rows) == 2 * 3 + 1
    assert sum(row.row.startswith("linear writer") for row in rows) == 3
    assert sum("over the best of fewer" in row.row for row in rows) == len(papers_w.BURSTS)
    assert sum("(Fig. 6.1)" in row.row for row in rows) == 4
    assert sum(row.row.startswith("split of") for row in rows) == 2 * 5
    most = next(row for row in rows if row.row.endswith("(Fig. 1.2), most memory"))
    assert most.reached
    check(papers_w, rows, tmp_path / "w.png")


def test_replacement_in_miniature(tmp_path, monkeypatch):
    """One policy, on the card that paper N has."""
    monkeypatch.syspath_prepend(toolchain.root())
    from bench.suites import replacement

    monkeypatch.setattr(replacement, "OVERRIDES", ())
    monkeypatch.setattr(replacement, "POLICIES", {"as it is": ()})
    rows = replacement.run(silent, quick=True)
    check(replacement, rows, tmp_path / "replacement.png")
    missed = {row.row: row.value for row in rows}
    # True LRU loses every page of a loop that is larger than the cache, and none of a smaller one.
    assert missed["page cache of 16, loop over 1.25 times its places"] == 100
    assert missed["L1 TLB of 8, loop over 1.25 times its places"] == 0


def test_paper_n_in_miniature(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(toolchain.root())
    from bench.suites import papers_n
    from bench.suites.papers_n import figures

    rows = papers_n.run(silent, quick=True, sizes=(200,), iterations=2)
    # 200 rows of 256 bytes, 62 at a time, are four a pass; on the card, and in place over two links.
    assert [row.value for row in rows if "interrupts" in row.row] == [1 / 8] * 3
    assert [row.value > 1 for row in rows if "time of" in row.row] == [True] * 3
    # An array that fits is hit, one that does not misses once a page.
    cycles = {row.row: row.value for row in rows if row.config == "ng" and "array of" in row.row}
    name = "in place: array of {} KiB, stride of {} bytes: an access, mean"
    fits, sparse, dense = (cycles[name.format(*shape)] for shape in ((16, 256), (32, 4096), (32, 256)))
    assert fits < 10 < 40 * fits < dense < sparse
    # Few lines that are read once stay, all of them that are read often move.
    moved = {row.row: row.value for row in rows if row.row.endswith("time in place over moved")}
    lines = {tuple(name.split()[:6:5]): value for name, value in moved.items()}
    assert lines["1", "1"] < 1 < lines["16", "16"]
    # What the system learns of a launch makes the next one as good as the better way, and a program with both kinds of pages better than both.
    for pattern, most in ((figures.FIRST, 2.4), (figures.LATER, 1.1)):
        ratios = [row.value for row in rows if pattern.match(row.row)]
        assert len(ratios) == 4 and all(ratio <= most for ratio in ratios), (pattern, ratios)
    # Of whole programs, too.
    programs = [row for row in rows if row.row.startswith("auto, later") and not figures.LATER.match(row.row)]
    assert len(programs) == 5 and all(row.value <= 1.1 for row in programs), programs
    assert all(row.value < 1 for row in rows if "from the second on" in row.row)
    check(papers_n, rows, tmp_path / "n.png")
    assert (tmp_path / "n-curves.png").stat().st_size > 1000


def test_paper_s_in_miniature(loads, tmp_path, monkeypatch, seed):
    from bench.suites import papers_s

    def tables(directory, rows):
        keys = np.random.default_rng(seed).integers(0, rows, (2, rows))
        paths = directory / "build.parquet", directory / "probe.parquet"
        for path, side in zip(paths, keys, strict=True):
            pq.write_table(pa.table({"flight_key": side}), path)
        return paths

    monkeypatch.setattr(papers_s, "CONFIG", CONFIG)
    monkeypatch.setattr(papers_s.Design, "overrides", lambda self, size: HASHJOIN)
    monkeypatch.setattr(papers_s.kept, "step", lambda card, asked, make: json.loads(json.dumps(make())))
    monkeypatch.setattr(papers_s, "tables", tables)
    amount = papers_s.Amount(200, largest=32 << 10, strides=(32 << 10,), stride_accesses=100, join_rows=300)
    rows = papers_s.run(silent, quick=True, amount=amount)
    reach = [row for row in rows if row.row.startswith("reach")]
    assert len(reach) == 2 * 2 * 2
    assert {row.value for row in reach} == {32}
    assert [row.value for row in rows if row.row == "L2 hit, 64K pages less 4K pages"] == [0, 0]
    check(papers_s, rows, tmp_path / "s.png")


def test_contention_in_miniature(monkeypatch, tmp_path):
    """Two generators on the smallest card: hits cost each other nothing, misses share one walker, in equal parts."""
    monkeypatch.syspath_prepend(toolchain.root())
    from bench.suites import contention

    kernels = ("traffic_1", "traffic_2")
    overrides = [f"card.kernels={json.dumps(kernels)}", "card.external_ports=0", "card.assertions=false"]
    overrides += ["translator.l1_entries=16", "translator.outstanding=64", "axi.id_width=4"]

    def open_card(memory):
        return godwit.open("sim:tiny", overrides=overrides, memory=memory, host_link=contention.FAST_LINK)

    # Same model, least time in the compiler.
    monkeypatch.setattr(plan, "LEVELS", {"fast": "-O0", "slow": "-O0", "runtime": "-O0"})
    monkeypatch.setattr(contention, "KERNELS", kernels)
    monkeypatch.setattr(contention, "MEMORIES", {"tiny": contention.IDEAL})
    monkeypatch.setattr(contention, "open_card", open_card)
    rows = contention.run(silent, amount=contention.Amount(counts=(2,), pages=64, cycles=800, rounds=2))
    check(contention, rows, tmp_path / "contention.png")
    values = {row.row.removeprefix("2 kernels, "): row.value for row in rows}
    assert values["hits: slow-down, mean"] == pytest.approx(1, abs=0.02)
    assert values["mixed, those of hits: slow-down, mean"] == pytest.approx(1, abs=0.02)
    assert values["misses: slow-down, mean"] > 1.5
    assert values["misses: fairness between ports of one kind (Jain)"] > 0.99
    assert contention.fairness([2, 2, 2]) == 1
    assert contention.fairness([1, 0, 0, 0]) == 0.25


def test_a_step_is_made_once_for_a_card_and_a_question(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(toolchain.root())
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path))
    from bench import kept

    made = []

    def make(result):
        made.append(result)
        return result

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept.step("card", "question", fail)
    assert not list(tmp_path.rglob("*.json"))
    for _ in range(2):
        assert kept.step("card", "question", lambda: make([1, {"misses": 2.5}])) == [1, {"misses": 2.5}]
        assert kept.step("card", "other", lambda: make(2)) == 2
        assert kept.step("other", "question", lambda: make(3)) == 3
    assert made == [[1, {"misses": 2.5}], 2, 3]
    drivers = [*kept._drivers(), toolchain.root() / "README.md"]
    monkeypatch.setattr(kept, "_drivers", lambda: drivers)
    assert kept.step("card", "question", lambda: make(4)) == 4


def test_cycles_are_told_in_nanoseconds_at_each_design_s_own_clock(monkeypatch):
    """By hand: 2 cycles at 80 MHz are 25 ns, one more than PULP's 23.9; a walk of 9 cycles and 3 reads of 100 ns."""
    monkeypatch.syspath_prepend(toolchain.root())
    from bench import clocks

    monkeypatch.setattr(clocks, "clock", lambda blocks: (80.0, "at 80 MHz"))
    near, alone = clocks.IN_A_ROW, "default without L2 and range TLB"
    measured = [
        Row("translate", "L1 hit", near, 2, "cycles"),
        Row("translate", "L1 hits in a row", near, 1, "cycles/request"),
        Row("translate", "512 random pages again, L = 8", near, 1.25, "cycles/request"),
        Row("translate", "walk from cold, 3 levels, L = 0", alone, 9, "cycles"),
        Row("translate", "walk from cold, 2 levels, L = 0", alone, 16, "cycles"),
    ]
    rows = {row.row: row for row in clocks.rows(measured)}
    assert (rows["L1 hit"].value, rows["L1 hit"].unit, rows["L1 hit"].reached) == (25.0, "ns", False)
    assert "4 % behind" in rows["L1 hit"].config and "PULP" in rows["L1 hit"].theirs
    assert (rows["L1 hits, one port"].value, rows["L1 hits, one port"].reached) == (80.0, False)
    assert rows["512 random pages again, memory of 100 ns"].value == 64.0
    assert rows["walk from cold, 3 levels, memory of 100 ns"].value == (9 + 3 * 8) * 12.5
    # riscv-iommu at 154.1 MHz: 16 cycles a read.
    assert f"{(9 + 3 * 16) * 1000 / 154.1:.1f}" in rows["walk from cold, 3 levels, memory of 100 ns"].theirs
    # Each row has its own reason for being behind.
    slower = rows["walk from cold, 2 levels, memory of 0 ns"]
    assert "Fletcher" in slower.theirs and "about as many cycles of a slower clock" in slower.config
    assert "16 entries of all page sizes" in rows["L1 hit"].config


def test_a_block_without_a_recorded_clock_gives_no_time(monkeypatch):
    monkeypatch.syspath_prepend(toolchain.root())
    from bench import clocks

    assert clocks.clock(("no such block",)) is None
    assert clocks.clock(("gw_xlate_mux, 8 channels",))[0] > 0


def test_calibrated_clocks_of_configurations_are_what_the_method_supports(monkeypatch):
    """The slowest block here, on the slower of the two devices, is not below what the configuration says."""
    monkeypatch.syspath_prepend(toolchain.root())
    from bench import clocks

    mhz, _ = clocks.clock(clocks.ALL)
    for name in config.names():
        card = config.load(name).card
        if card.clock_from == "calibrated":
            assert card.clock_mhz <= mhz * min(clocks.CALIBRATION.values()), name
    assert config.load("default").card.clock_from == "calibrated"
    assert config.load("default", ["card.clock_mhz=300"]).card.clock_from == "configured"
    assert config.load("default", ["translator.l1_entries=4"]).card.clock_from == "calibrated"


def test_what_must_come_and_what_comes_by_blocks(monkeypatch):
    monkeypatch.syspath_prepend(toolchain.root())
    from bench.suites.papers_k.oversubscribed import BLOCK, by_blocks, fewest

    loop = [*range(6)] * 3
    # Of six pages two come again in every round.
    assert fewest(loop, 6) == fewest([*range(6)], 2) == 6
    assert fewest(loop, 4) == 6 + 2 + 2
    assert fewest([1, 2, 1, 3, 1, 2], 2) == 4
    # Two blocks and a half in the room of two: each has left when its turn comes.
    pages = 2 * BLOCK + BLOCK // 2
    for tree in (False, True):
        assert by_blocks([*range(pages)] * 3, 2 * BLOCK, pages, tree) == 3 * pages
        assert by_blocks([*range(pages)] * 3, pages, pages, tree) == pages
    # A block leaves with all of its pages.
    assert by_blocks([0, BLOCK, 0, 1, 2 * BLOCK, BLOCK], 2, pages, False) == 5
    # 64 KiB with a page; with the second of them all of 128 KiB, with the third those of 256.
    assert by_blocks([0], BLOCK, BLOCK, True) == 16
    assert by_blocks([0, 16], BLOCK, BLOCK, True) == 32
    assert by_blocks([0, 16, 32], BLOCK, BLOCK, True) == 64
    assert by_blocks([0, 16, 32], BLOCK, 40, True) == 40


def test_paper_k_in_miniature(tmp_path, monkeypatch):
    """On the configuration's own card: its rates are what is compared."""
    monkeypatch.syspath_prepend(toolchain.root())
    from bench.suites import papers_k

    amount = papers_k.Amount(
        (32 << 10, 1 << 20),
        most_iterations=1,
        sums=(4 << 10, 1 << 20),
        oversubscribed=(),
        pictures=(),
        trees={},
    )
    rows = papers_k.run(silent, quick=True, amount=amount)
    assert [row.row for row in rows if row.goal is not None and not row.reached] == []
    # DMA, copies, sums, outputs that are not copied in, with a hint, too; migrations there and back, and of two buffers at once.
    assert sum(row.goal is not None for row in rows) == 3 + 2 + 4 + 6 + 2 + 4 + 2
    check(papers_k, rows, tmp_path / "k.png")
