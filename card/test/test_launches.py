# SPDX-License-Identifier: Apache-2.0
"""The times of a launch are taken in the card, whatever the host does meanwhile."""

import pytest
from card_abi import EINVAL, INTERRUPT, NONE, POLLED, RUNNING, CardFailure, read, write
from passthrough_card import EXT0

IRQ, CONTROL = 8, 0x10_0000  # registers of the pass-through card: its interrupt lines, the sleeper's ap_ctrl
START, DONE, LINE = 1, 2, 2
DATA = bytes(64)


def test_the_end_is_the_rise_of_the_interrupt_and_not_the_host_s_look(open_card):
    card = open_card()
    assert card.launch_times(0).state == NONE
    card.write(CONTROL, START)
    start = card.stats()["cycles"]
    card.run(100)
    running = card.launch_times(0)
    assert (running.state, running.start, running.end) == (RUNNING, start, start + 100)
    card.write(IRQ, LINE)
    risen = card.stats()["cycles"]
    card.run(5000)
    done = card.launch_times(0)
    assert (done.state, done.start) == (INTERRUPT, start)
    assert risen - 4 < done.end <= risen
    assert done.stats["cycles"] == done.end - start


def test_traffic_of_others_is_not_the_launch_s(open_card):
    card = open_card()
    card.write(CONTROL, START)
    card.play([read(EXT0, 0, beats=4), write(EXT0, 0x1000, DATA)])
    card.write(IRQ, LINE)
    times = card.launch_times(0)
    assert card.stats()["read_bytes"] == 256
    assert (times.state, times.stats["reads"], times.stats["write_bytes"]) == (INTERRUPT, 0, 0)


def test_without_an_interrupt_the_end_is_the_read_that_says_done(open_card):
    card = open_card()
    card.write(CONTROL, START)
    assert card.read(CONTROL) == START
    card.run(50)
    card.write(CONTROL, DONE)
    card.run(50)
    assert card.launch_times(0).state == RUNNING
    before = card.stats()["cycles"]
    card.read(CONTROL)
    times = card.launch_times(0)
    assert times.state == POLLED
    assert before < times.end <= card.stats()["cycles"]


def test_a_line_that_was_up_before_ends_nothing(open_card):
    card = open_card()
    card.write(IRQ, LINE)
    card.write(CONTROL, START)
    card.run(100, LINE)
    assert card.launch_times(0).state == RUNNING
    card.write(IRQ, 0)
    card.write(IRQ, LINE)
    assert card.launch_times(0).state == INTERRUPT


def test_a_rise_is_told_once_and_never_lost(open_card):
    card = open_card()
    assert card.take_rises() == 0
    card.write(IRQ, LINE | 1)
    assert [card.take_rises(), card.take_rises()] == [LINE | 1, 0]
    card.write(IRQ, 1)
    card.write(IRQ, LINE | 1)
    card.write(IRQ, 0)
    assert card.run(10) == 0
    assert card.take_rises() == LINE


def test_a_kernel_that_is_not_there(open_card):
    with pytest.raises(CardFailure, match="kernel 1: this card has 1") as failure:
        open_card().launch_times(1)
    assert failure.value.status == EINVAL
