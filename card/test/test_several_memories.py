# SPDX-License-Identifier: Apache-2.0
"""Several memories behind one card: each has addresses, a model and settings of its own."""

import card_abi
import numpy as np
import passthrough_card
import pytest
from card_abi import OKAY, CardFailure, read, write
from passthrough_card import EXT0, EXT1, EXT2, FAR, FAR_BYTES

LINE = bytes(range(64))
NEAR_LATENCY, FAR_LATENCY = 30, 7


@pytest.fixture(scope="session")
def library():
    return card_abi.load(passthrough_card.build(further=passthrough_card.TWO_MEMORIES))


def near(**fields):
    return {"latency_cycles": NEAR_LATENCY, **fields}


def test_each_memory_has_its_latency(open_card):
    card = open_card(memory=near())
    for addr, latency in ((0, 30), (FAR - 64, 30), (FAR, 7), (FAR + FAR_BYTES - 64, 7)):
        (answer,) = card.play([read(EXT0, addr)])
        assert answer.first == answer.accepted + 1 + latency
        (answer,) = card.play([write(EXT0, addr, LINE)])
        assert answer.done == answer.accepted + 1 + latency


def test_each_memory_is_changed_by_its_name(open_card):
    card = open_card(memory=near(far={"latency_cycles": 3, "page_table_latency_cycles": 11}))
    others, tables = card.play([read(EXT0, FAR), read(EXT2, FAR)])
    assert (others.first - others.accepted, tables.first - tables.accepted) == (4, 12)
    card = open_card(memory={"memory": {"latency_cycles": 5}})
    first, far = card.play([read(EXT0, 0), read(EXT1, FAR)])
    assert (first.first - first.accepted, far.first - far.accepted) == (6, 8)


def test_the_bytes_are_those_of_one_memory_after_the_other(open_card):
    card = open_card(memory=near())
    pattern = np.arange(128, dtype=np.uint8)
    card.play([write(EXT0, FAR - 64, pattern[:64].tobytes()), write(EXT0, FAR, pattern[64:].tobytes())])
    assert np.array_equal(card.memory(FAR - 64, 128), pattern)
    assert card.memory_bytes == FAR + FAR_BYTES


def test_a_memory_leaves_the_other_its_rate(open_card):
    card = open_card(memory=near(requests_per_cycle=0.25, far={"requests_per_cycle": 0.5}))
    count = 200
    answers = card.play(
        [request for i in range(count) for request in (read(EXT0, 64 * i), read(EXT1, FAR + 64 * i))]
    )
    for port, cycles in ((0, 4), (1, 2)):
        done = [answer.done for answer in answers[port::2]]
        assert done[-1] - done[0] == cycles * (count - 1)


def test_answers_of_one_id_keep_their_order_and_others_do_not_wait(open_card):
    card = open_card(memory=near())
    slow, other, same = card.play([read(EXT0, 0, id=1), read(EXT0, FAR, id=2), read(EXT0, FAR, id=1)])
    assert other.first == other.accepted + 1 + FAR_LATENCY < slow.first
    assert same.first == slow.done + 1
    slow, other, same = card.play(
        [write(EXT0, 0, LINE, id=1), write(EXT0, FAR, LINE, id=2), write(EXT0, FAR, LINE, id=1)]
    )
    assert other.done < slow.done < same.done


def test_a_full_memory_keeps_those_behind_it_waiting(open_card):
    card = open_card(memory=near(requests_per_cycle=0.01))
    first, second, far = card.play([read(EXT0, 64 * i) for i in range(2)] + [read(EXT0, FAR, id=1)])
    # The second waits for its grant, 100 cycles after the first one's, and the third for the cycle after that.
    assert (second.done - first.done, far.accepted - first.accepted) == (100, 101)
    assert far.first == far.accepted + 1 + FAR_LATENCY < second.first


def test_models_may_differ(open_card):
    card = open_card(memory=near(far={"model": "banked", "t_refi_ns": 0, "controller_ns": 0}))
    card.play([read(EXT0, 64 * i) for i in range(10)])
    assert card.stats()["row_misses"] == 0
    card.play([read(EXT0, FAR), read(EXT0, FAR, at=2000)])
    stats = card.stats()
    assert (stats["row_hits"], stats["row_misses"], stats["reads"]) == (1, 1, 12)


@pytest.mark.parametrize("far", ["fixed", "banked"])
def test_random_traffic_reads_what_was_written(open_card, seed, far):
    rng = np.random.default_rng(seed)
    card = open_card(
        memory=near(requests_per_cycle=1, far={"model": far}), stall={"seed": seed, "percent": 20}
    )
    lines = [base + 64 * i for base in (FAR - 64 * 8, FAR) for i in range(8)]
    content = {line: bytes(64) for line in lines}
    for _ in range(20):
        batch = rng.permutation(lines)
        data = {int(line): rng.bytes(64) for line in batch[:8]}
        requests = [write(EXT0, line, text, id=i % 16) for i, (line, text) in enumerate(data.items())]
        requests += [read(EXT1, int(line), id=i % 16) for i, line in enumerate(batch[8:])]
        answers = card.play(requests)
        assert all(answer.resp == OKAY for answer in answers)
        for answer, line in zip(answers[8:], batch[8:], strict=True):
            assert answer.data == content[int(line)]
        content |= data


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('{"memory": {"fra": {"latency_cycles": 1}}}', "this card has no memory 'fra'; it has: memory, far"),
        ('{"memory": {"far": {"latency": 1}}}', "unknown option memory.far.latency; known are: model"),
        ('{"memory": {"far": {"latency_cycles": -1}}}', "memory.far.latency_cycles must be an integer"),
        ('{"memory": {"far": {"bytes": 64}}}', "unknown option memory.far.bytes"),
        (
            '{"memory": {"far": {"row_bytes": 192, "interleave_bytes": 128}}}',
            "memory.far.row_bytes must be a multiple",
        ),
        ('{"memory": {"far": {"t_refi_ns": 3}}}', "memory.far.t_refi_ns leaves no time"),
        (
            '{"memory": {"far": {"model": "litedram-ddr4"}}}',
            "memory.far.model: litedram-ddr4 is for the first memory",
        ),
    ],
)
def test_wrong_options_name_the_memory(open_card, options, message):
    with pytest.raises(CardFailure, match="memory") as caught:
        open_card(options)
    assert message in str(caught.value)
