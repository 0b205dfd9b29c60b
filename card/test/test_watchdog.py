# SPDX-License-Identifier: Apache-2.0
"""A hang becomes an error that names the stuck handshake; a card that is idle or only slow does not."""

import re

import numpy as np
import pytest
from card_abi import EHANG, OKAY, REQUEST, CardFailure, read, write
from passthrough_card import EXT0

FAULTS = 4
IRQ, DELAY = 8, 12
AP_CTRL = 0x0010_0000
BLOCK_AR, BLOCK_W, BLOCK_R, BLOCK_B, MUTE_AXIL, STUCK_KERNEL = 1, 2, 4, 8, 16, 1 << 9
LINE = bytes(64)
LIMIT = 2000  # watchdog_cycles of the pass-through card


def hang(call):
    with pytest.raises(CardFailure) as failure:
        call()
    assert failure.value.status == EHANG
    return str(failure.value)


def break_then_play(card, fault, request):
    card.write(FAULTS, fault)
    start = card.stats()["cycles"]
    message = hang(lambda: card.play([request]))
    assert card.stats()["cycles"] - start <= LIMIT + 10
    return start, message


def test_names_an_address_that_is_not_taken(open_card):
    start, message = break_then_play(open_card(), BLOCK_AR, read(EXT0, 0x7000, id=3))
    assert (
        f"external port 1 (ext0.port): AR valid=1 ready=0 since cycle {start}: address 0x7000, ID 3"
        in message
    )


def test_names_write_data_that_do_not_come(open_card):
    start, message = break_then_play(open_card(), BLOCK_W, write(EXT0, 0x5000, LINE * 4, id=9))
    write_of = f"the write to 0x5000, ID 9, accepted in cycle {start}"
    assert f"memory port 1 (ext0): W valid=0 ready=1: 4 of 4 beats of {write_of}, are missing" in message
    assert f"external port 1 (ext0.port): W valid=1 ready=0 since cycle {start}" in message


def test_names_read_data_that_are_not_taken(open_card):
    start, message = break_then_play(open_card(), BLOCK_R, read(EXT0, 0))
    assert f"memory port 1 (ext0): R valid=1 ready=0 since cycle {start + 1}" in message
    waits = f"1 reads without an answer, the oldest from cycle {start}"
    assert f"external port 1 (ext0.port): R valid=0 ready=1: {waits}" in message


def test_names_a_write_answer_that_is_not_taken(open_card):
    start, message = break_then_play(open_card(), BLOCK_B, write(EXT0, 0, LINE))
    assert f"memory port 1 (ext0): B valid=1 ready=0 since cycle {start + 1}" in message


def test_names_a_register_access_without_answer(open_card):
    card = open_card()
    card.write(0, 1)
    message = hang(lambda: card.write(FAULTS, MUTE_AXIL))
    assert re.search(r"register port, write 0x00000004: B valid=0 ready=1 since cycle \d+", message)
    assert "register port" in hang(lambda: card.read(0))


def test_register_access_ends_without_a_watchdog_too(open_card):
    card = open_card(watchdog_cycles=0)
    assert "register port" in hang(lambda: card.write(FAULTS, MUTE_AXIL))


def test_names_the_handshake_of_a_kernel_before_translation(open_card):
    card = open_card()
    card.write(FAULTS, STUCK_KERNEL)
    assert re.search(
        r"port 0 \(sleeper\) before translation: AR valid=1 ready=0 since cycle \d+",
        hang(lambda: card.run(100_000)),
    )


def test_kernel_that_started_and_does_nothing(open_card):
    card = open_card()
    card.write(AP_CTRL, 1)
    message = hang(lambda: card.run(100_000, mask=0b10))
    assert "kernel 0 (sleeper) was started in cycle" in message
    assert "it has done nothing at all on its AXI port" in message


def test_kernel_that_raised_its_interrupt_is_done(open_card):
    card = open_card()
    card.write(AP_CTRL, 1)
    card.write(IRQ, 0b10)
    assert card.run(100, mask=0b10) == 0b10
    card.write(IRQ, 0)
    assert card.run(10 * LIMIT, mask=0b10) == 0


def test_idle_card_never_hangs(open_card):
    card = open_card()
    card.play([read(EXT0, 0)])
    assert card.run(20 * LIMIT, mask=0b11) == 0


@pytest.mark.parametrize("model", ["fixed", "aperture"])
def test_slow_memory_is_no_hang(open_card, model):
    host = np.zeros(4096, np.uint8)
    card = open_card(
        memory={"model": "fixed", "latency_cycles": 20 * LIMIT}, host_link={"latency_ns": 20 * LIMIT * 4}
    )
    card.host_window(0, host, 4096)
    (answer,) = card.play([read(EXT0, 0 if model == "fixed" else 1 << 55)])
    assert answer.resp == OKAY


def test_request_for_later_is_no_hang(open_card):
    (answer,) = open_card().play([read(EXT0, 0, at=20 * LIMIT)])
    assert answer.offered == 20 * LIMIT


def test_random_stalls_are_no_hang(open_card):
    card = open_card(watchdog_cycles=2000, stall={"seed": 5, "percent": 99})
    assert len(card.play([read(EXT0, 64 * i) for i in range(50)])) == 50


def test_watchdog_off_waits_as_long_as_asked(open_card):
    card = open_card(watchdog_cycles=0)
    card.write(FAULTS, BLOCK_AR)
    start = card.stats()["cycles"]
    table = np.zeros(1, REQUEST)
    table[0]["port"], table[0]["size"] = EXT0, 6
    card.submit(table)
    card.drain(30 * LIMIT)
    assert card.stats()["cycles"] - start == 30 * LIMIT
    assert card.poll() == []


def test_card_goes_on_after_a_hang(open_card):
    """A hang is reported, not final: registers can still be read, and what was stuck may get free."""
    card = open_card()
    break_then_play(card, BLOCK_AR, read(EXT0, 0))
    assert card.read(FAULTS) == BLOCK_AR
    card.write(FAULTS, 0)
    card.drain()
    assert [answer.resp for answer in card.poll()] == [OKAY]
