# SPDX-License-Identifier: Apache-2.0
"""The Python API on the real card `sim:default`."""

from __future__ import annotations

import struct
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import godwit
from godwit.errors import SetupError


def split(
    card: godwit.Card, column: godwit.ArrayBuffer, operator: str, constant: float, **options
) -> tuple[list, list]:
    """Row numbers that the kernel `split` finds to match, and the others."""
    matches, rest = (card.empty(len(column), "u4") for _ in range(2))
    form = {"int32": "<i", "int64": "<q", "float": "<f", "double": "<d"}[str(column.type)]
    bits = int.from_bytes(struct.pack(form, constant), "little")
    result = card.launch(
        "split",
        **column.column(),
        op=godwit.OPERATOR_CODES[operator],
        constant=bits,
        matches=matches,
        rest=rest,
        **options,
    )
    assert result.status == 0
    count = result.match_count
    return matches.to_numpy()[:count].tolist(), rest.to_numpy()[: len(column) - count].tolist()


def test_a_numpy_array_is_summed_where_it_lies(card):
    numbers = np.arange(1000, dtype="int64")
    buffer = card.put(numbers)
    result = card.launch("array_sum", values=buffer, count=1000, dtype=1)
    assert (result.sum, result.status) == (numbers.sum(), 0)
    assert result.cycles > 1000 // 8
    assert result.time_ps == pytest.approx(result.cycles * 1e12 / card.clock_hz, rel=0.5)


@pytest.mark.parametrize("type_", [pa.int32(), pa.int64()])
def test_an_arrow_array_is_summed_without_its_nulls(card, type_):
    """Whole, in slices that begin inside a byte of the bitmap, in chunks, without nulls and with nothing but nulls."""
    rng = np.random.default_rng(5)
    whole = pa.array(rng.integers(-1000, 1000, 2000), type_, mask=rng.random(2000) < 0.4)
    chunked = pa.chunked_array([whole.slice(3, 700), whole.slice(1111)])
    for array in (
        whole,
        whole.slice(13),
        whole.slice(1021, 77),
        whole.slice(5, 0),
        chunked,
        pa.nulls(50, type_),
    ):
        with card.put(array, access="r") as column:
            result = card.launch("array_sum", **column.column("count"))
        assert result.sum == (pc.sum(array).as_py() or 0) % 2**64
    with card.put(whole.drop_null().slice(9)) as column:
        assert column.validity is None
        assert (
            card.launch("array_sum", **column.column("count")).sum
            == pc.sum(whole.drop_null().slice(9)).as_py() % 2**64
        )


def test_views_are_the_device_memory_itself(card):
    buffer = card.put(np.zeros((4, 256), "int32"))
    view = np.asarray(buffer)
    assert view.shape == (4, 256)
    assert view.__array_interface__["data"] == (buffer.address, False)
    view[3, 255] = -7
    assert card.launch("array_sum", values=buffer, count=1024, dtype=0).sum == (1 << 64) - 7
    assert np.shares_memory(view, buffer.to_numpy())
    assert buffer.to_arrow(pa.int32()).to_pylist()[-1] == -7
    assert struct.unpack("<i", buffer.download(4 * 1023, 4))[0] == -7


def test_new_memory_is_zero_also_when_it_was_used_before(card):
    for _ in range(2):
        with card.empty(10_000, "i8") as buffer:
            assert not buffer.to_numpy().any()
            buffer.to_numpy()[...] = -1


def test_arrow_arrays_come_back_without_a_copy(card):
    array = pa.array([1, None, 3, None, 5], pa.int64())
    on_card = card.put(array)
    back = on_card.to_arrow()
    assert back.equals(array)
    assert back.buffers()[1].address == on_card.values.address
    assert back.buffers()[0].address == on_card.validity.address
    assert pa.array(on_card).equals(array)


@pytest.mark.parametrize("data_type", [pa.int32(), pa.int64(), pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize(("start", "length"), [(0, 300), (1, 299), (7, 100), (8, 100), (9, 1), (130, 0)])
def test_slices_with_nulls_split_as_pyarrow_says(card, data_type, start, length):
    values = [None if n % 5 == 0 else n % 17 for n in range(300)]
    array = pa.array(values, data_type).slice(start, length)
    if length == 0:
        assert len(card.put(array)) == 0
        return
    column = card.put(array)
    assert column.values.nbytes <= (length + 7) * data_type.bit_width // 8
    wanted = [row for row, value in enumerate(array.to_pylist()) if value is not None and value > 8]
    matches, rest = split(card, column, ">", 8)
    assert matches == wanted
    assert sorted(matches + rest) == list(range(length))


def test_columns_without_nulls_have_no_bitmap(card):
    assert card.put(pa.array([1, 2])).validity is None
    assert card.put(pa.array([1, None, 2]).slice(2)).validity is None


def test_chunked_arrays_and_foreign_producers_are_taken(card):
    chunked = pa.chunked_array([[1, 2], [None, 4]])
    assert card.put(chunked).to_arrow().to_pylist() == [1, 2, None, 4]

    class Foreign:
        def __arrow_c_array__(self, requested_schema=None):
            return pa.array([7, None]).__arrow_c_array__(requested_schema)

    assert card.put(Foreign()).to_arrow().to_pylist() == [7, None]


def test_what_cannot_be_put_is_refused(card):
    for data in (pa.array(["a"]), pa.array([True]), pa.array([[1], [2]])):
        with pytest.raises(godwit.InputError):
            card.put(data)
    with pytest.raises(godwit.InputError, match="Python objects"):
        card.put(["a", object()])


def test_other_shapes_and_types_keep_theirs(card):
    array = np.array([[1.5, 2.5], [3.5, 4.5]], order="F")
    assert np.array_equal(card.put(array).to_numpy(), array)
    assert card.put(np.array(3.0)).to_numpy().shape == ()
    dates = pa.array([0, None, 2], pa.date32())
    assert card.put(dates).to_arrow().equals(dates)


def test_shapes_may_be_any_whole_numbers(card):
    assert card.empty(np.int64(3), "i4").shape == (3,)
    assert card.empty((np.uint8(2), 3)).nbytes == 6
    assert card.empty(np.array([2, 2]), "f8").nbytes == 32
    assert card.empty((0, 5)).to_numpy().shape == (0, 5)
    for shape in (-1, (2, -1), 1.5, (2, "3"), None):
        with pytest.raises(godwit.ArgumentError, match="shape"):
            card.empty(shape)


@pytest.mark.parametrize("shape", [(1 << 40, 1 << 40), (1 << 62, 2), (1 << 63,), ((1 << 32) + 1, 1 << 32)])
def test_a_shape_beyond_64_bits_is_out_of_memory(card, shape):
    card.empty(1)
    free = card.memory_free()
    with pytest.raises(godwit.OutOfMemory):
        card.empty(shape, "i8")
    assert card.memory_free() == free


def test_uploads_are_elements_of_the_buffers_type(card):
    buffer = card.put(np.zeros(4, "int32"))
    buffer.upload([1, 2, 3, 4])
    buffer.upload(5, 4)
    assert buffer.to_numpy().tolist() == [1, 5, 3, 4]
    buffer.upload(np.array([7], "int32"))
    buffer.upload(b"\1\0\0\0", 12)
    buffer.upload(memoryview(np.array([9], "int32")).cast("B"), 8)
    assert buffer.to_numpy().tolist() == [7, 5, 9, 1]
    for data in (np.array([1.0, 2.0]), np.array([1, 2]), [1.5], np.zeros(1, "uint32")):
        with pytest.raises(godwit.ArgumentError, match="astype"):
            buffer.upload(data)
    assert buffer.to_numpy().tolist() == [7, 5, 9, 1]
    raw = card.empty(16)
    raw.upload(np.array([1.0, 2.0]))
    assert raw.to_numpy().view("f8").tolist() == [1.0, 2.0]


def test_memoryviews_and_dlpack_see_the_memory_itself(card):
    buffer = card.put(np.arange(6, dtype="int16").reshape(2, 3))
    view = memoryview(buffer)
    assert (view.shape, view.format, view.readonly) == ((2, 3), "h", False)
    with pytest.raises(godwit.ArgumentError, match="views"):
        buffer.free()
    view.release()
    other = np.from_dlpack(buffer)
    assert np.shares_memory(other, buffer.to_numpy())
    del other
    buffer.free()
    with pytest.raises(BufferError, match="freed"):
        memoryview(buffer)


def test_leaving_a_block_by_an_error_raises_that_error(card):
    with pytest.raises(ZeroDivisionError) as error, card.put(np.arange(10)) as buffer:
        view = buffer.to_numpy()
        raise ZeroDivisionError(view[0])
    assert any("views" in note for note in error.value.__notes__)
    with pytest.raises(godwit.ArgumentError, match="views"), buffer:
        pass


def test_an_uncaught_error_prints_all_it_says():
    with pytest.raises(godwit.InputError) as error:
        godwit.open("sim:defualt")
    text = "".join(traceback.format_exception(error.value))
    assert "there is no configuration 'defualt'" in text
    assert "\nfound: known are" in text
    assert "\ntry: did you mean 'default'?" in text


def test_more_than_device_memory_is_refused_and_takes_none(card):
    before = card.memory_free()
    with pytest.raises(godwit.OutOfMemory):
        card.empty(card.config["card"]["memory_bytes"] + 1)
    buffer = card.empty(4096)
    buffer.free()
    # The page tables of the context stay.
    assert before[0] - card.memory_free()[0] == card.default_context.table_bytes()


def test_freed_memory_comes_back(card):
    card.empty(1)
    before = card.memory_free()
    with card.put(np.ones(100_000)):
        assert card.memory_free()[0] <= before[0] - 800_000
    assert card.memory_free()[0] >= before[0] - 3 * 4096  # tables that are kept


def test_memory_with_views_cannot_be_freed(card):
    buffer = card.put(np.arange(10))
    view = buffer.to_numpy()
    with pytest.raises(godwit.ArgumentError, match="views"):
        buffer.free()
    assert view.sum() == 45
    del view
    buffer.free()
    buffer.free()


def test_uploads_and_downloads_outside_the_buffer_are_refused(card):
    buffer = card.empty(100)
    for offset, size in ((1, 100), (-1, 10), (100, 1)):
        with pytest.raises(godwit.ArgumentError):
            buffer.upload(np.zeros(size, "u1"), offset)
        with pytest.raises(godwit.ArgumentError):
            buffer.download(offset, size)
    buffer.upload(np.full(50, 7, "u1"), 50)
    assert buffer.download() == bytes(50) + b"\7" * 50


def test_transfers_take_modelled_time_and_views_none(card):
    before = card.stats()
    buffer = card.put(np.ones(100_000, "u1"))
    after = card.stats()
    assert after["link_bytes"] - before["link_bytes"] == 100_000
    assert after["link_ps"] > before["link_ps"]
    buffer.to_numpy()[0] = 0
    assert card.stats()["time_ps"] == after["time_ps"]


def test_an_access_outside_any_mapping_is_a_fault_with_its_address(card):
    buffer = card.put(np.ones(512, "int64"))
    end = buffer.address + 4096
    with pytest.raises(godwit.FaultError) as error:
        card.launch("array_sum", values=buffer, count=1 << 20, dtype=1)
    # Many reads are in flight: which of the refused ones is recorded first is the hardware's choice.
    assert end <= error.value.address < buffer.address + 8 * (1 << 20)
    assert (error.value.write, error.value.kernel) == (False, "array_sum")
    # The card goes on.
    assert card.launch("array_sum", values=buffer, count=512, dtype=1).sum == 512


def test_memory_that_may_only_be_read_is_not_written(card):
    source, target = card.put(np.ones(4096, "u1")), card.empty(4096, access="r")
    with pytest.raises(godwit.GodwitError):
        card.launch("memcopy", src=source, dst=target, bytes=4096, iterations=1)
    assert not target.to_numpy().any()


def test_arguments_named_as_parameters_of_launch_are_given_in_a_mapping(card):
    buffer = card.put(np.arange(10))
    rest = {"values": buffer, "count": 10}
    assert card.launch("array_sum", dtype=1, arguments=rest).sum == 45
    assert card.start("array_sum", dtype=1, arguments=rest).result().sum == 45
    for name in ("mode", "context", "arguments", "kernel"):
        with pytest.raises(godwit.ArgumentError, match=name):
            card.launch("array_sum", dtype=1, arguments={**rest, name: 1})
    with pytest.raises(godwit.ArgumentError, match="given twice"):
        card.launch("array_sum", dtype=1, arguments={**rest, "dtype": 1})


def test_contexts_do_not_share_memory(card):
    mine, yours = card.context(), card.context()
    numbers = yours.put(np.arange(1000))
    assert yours.launch("array_sum", values=numbers, count=1000, dtype=1).sum == 499_500
    with pytest.raises(godwit.GodwitError):
        mine.launch("array_sum", values=numbers, count=1000, dtype=1)
    with pytest.raises(godwit.GodwitError):
        mine.launch("array_sum", values=numbers.address, count=1000, dtype=1)


def test_physical_addresses_give_the_same_result(card):
    array = pa.array([None if n % 3 == 0 else n for n in range(500)], pa.int32())
    context = card.context()
    column = context.put(array, contiguous=True)
    matches, rest = (context.empty(500, "u4", contiguous=True) for _ in range(2))
    results = []
    for mode in ("translate", "bare"):
        matches.to_numpy()[...] = 0
        done = context.launch(
            "split", **column.column(), op=0, constant=100, matches=matches, rest=rest, mode=mode
        )
        results.append(matches.to_numpy()[: done.match_count].tolist())
    assert results[0] == results[1] == [n for n in range(101, 500) if n % 3]


@pytest.mark.parametrize("page_size", ["auto", "4K", "64K"])
def test_every_page_size_gives_the_same_sum(card, page_size):
    numbers = np.random.default_rng(3).integers(-1000, 1000, 20_000)
    buffer = card.put(numbers, page_size=page_size)
    assert card.launch("array_sum", values=buffer, count=20_000, dtype=1).sum == int(numbers.sum()) % (
        1 << 64
    )


def test_wrong_arguments_are_named(card):
    buffer = card.put(np.ones(8, "int64"))
    with pytest.raises(godwit.ArgumentError, match="array_sum"):
        card.launch("array_smu", values=buffer, count=8, dtype=1)
    with pytest.raises(godwit.ArgumentError, match="count"):
        card.launch("array_sum", values=buffer, dtype=1)
    with pytest.raises(godwit.ArgumentError, match="length"):
        card.launch("array_sum", values=buffer, length=8, count=8, dtype=1)
    with pytest.raises(godwit.ArgumentError, match="not a Buffer"):
        card.launch("array_sum", values=np.ones(8), count=8, dtype=1)
    with pytest.raises(godwit.ArgumentError, match="column"):
        card.launch("array_sum", values=card.put(pa.array([1])), count=8, dtype=1)


def test_results_are_attributes_and_their_names_are_known(card):
    result = card.launch("array_sum", values=card.put(np.ones(8, "int64")), count=8, dtype=1)
    assert set(result.results) == {"sum", "status"}
    with pytest.raises(AttributeError, match="sum, status"):
        _ = result.total


def test_an_end_with_an_error_status_raises_unless_it_is_allowed(card):
    buffer = card.put(np.ones(16, "int64"))
    wrong = {"values": buffer, "count": 16, "dtype": 9}
    with pytest.raises(godwit.StatusError, match="status") as raised:
        card.launch("array_sum", **wrong)
    assert raised.value.result.status == 3 and raised.value.result.cycles > 0
    launch = card.start("array_sum", **wrong)
    with pytest.raises(godwit.StatusError):
        launch.result()
    assert card.launch("array_sum", check_status=False, **wrong).status == 3
    assert card.start("array_sum", check_status=False, **wrong).result().status == 3
    assert card.launch("array_sum", **{**wrong, "dtype": 1}).sum == 16


def test_a_timeout_is_a_hang_error(card):
    buffer = card.put(np.ones(100_000, "int64"))
    with pytest.raises(godwit.HangError):
        card.launch("array_sum", values=buffer, count=100_000, dtype=1, timeout_cycles=50)


def test_counters_count_what_ran_and_can_be_cleared(card):
    buffer = card.put(np.ones(4096, "int64"), page_size="4K")
    card.clear_counters()
    card.launch("array_sum", values=buffer, count=4096, dtype=1)
    port = card.kernels["array_sum"]["port"]
    reads = card.counters()["ports"][port]["read"]
    assert reads["requests"] >= 8
    assert reads["hits"] + reads["misses"] >= reads["requests"]
    assert card.counters()["walker"]["walks"] >= 1  # it may answer for all eight pages
    card.clear_counters()
    assert card.counters()["walker"]["walks"] == 0


def test_each_level_is_counted_for_its_port_and_for_one_context(card):
    other = card.context()
    sums = {
        space: space.put(np.ones(4096, "int64"), page_size="4K") for space in (card.default_context, other)
    }
    port = card.kernels["array_sum"]["port"]

    def counted(only: godwit.Context | None) -> dict:
        card.native.invalidate()
        card.count_only(only)
        card.clear_counters()
        for space, buffer in sums.items():
            card.launch("array_sum", values=buffer, count=4096, dtype=1, context=space)
        return card.counters()

    try:
        both, first, second = (counted(space) for space in (None, card.default_context, other))
    finally:
        card.count_only(None)
    reads = both["ports"][port]["read"]
    assert reads["l2_hits"] + reads["range_hits"] + reads["walks"] == reads["misses"] > 0
    assert reads["walks"] == both["walker"]["walks"]
    assert reads["l2_hits"] == both["l2"]["hits"]
    for one in (first, second):
        assert one["ports"][port]["read"]["requests"] == reads["requests"] // 2
        assert one["l2"]["hits"] + one["l2"]["misses"] == one["ports"][port]["read"]["misses"] > 0
    other.close()


def test_a_range_entry_spares_all_walks(card):
    count = 65_536
    buffer = card.empty(count, dtype="int64", page_size="4K", contiguous=True)
    buffer.to_numpy()[:] = 1
    assert buffer.want_range_entries() == buffer.range_entries() == 1
    card.clear_counters()
    assert card.launch("array_sum", values=buffer, count=count, dtype=1).sum == count
    counters = card.counters()
    assert counters["walker"]["walks"] == counters["l2"]["misses"] == 0
    assert counters["l2"]["range_hits"] > 0


def test_session_options_change_the_card_without_a_build(library):
    cycles = []
    for latency in (1, 500):
        with godwit.open(f"sim:{library}", memory={"model": "fixed", "latency_cycles": latency}) as card:
            buffer = card.put(np.ones(64, "int64"))
            cycles.append(card.launch("array_sum", values=buffer, count=64, dtype=1).cycles)
    assert cycles[1] - cycles[0] >= 499


def test_wrong_devices_are_refused(library, tmp_path):
    with pytest.raises(godwit.InputError, match="no device"):
        godwit.open("fpga:0")
    with pytest.raises(godwit.DeviceError, match="load the driver"):
        godwit.open("/dev/godwit-none")
    with pytest.raises(godwit.InputError, match="no option 'waves'"):
        godwit.open("/dev/godwit0", waves=tmp_path / "w.fst")
    with pytest.raises(godwit.InputError, match="no card library"):
        godwit.open(f"sim:{tmp_path}/libgw_card.so")
    with pytest.raises(godwit.InputError, match="built already"):
        godwit.open(f"sim:{library}", overrides=["translator.l1_entries=4"])
    with pytest.raises(godwit.InputError, match="tniy") as error:
        godwit.open("sim:tniy")
    assert error.value.hint == "did you mean 'tiny'?"
    with pytest.raises(godwit.SetupError, match="not built"):
        godwit.open("sim:tiny", overrides=["card.watchdog_cycles=12345"], build=False)
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library")
    with pytest.raises(godwit.DeviceError):
        godwit.open(f"sim:{broken}")


def test_a_closed_card_refuses_and_closes_twice(library):
    card = godwit.open(f"sim:{library}")
    card.close()
    card.close()
    with pytest.raises(godwit.GodwitError):
        card.put([1, 2, 3])


def test_cards_are_independent(library):
    with godwit.open(f"sim:{library}") as one, godwit.open(f"sim:{library}") as two:
        first, second = one.put(np.full(8, 1)), two.put(np.full(8, 2))
        assert one.launch("array_sum", values=first, count=8, dtype=1).sum == 8
        assert two.launch("array_sum", values=second, count=8, dtype=1).sum == 16


def test_back_pressure_changes_cycles_but_no_result(library, seed):
    with godwit.open(f"sim:{library}", stall={"seed": seed, "percent": 30}) as card:
        array = pa.array([None if n % 7 == 0 else n for n in range(2000)], pa.int64())
        matches, rest = split(card, card.put(array), "<=", 1000)
    assert matches == [n for n in range(1001) if n % 7]
    assert sorted(matches + rest) == list(range(2000))


def test_a_native_module_of_another_specification_is_named_before_a_card_is_built(monkeypatch, tmp_path):
    from godwit import _native

    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path))
    monkeypatch.setattr(_native, "SPEC_HASH", _native.SPEC_HASH ^ 1)
    with pytest.raises(SetupError, match="another specification") as raised:
        godwit.open("sim:tiny")
    assert "make demo" in str(raised.value.hint)
    assert list(tmp_path.iterdir()) == []
