# SPDX-License-Identifier: Apache-2.0
"""The link of packets: exact cycles of its contract, and the bandwidth that a published model of PCI Express has."""

import math

import numpy as np
import pytest
from card_abi import EINVAL, Card, CardFailure, read, write
from passthrough_card import EXT0, EXT1

HOST = 1 << 55
PERIOD_NS = 4
SIZE = 1 << 22
REQUEST, COMPLETION = 24, 20


def link(**fields):
    """A byte a nanosecond, so that bytes are times."""
    return {"model": "packets", "packet_gbps": 1, "latency_ns": 400, **fields}


@pytest.fixture
def host(open_card):
    """`host(...)`: a card with such a link and host memory behind it, of numbered words."""

    memories = []

    def opened(**fields):
        card = open_card(host_link=link(**fields))
        memory = np.arange(SIZE // 4, dtype=np.uint32).view(np.uint8)
        memories.append(memory)
        card.host_window(0, memory, SIZE)
        return card

    return opened


def cycles(ns):
    """Until a cycle begins with what so many nanoseconds bring; they are counted from the end of the handshake's."""
    return 1 + math.ceil(ns / PERIOD_NS)


def ends(answers):
    """Cycles from the first handshake to each answer's last."""
    return [answer.done - answers[0].accepted for answer in answers]


def test_a_line_costs_a_request_there_and_a_completion_back(host):
    (answer,) = host().play([read(EXT0, HOST)])
    assert answer.first - answer.accepted == cycles(REQUEST + 400 + COMPLETION + 64)


@pytest.mark.parametrize(("size", "at", "payload"), [(0, 3, 4), (2, 8, 4), (3, 16, 8), (5, 32, 32)])
def test_few_bytes_are_words_of_four(host, size, at, payload):
    (answer,) = host().play([read(EXT0, HOST + at, size=size)])
    assert answer.first - answer.accepted == cycles(REQUEST + 400 + COMPLETION + payload)
    (answer,) = host().play([write(EXT0, HOST + at, bytes(1 << size), size=size)])
    assert answer.done - answer.accepted == cycles(REQUEST + payload + 400)


def test_a_line_is_there_with_its_whole_completion(host):
    """512 bytes: a request, two completions of 256; four lines come with each, one a cycle to the port."""
    (answer,) = host().play([read(EXT0, HOST + 512, beats=8)])
    assert answer.first - answer.accepted == cycles(REQUEST + 400 + COMPLETION + 256)
    assert answer.done - answer.accepted == cycles(REQUEST + 400 + 2 * (COMPLETION + 256)) + 3


def test_writes_are_cut_at_the_payload_size(host):
    """From line 3 on: 64, 256 and 192 bytes."""
    (answer,) = host().play([write(EXT0, HOST + 192, bytes(512))])
    # The W beats of the burst take eight cycles, the first one is that of the address.
    assert answer.done - answer.accepted == 7 + cycles(3 * REQUEST + 512 + 400)
    (answer,) = host(max_payload_bytes=128).play([write(EXT0, HOST, bytes(512))])
    assert answer.done - answer.accepted == 7 + cycles(4 * REQUEST + 512 + 400)


def test_reads_are_cut_at_the_request_size(host):
    """1 KiB from line 4 on: requests of 256, 512 and 256 bytes, which leave one after another and are answered in order."""
    (answer,) = host().play([read(EXT0, HOST + 256, beats=16)])
    assert answer.first - answer.accepted == cycles(REQUEST + 400 + COMPLETION + 256)
    assert answer.done - answer.accepted == cycles(REQUEST + 400 + 4 * (COMPLETION + 256)) + 3


@pytest.mark.parametrize(
    ("boundary", "most", "sizes"),
    [
        (64, 0, (128, 128)),
        (128, 0, (64, 128, 64)),
        (64, 64, (64, 64, 64, 64)),
        (128, 128, (64, 128, 64)),
    ],
)
def test_completions_end_at_the_boundary(host, boundary, most, sizes):
    """256 bytes from an odd line on, payloads of 128."""
    card = host(max_payload_bytes=128, read_completion_boundary=boundary, completion_bytes=most)
    (answer,) = card.play([read(EXT0, HOST + 64, beats=4)])
    assert answer.first - answer.accepted == cycles(REQUEST + 400 + COMPLETION + sizes[0])
    last = cycles(REQUEST + 400 + len(sizes) * COMPLETION + 256)
    assert answer.done - answer.accepted == last + sizes[-1] // 64 - 1


def test_a_read_waits_for_a_tag_until_the_oldest_is_answered(host):
    """Four reads with two tags: the third one's request leaves when the first line is there."""
    answers = host(tags=2).play([read(EXT0, HOST + 64 * i) for i in range(4)])
    first = REQUEST + 400 + COMPLETION + 64
    # The second request leaves behind the first; its completion comes behind the first one's, that takes longer.
    second = first + COMPLETION + 64
    assert ends(answers) == [cycles(first), cycles(second), cycles(2 * first), cycles(second + first)]


def test_no_write_waits_for_a_tag(host):
    """With one tag the second read waits; a write that came after it leaves at once."""
    one, two, posted = host(tags=1).play(
        [read(EXT0, HOST), read(EXT0, HOST + 64, id=1), write(EXT1, HOST + 4096, bytes(64), at=0)]
    )
    first = REQUEST + 400 + COMPLETION + 64
    assert two.done - one.accepted == cycles(2 * first)
    assert posted.done - one.accepted == cycles(REQUEST + REQUEST + 64 + 400)


def test_a_read_does_not_pass_a_write_that_came_before(host):
    posted, reading = host().play([write(EXT0, HOST, bytes(64)), read(EXT1, HOST + 64)])
    assert reading.accepted == posted.accepted
    assert reading.first - reading.accepted == cycles(REQUEST + 64 + REQUEST + 400 + COMPLETION + 64)


def test_read_data_and_writes_do_not_share_a_wire(host):
    """A write while a long read's completions come takes what it takes alone."""
    card = host()
    long, posted = card.play(
        [read(EXT0, HOST, beats=64), write(EXT1, HOST + 8192, bytes(64), at=card.stats()["cycles"] + 250)]
    )
    assert long.first < posted.accepted < posted.done < long.done
    assert posted.done - posted.accepted == cycles(REQUEST + 64 + 400)


def test_narrow_reads_have_their_bytes(host, seed):
    """Data are those of host memory, whatever the packets."""
    random = np.random.default_rng(seed)
    card = host(max_payload_bytes=128, read_completion_boundary=128, tags=3)
    requests = []
    for _ in range(500):
        size = int(random.integers(7))
        beats = int(random.integers(1, min(64, 2048 >> size) + 1))
        addr = int(random.integers(SIZE // 4096)) * 4096 + (int(random.integers(2048)) >> size << size)
        requests.append(
            read(
                EXT0 + int(random.integers(3)),
                HOST + addr,
                id=int(random.integers(16)),
                beats=beats,
                size=size,
            )
        )
    memory = np.arange(SIZE // 4, dtype=np.uint32).tobytes()
    for request, answer in zip(requests, card.play(requests), strict=True):
        at = request["addr"] - HOST
        assert answer.data == memory[at : at + ((request["len"] + 1) << request["size"])]


def test_a_transfer_is_packets_that_have_the_link_alone(host):
    card = host(tags=4)
    data = np.zeros(4096, np.uint8)
    before = card.stats()["link_ps"]
    card.transfer(False, 0, data)
    assert card.stats()["link_ps"] - before == (16 * REQUEST + 4096 + 400) * 1000
    before = card.stats()["link_ps"]
    card.transfer(True, 0, data)
    # Eight requests with four tags: the fifth leaves when the first is answered, and the link is idle for its way there and back.
    request = 2 * (COMPLETION + 256)
    first = REQUEST + 400 + request
    assert (
        card.stats()["link_ps"] - before
        == (max(first + REQUEST + 400, first + 3 * request) + 4 * request) * 1000
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "pcie"}, 'host_link.model must be "rate" or "packets", found "pcie"'),
        ({"max_payload_bytes": 384}, "host_link.max_payload_bytes must be a power of two, found 384"),
        (
            {"max_payload_bytes": 64},
            "host_link.max_payload_bytes must be an integer from 128 to 4096, found 64",
        ),
        (
            {"max_read_request_bytes": 8192},
            "host_link.max_read_request_bytes must be an integer from 128 to 4096, found 8192",
        ),
        ({"completion_bytes": 96}, "host_link.completion_bytes must be 0 or a power of two, found 96"),
        (
            {"completion_bytes": 512},
            "host_link.completion_bytes: legal is 0, or read_completion_boundary (64) to max_payload_bytes (256), found 512",
        ),
        ({"read_completion_boundary": 96}, "must be a power of two, found 96"),
        ({"tags": 0}, "host_link.tags must be an integer from 1 to 1024, found 0"),
        ({"packet_gbps": 0}, "host_link.packet_gbps must be a number above 0, up to 1000, found 0"),
    ],
)
def test_a_link_that_cannot_be_says_why(library, fields, message):
    with pytest.raises(CardFailure) as failure:
        Card(library, host_link=link(**fields))
    assert failure.value.status == EINVAL
    assert message in str(failure.value)


GBPS = 7.235
"""PCIe 3.0 x8 less acknowledges and flow control: 57.88 Gb/s (Neugebauer et al., SIGCOMM 2018)."""
TRANSFERS = 1024


def published(size, kind):
    """Bandwidth of their model (section 3), Gb/s: headers of 24 and 20 bytes, payloads of 256, read requests of 512, 64-bit addresses."""
    to_card = size + math.ceil(size / 256) * COMPLETION
    asked = math.ceil(size / 512) * REQUEST
    to_host = size + math.ceil(size / 256) * REQUEST
    bytes_moved = {
        "read": max(to_card, asked),
        "write": to_host,
        "read and write": max(to_card, asked + to_host),
    }
    return 8 * GBPS * size / bytes_moved[kind]


def measured(card, size, kind):
    """... of the simulated card: transfers one after another, each from the beginning of a page; as many reads as writes are offered."""
    requests = []
    start, beats = card.stats()["cycles"], size // 64
    for number in range(TRANSFERS):
        at = HOST + number % (SIZE // 4096) * 4096
        if kind != "write":
            requests.append(read(EXT0, at, beats=beats, at=start + number * beats))
        if kind != "read":
            requests.append(write(EXT1, at, bytes(size)))
    answers = card.play(requests)
    # While it is full, from the first quarter on.
    done = sorted(answer.done for answer in answers if kind == "write" or answer.size_bytes)[
        TRANSFERS // 4 - 1 :
    ]
    return 8 * size * (len(done) - 1) / ((done[-1] - done[0]) * PERIOD_NS)


@pytest.mark.parametrize("kind", ["read", "write", "read and write"])
def test_bandwidth_over_transfer_size_is_the_published_models(host, kind):
    """Figure 1 there: PCIe 3.0 x8, every size of whole lines to 2 KiB."""
    card = host(packet_gbps=GBPS, latency_ns=900, tags=1024)
    print(f"{kind}: bytes, Gb/s here, of the model, deviation")
    for size in range(64, 2049, 64):
        found, wanted = measured(card, size, kind), published(size, kind)
        print(f"{size:5} {found:6.2f} {wanted:6.2f} {found / wanted - 1:+.2%}")
        assert found == pytest.approx(wanted, rel=0.001)


@pytest.mark.parametrize("tags", [8, 32, 64])
def test_few_tags_leave_short_reads_with_the_latency(host, tags):
    """So many reads a round trip, as long as that is less than the link carries."""
    card = host(packet_gbps=GBPS, latency_ns=900, tags=tags)
    for size in (64, 256, 512):
        trip_ns = 900 + (REQUEST + COMPLETION * math.ceil(size / 256) + size) / GBPS
        wanted = min(8 * tags * size / trip_ns, published(size, "read"))
        assert measured(card, size, "read") == pytest.approx(wanted, rel=0.01)
