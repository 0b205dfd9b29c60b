# SPDX-License-Identifier: Apache-2.0
"""Manifests: offsets by the rule of HLS, the generated package, one clear error for each fault."""

import re

import pytest

from godwit.card import manifest

GOOD = """
name = "demo"
[[args]]
name = "data"
kind = "buffer"
access = "rw"
[[args]]
name = "row_count"
kind = "u32"
[[args]]
name = "total"
kind = "out_u64"
"""


@pytest.fixture
def write(tmp_path):
    """Writes a manifest with its source beside it and returns the path."""

    def _write(text: str):
        (tmp_path / "demo.sv").write_text("module demo; endmodule\n")
        path = tmp_path / "demo.toml"
        path.write_text(text)
        return path

    return _write


def test_offsets_follow_hls(write):
    loaded = manifest.load(write(GOOD))
    assert [(arg.name, arg.offset) for arg in loaded.args] == [
        ("data", 0x10),
        ("row_count", 0x1C),
        ("total", 0x24),
    ]
    assert loaded.top == "demo"
    assert [path.name for path in loaded.sources] == ["demo.sv"]
    assert loaded.sources[0].is_absolute()


def test_the_source_finds_its_manifest(write):
    path = write(GOOD)
    assert manifest.load(path.with_suffix(".sv")) == manifest.load(path)


def test_an_offset_overrides_the_rule_for_what_follows(write):
    text = GOOD.replace('name = "row_count"', 'name = "row_count"\noffset = 0x40')
    assert [arg.offset for arg in manifest.load(write(text)).args] == [0x10, 0x40, 0x48]


def test_package_constants_and_masks(write):
    package = manifest.load(write(GOOD)).args_package()
    constants = {
        name: int(value, 16) for name, value in re.findall(r"unsigned (\w+Offset) = 'h(\w+);", package)
    }
    assert constants == {"DataOffset": 0x10, "RowCountOffset": 0x1C, "TotalOffset": 0x24}
    assert "package demo_args_pkg;" in package
    assert "NumWords = 7;" in package
    assert "ArgWords = 7'hb;" in package
    assert "ResultWords = 7'h60;" in package


def test_lookup_of_an_argument(write):
    loaded = manifest.load(write(GOOD))
    assert loaded.arg("total").kind is manifest.ArgKind.OUT_U64
    with pytest.raises(KeyError, match="has no argument rows; it has data, row_count, total"):
        loaded.arg("rows")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('access = "rw"', "", r"`access` .* is for a buffer"),
        ('kind = "u32"', 'kind = "u32"\naccess = "r"', "only for one"),
        ('kind = "u32"', 'kind = "u16"', "kind"),
        ('kind = "u32"', 'kind = "u32"\noffset = 0x12', "multiple of 4"),
        ('kind = "u32"', 'kind = "u32"\noffset = 0x14', "data and row_count overlap at offset 0x14"),
        ('kind = "u32"', 'kind = "u32"\noffset = 4', "greater than or equal to 16"),
        ('kind = "u32"', 'kind = "u32"\nof = "data"', "`of` and `codes` go together"),
        ('kind = "u32"', 'kind = "u32"\ncodes = { int32 = 0 }', "`of` and `codes` go together"),
        (
            'kind = "u32"',
            'kind = "u32"\nof = "total"\ncodes = { int32 = 0 }',
            "a buffer's name, and total is none",
        ),
        ('kind = "u32"', 'kind = "u32"\nof = "data"\ncodes = { int32 = -1 }', "greater than or equal to 0"),
        ('kind = "out_u64"', 'kind = "out_u64"\nof = "data"\ncodes = { int32 = 0 }', "are for u32 and u64"),
        ('name = "total"', 'name = "row__count"', "two arguments would both be called RowCountOffset"),
        ('name = "demo"', 'name = "Demo"', "name"),
        ('name = "demo"', "", "name: Field required"),
        ('name = "demo"', 'name = "demo"\nsurprise = 1', "surprise"),
        ('name = "demo"', 'name = "demo"\nsources = ["other.sv"]', "other.sv does not exist"),
        ('name = "demo"', 'name = "demo"\nsources = []', "sources"),
        ('name = "demo"', 'name = "demo"\nargs = 3', "cannot be read as TOML"),
        ('name = "demo"', "name = ", "cannot be read as TOML"),
    ],
)
def test_errors_name_the_file_and_the_fault(write, old, new, message):
    path = write(GOOD.replace(old, new, 1))
    with pytest.raises(manifest.ManifestError, match=message) as caught:
        manifest.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text", ['name = "demo"\nargs = 3\n', 'name = "demo"\nargs = [1]\n', "name = 7\nargs = []\n"]
)
def test_wrong_shapes_are_errors_too(write, text):
    with pytest.raises(manifest.ManifestError):
        manifest.load(write(text))


def test_missing_files(tmp_path):
    with pytest.raises(manifest.ManifestError, match=r"kernel source .* does not exist"):
        manifest.load(tmp_path / "none.sv")
    (tmp_path / "bare.sv").write_text("")
    with pytest.raises(manifest.ManifestError, match="needs a manifest beside its source"):
        manifest.load(tmp_path / "bare.sv")
