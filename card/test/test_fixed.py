# SPDX-License-Identifier: Apache-2.0
"""Memory model `fixed`: exact cycles of its contract."""

import itertools

import pytest
from card_abi import read, write
from passthrough_card import EXT0, EXT1, EXT2

LINE = bytes(range(64))


def fixed(**fields):
    return {"model": "fixed", "requests_per_cycle": 8, **fields}


@pytest.mark.parametrize("latency", [0, 10, 50, 71])
def test_read_answers_latency_cycles_after_the_next(open_card, latency):
    card = open_card(memory=fixed(latency_cycles=latency))
    (answer,) = card.play([read(EXT0, 0x1000)])
    assert answer.accepted == answer.offered
    assert answer.first == answer.accepted + 1 + latency
    assert answer.done == answer.first


@pytest.mark.parametrize("latency", [0, 10, 71])
def test_burst_gives_a_beat_a_cycle_after_the_first(open_card, latency):
    card = open_card(memory=fixed(latency_cycles=latency))
    (answer,) = card.play([read(EXT0, 0, beats=64)])
    assert answer.first == answer.accepted + 1 + latency
    assert answer.done == answer.first + 63


@pytest.mark.parametrize("latency", [0, 10, 71])
@pytest.mark.parametrize("beats", [1, 16])
def test_write_answers_latency_cycles_after_its_last_beat(open_card, latency, beats):
    card = open_card(memory=fixed(latency_cycles=latency))
    (answer,) = card.play([write(EXT0, 0x2000, LINE * beats)])
    last_beat = answer.accepted + beats - 1  # the first beat goes with the address
    assert answer.done == last_beat + 1 + latency


@pytest.mark.parametrize("latency", [0, 10, 71])
def test_page_table_port_has_its_own_latency(open_card, latency):
    card = open_card(memory=fixed(latency_cycles=5, page_table_latency_cycles=latency))
    through_walker, beside = card.play([read(EXT2, 0), read(EXT0, 0)])
    assert through_walker.first == through_walker.accepted + 1 + latency
    assert beside.first == beside.accepted + 1 + 5


@pytest.mark.parametrize("latency", [0, 10, 71])
def test_one_request_a_cycle_flows_whatever_the_latency(open_card, latency):
    card = open_card(memory=fixed(latency_cycles=latency, requests_per_cycle=1))
    answers = card.play([read(EXT0, 64 * i, id=i % 16) for i in range(500)])
    for i, answer in enumerate(answers):
        assert answer.accepted == answers[0].accepted + i
        assert answer.done == answer.accepted + 1 + latency


def test_quarter_of_a_request_a_cycle_is_one_every_four(open_card):
    card = open_card(memory=fixed(latency_cycles=71, requests_per_cycle=0.25))
    answers = card.play([read(EXT0, 64 * i) for i in range(200)])
    assert answers[0].done == answers[0].accepted + 1 + 71
    assert [answer.done for answer in answers] == [answers[0].done + 4 * i for i in range(200)]
    # One address waits inside while the next is offered, which is taken in the cycle after that one's grant.
    assert [answer.accepted - answers[1].accepted for answer in answers[2:]] == [4 * i for i in range(1, 199)]


def test_request_rate_is_shared_by_all_ports_in_turns(open_card):
    card = open_card(memory=fixed(latency_cycles=3, page_table_latency_cycles=3, requests_per_cycle=1))
    answers = card.play([read(port, 64 * i) for i in range(300) for port in (EXT0, EXT1, EXT2)])
    done = sorted(answer.done for answer in answers)
    assert [cycle - done[0] for cycle in done] == list(range(900))
    for port in range(3):
        cycles = [answer.done for answer in answers[port::3]]
        assert {later - earlier for earlier, later in itertools.pairwise(cycles)} == {3}


def test_reads_and_writes_share_the_request_rate(open_card):
    card = open_card(memory=fixed(latency_cycles=0, requests_per_cycle=0.5))
    answers = card.play(
        [request for i in range(100) for request in (read(EXT0, 64 * i), write(EXT1, 64 * i, LINE))]
    )
    done = sorted(answer.done for answer in answers)
    assert [cycle - done[0] for cycle in done] == [2 * i for i in range(200)]


def test_rate_above_one_counts_on_average(open_card):
    """2.5 requests a cycle offered 3: after the first cycles every five accesses take two cycles."""
    card = open_card(memory=fixed(latency_cycles=0, page_table_latency_cycles=0, requests_per_cycle=2.5))
    answers = card.play([read(port, 64 * i) for i in range(400) for port in (EXT0, EXT1, EXT2)])
    done = sorted(answer.done for answer in answers)
    assert done[1100] - done[100] == 1000 / 2.5


def test_one_beat_a_cycle_a_port(open_card):
    card = open_card(memory=fixed(latency_cycles=10))
    answers = card.play([read(port, 4096 * i, beats=32) for i in range(20) for port in (EXT0, EXT1)])
    for port in range(2):
        own = answers[port::2]
        assert own[-1].done - own[0].first == 20 * 32 - 1


def test_stats_count_bursts_bytes_and_page_table_reads(open_card):
    card = open_card(memory=fixed())
    card.play([read(EXT0, 0, beats=4), read(EXT1, 0, size=3), write(EXT0, 0, LINE * 2), read(EXT2, 0)])
    stats = card.stats()
    assert (stats["reads"], stats["read_bytes"]) == (2, 4 * 64 + 8)
    assert (stats["writes"], stats["write_bytes"]) == (1, 128)
    assert stats["pt_reads"] == 1
    assert stats["row_hits"] == stats["row_misses"] == 0


def test_time_is_cycles_at_the_clock(open_card):
    card = open_card()
    before = card.stats()
    card.run(1000)
    after = card.stats()
    assert after["cycles"] - before["cycles"] == 1000
    assert after["time_ps"] - before["time_ps"] == 1000 * 4000
