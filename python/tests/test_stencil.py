# SPDX-License-Identifier: Apache-2.0
"""`godwit run stencil` on a real card: a picture in both modes, what each costs, and errors before anything runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from godwit import api, data
from godwit.errors import CheckError, InputError
from godwit.run import stencil
from godwit.run.workload import Setup


@pytest.fixture
def picture(tmp_path):
    """A part of a photograph, as PNG."""
    path = tmp_path / "picture.png"
    assert data.picture(path) == (512, 600)
    with Image.open(path) as image:
        image.crop((100, 100, 350, 160)).save(path)
    return path


def points_of(path) -> np.ndarray:
    return np.asarray(Image.open(path)) if path.suffix == ".png" else np.load(path)


def by_hand(picture: np.ndarray, weights: list[list[int]], shift: int) -> np.ndarray:
    """One iteration, point by point, in Python's numbers."""
    result = picture.copy()
    for row in range(1, picture.shape[0] - 1):
        for column in range(1, picture.shape[1] - 1):
            window = picture[row - 1 : row + 2, column - 1 : column + 2].tolist()
            total = sum(
                weight * point
                for weights_row, points_row in zip(weights, window, strict=True)
                for weight, point in zip(weights_row, points_row, strict=True)
            )
            result[row, column] = (total + (1 << shift - 1)) >> shift
    return result


@pytest.mark.parametrize(
    ("points", "weights", "shift"),
    [(5, [[0, 1, 0], [1, 4, 1], [0, 1, 0]], 3), (9, [[1, 2, 1], [2, 4, 2], [1, 2, 1]], 4)],
)
def test_the_reference_is_the_weights_of_the_page(points, weights, shift, seed):
    picture = np.random.default_rng(seed).integers(0, 256, (6, 9), np.uint8)
    once = by_hand(picture, weights, shift)
    assert (stencil.reference(picture, points, 1) == once).all()
    assert (stencil.reference(picture, points, 2) == by_hand(once, weights, shift)).all()


def test_both_modes_give_the_same_picture(call, tmp_path, picture):
    """The accelerator takes one interrupt and moves the picture once each way; the host's way costs both every iteration."""
    reports = {}
    for mode in ("accelerator", "software"):
        output = tmp_path / f"{mode}.png"
        options = [
            "--input",
            picture,
            "--iterations",
            "3",
            "--mode",
            mode,
            "--tile",
            "6K",
            "--output",
            output,
        ]
        done = call("run", "stencil", *options, "--json")
        assert done.returncode == 0, done.stderr
        reports[mode] = json.loads(done.stdout)
        assert reports[mode]["outputs"] == {"picture": str(output)}
        assert (points_of(output) == stencil.reference(points_of(picture), 9, 3)).all()
    value = {
        mode: {name: figure["value"] for name, figure in report["figures"].items()}
        for mode, report in reports.items()
    }
    picture_bytes = reports["accelerator"]["picture_bytes"]
    assert picture_bytes == 60 * 256
    assert value["accelerator"]["interrupts"] == 1
    assert value["accelerator"]["link_bytes"] == 2 * picture_bytes
    # Three tiles of 22 rows at most, with a row above and below where there are any: 64 rows in, 60 back, in each iteration.
    assert reports["software"]["tile_rows"] == 22
    assert value["software"]["interrupts"] == 9
    assert value["software"]["link_bytes"] == 3 * (64 + 60) * 256
    assert value["software"]["total_time"] > value["accelerator"]["total_time"]
    assert value["software"]["moved_bytes"] > value["accelerator"]["moved_bytes"] == 6 * picture_bytes


@pytest.mark.parametrize("memory", ["device", "cmt"])
def test_arrays_of_any_size(godwit, tmp_path, seed, memory):
    """An array in, an array out; an even number of iterations ends in the buffer that it began in."""
    array = np.random.default_rng(seed).integers(0, 256, (7, 130), np.uint8)
    np.save(tmp_path / "in.npy", array)
    options = ["--input", "in.npy", "--iterations", "4", "--points", "5", "--memory", memory]
    done = godwit("run", "stencil", *options, "--output", "out.npy", "--json")
    assert done.returncode == 0, done.stderr
    assert (points_of(tmp_path / "out.npy") == stencil.reference(array, 5, 4)).all()


def test_colours_become_gray(tmp_path, picture):
    colour = tmp_path / "colour.png"
    Image.merge("RGB", [Image.open(picture)] * 3).save(colour)
    read = stencil.read_picture(colour)
    assert (read.points == points_of(picture)).all()
    assert "colour" in read.type


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (None, [], "there is no file"),
        (b"no picture", [], "cannot be read as PNG"),
        (np.zeros((3, 3), np.float32), [], "float32"),
        (np.zeros((3, 3, 3), np.uint8), [], "(3, 3, 3)"),
        (np.zeros((0, 3), np.uint8), [], "(0, 3)"),
        (np.zeros((1, 16_385), np.uint8), [], "16,385"),
        (np.array([{}]), [], "cannot be read as an array"),
        (np.zeros((9, 300), np.uint8), ["--points", "7"], "5 or 9"),
        (np.zeros((9, 300), np.uint8), ["--mode", "softwear"], "software"),
        (np.zeros((9, 300), np.uint8), ["--mode", "software", "--tile", "900"], "--tile 960"),
        (np.zeros((9, 300), np.uint8), ["--mode", "software", "--memory", "cmt"], "device memory"),
        (np.zeros((9, 300), np.uint8), ["--output", "picture.jpg"], ".png or .npy"),
        (np.zeros((1100, 1100), np.uint8), ["--set", "card.memory_bytes=2097152"], "2 MiB"),
    ],
)
def test_bad_input_is_one_clear_error(call, tmp_path, content, options, said):
    path = tmp_path / ("in.npy" if isinstance(content, np.ndarray) else "in.png")
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, content)
    before = sorted(tmp_path.iterdir())
    done = call("run", "stencil", "--input", path, "--iterations", "1", *options, "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_deep_picture_is_refused(tmp_path):
    path = tmp_path / "deep.png"
    Image.fromarray(np.zeros((4, 4), np.uint16)).save(path)
    with pytest.raises(InputError, match="mode I;16"):
        stencil.read_picture(path)


@pytest.mark.parametrize("mode", ["accelerator", "software"])
def test_a_wrong_point_is_found(tmp_path, picture, monkeypatch, mode):
    """One bit that differs after the run ends it, and an output that was there stays."""
    output = tmp_path / "kept.png"
    output.write_bytes(b"before")

    def spoilt(self, *args, **more):
        raw = bytearray(download(self, *args, **more))
        raw[300] ^= 1
        return bytes(raw)

    download = api.Buffer.download
    monkeypatch.setattr(api.Buffer, "download", spoilt)
    with pytest.raises(CheckError, match="row 1, column 44"):
        stencil.run(Setup(), path=picture, iterations=1, mode=mode, output=output)
    assert output.read_bytes() == b"before"
