# SPDX-License-Identifier: Apache-2.0
"""The cache of built cards: listing, finding and pruning."""

import json
from pathlib import Path

import pytest

from godwit import cards
from godwit.errors import InputError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two builds of `default`, one of `tiny`, an interrupted build and a foreign file."""
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path))
    root = tmp_path / "cards"
    for name, digest in (
        ("default", "aaaa1111"),
        ("default", "bbbb2222"),
        ("tiny", "cccc3333"),
        ("half", "dddd4444"),
    ):
        directory = root / f"{name}-{digest}"
        directory.mkdir(parents=True)
        (directory / "libgw_card.so").write_bytes(b"x" * 1000)
        if name != "half":
            (directory / "card.json").write_text(
                json.dumps({"name": name, "hash": digest, "config": {}, "kernels": []})
            )
            (root / f"{name}.json").write_text(json.dumps({"name": name, "hash": digest, "library": ""}))
    (root / "notes.txt").write_text("")
    return root


def test_only_complete_builds_are_listed_newest_first(cache):
    assert [(card.name, card.hash, card.newest) for card in cards.listing()] == [
        ("default", "bbbb2222", True),
        ("default", "aaaa1111", False),
        ("tiny", "cccc3333", True),
    ]
    assert all(card.size_bytes > 1000 for card in cards.listing())


def test_an_empty_cache_lists_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("GODWIT_CACHE", str(tmp_path / "none"))
    assert cards.listing() == []
    assert cards.prune() == []


def test_a_card_is_found_by_name_and_by_hash(cache):
    assert cards.find("default").hash == "bbbb2222"
    assert cards.find("aaaa11").hash == "aaaa1111"


def test_a_card_that_is_not_built_says_how_to_build_it(cache):
    with pytest.raises(InputError) as error:
        cards.find("fletcher")
    assert error.value.hint == "godwit card build fletcher"
    with pytest.raises(InputError) as error:
        cards.find("defualt")
    assert error.value.hint == "did you mean 'default'?"


def test_pruning_removes_replaced_builds_only(cache):
    assert [card.hash for card in cards.prune()] == ["aaaa1111"]
    assert sorted(path.name for path in cache.iterdir() if path.is_dir()) == [
        "default-bbbb2222",
        "half-dddd4444",
        "tiny-cccc3333",
    ]
    assert cards.find("default").hash == "bbbb2222"


def test_pruning_everything_leaves_no_pointer_to_nothing(cache):
    assert len(cards.prune(everything=True)) == 3
    assert cards.listing() == []
    assert [path.name for path in cache.glob("*.json")] == []
