# SPDX-License-Identifier: Apache-2.0
"""The AXI protocol checker on the memory ports, address decoding, the host aperture, RTL assertions."""

import numpy as np
import pytest
from card_abi import DECERR, EDESIGN, EINVAL, OKAY, CardFailure, read, write
from passthrough_card import EXT0, EXT1, EXT2

FAULTS = 4  # register of the pass-through card
WANDER_AR, FLIP_WLAST, STRB_ALL, ASSERTION = 1 << 6, 1 << 7, 1 << 8, 1 << 5
APERTURE = 1 << 55
MEMORY = 64 << 30
LINE = bytes(range(64))


def broken(card, requests):
    """Message of the violation that the requests cause; the card is of no use afterwards."""
    with pytest.raises(CardFailure) as failure:
        card.play(requests)
    assert failure.value.status == EDESIGN
    with pytest.raises(CardFailure, match="open it again") as again:
        card.run(1)
    assert again.value.status == EDESIGN
    return str(failure.value)


@pytest.mark.parametrize("request_of", [read, lambda port, addr, beats: write(port, addr, LINE * beats)])
def test_burst_across_4_kib(open_card, request_of):
    message = broken(open_card(), [request_of(EXT1, 0x1FC0, beats=2)])
    assert "memory port 2 (ext1)" in message
    assert "2 beats of 64 bytes at 0x1fc0" in message
    assert "crosses a 4 KiB boundary" in message


def test_burst_up_to_4_kib_is_legal(open_card):
    (answer,) = open_card().play([read(EXT0, 0x1000, beats=64)])
    assert (answer.resp, len(answer.data)) == (OKAY, 4096)


def test_address_that_changes_while_it_waits(open_card):
    card = open_card(memory={"model": "fixed", "requests_per_cycle": 0.01})
    card.write(FAULTS, WANDER_AR)
    assert "memory port 1 (ext0): AR changed while valid waited for ready" in broken(
        card, [read(EXT0, 0), read(EXT0, 0), read(EXT0, 0)]
    )


def test_wlast_in_the_wrong_place(open_card):
    card = open_card()
    card.write(FAULTS, FLIP_WLAST)
    assert "W beat 1 of the 4 of the write to 0x3000, ID 5, has WLAST=1" in broken(
        card, [write(EXT0, 0x3000, LINE * 4, id=5)]
    )


def test_strobe_outside_the_lanes_of_a_narrow_beat(open_card):
    card = open_card()
    card.write(FAULTS, STRB_ALL)
    card.play([write(EXT0, 0, LINE)])
    assert "outside its byte lanes 0x0000000000000f00" in broken(card, [write(EXT0, 8, b"abcd", size=2)])


def test_rtl_assertion_is_an_error_with_its_text(open_card, capfd):
    card = open_card()
    with pytest.raises(CardFailure, match="the assertion that was asked for") as failure:
        card.write(FAULTS, ASSERTION)
        card.run(2)
    assert failure.value.status == EDESIGN
    assert "gw_card.sv" in str(failure.value)
    with pytest.raises(CardFailure, match="open it again"):
        card.read(0)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("addr", [MEMORY, MEMORY + 0x1000, APERTURE - 64, APERTURE, 1 << 56, (1 << 64) - 64])
def test_address_of_nothing_is_decerr_and_noted(open_card, addr):
    card = open_card()
    bad_read, bad_write, good = card.play(
        [read(EXT0, addr), write(EXT0, addr, LINE), read(EXT0, MEMORY - 64)]
    )
    assert [bad_read.resp, bad_write.resp, good.resp] == [DECERR, DECERR, OKAY]
    assert bad_read.data == bytes(64)
    assert card.decode_errors() == (2, addr)
    assert card.stats()["reads"] == 1


def test_decerr_burst_has_all_its_beats(open_card):
    (answer,) = open_card().play([read(EXT0, MEMORY, beats=16)])
    assert (answer.resp, answer.done - answer.first) == (DECERR, 15)


def test_aperture_reaches_host_memory(open_card, seed):
    host = np.random.default_rng(seed).integers(0, 256, 8192, np.uint8)
    before = host.copy()
    card = open_card()
    card.host_window(0x10000, host, 8192)
    got, _ = card.play([read(EXT0, APERTURE + 0x10000, beats=64), write(EXT1, APERTURE + 0x11000, LINE)])
    assert got.data == before[:4096].tobytes()
    assert host[4096:4160].tobytes() == LINE
    assert np.array_equal(host[4160:], before[4160:])
    stats = card.stats()
    assert (stats["host_reads"], stats["host_writes"], stats["link_bytes"]) == (1, 1, 4096 + 64)
    assert (stats["reads"], stats["writes"]) == (0, 0)


def test_aperture_has_latency_and_bandwidth_of_the_link(open_card):
    """400 ns and 8 GB/s at 4 ns a cycle: 100 cycles, then 2 a line; both directions at the same time."""
    host = np.zeros(1 << 16, np.uint8)
    card = open_card()
    card.host_window(0, host, host.nbytes)
    one, burst, written = card.play(
        [
            read(EXT0, APERTURE),
            read(EXT0, APERTURE, beats=64, at=1000),
            write(EXT1, APERTURE, LINE * 4, at=1000),
        ]
    )
    assert one.first == one.accepted + 1 + 100 + 2
    assert burst.first == burst.accepted + 1 + 100 + 2
    assert burst.done == burst.first + 63 * 2
    assert written.done == written.accepted + 3 + 1 + 100 + 4 * 2


def test_aperture_accesses_queue_on_the_link(open_card):
    host = np.zeros(1 << 16, np.uint8)
    card = open_card()
    card.host_window(0, host, host.nbytes)
    answers = card.play([read(EXT0 + i % 3, APERTURE + 4096 * i, beats=64, id=i) for i in range(6)])
    assert (
        max(answer.done for answer in answers) - min(answer.accepted for answer in answers)
        == 1 + 100 + 6 * 64 * 2
    )


def test_device_read_overtakes_an_aperture_read_of_another_id(open_card):
    host = np.zeros(4096, np.uint8)
    card = open_card()
    card.host_window(0, host, 4096)
    slow, quick, ordered = card.play([read(EXT0, APERTURE, id=1), read(EXT0, 0, id=2), read(EXT0, 64, id=1)])
    assert quick.done < slow.done < ordered.done


def test_removed_window_is_gone(open_card):
    host = np.zeros(4096, np.uint8)
    card = open_card()
    card.host_window(0, host, 4096)
    card.host_window(0, None, 0)
    (answer,) = card.play([read(EXT2, APERTURE)])
    assert answer.resp == DECERR
    with pytest.raises(CardFailure, match="no host window begins at bus address 0x0"):
        card.host_window(0, None, 0)


@pytest.mark.parametrize(
    ("bus_addr", "size", "message"),
    [
        (0x800, 4096, "overlaps"),
        (0x1000 - 64, 128, "overlaps"),
        (32, 64, "whole 64-byte lines"),
        (0x4000, 100, "whole 64-byte lines"),
        (1 << 55, 64, "2\\^55"),
    ],
)
def test_window_that_cannot_be(open_card, bus_addr, size, message):
    host = np.zeros(8192, np.uint8)
    card = open_card()
    card.host_window(0x1000, host, 4096)
    if message == "overlaps" and bus_addr == 0x800:
        size = 0x801 // 64 * 64 + 64
    with pytest.raises(CardFailure, match=message) as failure:
        card.host_window(bus_addr, host, size)
    assert failure.value.status == EINVAL
    (answer,) = card.play([read(EXT0, APERTURE + 0x1000)])
    assert answer.resp == OKAY
