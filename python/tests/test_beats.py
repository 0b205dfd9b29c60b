# SPDX-License-Identifier: Apache-2.0
"""Beats of the data path that kernels share: as wide as the card's bus where every kernel made of it can be so. Nothing is built."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from godwit.card import compile as cards
from godwit.card import plan as plans
from godwit.card.manifest import ManifestError, load
from godwit.cli.app import run

ROOT = Path(__file__).parents[2]


def mine(directory: Path, widths: str = "") -> Path:
    """A kernel of a user's that is made of the same parts as `memcopy`."""
    source = (ROOT / "kernels" / "memcopy" / "memcopy.sv").read_text()
    manifest = (ROOT / "kernels" / "memcopy" / "memcopy.toml").read_text()
    (directory / "mine.sv").write_text(source.replace("memcopy", "mine"))
    manifest = re.sub(r"data_widths = .*\n", widths, manifest.replace("memcopy", "mine"))
    (directory / "mine.toml").write_text(manifest)
    return directory / "mine.toml"


def slot_width(directory: Path, todo: plans.Plan, name: str) -> tuple[int, int]:
    """Bits of a kernel's memory port as the card is wired, and of a beat in its packages."""
    files, folders = cards.generate_sources(directory, todo)
    (package,) = (path for path in files if path.stem == "gw_kernel_beat_pkg")
    beat = re.search(r"BeatBytes = (\d+);", package.read_text())
    (slot,) = (path for folder in folders for path in folder.glob(f"gw_slot_{name}.sv"))
    wired = re.search(r"\.DataWidth\((\d+)\)", slot.read_text())
    assert beat and wired
    return int(wired[1]), 8 * int(beat[1])


@pytest.mark.parametrize("bus", [64, 128, 256, 512, 1024])
def test_beats_are_those_of_the_bus(tmp_path, bus):
    todo = plans.plan("tiny", [f"axi.data_width={bus}", 'card.kernels=["memcopy", "array_sum"]'])
    assert slot_width(tmp_path, todo, "memcopy") == (bus, bus)


def test_a_kernel_of_one_width_is_followed_by_all(tmp_path):
    """Its port is adapted, and so are those of the others."""
    todo = plans.plan("tiny", ["axi.data_width=128", 'card.kernels=["memcopy", "bfs"]'])
    assert slot_width(tmp_path, todo, "memcopy") == (512, 512)


def test_a_users_kernel_of_the_same_parts_counts(tmp_path):
    narrow = ["axi.data_width=128", 'card.kernels=["memcopy"]']
    assert plans.plan("tiny", narrow, [mine(tmp_path)]).beat_bits == 512
    asked = mine(tmp_path, "data_widths = [128, 512]\n")
    todo = plans.plan("tiny", narrow, [asked])
    assert slot_width(tmp_path / "a", todo, "mine") == (128, 128)
    assert slot_width(tmp_path / "b", todo, "memcopy") == (128, 128)
    assert plans.plan("tiny", ["axi.data_width=256"], [asked]).beat_bits == 512


def test_a_kernel_from_elsewhere_does_not(tmp_path):
    """Nor is it read again: its ports are its own."""
    scale_add = ROOT / "examples" / "kernel" / "scale_add.toml"
    todo = plans.plan("tiny", ["axi.data_width=128", 'card.kernels=["memcopy"]'], [scale_add])
    assert slot_width(tmp_path / "a", todo, "memcopy") == (128, 128)
    assert slot_width(tmp_path / "b", todo, "scale_add") == (512, 128)


def test_a_control_block_alone_has_no_beats():
    """The example's kernels have ports of their own making behind Godwit's control block: they hold nobody to 512 bits."""
    streams = ROOT / "examples" / "streams"
    todo = plans.plan(
        streams / "pipeline.toml", kernels=[streams / f"{name}.toml" for name in ("gather", "scale", "store")]
    )
    assert todo.beat_bits == 128


def test_cards_with_other_beats_are_others():
    of = {bus: plans.plan("tiny", [f"axi.data_width={bus}"]).hash for bus in (128, 256, 512)}
    assert len(set(of.values())) == 3


def test_check_reads_it_as_the_card_has_it(tmp_path, capsys):
    for widths, expected in (("", 512), ("data_widths = [128, 512]\n", 128)):
        manifest = mine(tmp_path, widths)
        assert run(["kernel", "check", "--json", "--config", "ecp5", str(manifest)]) == 0
        (bundle,) = json.loads(capsys.readouterr().out)["bundles"]
        assert bundle["data_width"] == expected
        put_between = [made["module"] for made in bundle["converters"]]
        assert ("gw_axi_downsize" in put_between) == (expected == 512)


def test_widths_that_no_bus_has_are_refused(tmp_path):
    with pytest.raises(ManifestError, match="data_widths"):
        load(mine(tmp_path, "data_widths = [96]\n"))
    with pytest.raises(ManifestError, match="data_widths"):
        load(mine(tmp_path, "data_widths = []\n"))
