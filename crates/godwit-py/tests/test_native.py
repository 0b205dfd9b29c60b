# SPDX-License-Identifier: Apache-2.0
"""`godwit._native` on the real RTL. Needs cards `tiny` and `default`; a missing one says how to build it."""

import gc
import json
import os
import signal
import threading

import numpy as np
import pytest

from godwit import _native

INT64 = 1
DONE, READ_ERROR = 0, 1


@pytest.fixture(scope="module")
def card():
    with _native.Card.open("sim:default") as card:
        yield card


@pytest.fixture
def context(card):
    with card.context() as context:
        yield context


@pytest.fixture
def tiny():
    with _native.Card.open("sim:tiny") as card:
        yield card


def put(context, array, **options):
    buffer = context.alloc(array.nbytes, **options)
    buffer.upload(array.view(np.uint8))
    return buffer


def test_views_are_the_device_memory(card, context):
    with context.alloc(80_000) as buffer:
        view = np.frombuffer(buffer, np.int64)
        assert view.ctypes.data == buffer.address and view.flags.writeable and len(view) == 10_000
        view[:] = np.arange(10_000)
        assert buffer.download(8 * 77, 8) == (77).to_bytes(8, "little")
        before = card.stats()["time_ps"]
        buffer.upload(b"\xff" * 8, 16)
        assert card.stats()["time_ps"] > before
        assert view[2] == -1
        physical, mapped = buffer.physical()[0]
        assert mapped >= 80_000
        assert context.lookup(buffer.address)[1] == physical
        assert context.table_bytes() >= 4 * 4096
        del view


def test_a_buffer_with_views_is_not_freed(context):
    buffer = context.alloc(4096)
    view = memoryview(buffer)
    with pytest.raises(_native.ArgumentError, match="1 live views"):
        buffer.free()
    view[0] = 7
    view.release()
    buffer.free()
    buffer.free()
    assert buffer.freed
    with pytest.raises(BufferError, match="was freed"):
        memoryview(buffer)
    with pytest.raises(_native.ArgumentError, match="was freed"):
        buffer.upload(b"x")


@pytest.mark.parametrize("mode", ["translate", "bare"])
def test_a_kernel_sums_what_numpy_wrote(card, context, mode):
    values = np.random.default_rng(1).integers(-(2**62), 2**62, 5000)
    with put(context, values, access="r") as buffer:
        args = {"values": buffer, "count": len(values), "dtype": INT64}
        done = card.launch("array_sum", args, context, mode=mode)
    assert done["results"] == {"sum": int(values.sum()) % 2**64, "status": DONE}
    assert done["cycles"] * 64 >= values.nbytes
    # 250 MHz
    assert done["time_ps"] == done["cycles"] * 4000
    assert done["launch_ps"] > done["time_ps"]
    assert (done["stats"]["pt_reads"] > 0) == (mode == "translate")


def test_counters_add_up(card, context):
    card.clear_counters()
    values = np.ones(4096, np.int64)
    with put(context, values) as buffer:
        card.launch("array_sum", {"values": buffer, "count": 4096, "dtype": INT64}, context)
    counters = card.counters()
    port = json.loads(card.describe())["kernels"]
    at = [kernel["name"] for kernel in port].index("array_sum")
    read = {name: counters[f"port{at}.read.{name}"] for name in ("requests", "hits", "misses", "faults")}
    assert read["requests"] == read["hits"] + read["misses"] > 0 and read["faults"] == 0
    assert 0 < counters["walker.walks"] <= read["misses"]
    assert counters["walker.latency_max"] * counters["walker.walks"] >= counters["walker.latency_sum"]
    assert list(card.counter_docs()) == list(counters)


def test_wrong_arguments_raise_before_anything_runs(card, context):
    with context.alloc(4096) as buffer:
        cases = [
            ({"values": buffer}, "missing arguments: count, dtype"),
            ({"values": buffer, "count": 1, "dtype": 2**40}, "has 32 bits"),
            ({"values": 5, "count": 1, "dtype": 1}, "0x5 is in no buffer"),
            ({"values": buffer, "count": buffer, "dtype": 1}, "is a u64, not a buffer"),
            ({"values": buffer, "count": "1", "dtype": 1}, "must be a Buffer, an integer"),
            ({"values": buffer, "count": 1, "dtype": 1, "sums": 1}, "no argument `sums`"),
        ]
        cycles = card.stats()["cycles"]
        for args, message in cases:
            with pytest.raises(_native.ArgumentError, match=message):
                card.launch("array_sum", args, context)
        assert card.stats()["cycles"] == cycles
        with pytest.raises(_native.ArgumentError, match="did you mean `array_sum`"):
            card.launch("array_sums", {}, context)
    with pytest.raises(_native.ArgumentError, match="no pages of 8 KiB"):
        context.alloc(1, "8K")
    with pytest.raises(_native.ArgumentError, match="page size `12K` is not auto or a power of two"):
        context.alloc(1, "12K")
    with pytest.raises(_native.ArgumentError, match="mode `sv32`"):
        card.context("sv32")


def test_too_much_memory_is_refused_with_numbers(card, context):
    free, largest = card.memory_free()
    with pytest.raises(
        _native.OutOfMemory, match=f"free are {free}, the largest contiguous piece is {largest}"
    ):
        context.alloc(2**50)
    assert card.memory_free() == (free, largest)


def test_a_fault_says_where(card, context):
    with context.alloc(4096, access="r") as buffer:
        args = {"values": buffer.address, "count": 100_000, "dtype": INT64}
        with pytest.raises(_native.FaultError, match="past the end of the buffer") as caught:
            card.launch("array_sum", args, context)
        assert caught.value.kernel == "array_sum" and not caught.value.write
        assert caught.value.address >= buffer.address + 4096


def test_ctrl_c_stops_the_kernel_and_leaves_the_card_usable(card, context):
    with context.alloc(1 << 20) as source, context.alloc(1 << 20) as target:
        args = {"src": source, "dst": target, "bytes": 1 << 20, "iterations": 2**31}
        timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            card.launch("memcopy", args, context)
        timer.join()
        np.frombuffer(source, np.uint8)[:] = 3
        args["iterations"] = 1
        assert card.launch("memcopy", args, context)["results"]["status"] == DONE
        assert np.frombuffer(target, np.uint8).min() == 3


def test_a_timeout_is_a_hang_that_can_be_survived(card, context):
    with context.alloc(1 << 16) as source, context.alloc(1 << 16) as target:
        args = {"src": source, "dst": target, "bytes": 1 << 16, "iterations": 2**31}
        with pytest.raises(_native.HangError, match="not done after 5000 cycles; it was stopped"):
            card.launch("memcopy", args, context, timeout_cycles=5000)


def test_the_interpreter_runs_while_the_card_does(card, context):
    ticks = 0
    stop = threading.Event()

    def tick():
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    with context.alloc(1 << 20) as source, context.alloc(1 << 20) as target:
        thread = threading.Thread(target=tick)
        thread.start()
        args = {"src": source, "dst": target, "bytes": 1 << 20, "iterations": 4}
        card.launch("memcopy", args, context)
        stop.set()
        thread.join()
    assert ticks > 3


def test_ports_answer_in_batches(tiny):
    context = tiny.context()
    buffer = context.alloc(1 << 16)
    data = np.random.default_rng(2).integers(0, 256, 1 << 16, np.uint8)
    tiny.bind_port(0, context)
    beats = 64
    count = len(data) // (beats * 64)
    at = buffer.address + np.arange(count, dtype=np.uint64) * (beats * 64)
    arrays = {
        "port": np.zeros(count, np.uint32),
        "token": np.arange(count, dtype=np.uint64),
        "id": np.zeros(count, np.uint8),
        "addr": at,
        "beats": np.full(count, beats, np.uint16),
        "size": np.full(count, 6, np.uint8),
        "write": np.ones(count, np.uint8),
        "data": data,
    }
    tiny.record_events(True)
    tiny.port_submit(arrays)
    tiny.port_drain(1_000_000)
    assert [(answer["token"], answer["resp"]) for answer in tiny.port_poll()] == [
        (i, 0) for i in range(count)
    ]
    assert bytes(memoryview(buffer)) == data.tobytes()
    tiny.port_submit([(0, i, 0, int(addr), beats, 6, None) for i, addr in enumerate(at)])
    tiny.port_drain(1_000_000)
    answers = tiny.port_poll()
    assert b"".join(answer["data"] for answer in answers) == data.tobytes()
    assert [answer["order"] for answer in answers] == list(range(count, 2 * count))
    physical = buffer.physical()[0][0]
    events = [event for event in tiny.take_events() if event[2] == 0]
    assert [event[1] for event in events] == 2 * [physical + int(addr) - buffer.address for addr in at]
    with pytest.raises(_native.ArgumentError, match="`data` ends before the last write"):
        tiny.port_submit(arrays | {"data": data[:-1]})
    with pytest.raises(_native.ArgumentError, match="array `id` is missing"):
        tiny.port_submit({name: array for name, array in arrays.items() if name != "id"})


def test_faults_of_ports_are_taken(tiny):
    context = tiny.context()
    tiny.bind_port(0, context)
    tiny.port_submit([(0, 1, 0, 0x1000, 1, 6, None)])
    tiny.port_drain(100_000)
    assert tiny.port_poll()[0]["resp"] != 0
    assert "port 0: read of 0x1000 refused" in tiny.take_fault()
    assert tiny.take_fault() is None


def test_a_closed_card_keeps_what_the_host_sees():
    card = _native.Card.open("sim:tiny")
    buffer = card.context().alloc(4096)
    view = memoryview(buffer)
    view[0] = 9
    card.close()
    card.close()
    assert card.closed and view[0] == 9
    with pytest.raises(_native.DeviceError, match="the card is closed"):
        card.stats()


def test_a_forked_child_neither_uses_nor_harms_the_card(tiny):
    context = tiny.context()
    buffer = context.alloc(4096)
    np.frombuffer(buffer, np.uint8)[:] = 5
    child = os.fork()
    if child == 0:
        try:
            tiny.stats()
        except _native.DeviceError as error:
            code = 0 if "do not survive a fork" in str(error) else 1
        else:
            code = 2
        del buffer, context
        gc.collect()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (np.frombuffer(buffer, np.uint8) == 5).all()
    assert buffer.download(0, 1) == b"\x05"


def test_cards_that_cannot_be_opened_say_what_to_do():
    with pytest.raises(_native.DeviceError, match="run `godwit card build --config nonexistent`"):
        _native.Card.open("sim:nonexistent")
    with pytest.raises(_native.ArgumentError, match="not JSON"):
        _native.Card.open("sim:tiny", "{")
    with pytest.raises(_native.DeviceError, match="colour"):
        _native.Card.open("sim:tiny", '{"colour": 1}')
    for error in ("DeviceError", "OutOfMemory", "FaultError", "HangError", "ArgumentError"):
        assert issubclass(getattr(_native, error), _native.GodwitError)
