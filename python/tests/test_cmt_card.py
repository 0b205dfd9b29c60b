# SPDX-License-Identifier: Apache-2.0
"""Contiguous memory as a kernel's argument on the real card. A process has one pool, so each test is one."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import pyarrow as pa
import pyarrow.parquet as pq

BEGIN = """
import gc, sys
import numpy as np
import pytest
import godwit
from godwit import cmt

card = godwit.open(sys.argv[1])
def total(values, count, **options):
    card.clear_counters()
    result = card.launch("array_sum", values=values, count=count, dtype=1, **options)
    return result.sum, card.counters()
"""


def on_card(library, text: str) -> None:
    """Runs `text` as a program of its own."""
    program = BEGIN + textwrap.dedent(text)
    command = [sys.executable, "-c", program, f"sim:{library}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_block_is_translated_by_one_entry_where_pages_walk(library):
    on_card(
        library,
        """
        cmt.init(card.cmt_config("16MiB"))
        count = 65_536
        array = cmt.empty(count, "int64")
        array[:] = np.arange(count)
        paged = card.put(array, page_size="4K")
        assert total(paged, count)[1]["walker"]["walks"] > 0

        shared = card.share(array, page_size="4K", ranges="required")
        assert shared.address == array.ctypes.data
        assert shared.physical() == cmt.extents(array)
        assert np.shares_memory(shared.to_numpy(), array)
        got, counters = total(shared, count)
        assert got == array.sum()
        assert counters["walker"]["walks"] == counters["l2"]["misses"] == 0
        assert counters["l2"]["range_hits"] > 0

        # What the entry spares is there at the next launch, whatever was invalidated meanwhile.
        card.context().close()
        assert total(shared, count)[1]["walker"]["walks"] == 0
        # A part of the block by its address; physical addresses, to compare.
        assert total(array[1000:].ctypes.data, 10)[0] == array[1000:1010].sum()
        assert total(shared, count, mode="bare")[0] == array.sum()
        """,
    )


def test_what_is_no_kernel_argument_says_what_to_do(library):
    on_card(
        library,
        """
        with pytest.raises(godwit.ArgumentError, match="make it with godwit.cmt.empty"):
            card.share(np.zeros(10))
        cmt.init(card.cmt_config("16MiB"))
        array = cmt.empty(4096, "int64")
        with pytest.raises(godwit.ArgumentError, match="share the whole array"):
            card.share(array[1:])
        with pytest.raises(godwit.ArgumentError, match="card.share"):
            card.launch("array_sum", values=array, count=4096, dtype=1)
        with pytest.raises(godwit.ArgumentError, match="set aside for contiguous memory already"):
            card.cmt_config("32MiB")
        with pytest.raises(godwit.ArgumentError, match="not preferred, required or never"):
            card.share(array, ranges="some")
        entries = card.config["range"]["entries"]
        blocks = [card.share(cmt.empty(4096), ranges="required") for _ in range(entries)]
        with pytest.raises(godwit.ArgumentError, match="in 1 pieces, and 0 entries of the range TLB are free"):
            card.share(array, ranges="required")
        served = card.share(array)
        assert served.range_entries() == 0
        array[:] = 1
        assert total(served, 4096)[0] == 4096
        blocks.pop().free()
        assert served.range_entries() == 1
        other = godwit.open(sys.argv[1])
        with pytest.raises(godwit.ArgumentError, match="not in this card's memory"):
            other.share(array)
        """,
    )


def test_a_block_lives_until_array_and_buffer_are_gone(library):
    on_card(
        library,
        """
        cmt.init(card.cmt_config("16MiB"))
        before = cmt.stats()["free"]
        array = cmt.empty(1 << 20)
        shared = card.share(array)
        del array
        gc.collect()
        assert cmt.stats()["free"] < before
        assert total(shared, 100)[0] >= 0
        shared.free()
        cmt.trim()
        assert cmt.stats()["free"] == before
        # Both ways round: the array goes on without the card.
        array = cmt.empty(1 << 20)
        shared = card.share(array)
        shared.free()
        array[:] = 7
        card.close()
        assert array.sum() == 7 << 20
        """,
    )


def test_a_run_on_contiguous_memory_stands_beside_the_one_on_pages(godwit, library, tmp_path):
    values = pa.array([None if n % 7 == 0 else n for n in range(40_000)], "int64")
    pq.write_table(pa.table({"x": values}), tmp_path / "in.parquet")
    for command in (
        ["memcopy", "--bytes", "256K"],
        ["split", "--input", "in.parquet", "--column", "x", "--where", "> 20000"],
    ):
        done = godwit("run", *command, "--memory", "cmt", "--page-size", "4K", "--json")
        assert done.returncode == 0, done.stderr
        figures = json.loads(done.stdout)["figures"]
        assert figures["walks"]["value"] > figures["walks"]["contiguous"] == 0
        assert figures["range_hits"]["value"] == 0 < figures["range_hits"]["contiguous"]
        assert figures["range_hits"]["contiguous"] == figures["l1_misses"]["contiguous"]
        assert figures["range_entries"]["contiguous"] >= 2
        assert figures["moved_bytes"]["contiguous"] == figures["moved_bytes"]["value"]
        assert figures["cycles"]["contiguous"] > 0
        assert figures["page_table_bytes"]["contiguous"] > 0


def test_an_unknown_memory_is_one_clear_error(godwit):
    done = godwit("run", "memcopy", "--memory", "dram")
    assert done.returncode == 1
    assert "memory is one of device, cmt, shared, copy" in done.stderr


def test_random_pages_of_a_block_are_one_entry_where_scattered_pages_are_walked(godwit, traffic):
    options = ["--footprints", "8M", "--accesses", "600", "--pattern", "random", "--frames", "scattered"]
    done = godwit("run", "tlb-stress", *options, "--memory", "cmt", "--json")
    assert done.returncode == 0, done.stderr
    pages, block = json.loads(done.stdout)["points"]
    assert (pages["memory"], block["memory"]) == ("device", "cmt")
    assert pages["range_hits"] == 0 < pages["walks"]
    assert block["walks"] == block["l2_misses"] == 0
    assert block["cycles_per_access"] < pages["cycles_per_access"]
