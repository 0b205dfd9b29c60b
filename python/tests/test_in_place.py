# SPDX-License-Identifier: Apache-2.0
"""Buffers in host memory, used in place by a real kernel through a real page cache: what either side sees, what crosses the link."""

from __future__ import annotations

import json

import numpy as np
import pytest

from godwit import api
from godwit.errors import ArgumentError
from godwit.run import stencil

PITCH, LINE, PAGE = 128, 64, 4096


@pytest.fixture(scope="module")
def ng():
    """The card of the paper: four pages of 4 KiB."""
    with api.open("sim:ng") as card:
        yield card


def launch(card, context, a, b, height, iterations=1, **options):
    sizes = {"width": PITCH, "height": height, "pitch": PITCH, "points": 9, "iterations": iterations}
    return card.launch("stencil", context=context, arguments={"a": a, "b": b, **sizes}, **options)


@pytest.mark.parametrize("mode", ["translate", "bare"])
def test_both_sides_see_what_the_other_wrote(ng, seed, mode):
    """Launch after launch on changing data, which is more than the cache holds; nothing is copied, by anybody."""
    rng = np.random.default_rng(seed)
    height = 3 * PAGE // PITCH
    with ng.context(place="host") as context:
        a, b = (context.empty((height, PITCH)) for _ in range(2))
        assert a.physical() == [(1 << 55 | a.address, 3 * PAGE)]
        for _ in range(3):
            picture = rng.integers(0, 256, (height, PITCH), np.uint8)
            a.to_numpy()[...] = picture
            b.to_numpy()[...] = 0xFF
            before = ng.stats()
            launch(ng, context, a, b, height, mode=mode)
            assert (b.to_numpy() == stencil.reference(picture, 9, 1)).all()
            after = ng.stats()
            assert after["link_ps"] == before["link_ps"], "a copy was charged"
            assert after["reads"] == before["reads"] and after["writes"] == before["writes"]
            assert after["host_reads"] > before["host_reads"]


def test_a_buffer_leaves_nothing_behind(ng):
    """What took the place of a freed buffer is not what the card had of it."""
    with ng.context(place="host") as context:
        places = []
        for value in (3, 200, 77):
            a, b = (context.empty((8, PITCH)) for _ in range(2))
            places.append(a.address)
            a.to_numpy()[...] = value
            launch(ng, context, a, b, 8)
            assert (b.to_numpy() == value).all()
            a.free()
            b.free()
        assert len(set(places)) == 1


def test_device_and_host_memory_side_by_side(ng, seed):
    picture = np.random.default_rng(seed).integers(0, 256, (16, PITCH), np.uint8)
    with ng.context() as context:
        a = context.put(picture)
        b = context.empty((16, PITCH), place="host")
        launch(ng, context, a, b, 16)
        assert (b.to_numpy() == stencil.reference(picture, 9, 1)).all()
        with pytest.raises(ArgumentError, match="place `attic` is not device or host"):
            context.empty(4, place="attic")


def test_run_in_place_copies_nothing(call, tmp_path, seed):
    path = tmp_path / "points.npy"
    np.save(path, np.random.default_rng(seed).integers(0, 256, (64, PITCH), np.uint8))
    options = ["--config", "ng", "--input", path, "--iterations", "2", "--memory", "in-place", "--json"]
    done = call("run", "stencil", *options)
    assert done.returncode == 0, done.stderr
    value = {name: figure["value"] for name, figure in json.loads(done.stdout)["figures"].items()}
    assert value["interrupts"] == 1 and value["link_time"] == 0
    # 8 KiB a picture; both fit, so that each crosses once each way.
    assert value["cache_fills"] <= 2 * 128 and value["cache_writebacks"] <= 2 * 128
    assert value["moved_bytes"] == LINE * (value["cache_fills"] + value["cache_writebacks"])
    assert value["cache_hits"] > value["cache_misses"]


def test_without_a_page_cache_the_run_says_what_to_do(call, tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, np.zeros((8, PITCH), np.uint8))
    done = call("run", "stencil", "--input", path, "--iterations", "1", "--memory", "in-place")
    assert done.returncode == 1
    assert "needs a page cache" in done.stderr and "--set page_cache.pages=16" in done.stderr
