# SPDX-License-Identifier: Apache-2.0
"""Memory model `banked`: cycles worked out by hand from the DDR4 timings.

Clock 4 ns, tRCD = tRP = CL = 13.32 ns, a line on the bus 3.333 ns, no controller time unless said. An address
accepted in cycle c is at the controller when cycle c + 1 begins; a line whose data end t ns later is valid in
cycle c + 1 + ceil(t / 4).
"""

import math

import numpy as np
import pytest
from card_abi import OKAY, read, write
from passthrough_card import EXT0, EXT1, EXT2

ROW = 8192
LINE = 64
BANKS = 16
SAME_BANK_NEXT_ROW = ROW * BANKS

EMPTY = 1 + math.ceil((13.32 + 13.32 + 3.333) / 4)  # activate, read, data
HIT = 1 + math.ceil((13.32 + 3.333) / 4)
CONFLICT = 1 + math.ceil((13.32 * 3 + 3.333) / 4)  # precharge first


def banked(**fields):
    return {
        "model": "banked", "banks": BANKS, "row_bytes": ROW, "interleave_bytes": LINE, "bandwidth_gbps": 19.2,
        "controller_ns": 0, "t_rcd_ns": 13.32, "t_rp_ns": 13.32, "t_cl_ns": 13.32, "t_cwl_ns": 10,
        "t_ras_ns": 32, "t_ccd_ns": 5, "t_rtp_ns": 7.5, "t_wr_ns": 15, "t_refi_ns": 0,
        "t_rfc_ns": 350, **fields,
    }  # fmt: skip


def latency(answer):
    return answer.first - answer.accepted


def test_constants_are_the_hand_computed_ones():
    assert (EMPTY, HIT, CONFLICT) == (9, 6, 12)


def test_empty_row_hit_and_conflict(open_card):
    card = open_card(memory=banked())
    empty, hit, conflict = card.play(
        [read(EXT0, 0), read(EXT0, LINE * BANKS, at=100), read(EXT0, SAME_BANK_NEXT_ROW, at=200)]
    )
    assert [latency(empty), latency(hit), latency(conflict)] == [EMPTY, HIT, CONFLICT]
    assert (card.stats()["row_hits"], card.stats()["row_misses"]) == (1, 2)


def test_controller_time_is_added_to_every_line(open_card):
    card = open_card(memory=banked(controller_ns=40))
    empty, hit = card.play([read(EXT0, 0), read(EXT0, LINE * BANKS, at=100)])
    assert [latency(empty), latency(hit)] == [
        1 + math.ceil((29.973 + 40) / 4),
        1 + math.ceil((16.653 + 40) / 4),
    ]


def test_precharge_waits_for_tras(open_card):
    """The row is opened at 0; the next one is asked for at once: precharge at tRAS, not before."""
    card = open_card(memory=banked())
    first, second = card.play([read(EXT0, 0), read(EXT0, SAME_BANK_NEXT_ROW)])
    assert second.accepted == first.accepted + 1
    assert second.first == first.accepted + 1 + math.ceil((32 + 13.32 * 3 + 3.333) / 4)


def test_one_bank_gives_a_row_every_trc(open_card):
    card = open_card(memory=banked())
    answers = card.play([read(EXT0, SAME_BANK_NEXT_ROW * i) for i in range(101)])
    # tRC = tRAS + tRP = 45.32 ns; both ends are rounded up to a cycle.
    assert abs((answers[-1].done - answers[0].done) - 100 * 45.32 / 4) < 1
    assert card.stats()["row_misses"] == 101


def test_other_banks_work_while_one_opens_a_row(open_card):
    """16 rows in 16 banks, opened at the same time: the bus is what they share."""
    card = open_card(memory=banked(bandwidth_gbps=8))
    answers = card.play([read(port, LINE * (2 * i + port - EXT0)) for i in range(8) for port in (EXT0, EXT1)])
    assert max(answer.done for answer in answers) - answers[0].accepted == 1 + math.ceil(
        (13.32 * 2 + 16 * 8) / 4
    )


def test_stream_of_a_page_opens_each_bank_once(open_card):
    card = open_card(memory=banked())
    (answer,) = card.play([read(EXT0, 0, beats=64)])
    assert latency(answer) == EMPTY
    assert answer.done == answer.first + 63  # the bus is faster than the port
    assert (card.stats()["row_hits"], card.stats()["row_misses"]) == (48, 16)


def test_data_bus_limits_all_ports_together(open_card):
    """8 GB/s is a line every two cycles."""
    card = open_card(memory=banked(bandwidth_gbps=8))
    answers = card.play(
        [read(port, 4096 * i + (port << 20), beats=64) for i in range(10) for port in (EXT0, EXT1, EXT2)]
    )
    assert (
        abs(
            max(answer.done for answer in answers)
            - min(answer.first for answer in answers)
            - 2 * (30 * 64 - 1)
        )
        < 30
    )


def test_columns_of_one_bank_are_tccd_apart(open_card):
    card = open_card(memory=banked(interleave_bytes=ROW))
    (answer,) = card.play([read(EXT0, 0, beats=64)])
    assert answer.done == answer.accepted + 1 + math.ceil((29.973 + 63 * 5) / 4)
    assert (card.stats()["row_hits"], card.stats()["row_misses"]) == (63, 1)


def test_write_answers_when_its_data_are_written(open_card):
    card = open_card(memory=banked())
    (answer,) = card.play([write(EXT0, 0, bytes(64))])
    assert answer.done == answer.accepted + 1 + math.ceil((13.32 + 10 + 3.333) / 4)


def test_precharge_after_a_write_waits_for_twr(open_card):
    card = open_card(memory=banked())
    first, second = card.play([write(EXT0, 0, bytes(64)), read(EXT0, SAME_BANK_NEXT_ROW)])
    written = 13.32 + 10 + 3.333
    assert second.first == first.accepted + 1 + math.ceil((written + 15 + 13.32 * 3 + 3.333) / 4)


def test_row_hit_goes_before_an_older_conflict(open_card):
    card = open_card(memory=banked())
    _, conflict, hit = card.play(
        [read(EXT0, 0), read(EXT0, SAME_BANK_NEXT_ROW, at=100), read(EXT1, LINE * BANKS, at=100)]
    )
    assert conflict.accepted == hit.accepted
    assert latency(hit) == HIT
    # The hit's tRTP, then precharge, activate, read.
    assert latency(conflict) == 1 + math.ceil((7.5 + 13.32 * 3 + 3.333) / 4)


def test_other_id_overtakes_and_same_id_does_not(open_card):
    warm = [read(EXT0, 0), read(EXT0, LINE)]
    card = open_card(memory=banked())
    *_, conflict, hit = card.play(
        [*warm, read(EXT0, SAME_BANK_NEXT_ROW, id=1, at=100), read(EXT0, LINE * (BANKS + 1), id=2, at=100)]
    )
    assert hit.done < conflict.done
    assert latency(hit) == HIT
    card = open_card(memory=banked())
    *_, conflict, hit = card.play(
        [*warm, read(EXT0, SAME_BANK_NEXT_ROW, id=1, at=100), read(EXT0, LINE * (BANKS + 1), id=1, at=100)]
    )
    assert hit.done == conflict.done + 1


def test_hits_cannot_starve_a_conflict(open_card):
    """16 hits may pass an older line of their bank by; then its row is opened."""
    card = open_card(memory=banked(interleave_bytes=ROW))
    stream = [read(EXT0, LINE * (i % 128), id=i % 8, at=100) for i in range(400)]
    *_, conflict = card.play([read(EXT0, 0), *stream, read(EXT1, SAME_BANK_NEXT_ROW, at=110)])
    assert latency(conflict) < 200


def test_refresh_stops_all_banks(open_card):
    card = open_card(memory=banked(t_refi_ns=1000, t_rfc_ns=400))
    (answer,) = card.play([read(EXT0, 0, at=249)])
    assert answer.accepted == 249
    # Refresh begins at 1000 ns = cycle 250, with all banks closed.
    assert answer.first == math.ceil((1000 + 400 + 29.973) / 4)


def test_refresh_closes_rows(open_card):
    card = open_card(memory=banked(t_refi_ns=1000, t_rfc_ns=100))
    before, after = card.play([read(EXT0, 0), read(EXT0, LINE * BANKS, at=400)])
    assert latency(before) == latency(after) == EMPTY


@pytest.mark.parametrize("t_rfc_ns", [0, 1, 350, 10_000])
def test_the_shortest_legal_refresh_period_leaves_time_for_every_access(open_card, t_rfc_ns):
    """The limit of the configuration: opened, used and closed before the next refresh, reads and writes, row after row."""
    period = t_rfc_ns + 13.32 + 32 + 13.32 + 4
    card = open_card(memory=banked(t_refi_ns=period, t_rfc_ns=t_rfc_ns))
    rows = [SAME_BANK_NEXT_ROW * i for i in range(8)]
    answers = card.play([read(EXT0, row) for row in rows] + [write(EXT1, row, bytes(LINE)) for row in rows])
    assert all(answer.resp == OKAY for answer in answers)
    # Two periods an access at most: a row that was opened late is closed by a refresh that the next one follows at once.
    assert max(answer.done for answer in answers) * 4 <= 2 * len(answers) * (period + 100)


def test_random_traffic_keeps_data_and_counts_every_line(open_card, seed):
    random = np.random.default_rng(seed)
    card = open_card(memory=banked(banks=4, row_bytes=512), stall={"seed": seed, "percent": 20})
    lines = random.permutation(4096)[:3000]
    payload = random.integers(0, 256, (3000, LINE), np.uint8)
    written = card.play(
        [
            write(EXT0 + i % 3, int(line) * LINE, payload[i].tobytes(), id=int(random.integers(16)))
            for i, line in enumerate(lines)
        ]
    )
    readback = card.play(
        [read(EXT0 + i % 3, int(line) * LINE, id=int(random.integers(16))) for i, line in enumerate(lines)]
    )
    assert all(answer.resp == OKAY for answer in written + readback)
    assert all(answer.data == payload[i].tobytes() for i, answer in enumerate(readback))
    stats = card.stats()
    assert stats["row_hits"] + stats["row_misses"] == 6000


@pytest.mark.parametrize("model", [banked(), {"model": "fixed", "latency_cycles": 30}])
def test_same_cycles_every_time(open_card, model):
    def play():
        card = open_card(memory=model, stall={"seed": 7, "percent": 30})
        return [
            answer.done
            for answer in card.play([read(EXT0 + i % 3, 64 * (i * 37 % 999), id=i % 16) for i in range(2000)])
        ]

    assert play() == play()
