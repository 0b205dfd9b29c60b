# SPDX-License-Identifier: Apache-2.0
"""Kernels with several bundles, narrow ports and streams: one card with the example pipeline, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import godwit
from godwit import toolchain
from godwit.card import build, plan
from godwit.card.interface import KernelError
from godwit.cli.app import run as command

EXAMPLE = toolchain.root() / "examples" / "streams"
KERNELS = [EXAMPLE / f"{name}.toml" for name in ("gather", "scale", "store")]


@pytest.fixture(scope="module")
def pipeline():
    """The card of examples/streams: a bus of 128 bits, ports of 32 and 64, and one that is as wide as the bus."""
    built = build.build(plan.plan(EXAMPLE / "pipeline.toml", kernels=KERNELS))
    return f"sim:{built.library}"


@pytest.fixture(scope="module")
def widest():
    """The same with a bus of 1024 bits: all ports are narrower."""
    with pytest.MonkeyPatch.context() as patch:
        # Same model, least time in the compiler.
        patch.setattr(plan, "LEVELS", {"fast": "-O0", "slow": "-O0", "runtime": "-O0"})
        built = build.build(plan.plan(EXAMPLE / "pipeline.toml", ["axi.data_width=1024"], kernels=KERNELS))
    return f"sim:{built.library}"


def run(
    card: godwit.Card, x: np.ndarray, y: np.ndarray, factor: int
) -> tuple[np.ndarray, godwit.LaunchResult]:
    """The pipeline on two arrays: its result, and the launch of the first kernel."""
    out = card.empty(len(x), np.int32)
    inputs = {"x": card.put(x), "y": card.put(y)}
    running = [
        card.start("store", out=out, n=len(x)),
        card.start("scale", factor=factor),
        card.start("gather", n=len(x), **inputs),
    ]
    *_, first = [launch.result() for launch in running]
    return out.to_numpy(), first


def arrays(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.integers(-(1 << 31), 1 << 31, count).astype(np.int32),
        rng.integers(-(1 << 40), 1 << 40, count, dtype=np.int64),
    )


def expected(x: np.ndarray, y: np.ndarray, factor: int) -> np.ndarray:
    return ((x.astype(np.int64) + y) * factor).astype(np.int32)


@pytest.mark.parametrize("stall", [0, 30])
def test_kernels_in_a_row_pass_on_what_each_made(pipeline, stall):
    with godwit.open(pipeline, stall={"percent": stall, "seed": 7}) as card:
        for count in (1, 17, 1500, 16):
            x, y = arrays(count, count)
            out, _ = run(card, x, y, 7)
            np.testing.assert_array_equal(out, expected(x, y, 7))


def test_narrow_ports_carry_95_percent_of_what_they_can(pipeline):
    """32-bit bursts of 16 beats through translator and 128-bit bus: 4 bytes a cycle are all that the port has."""
    with godwit.open(pipeline) as card:
        x, y = arrays(16384)
        out, gather = run(card, x, y, 3)
    np.testing.assert_array_equal(out, expected(x, y, 3))
    assert 4 * len(x) / gather.cycles >= 0.95 * 4


def test_bursts_of_a_launch_are_those_of_all_its_bundles(pipeline):
    """`gather` reads 4 bytes an element through one port and 8 through the other; `store` writes 4 meanwhile."""
    with godwit.open(pipeline) as card:
        x, y = arrays(1024)
        _, gather = run(card, x, y, 3)
    assert gather.stats["read_bytes"] == x.nbytes + y.nbytes
    assert gather.stats["write_bytes"] == 0


@pytest.mark.parametrize("stall", [0, 30])
def test_all_ports_run_on_the_widest_bus(widest, stall):
    with godwit.open(widest, stall={"percent": stall, "seed": 3}) as card:
        for count in (1, 17, 1500, 16):
            x, y = arrays(count, count)
            out, gather = run(card, x, y, 5)
            np.testing.assert_array_equal(out, expected(x, y, 5))
            assert gather.stats["read_bytes"] >= x.nbytes + y.nbytes
        copy(card)


def test_wide_kernels_run_on_a_narrow_bus(pipeline):
    with godwit.open(pipeline) as card:
        copy(card)


def copy(card: godwit.Card) -> None:
    """Copies bytes with `memcopy`, and looks at them."""
    source = np.random.default_rng(3).integers(0, 256, 20_000, np.uint8)
    buffer, target = card.put(source), card.empty(len(source), np.uint8)
    card.launch("memcopy", src=buffer, dst=target, bytes=len(source), iterations=1)
    np.testing.assert_array_equal(target.to_numpy(), source)


def test_bundles_have_ports_of_their_own():
    todo = plan.plan(EXAMPLE / "pipeline.toml", kernels=KERNELS)
    said = {kernel["name"]: kernel for kernel in plan.describe(todo)["kernels"]}
    assert said["gather"]["ports"] == [1, 4]
    assert [
        (bundle["name"], bundle["port"], bundle["data_width"]) for bundle in said["gather"]["bundles"]
    ] == [
        ("gmem0", 1, 32),
        ("gmem1", 4, 64),
    ]
    assert (said["scale"]["ports"], said["scale"]["bundles"]) == ([2], [])
    assert json.loads(todo.config.resolved())["card"]["extra_ports"] == 1


def test_info_says_what_is_adapted(pipeline, capsys):
    digest = Path(pipeline.removeprefix("sim:")).parent.name.rpartition("-")[2]
    assert command(["card", "info", digest]) == 0
    told = capsys.readouterr().out
    assert "gmem0: 32 bits, adapted to the 128 of the bus" in told
    assert "gmem: 32 bits, adapted" in told
    # A kernel of Godwit's that can be as wide as the bus is.
    assert "memcopy(" in told
    assert told.count("adapted") == 3


@pytest.mark.parametrize(
    ("change", "message", "advice"),
    [
        (("scale.out", "scale.oot"), "has no stream oot", "out"),
        (("store.in", "stoer.in"), "no kernel stoer", "store"),
        (('from = "scale.out"', 'from = "store.in"'), "store.in consumes", "turn them round"),
        (('[[stream]]\nfrom = "scale.out"\nto = "store.in"', ""), "is not connected", "[[stream]] from"),
    ],
)
def test_streams_that_do_not_fit_are_refused(tmp_path, change, message, advice):
    text = (EXAMPLE / "pipeline.toml").read_text()
    assert change[0] in text
    (tmp_path / "pipeline.toml").write_text(text.replace(*change))
    with pytest.raises(KernelError) as refused:
        plan.plan(tmp_path / "pipeline.toml", kernels=KERNELS)
    assert message in str(refused.value)
    assert advice in (refused.value.hint or "")


def test_streams_must_carry_the_same(tmp_path):
    for kernel in ("gather", "scale", "store"):
        for suffix in ("sv", "toml"):
            source = EXAMPLE / f"{kernel}.{suffix}"
            (tmp_path / source.name).write_text(source.read_text())
    (tmp_path / "burst_reader.sv").write_text((EXAMPLE / "burst_reader.sv").read_text())
    wide = tmp_path / "scale.sv"
    wide.write_text(
        wide.read_text().replace(
            "input  logic        in_TLAST", "input  logic [1:0]  in_TUSER,\n  input  logic        in_TLAST"
        )
    )
    kernels = [tmp_path / path.name for path in KERNELS]
    with pytest.raises(KernelError, match="TUSER differs") as refused:
        plan.plan(EXAMPLE / "pipeline.toml", kernels=kernels)
    assert refused.value.found == "none at out, 2 bits at in"
