# SPDX-License-Identifier: Apache-2.0
"""Masters and slaves under random traffic: data, order, exactly one answer, with and without stalls."""

from collections import defaultdict

import numpy as np
import pytest
from card_abi import OKAY, REQUEST, read, write
from passthrough_card import EXT0

REGION = 1 << 20  # of each port; ports do not share lines, so that the result does not depend on who is first


class Reference:
    """What device memory must hold, and requests that do not race: a batch uses every page once."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.memory = self.random.integers(0, 256, 3 * REGION, np.uint8)

    def batch(self, count: int):
        """Requests, and per request the bytes a read must return (None for a write)."""
        random, requests, expected = self.random, [], []
        for port in range(3):
            for page in random.permutation(REGION // 4096)[: count // 3]:
                base = port * REGION + int(page) * 4096
                size = int(random.integers(7))
                beats = int(min(random.integers(1, 17), 4096 >> size))
                start = int(random.integers(0, 4096 - (beats << size) + 1))
                aligned = start >> size << size
                addr = base + (start if random.random() < 0.5 else aligned)
                span = slice(base + aligned, base + aligned + (beats << size))
                skipped = addr - base - aligned
                fields = {"id": int(random.integers(16)), "size": size}
                if random.random() < 0.5:
                    data = random.integers(0, 256, beats << size, np.uint8)
                    requests.append(write(EXT0 + port, addr, data.tobytes(), **fields))
                    self.memory[span][skipped:] = data[skipped:]
                    expected.append(None)
                else:
                    requests.append(read(EXT0 + port, addr, beats=beats, **fields))
                    expected.append(self.memory[span].tobytes())
        mixed = random.permutation(len(requests))
        return [requests[i] for i in mixed], [expected[i] for i in mixed]


def check_order(requests, answers):
    """Answers of one port, direction and ID come in the order of the requests; order numbers differ."""
    last, orders = {}, defaultdict(list)
    for request, answer in zip(requests, answers, strict=True):
        key = (request["port"], request.get("write", 0), request["id"])
        assert answer.order > last.get(key, -1)
        last[key] = answer.order
        orders[request["port"]].append(answer.order)
    for numbers in orders.values():
        assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("percent", [0, 30, 70])
@pytest.mark.parametrize("model", ["fixed", "banked"])
def test_random_accesses_keep_data_and_order(open_card, seed, percent, model):
    """6 x 16,800 accesses: over 100,000 in all."""
    reference = Reference(seed)
    card = open_card(
        memory={"model": model, "latency_cycles": 13, "requests_per_cycle": 0.8},
        stall={"seed": seed, "percent": percent},
    )
    device = card.memory(0, 3 * REGION)
    device[:] = reference.memory
    for _ in range(25):
        requests, expected = reference.batch(672)
        answers = card.play(requests)
        assert all(answer.resp == OKAY for answer in answers)
        for answer, data in zip(answers, expected, strict=True):
            if data is not None:
                assert answer.data == data
        check_order(requests, answers)
    assert np.array_equal(device, reference.memory)


@pytest.mark.parametrize("percent", [10, 50, 90])
def test_stalls_cost_cycles_and_nothing_else(open_card, percent):
    requests = [read(EXT0, 64 * i, id=i % 4) for i in range(500)]
    memory = {"model": "fixed", "latency_cycles": 0}
    free = open_card(memory=memory).play(requests)
    stalled = open_card(memory=memory, stall={"seed": 1, "percent": percent}).play(requests)
    assert free[-1].done - free[0].offered == 500
    # An address is offered in a share of 1 - percent of the cycles at most.
    assert stalled[-1].done - stalled[0].offered > 500 / (1 - percent / 100) * 0.9


def test_stall_seed_decides_the_cycles(open_card):
    def cycles(seed):
        card = open_card(stall={"seed": seed, "percent": 40})
        return [answer.done for answer in card.play([read(EXT0, 64 * i) for i in range(100)])]

    assert cycles(3) == cycles(3)
    assert cycles(3) != cycles(4)


def test_requests_are_offered_in_order_one_a_cycle(open_card):
    card = open_card(memory={"model": "fixed"})
    answers = card.play([write(EXT0, 64 * i, bytes(64)) if i % 2 else read(EXT0, 64 * i) for i in range(50)])
    assert [answer.offered - answers[0].offered for answer in answers] == list(range(50))


def test_earliest_cycle_holds_a_request_and_those_behind_it(open_card):
    card = open_card()
    first, second, other = card.play([read(EXT0, 0, at=500), read(EXT0, 64), read(EXT0 + 1, 0)])
    assert first.offered == 500
    assert second.offered == 501
    assert other.offered < 10


def test_answer_order_is_the_order_of_the_answers(open_card):
    card = open_card(memory={"model": "fixed", "latency_cycles": 10})
    slow, quick = card.play([write(EXT0, 0, bytes(64 * 64)), read(EXT0, 8192, id=1)])
    assert (quick.order, slow.order) == (0, 1)


def test_write_is_in_memory_before_its_answer(open_card):
    card = open_card(memory={"model": "fixed", "latency_cycles": 100_000}, watchdog_cycles=0)
    table = np.zeros(1, REQUEST)
    payload = np.arange(64, dtype=np.uint8)
    table[0]["port"], table[0]["addr"], table[0]["size"], table[0]["write"], table[0]["data"] = (
        EXT0,
        4096,
        6,
        1,
        payload.ctypes.data,
    )
    card.submit(table)
    card.drain(10)
    assert card.poll() == []
    assert np.array_equal(card.memory(4096, 64), payload)


def test_read_beat_is_read_when_it_is_offered(open_card):
    """The host changes memory during the read: the beat shows what was there when R valid rose."""
    card = open_card(memory={"model": "fixed", "latency_cycles": 50})
    table = np.zeros(1, REQUEST)
    table[0]["port"], table[0]["size"] = EXT0, 6
    card.submit(table)
    card.drain(20)
    card.memory(0, 1)[0] = 7
    card.drain()
    (answer,) = card.poll()
    assert answer.data[0] == 7


def test_poll_takes_what_fits(open_card):
    card = open_card()
    requests = [read(EXT0, 64 * i) for i in range(10)]
    table = np.zeros(10, REQUEST)
    for i, fields in enumerate(requests):
        for name, value in fields.items():
            table[i][name] = value
        table[i]["token"] = i
    card.submit(table)
    card.drain()
    assert [answer.token for answer in card.poll(3)] == [0, 1, 2]
    assert [answer.token for answer in card.poll()] == list(range(3, 10))
