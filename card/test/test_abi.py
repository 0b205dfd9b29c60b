# SPDX-License-Identifier: Apache-2.0
"""The C ABI: options, registers, interrupts, transfers, traces, several cards, and misuse."""

import csv
import ctypes
import json

import card_abi
import numpy as np
import passthrough_card
import pytest
from card_abi import EBUS, EINVAL, EIO, REQUEST, Card, CardFailure, read, write
from passthrough_card import EXT0, EXT1, EXT2, SLEEPER, WALKER

from godwit import toolchain
from godwit.events import RECORD, read_header

IRQ, DELAY = 8, 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{", "options are not valid JSON"),
        ('{"watchdog_cycles": 1} x', "options are not valid JSON"),
        ("[]", "must be a JSON object, found []"),
        (
            '{"colour": 1}',
            "unknown option colour; known are: memory, host_link, stall, watchdog_cycles, waves, axi_trace, events",
        ),
        ('{"memory": {"latency": 1}}', "unknown option memory.latency; known are: model, latency_cycles"),
        ('{"memory": 3}', "memory must be a JSON object, found 3"),
        (
            '{"memory": {"model": "litedram"}}',
            'memory.model must be "fixed", "banked" or "litedram-ddr4", found "litedram"',
        ),
        ('{"memory": {"model": "litedram-ddr4"}}', "this card was built without the controller"),
        (
            '{"memory": {"latency_cycles": -1}}',
            "memory.latency_cycles must be an integer from 0 to 100000, found -1",
        ),
        ('{"memory": {"latency_cycles": 1.5}}', "memory.latency_cycles must be an integer"),
        ('{"memory": {"latency_cycles": "10"}}', 'found "10"'),
        (
            '{"memory": {"requests_per_cycle": 0}}',
            "memory.requests_per_cycle must be a number from 0.001 to 64, found 0",
        ),
        ('{"memory": {"row_bytes": 1000}}', "memory.row_bytes must be a multiple of 64, found 1000"),
        (
            '{"memory": {"row_bytes": 192, "interleave_bytes": 128}}',
            "memory.row_bytes must be a multiple of memory.interleave_bytes, found 192 and 128",
        ),
        (
            '{"memory": {"t_refi_ns": 412.6, "t_rfc_ns": 350}}',
            "memory.t_refi_ns leaves no time between refreshes: legal is 0 (none) or from 412.64 "
            "(t_rfc_ns + t_rcd_ns + t_ras_ns + t_rp_ns + a cycle), found 412.6",
        ),
        (
            '{"host_link": {"bandwidth_gbps": 0}}',
            "host_link.bandwidth_gbps must be a number above 0, up to 1000",
        ),
        ('{"stall": {"percent": 100}}', "stall.percent must be an integer from 0 to 99, found 100"),
        ('{"watchdog_cycles": true}', "watchdog_cycles must be an integer"),
        ('{"axi_trace": ""}', "axi_trace must be a file name"),
        ('{"waves": "x.fst"}', "built without waves"),
        (
            '{"axi_trace": "/no/such/directory/trace.csv"}',
            "AXI trace /no/such/directory/trace.csv cannot be written",
        ),
    ],
)
def test_option_that_cannot_be_used_says_why(library, options, message):
    with pytest.raises(CardFailure) as failure:
        Card(library, options)
    assert message in str(failure.value)


def test_open_cuts_its_message_to_the_buffer(library):
    error = ctypes.create_string_buffer(b"x" * 20, 20)
    assert not library.gw_card_open(b"{", error, 8)
    assert error.raw[:8] == b"options\0"
    assert error.raw[8:] == b"x" * 12
    assert not library.gw_card_open(b"{", None, 0)


def test_describe_and_abi(library):
    assert json.loads(library.gw_card_describe())["name"] == "passthrough"
    assert library.gw_card_abi() == 4


def test_registers_read_back_and_take_the_link_latency(open_card):
    """80 ns there and back = 20 cycles; a write is posted: one way. The registers answer in 2 cycles."""
    card = open_card()
    start = card.stats()["cycles"]
    card.write(0, 0x1234_5678)
    assert card.stats()["cycles"] - start == 10 + 2
    assert card.read(0) == 0x1234_5678
    assert card.stats()["cycles"] - start == 10 + 2 + 20 + 2


def test_register_that_does_not_exist(open_card):
    card = open_card()
    for access in (lambda: card.read(0x40), lambda: card.write(0x40, 1)):
        with pytest.raises(CardFailure, match="0x00000040 was answered with SLVERR") as failure:
            access()
        assert failure.value.status == EBUS
    assert card.read(0) == 0


@pytest.mark.parametrize("offset", [2, 1 << 32, (1 << 64) - 4])
def test_register_offset_that_cannot_be(open_card, offset):
    with pytest.raises(CardFailure, match="multiple of 4 below") as failure:
        open_card().read(offset)
    assert failure.value.status == EINVAL


def test_run_stops_in_the_cycle_of_the_interrupt(open_card):
    card = open_card()
    card.write(DELAY, 500)
    start = card.stats()["cycles"]
    assert card.run(10_000, mask=1) == 1
    assert 490 <= card.stats()["cycles"] - start <= 500
    again = card.stats()["cycles"]
    assert card.run(10_000, mask=1) == 1
    assert card.stats()["cycles"] == again


def test_run_heeds_the_mask(open_card):
    card = open_card()
    card.write(IRQ, 0b10)
    start = card.stats()["cycles"]
    assert card.run(100, mask=0b01) == 0b10
    assert card.stats()["cycles"] - start == 100


def test_transfer_copies_and_takes_link_time_only(open_card, seed):
    data = np.random.default_rng(seed).integers(0, 256, 100_000, np.uint8)
    card = open_card()
    before = card.stats()
    card.transfer(True, 12345, data)
    assert np.array_equal(card.memory(12345, data.nbytes), data)
    back = np.zeros_like(data)
    card.transfer(False, 12345, back)
    assert np.array_equal(back, data)
    after = card.stats()
    assert after["cycles"] == before["cycles"]
    # 400 ns, and 100,000 bytes at 8 bytes a nanosecond, both ways.
    assert after["link_ps"] == after["time_ps"] - before["time_ps"] == 2 * (400_000 + 100_000 * 125)
    assert after["link_bytes"] == 200_000


@pytest.mark.parametrize(("addr", "size"), [((64 << 30) - 10, 11), ((1 << 64) - 1, 2), (64 << 30, 1)])
def test_transfer_outside_device_memory(open_card, addr, size):
    card = open_card()
    with pytest.raises(CardFailure, match="device memory has 0x1000000000 bytes"):
        card.transfer(True, addr, np.zeros(size, np.uint8))
    assert card.stats()["link_ps"] == 0


def test_memory_is_one_file_of_the_whole_size(library, open_card):
    """64 GiB that cost nothing until they are touched."""
    card = open_card()
    assert card.memory_bytes == 64 << 30
    fd = ctypes.c_int()
    assert library.gw_card_memory(card.handle, ctypes.byref(fd), None, None) == 0
    card.memory(5 << 30, 4)[:] = [1, 2, 3, 4]
    with open(fd.value, "rb", closefd=False) as file:
        file.seek(5 << 30)
        assert file.read(4) == bytes([1, 2, 3, 4])
    (answer,) = card.play([read(EXT0, 5 << 30, size=2)])
    assert answer.data == bytes([1, 2, 3, 4])


def test_two_cards_do_not_share_anything(open_card):
    slow, quick = open_card(memory={"model": "fixed", "latency_cycles": 50}), open_card()
    slow.memory(0, 1)[0] = 1
    slow.write(0, 11)
    quick.write(0, 22)
    (first,), (second,) = slow.play([read(EXT0, 0)]), quick.play([read(EXT0, 0)])
    assert (first.data[0], second.data[0]) == (1, 0)
    assert (first.first - first.accepted, second.first - second.accepted) == (51, 1)
    assert (slow.read(0), quick.read(0)) == (11, 22)
    assert slow.stats()["cycles"] != quick.stats()["cycles"]
    slow.close()
    assert quick.read(0) == 22


def test_trace_has_every_handshake(open_card, tmp_path):
    file = tmp_path / "trace.csv"
    card = open_card(axi_trace=str(file), memory={"model": "fixed", "latency_cycles": 3})
    got, written = card.play([read(EXT0, 0x1000, id=2, beats=3), write(EXT1, 0x2000, bytes(128), id=4)])
    card.close()
    with file.open(newline="", encoding="ascii") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == ["cycle", "port", "channel", "id", "addr", "len", "resp"]

    def of(port):
        return [
            tuple(row[name] for name in ("cycle", "channel", "id", "addr", "len", "resp"))
            for row in rows
            if row["port"] == port
        ]

    reads = [(str(got.accepted), "ar", "2", "0x1000", "2", "")]
    reads += [(str(got.first + i), "r", "2", "", "", "OKAY") for i in range(3)]
    writes = [(str(written.accepted), "aw", "4", "0x2000", "1", "")]
    writes += [(str(written.accepted + i), "w", "", "", "", "") for i in range(2)]
    writes += [(str(written.done), "b", "4", "", "", "OKAY")]
    # The pass-through makes both sides of a port the same handshake.
    assert of("ext0") == of("ext0.port") == reads
    assert of("ext1") == of("ext1.port") == writes
    assert len(rows) == 2 * len(reads + writes)


def test_trace_that_loses_lines_is_an_error(open_card):
    card = open_card(axi_trace="/dev/full")
    with pytest.raises(CardFailure, match="AXI trace /dev/full: lines were lost") as failure:
        card.play([read(EXT0, 4096 * i, beats=64) for i in range(100)])
    assert failure.value.status == EIO


def test_event_stream_has_every_pulse(open_card, tmp_path):
    """The pass-through's scratch register makes pulses: a read miss and a write stall of port 1, a walk's end of
    latency 9, an invalidation of context 7, an L2 hit, and entries of the L2 that an invalidation cleared.
    """
    file = tmp_path / "events"
    card = open_card(events=str(file))
    card.write(0, 0b1_00101_1111)
    card.run(5)
    card.write(0, 0)
    card.run(5)
    card.close()
    with file.open("rb") as stream:
        header = read_header(stream)
        records = np.frombuffer(stream.read(), RECORD)
    assert header.ports == ["sleeper", "ext0", "ext1", "ext2"]
    by_cycle: dict[int, list[tuple]] = {}
    for record in records:
        kind = header.kinds[record["kind"]]
        rest = tuple(int(record[name]) for name in ("port", "channel", "context", "value"))
        by_cycle.setdefault(int(record["cycle"]), []).append((kind["level"], kind["name"], *rest))
    assert len(by_cycle) >= 5
    assert max(by_cycle) - min(by_cycle) + 1 == len(by_cycle)
    for found in by_cycle.values():
        assert found == [
            ("l1", "miss", 1, 0, 5, 0),
            ("l1", "stall", 1, 1, 5, 0),
            ("walker", "end", 1, 0, 4, 9),
            ("invalidation", "begin", 0xFF, 0xFF, 7, 1),
            ("l2", "hit", 1, 1, 6, 0),
            ("l2", "invalidated", 0xFF, 0xFF, 0xFFFF, 5),
        ]


def test_event_stream_that_loses_records_is_an_error(open_card):
    card = open_card(events="/dev/full")
    with pytest.raises(CardFailure, match="event stream /dev/full: records were lost") as failure:
        card.run(1)
    assert failure.value.status == EIO


def test_events_are_the_address_handshakes_while_recording(open_card):
    card = open_card()
    card.play([read(EXT0, 0)])
    card.record_events(True)
    first, second, third = card.play(
        [read(EXT0, 64, id=1, beats=2), write(EXT1, 128, bytes(64), id=2), read(EXT2, 192, size=3)]
    )
    card.record_events(False)
    card.play([read(EXT0, 0)])
    events = [tuple(event.item()) for event in card.take_events()]
    assert sorted(events) == sorted(
        [
            (first.accepted, 64, EXT0, 0, 1, 1, 6),
            (second.accepted, 128, EXT1, 1, 2, 0, 6),
            (third.accepted, 192, WALKER, 0, 0, 0, 3),
        ]
    )
    assert len(card.take_events()) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"port": SLEEPER}, "port 0 is no external port: those of this card are 1 to 3"),
        ({"port": WALKER}, "port 5 is no external port"),
        ({"port": 1 << 31}, "is no external port"),
        ({"size": 7}, "size is log2 of the bytes a beat, 0 to 6, found 7"),
        ({"id": 16}, "IDs of this card have 4 bits, found 16"),
        ({"write": 1}, "a write needs data, found a null pointer"),
    ],
)
def test_request_that_cannot_be_made_submits_nothing(open_card, change, message):
    card = open_card()
    table = np.zeros(2, REQUEST)
    table["port"], table["size"] = EXT0, 6
    for name, value in change.items():
        table[1][name] = value
    with pytest.raises(CardFailure, match=message) as failure:
        card.submit(table)
    assert failure.value.status == EINVAL
    card.drain()
    assert card.poll() == []


def test_a_copy_without_host_memory_is_time_alone(library, open_card):
    card = open_card()
    card.memory(0, 64)[:] = 7
    host = np.zeros(4096, np.uint8)
    before = card.stats()["time_ps"]
    card.transfer(True, 4096, host)
    took = card.stats()["time_ps"] - before
    assert library.gw_card_transfer(card.handle, 1, 0, None, 4096) == 0
    assert card.stats()["time_ps"] - before == 2 * took > 0
    assert card.stats()["link_bytes"] == 2 * 4096
    assert (card.memory(0, 64) == 7).all()


def test_null_pointers_are_errors(library, open_card):
    card = open_card()
    assert library.gw_card_reg_read(card.handle, 0, None) == EINVAL
    assert b"null pointer" in library.gw_card_error(card.handle)
    assert library.gw_card_get_stats(card.handle, None) == EINVAL
    assert library.gw_card_port_submit(card.handle, None, 1) == EINVAL
    assert library.gw_card_port_submit(card.handle, None, 0) == 0
    assert library.gw_card_launch_times(card.handle, 0, None) == EINVAL
    assert library.gw_card_host_window(card.handle, 0, None, 64) == EINVAL
    assert library.gw_card_run(card.handle, 1, 0, None) == 0
    assert library.gw_card_get_decode_errors(card.handle, None, None) == 0
    assert library.gw_card_port_poll(card.handle, None, 1, None, 0) == 0
    assert library.gw_card_take_events(card.handle, None, 1) == 0
    value = ctypes.c_uint32()
    for status in (
        library.gw_card_reg_read(None, 0, ctypes.byref(value)),
        library.gw_card_reg_write(None, 0, 0),
        library.gw_card_run(None, 1, 0, None),
        library.gw_card_memory(None, None, None, None),
        library.gw_card_port_drain(None, 1, 0, None, None),
        library.gw_card_record_events(None, 1),
    ):
        assert status == EINVAL
    assert b"null pointer" in library.gw_card_error(None)
    library.gw_card_close(None)


def test_poll_without_a_data_buffer_drops_the_bytes(library, open_card):
    card = open_card()
    table = np.zeros(3, REQUEST)
    table["port"], table["size"] = EXT0, 6
    card.submit(table)
    card.drain()
    done = np.zeros(3, card_abi.DONE)
    small = np.zeros(100, np.uint8)
    assert library.gw_card_port_poll(card.handle, done.ctypes.data, 3, small.ctypes.data, small.nbytes) == 1
    assert library.gw_card_port_poll(card.handle, done.ctypes.data, 3, None, 0) == 2
    assert list(done["size_bytes"][:2]) == [64, 64]


@pytest.mark.skipif(not toolchain.has_lz4(), reason="FST waves need liblz4-dev")
def test_waves_hold_the_run(tmp_path):
    library = card_abi.load(passthrough_card.build(waves=True))
    file = tmp_path / "card.fst"
    with Card(library, waves=str(file)) as card:
        card.play([read(EXT0, 0, beats=16)])
        card.run(100)
    with_traffic = file.stat().st_size
    with Card(library, waves=str(file)) as card:
        card.run(1)
    assert with_traffic > file.stat().st_size > 0
    with pytest.raises(CardFailure, match="cannot be written") as failure:
        Card(library, waves="/no/such/directory/x.fst")
    assert failure.value.status in (EIO, EINVAL)
