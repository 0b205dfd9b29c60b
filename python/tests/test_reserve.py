# SPDX-License-Identifier: Apache-2.0
"""Memory whose pages come when kernels touch them."""

from __future__ import annotations

import numpy as np
import pytest

import godwit
from godwit.errors import ArgumentError, FaultError, InputError

PAGES = 6


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "input.bin"
    np.arange(PAGES * 512 - 3, dtype="int64").tofile(path)
    return path


def test_a_file_is_copied_to_memory_that_comes(card, path):
    source = card.reserve(dtype="int64", backing=path, access="r")
    target = card.reserve(source.shape, "int64")
    assert source.shape == (PAGES * 512 - 3,)
    assert np.array_equal(source.to_numpy(), np.fromfile(path, "int64"))
    card.launch("memcopy", src=source, dst=target, bytes=source.nbytes, iterations=1)
    assert np.array_equal(target.to_numpy(), np.fromfile(path, "int64"))
    assert source.resident_pages() == target.resident_pages() == PAGES
    page = card.counters()["page"]
    assert (page["requests"], page["resolved"], page["refused"]) == (2 * PAGES, 2 * PAGES, 0)


def test_pages_are_brought_ahead(card):
    values = card.reserve(4 * 512, "int64")
    assert values.resident_pages() == 0
    values.to_numpy()[512:1024] = 1
    values.bring(0, 4096)
    assert values.resident_pages() == 1
    values.bring()
    assert values.resident_pages() == 4
    assert values.to_numpy().sum() == 512


def test_ports_driven_from_outside_get_their_pages():
    with godwit.open("sim:tiny", overrides=["page_requests.places=4"]) as card, card.context() as context:
        for port in (0, 1):
            card.native.bind_port(port, context.native)
        values = context.reserve(12 * 512, "int64")
        for page in range(12):
            values.to_numpy()[512 * page] = page + 1
        # More pages than there are places, each asked for by both ports; and one that is not there for anybody.
        behind = values.address + 12 * 4096
        reads = [
            (port, page, page % 4, values.address + 4096 * page, 1, 6, None)
            for port in (0, 1)
            for page in range(12)
        ]
        card.native.port_submit([*reads, (0, 12, 0, behind, 1, 6, None)])
        card.native.port_drain(1_000_000)
        answers = card.native.port_poll()
        assert len(answers) == 25
        for answer in answers:
            if answer["token"] == 12:
                assert answer["resp"] != 0
            else:
                assert answer["resp"] == 0 and answer["data"][0] == answer["token"] + 1
        assert values.resident_pages() == 12
        page = card.counters()["page"]
        assert (page["requests"], page["resolved"], page["refused"], page["timeouts"]) == (13, 12, 1, 0)
        assert f"{behind:#x}" in card.native.take_fault()


def test_what_is_behind_a_reservation_is_a_fault_that_says_so(card):
    target = card.empty(1024, "int64")
    source = card.reserve(512, "int64")  # above all others
    behind = source.address + 4096
    with pytest.raises(FaultError, match=f"{behind:#x} refused.*it is of no reservation"):
        card.launch("memcopy", src=source, dst=target, bytes=8192, iterations=1)
    card.launch("memcopy", src=source, dst=target, bytes=4096, iterations=1)
    with pytest.raises(ArgumentError, match="read-only"):
        card.launch("memcopy", src=source, dst=card.reserve(512, access="r"), bytes=512, iterations=1)


def test_what_cannot_be_backing_is_refused(card, tmp_path):
    with pytest.raises(InputError, match="shape"):
        card.reserve()
    with pytest.raises(InputError, match=r"missing\.bin"):
        card.reserve(backing=tmp_path / "missing.bin")
    (tmp_path / "odd").write_bytes(b"123")
    with pytest.raises(InputError, match="no whole elements"):
        card.reserve(dtype="int64", backing=tmp_path / "odd")
    with pytest.raises(ArgumentError, match="backing file"):
        card.reserve(8, backing=tmp_path / "missing.bin")
