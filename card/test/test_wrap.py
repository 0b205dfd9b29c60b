# SPDX-License-Identifier: Apache-2.0
"""WRAP bursts: the line that is asked for comes first, the others after it and around, from memory and over the link."""

import math

import numpy as np
import pytest
from card_abi import read
from passthrough_card import EXT0
from test_banked import banked

FAULTS, WRAP_AR = 4, 1 << 10  # register of the pass-through card
APERTURE = 1 << 55
LINE, LINES = 64, 16


@pytest.fixture
def wrapping(open_card):
    """Opens a card that makes WRAP bursts of its reads at port 0."""

    def opened(**fields):
        card = open_card(**fields)
        card.write(FAULTS, WRAP_AR)
        return card

    return opened


def numbered(lines):
    """Bytes of each line: its number."""
    return (np.arange(lines * LINE) // LINE).astype(np.uint8)


def line_numbers(answer):
    return list(np.frombuffer(answer.data, np.uint8)[::LINE])


@pytest.mark.parametrize("first", [0, 1, 15])
def test_memory_brings_the_line_asked_for_first(wrapping, first):
    """`banked`, 8 GB/s is a line every two cycles: 15 lines before the one that is wanted would be 30 cycles."""
    card = wrapping(memory=banked(bandwidth_gbps=8))
    card.memory(0, LINES * LINE)[:] = numbered(LINES)
    (answer,) = card.play([read(EXT0, first * LINE, beats=LINES)])
    assert answer.first - answer.accepted == 1 + math.ceil((13.32 * 2 + 8) / 4)
    assert line_numbers(answer) == [(first + n) % LINES for n in range(LINES)]


@pytest.mark.parametrize("first", [0, 1, 15])
def test_the_link_brings_the_line_asked_for_first(wrapping, first):
    """400 ns and 8 GB/s at 4 ns a cycle: 100 cycles, then 2 a line."""
    card = wrapping()
    host = numbered(LINES)
    card.host_window(0, host, host.nbytes)
    (answer,) = card.play([read(EXT0, APERTURE + first * LINE, beats=LINES)])
    assert answer.first == answer.accepted + 1 + 100 + 2
    assert answer.done == answer.first + 15 * 2
    assert line_numbers(answer) == [(first + n) % LINES for n in range(LINES)]


@pytest.mark.parametrize(("first", "completion"), [(0, 4), (1, 4), (15, 1)])
def test_packets_bring_the_line_asked_for_first(wrapping, first, completion):
    """A byte a nanosecond, payloads of four lines: a request's header, 400 ns, the first completion; the others follow."""
    card = wrapping(host_link={"model": "packets", "packet_gbps": 1})
    host = numbered(LINES)
    card.host_window(0, host, host.nbytes)
    (answer,) = card.play([read(EXT0, APERTURE + first * LINE, beats=LINES)])
    assert answer.first - answer.accepted == 1 + math.ceil((24 + 400 + 20 + completion * LINE) / 4)
    assert line_numbers(answer) == [(first + n) % LINES for n in range(LINES)]


@pytest.mark.parametrize("model", [{"model": "fixed"}, banked()], ids=lambda model: model["model"])
@pytest.mark.parametrize("link", ["rate", "packets"])
@pytest.mark.parametrize("base", [0, APERTURE])
def test_narrow_beats_come_back_to_their_first_line(wrapping, model, link, base):
    """16 beats of 8 bytes from 0x60 on: the second line's end, the first line, the second line's beginning."""
    card = wrapping(memory=model, host_link={"model": link})
    host = np.arange(2 * LINE, dtype=np.uint8)
    card.host_window(0, host, host.nbytes)
    card.memory(0, 2 * LINE)[:] = host
    (answer,) = card.play([read(EXT0, base + 0x60, beats=16, size=3)])
    assert answer.data == bytes(range(0x60, 0x80)) + bytes(range(0x60))
