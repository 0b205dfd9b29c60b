# SPDX-License-Identifier: Apache-2.0
"""A counter, an event, a status code and a limit, each added in one place of a copy of the tree, are found everywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from godwit import toolchain
from godwit.counters import nested
from godwit.spec import pages

ROOT = toolchain.root()


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A copy with one more of each, and everything generated in it."""
    tree = tmp_path_factory.mktemp("tree")
    for name in ("spec", "python/godwit", "hw/rtl"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in pages.BLOCKS:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    events = tree / "spec" / "events.toml"
    replace(
        events,
        "[levels.l2.events]\n",
        '[levels.l2.events]\nrehash = { owner = "lookup_of", doc = "a lookup in a second set" }\n',
    )
    replace(
        events,
        "\n[counters.walker]\n",
        'l2_rehashes = { counts = "l2.rehash", doc = "Of its lookups, those in a second set." }\n\n[counters.walker]\n',
    )
    replace(
        events,
        "\n[counters.page]\n",
        'rehashes = { counts = "l2.rehash", doc = "Lookups in a second set." }\n\n[counters.page]\n',
    )
    replace(
        tree / "spec" / "status.toml",
        "einternal = {",
        'equota = { value = -99, kind = "Quota", python = "QuotaError", doc = "no quota" }\neinternal = {',
    )
    replace(
        tree / "python" / "godwit" / "spec" / "sections" / "surroundings.py",
        '    banks: int = Field(default=16, ge=1, le=1024, description="banked: banks, all groups together")\n',
        '    banks: int = Field(default=16, ge=1, le=2048, description="banked: banks, all groups together")\n'
        '    ranks: int = Field(default=1, ge=1, le=4, description="banked: ranks")\n',
    )
    env = {**os.environ, "PYTHONPATH": str(tree / "python")}
    for command in (["generate", "--out", str(tree / "build" / "spec")], ["pages"]):
        done = subprocess.run(
            [sys.executable, "-m", "godwit.spec", *command],
            cwd=tree,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return tree


def texts(tree: Path, *names: str) -> str:
    return "\n".join((tree / name).read_text(encoding="utf-8") for name in names)


def test_the_rtl_has_it(tree):
    """Its bit, its counters and their registers; and Verilator takes the whole of gw_csr."""
    assert re.search(r"logic rehash; +// a lookup in a second set", texts(tree, "hw/rtl/common/gw_pkg.sv"))
    sv = tree / "build" / "spec" / "sv"
    package = (sv / "gw_spec_pkg.sv").read_text()
    assert "ChannelCounters = 9;" in package
    assert "L2Counters = 9;" in package
    command = [
        str(toolchain.verilator()),
        *("--lint-only", "-Wall", "--no-timing", "--quiet", "--top-module", "gw_csr", "-GNumPorts=3"),
        *(
            argument
            for path in (sv, *sorted((tree / "hw" / "rtl").iterdir()))
            if path.is_dir()
            for argument in ("-y", str(path))
        ),
        f"-I{tree / 'hw' / 'rtl' / 'common'}",
        str(tree / "hw" / "rtl" / "lint.vlt"),
        *(str(tree / "hw" / "rtl" / "common" / f"{name}.sv") for name in ("gw_axi_pkg", "gw_pkg")),
        *(str(sv / f"{name}.sv") for name in ("gw_spec_pkg", "gw_csr_regs_pkg")),
        str(tree / "hw" / "rtl" / "top" / "gw_csr.sv"),
    ]
    done = subprocess.run(command, env=toolchain.env(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_software_reads_its_register_by_name(tree, tmp_path):
    """The names that Rust, C and Python list, and the registers read for them, from the runtime's own source."""
    rust = tree / "build" / "spec" / "rust"
    main = tmp_path / "main.rs"
    main.write_text(
        "#![allow(dead_code)]\n"
        f'mod regs {{ include!("{rust}/regs.rs"); }}\n'
        f'#[path = "{ROOT}/crates/godwit/src/hardware/counters.rs"] mod counters;\n'
        "fn main() {\n"
        "    let found = counters::Counters::read(2, |_, at| Ok::<u64, ()>(at)).unwrap();\n"
        "    for ((name, _), at) in counters::Counters::list(2).iter().zip(found.values()) {\n"
        '        println!("{name} {at}");\n'
        "    }\n"
        "}\n"
    )
    program = tmp_path / "main"
    command = ["rustc", "--edition", "2024", str(main), "-o", str(program)]
    env = {**os.environ, "GODWIT_COUNTERS_RS": str(rust / "counters.rs")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    registers = {name: int(at) for name, at in (line.split() for line in printed.splitlines())}
    offsets = dict(re.findall(r"pub const (\w+): u64 = (0x[0-9a-f]+);", texts(rust, "regs.rs")))
    assert registers["l2.rehashes"] == int(offsets["L2_COUNTERS_REHASHES"], 0) == 0x1140
    assert registers["port1.write.l2_rehashes"] == 0x2000 + 0x100 + 0x80 + 0x40
    counters = nested(registers)
    assert counters["ports"][1]["read"]["l2_rehashes"] == registers["port1.read.l2_rehashes"]
    assert json.loads(json.dumps(counters))["l2"]["rehashes"] == 0x1140


def test_the_card_writes_its_events_and_checks_the_limits(tree, tmp_path):
    """The simulation's tables, compiled: where the event stands in the struct, and what is legal now."""
    source = tmp_path / "main.cpp"
    source.write_text(
        '#include <cstdio>\n#include "godwit_events.h"\n#include "godwit_limits.h"\nint main() {\n'
        '    for (const auto& kind : gw::kMmuEvents) std::printf("%s.%s %u\\n", kind.level, kind.name, kind.event.low);\n'
        '    for (const auto& l : gw::kLimits) std::printf("%s.%s %g\\n", l.section, l.field, l.high);\n}\n'
    )
    program = tmp_path / "main"
    includes = [f"-I{tree / 'build' / 'spec' / 'c'}", f"-I{ROOT / 'card' / 'sim'}"]
    command = [str(toolchain.cxx()), "-std=c++20", "-Wall", *includes, str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    found = {name: float(value) for name, value in (line.split() for line in printed.splitlines())}
    assert found["l2.rehash"] == found["l2.hit"] + 1
    assert (found["memory.banks"], found["memory.ranks"]) == (2048, 4)


def test_headers_docs_and_errors_have_it(tree):
    header = texts(tree, "crates/godwit/include/godwit.h")
    assert re.search(r" \*   rehashes +Lookups in a second set\.", header)
    assert re.search(r"GODWIT_EQUOTA = -99, +/\* no quota \*/", header)
    page = texts(tree, "docs/counters.md")
    assert "| `rehashes` | `l2_counters` + `0x40` | `l2.rehash` | Lookups in a second set. |" in page
    assert "| `rehash` | `rehash` | `lookup_of` |  | a lookup in a second set |" in page
    assert "| `GODWIT_EQUOTA` | -99 | `ErrorKind::Quota` | `QuotaError` | no quota |" in texts(
        tree, "docs/c-api.md"
    )
    assert "| `ranks` | banked: ranks | 1 to 4 |" in texts(tree, "docs/configuration.md")
    assert "pub const EQUOTA: c_int = -99;" in texts(tree, "crates/godwit/src/capi/types.rs")
    assert "ErrorKind::Quota => EQUOTA," in texts(tree, "crates/godwit/src/capi/mod.rs")
    assert "    Quota,\n" in texts(tree, "crates/godwit/src/error.rs")
    assert "    QuotaError,\n    GodwitError,\n" in texts(tree, "crates/godwit-py/src/error.rs")
    assert texts(tree, "python/godwit/errors.py").count("class QuotaError(GodwitError):") == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('counts = "l2.drop"', 'counts = "l2.dropped"', r"counters.l2.drops: there is no event 'l2.dropped'"),
        ('owner = "fill_ctx", doc = "entry', 'owner = "fill", doc = "entry', r"l2.fill: there is no owner 'fill'"),
        ("slots = 16", "slots = 4", r"counters.channel: 8 counters in 4 slots"),
        ('sum = true, doc = "Sum', 'sums = true, doc = "Sum', r"counters.walker.latency_sum: .*'sums'.* is not of doc, counts, sum, max"),
        ('counts = "walker.merge"', 'counts = "walker.merge", sum = true', r"event walker.merge has no value"),
        ('counts = "l2.range_hit", doc = "... by the range TLB." }\nwalks', 'counts = "l2.fill", doc = "" }\nwalks',
         r"counters.channel.range_hits: event l2.fill is of no channel"),
    ],
)  # fmt: skip
def test_a_declaration_that_cannot_be_is_named(tmp_path, old, new, message):
    from godwit.spec import events

    path = tmp_path / "events.toml"
    shutil.copy(ROOT / "spec" / "events.toml", path)
    replace(path, old, new)
    with pytest.raises(events.EventsError, match=message):
        events.load(path)
