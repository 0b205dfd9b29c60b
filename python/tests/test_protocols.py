# SPDX-License-Identifier: Apache-2.0
"""Kernels with control blocks as each generation of Vitis HLS makes them, on the RTL: hs and chain, status cleared by reading and by
toggling, with and without an interrupt; many launches in a row, beside each other, from threads, tasks and a queue."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import godwit
from godwit.card import build, plan

HERE = Path(__file__).parent / "protocols"
FAST = {"fast": "-O1", "slow": "-O0", "runtime": "-O0"}
"""The time of this file is the build's."""

KERNELS = {
    "hs_cor": {"chain": 0, "clear_on_read": 1, "interrupt": True},
    "hs_tow": {"chain": 0, "clear_on_read": 0, "interrupt": True},
    "chain_cor": {"chain": 1, "clear_on_read": 1, "interrupt": True},
    "chain_tow": {"chain": 1, "clear_on_read": 0, "interrupt": True},
    "polled": {"chain": 0, "clear_on_read": 1, "interrupt": False},
    "polled_chain": {"chain": 1, "clear_on_read": 1, "interrupt": False},
    # Its pointers are at a second port, `control_r`.
    "two_ports": {"chain": 0, "clear_on_read": 1, "interrupt": True, "pointers": True},
    # Says that its write has two beats, and marks the first as the last.
    "bad_burst": {"chain": 0, "clear_on_read": 1, "interrupt": True, "awlen": "8'd1"},
}
GOOD = [name for name in KERNELS if name != "bad_burst"]
MANIFEST = """
name = "{name}"
sources = ["hls_block.sv", "hls_pointers.sv", "hls_beat.sv", "{name}.sv"]
args = [
  {{ name = "src", kind = "buffer", access = "r", offset = {base:#x} }},
  {{ name = "dst", kind = "buffer", access = "w" }},
  {{ name = "add", kind = "u32", offset = 0x28 }},
  {{ name = "echo", kind = "out_u32" }},
]
"""
CONTROL, STRIDE = 0x10_0000, 0x1_0000
WORDS = np.arange(16, dtype=np.uint32) * 0x0101_0101


def source(
    name: str, chain: int, clear_on_read: int, interrupt: bool, awlen: str = "8'd0", pointers: bool = False
) -> str:
    text = (HERE / "top.sv.in").read_text()
    second = {"AWADDR": "[5:0]", "ARADDR": "[5:0]", "WDATA": "[31:0]", "RDATA": "[31:0]"}
    inputs = ("AWADDR", "AWVALID", "WDATA", "WVALID", "BREADY", "ARADDR", "ARVALID", "RREADY")
    signals = (*inputs, "AWREADY", "WREADY", "BVALID", "ARREADY", "RDATA", "RVALID")
    ports = [
        f"{'input' if signal in inputs else 'output'} logic {second.get(signal, '')} s_axi_control_r_{signal},"
        for signal in signals
    ]
    pins = ", ".join(f".{signal.lower()}(s_axi_control_r_{signal})" for signal in signals)
    fields = {
        "name": name,
        "chain": f"1'b{chain}",
        "clear_on_read": f"1'b{clear_on_read}",
        "interrupt_port": "output logic         interrupt," if interrupt else "",
        "interrupt_assign": "assign interrupt = irq;" if interrupt else "",
        "awlen": awlen,
        "pointer_ports": "\n  ".join(
            [*ports, "output logic [1:0] s_axi_control_r_BRESP, s_axi_control_r_RRESP,"]
        )
        if pointers
        else "",
        "pointers": f"assign {{s_axi_control_r_BRESP, s_axi_control_r_RRESP}} = '0;\n"
        f"  hls_pointers u_pointers (.clk(ap_clk), .rst_n(ap_rst_n), {pins}, .src, .dst);"
        if pointers
        else "assign {src, dst} = {block_src, block_dst};",
    }
    for field, value in fields.items():
        text = text.replace(f"@{field}@", value)
    return text


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    """One small card with all of them."""
    folder = tmp_path_factory.mktemp("protocols")
    for part in ("hls_block.sv", "hls_pointers.sv", "hls_beat.sv"):
        (folder / part).write_text((HERE / part).read_text())
    for name, fields in KERNELS.items():
        (folder / f"{name}.sv").write_text(source(name, **fields))
        (folder / f"{name}.toml").write_text(
            MANIFEST.format(name=name, base=0x8010 if fields.get("pointers") else 0x10)
        )
    patch = pytest.MonkeyPatch()
    patch.setattr(plan, "LEVELS", FAST)
    try:
        todo = plan.plan("tiny", ["card.external_ports=0"], [folder / f"{name}.toml" for name in KERNELS])
        return build.build(todo).library
    finally:
        patch.undo()


@pytest.fixture
def card(library):
    with godwit.open(f"sim:{library}") as card:
        yield card


def slot(name: str) -> int:
    return CONTROL + list(KERNELS).index(name) * STRIDE


class Beat:
    """A launch with data of its own."""

    def __init__(self, card: godwit.Card, number: int) -> None:
        self.number = number
        self.src = card.put(WORDS + np.uint32(number))
        self.dst = card.put(np.zeros(16, np.uint32))
        self.args = {"src": self.src, "dst": self.dst, "add": 3 * number}

    def check(self, result: godwit.LaunchResult) -> godwit.LaunchResult:
        expected = WORDS + np.uint32(4 * self.number)
        assert (self.dst.to_numpy() == expected).all(), f"launch {self.number} has another one's data"
        assert result.echo == expected[0]
        return result


@pytest.mark.parametrize("name", GOOD)
def test_every_launch_in_a_row_is_its_own(card, name):
    cycles = []
    for number in range(1, 26):
        beat = Beat(card, number)
        result = beat.check(card.launch(name, timeout_cycles=100_000, **beat.args))
        assert result.end_cycle - result.start_cycle == result.cycles > 0
        assert result.polled == (not KERNELS[name]["interrupt"])
        assert (result.stats["reads"], result.stats["writes"]) == (1, 1)
        cycles.append(result.cycles)
    if KERNELS[name]["interrupt"]:
        # The first meets cold translations; from then on each pair of new buffers costs the same walks.
        assert max(cycles) < 2 * min(cycles), cycles


def test_registers_of_a_second_control_port_are_behind_the_first_one_s(card):
    """They read back what a launch wrote, and no write to the first port reaches them."""
    beat = Beat(card, 3)
    beat.check(card.launch("two_ports", **beat.args))
    at = slot("two_ports")
    low, high = (card.native.reg_read(at + 0x8010 + 4 * word) for word in range(2))
    assert low | high << 32 == beat.src.address
    # The first port has a register of its own at the same offset.
    card.native.reg_write(at + 0x10, 0x1234)
    assert card.native.reg_read(at + 0x8010) == low
    assert card.native.reg_read(at + 0x8000) == 0, "start and end are at the first port alone"


@pytest.mark.parametrize("name", GOOD)
def test_auto_restart_left_on_is_turned_off_and_waited_for(card, name):
    beat = Beat(card, 1)
    beat.check(card.launch(name, **beat.args))
    card.native.reg_write(slot(name), 0x81)
    card.run(500)
    assert card.native.reg_read(slot(name)) & 0x80
    for number in range(2, 6):
        beat = Beat(card, number)
        beat.check(card.launch(name, timeout_cycles=100_000, **beat.args))


@pytest.mark.parametrize("name", [name for name in GOOD if KERNELS[name]["interrupt"]])
def test_an_interrupt_left_up_is_no_completion(card, name):
    beat = Beat(card, 1)
    beat.check(card.launch(name, **beat.args))
    card.native.reg_write(slot(name), 1)
    line = 2 << list(KERNELS).index(name)
    assert card.run(5000, line) & line
    beat = Beat(card, 2)
    beat.check(card.launch(name, **beat.args))


def test_kernels_of_all_kinds_at_once_have_their_own_times(card):
    beats = {name: Beat(card, number) for number, name in enumerate(GOOD, 1)}
    alone = {name: card.launch(name, **beat.args).cycles for name, beat in beats.items()}
    launches = {name: card.start(name, **beat.args) for name, beat in beats.items()}
    results = {name: beats[name].check(launch.result()) for name, launch in launches.items()}
    for name, result in results.items():
        if KERNELS[name]["interrupt"]:
            assert result.cycles < 3 * alone[name], (name, result, alone[name])
        assert (result.stats["reads"], result.stats["writes"]) == (1, 1), "another kernel's bursts"
    spans = [(result.start_cycle, result.end_cycle) for result in results.values()]
    assert any(a[1] > b[0] for a, b in itertools.pairwise(spans)), "none ran beside another"


def test_what_was_started_in_one_thread_takes_the_same_cycles_in_every_run(library):
    def once() -> list[tuple[int, int]]:
        with godwit.open(f"sim:{library}") as card:
            beats = [Beat(card, number) for number in range(8)]
            launches = [card.start(GOOD[at % 3], **beat.args) for at, beat in enumerate(beats)]
            results = [beat.check(launch.result()) for beat, launch in zip(beats, launches, strict=True)]
            return [(result.start_cycle, result.end_cycle) for result in results]

    assert once() == once()


def test_threads_that_come_first_together_get_one_context(card, monkeypatch):
    make, contexts = card.context, []

    def slowly() -> godwit.Context:
        time.sleep(0.01)
        return make()

    monkeypatch.setattr(card, "context", slowly)
    threads = [threading.Thread(target=lambda: contexts.append(card.default_context)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(contexts) == 8 and all(one is contexts[0] for one in contexts)


def test_threads_wait_for_each_other(card):
    failures = []

    def work(thread: int) -> None:
        try:
            for number in range(5):
                beat = Beat(card, 10 * thread + number)
                beat.check(card.launch(GOOD[number % 2], **beat.args))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_tasks_await_launches(card):
    async def work(number: int) -> godwit.LaunchResult:
        beat = Beat(card, number)
        return beat.check(await card.start(GOOD[number % 3], **beat.args))

    async def everything() -> list[godwit.LaunchResult]:
        return await asyncio.gather(*(work(number) for number in range(9)))

    assert [result.kernel for result in asyncio.run(everything())] == GOOD[:3] * 3


def test_a_task_that_is_cancelled_takes_its_launch_with_it(card):
    beats = [Beat(card, number) for number in range(3)]

    async def everything() -> None:
        first = card.start("hs_cor", **beats[0].args)
        second = card.start("hs_cor", **beats[1].args)
        task = asyncio.ensure_future(second._awaited())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert second.cancelled() or second.done()
        beats[0].check(await first)

    asyncio.run(everything())
    beats[2].check(card.launch("hs_cor", **beats[2].args))


def test_a_launch_is_a_future(card):
    beat = Beat(card, 1)
    called = threading.Event()
    launch = card.start("chain_cor", **beat.args)
    launch.add_done_callback(lambda ended: ended is launch and called.set())
    assert called.wait(60)
    assert launch.done() and not launch.running()
    assert beat.check(launch.result()) is launch.result(timeout=0)
    assert launch.exception() is None
    assert not launch.cancel()
    queued = [card.start("chain_tow", **Beat(card, number).args) for number in range(3)]
    assert queued[1].cancel() and queued[1].cancelled()
    with pytest.raises(concurrent.futures.CancelledError):
        queued[1].result()
    assert all(launch.result() for launch in (queued[0], queued[2]))


def test_a_loop_that_asks_comes_to_an_end(card):
    beat = Beat(card, 1)
    launch = card.start("polled", **beat.args)
    asked = 1
    while not launch.done():
        asked += 1
    assert asked < 10
    beat.check(launch.result())


def test_a_violation_is_its_kernel_s_then_and_later(card):
    beats = [Beat(card, number) for number in range(3)]
    bad = card.start("bad_burst", **beats[0].args)
    with pytest.raises(godwit.DeviceError) as first:
        bad.result()
    own = str(first.value)
    assert own.startswith("kernel `bad_burst` made the card fail: ")
    assert "W beat 1 of the 2 of the write to" in own
    for name in ("hs_cor", "bad_burst"):
        with pytest.raises(godwit.DeviceError) as later:
            card.launch(name, **beats[1].args)
        assert str(later.value) == f"the card cannot be used any more: {own}; open it again"
