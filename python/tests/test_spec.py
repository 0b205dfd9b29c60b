# SPDX-License-Identifier: Apache-2.0
"""The schema refuses what is wrong and says what is right; the generated SystemVerilog, C and Rust agree."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from godwit import toolchain
from godwit.spec import config, config_docs, events, layout, pages, registers, schema
from godwit.spec.__main__ import main
from godwit.spec.config import ConfigError
from godwit.spec.generate import generate, write_if_changed
from godwit.spec.sections.fields import Section


@pytest.fixture(scope="module")
def generated(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("spec")
    generate(out, config.load("default"))
    return out


def sv_constants(text: str) -> dict[str, int]:
    found = re.findall(
        r"localparam (?:int unsigned|logic \[\d+:0\]) (\w+) = (?:\d+'([hd])([0-9a-f]+)|(\d+));", text
    )
    return {
        name: int(digits, 16 if base == "h" else 10) if base else int(plain)
        for name, base, digits, plain in found
    }


def c_constants(text: str) -> dict[str, int]:
    values = {}
    for name, value in re.findall(r"#define GODWIT_(\w+) (\(1ULL << \d+\)|0x[0-9a-f]+ULL|\d+u?)", text):
        shift = re.fullmatch(r"\(1ULL << (\d+)\)", value)
        values[name] = 1 << int(shift[1]) if shift else int(value.rstrip("uUL"), 0)
    return values


def rust_constants(text: str) -> dict[str, int]:
    values = {}
    for name, value in re.findall(r"pub const (\w+): u(?:32|64) = ([^;]+);", text):
        shift = re.fullmatch(r"1 << (\d+)", value)
        values[name] = 1 << int(shift[1]) if shift else int(value, 0)
    return values


def test_the_three_languages_agree(generated):
    """Every constant of layout.toml has the same value in SystemVerilog, C and Rust, read back from the generated text."""
    sv = sv_constants((generated / "sv" / "gw_spec_pkg.sv").read_text())
    c = c_constants((generated / "c" / "godwit_layout.h").read_text())
    rust = rust_constants((generated / "rust" / "layout.rs").read_text())
    assert c == rust
    seen = 0
    for group in layout.load():
        for constant in group.constants:
            if constant.kind == "bit":
                assert c[constant.upper] == 1 << sv[constant.camel]
            elif constant.kind == "field":
                low, width = sv[f"{constant.camel}Lsb"], sv[f"{constant.camel}Width"]
                assert c[f"{constant.upper}_SHIFT"] == low
                assert c[f"{constant.upper}_MASK"] == ((1 << width) - 1) << low
                seen += 1
            else:
                assert c[constant.upper] == sv[constant.camel] == constant.value
            seen += 1
    assert seen == len(c) > 50


def test_constants_are_the_specifications(generated):
    """The values that the RISC-V specifications fix, written down a second time."""
    c = c_constants((generated / "c" / "godwit_layout.h").read_text())
    bits = [c[f"PTE_{name}"] for name in ("V", "R", "W", "X", "U", "G", "A", "D")]
    assert bits == [1 << i for i in range(8)]
    assert c["PTE_N"] == 1 << 63
    assert c["PTE_PPN_MASK"] == 0x003F_FFFF_FFFF_FC00
    assert [c[f"MODE_{name}"] for name in ("OFF", "SV39", "SV48", "SV57")] == [0, 8, 9, 10]
    assert c["FSC_MODE_MASK"] == 0xF << 60
    assert c["FSC_PPN_MASK"] == (1 << 44) - 1
    causes = {name: value for name, value in c.items() if name.startswith("CAUSE_")}
    assert causes == {
        "CAUSE_LOAD_ACCESS_FAULT": 5,
        "CAUSE_STORE_ACCESS_FAULT": 7,
        "CAUSE_LOAD_PAGE_FAULT": 13,
        "CAUSE_STORE_PAGE_FAULT": 15,
        "CAUSE_PORT_OFF": 256,
        "CAUSE_CONTEXT_OFF": 258,
        "CAUSE_CONTEXT_MISCONFIGURED": 259,
        "CAUSE_BURST_CROSSES_PAGE": 2048,
    }
    assert c["HOST_APERTURE_BASE"] == 1 << 55 == 1 << c["HOST_APERTURE_BIT"]
    # Every field and bit of a page-table entry, and each only once.
    masks = [c[name] for name in c if re.fullmatch(r"PTE_[VRWXUGADN]|PTE_\w+_MASK", name)]
    assert sum(masks) == (1 << 64) - 1


def test_register_headers_of_all_blocks_go_into_one_file(generated, tmp_path):
    """An include guard of one name for two headers would drop the second without a word."""
    names = sorted(path.name for path in (generated / "c").glob("godwit_*regs.h"))
    assert len(names) > 1
    guards = [re.search(r"#ifndef (\w+)", (generated / "c" / name).read_text())[1] for name in names]
    assert len(set(guards)) == len(names), guards


def test_c_headers_compile_on_their_own(generated, tmp_path):
    source = tmp_path / "use.c"
    source.write_text(
        '#include "godwit_layout.h"\n#include "godwit_regs.h"\n#include "godwit_dma_regs.h"\n#include "godwit_heap_regs.h"\nint use(void) { return (int)GODWIT_MODE_SV48; }\n'
    )
    command = [
        str(toolchain.cxx()),
        "-x",
        "c",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-c",
        f"-I{generated / 'c'}",
    ]
    subprocess.run([*command, str(source), "-o", str(tmp_path / "use.o")], check=True)


def test_rust_registers_are_those_of_the_map(generated):
    """Offsets and masks of regs.rs against the C header PeakRDL makes from the same description."""
    rust = rust_constants((generated / "rust" / "regs.rs").read_text())
    header = (generated / "c" / "godwit_regs.h").read_text()
    masks = dict(re.findall(r"#define GW_MMU__(\w+)_bm (0x[0-9a-f]+)", header))
    compared = 0
    for name, value in masks.items():
        flat = name.replace("PORTX__", "PORT__").replace("FSCX__", "FSC__").replace("__", "_")
        if f"{flat}_MASK" in rust:
            assert rust[f"{flat}_MASK"] == int(value, 0), name
            compared += 1
    assert compared > 20
    assert rust["CONTEXTS_FSC"] == 0x4000
    assert rust["CONTEXTS_FSC_STRIDE"] == 8
    assert rust["PORT_COUNTERS_PORT_STRIDE"] == 0x100
    dma = rust_constants((generated / "rust" / "dma_regs.rs").read_text())
    assert (dma["ID_MAGIC_VALUE"], dma["CSR"], dma["CSR_IP_MASK"]) == (0x4744, 0x28, 1 << 8)
    heap = rust_constants((generated / "rust" / "heap_regs.rs").read_text())
    assert (heap["ID_MAGIC_VALUE"], heap["COMMAND"], heap["COMMAND_SMALL_SLOT_MASK"]) == (
        0x4748,
        0x18,
        1 << 3,
    )
    assert rust["PORT_COUNTERS_PORT_AW_REQUESTS"] - rust["PORT_COUNTERS_PORT_AR_REQUESTS"] == 0x80


@pytest.mark.parametrize(("contexts", "ports"), [(16, 1), (256, 32), (17, 3)])
def test_offsets_do_not_depend_on_the_configuration(contexts, ports):
    reference = {r.name: (r.offset, r.strides) for r in registers.registers(registers.elaborate(16, 2))}
    assert {
        r.name: (r.offset, r.strides) for r in registers.registers(registers.elaborate(contexts, ports))
    } == reference


@pytest.mark.parametrize(
    ("name", "old", "new", "same"),
    [
        ("layout.toml", 'doc = "valid"', 'doc = "present"', True),
        ("regs/gw_mmu.rdl", 'desc = "Reads 0x4757."', 'desc = "Reads 0x4757: GW."', True),
        ("regs/gw_mmu.rdl", "addrmap gw_mmu", "// the MMU\naddrmap gw_mmu", True),
        ("layout.toml", "v = { value = 0,", "v = { value = 8,", False),
        ("regs/gw_mmu.rdl", "spec_hash @ 0x4", "spec_hash @ 0x6", False),
        ("regs/gw_dma.rdl", 'name = "Head"', 'name = "The head"', True),
        ("regs/gw_dma.rdl", "head @ 0x1c", "head @ 0x3c", False),
        ("regs/gw_heap.rdl", "quota @ 0x50", "quota @ 0x80", False),
        ("events.toml", 'doc = "Requests answered."', 'doc = "Walks."', True),
        ("events.toml", "latency_max = {", "latency_top = {", False),
        ("events.toml", "stall = { doc", "stalled = { doc", True),
    ],
)
def test_the_hash_covers_what_registers_and_layout_mean(tmp_path, monkeypatch, name, old, new, same):
    before = layout.spec_hash()
    (tmp_path / "spec" / "regs").mkdir(parents=True)
    for path in ("layout.toml", "events.toml", "regs/gw_mmu.rdl", "regs/gw_dma.rdl", "regs/gw_heap.rdl"):
        text = (toolchain.root() / "spec" / path).read_text()
        assert path != name or old in text
        (tmp_path / "spec" / path).write_text(text.replace(old, new) if path == name else text)
    monkeypatch.setattr(layout, "root", lambda: tmp_path)
    monkeypatch.setattr(events, "root", lambda: tmp_path)
    assert (layout.spec_hash() == before) == same


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[a]\ndoc="d"\nkind="bits"\nx={value=64, doc="d"}\n', "64 does not fit, legal is 0..63"),
        ('[a]\ndoc="d"\nkind="values"\nwidth=4\nx={value=16, doc="d"}\n', "16 does not fit, legal is 0..15"),
        ('[a]\ndoc="d"\nkind="fields"\nx={lsb=60, width=8, doc="d"}\n', "60 does not fit"),
        ('[a]\ndoc="d"\nkind="bitz"\nx={value=1, doc="d"}\n', "kind 'bitz' is not bits, fields or values"),
        ('[a]\ndoc="d"\nkind="bits"\nx={value="one", doc="d"}\n', "'one' is not a number"),
        ('[a]\ndoc="d"\nkind="bits"\nx={value=1, lsb=2, doc="d"}\n', "unknown key 'lsb'"),
    ],
)
def test_layout_errors_name_the_constant(tmp_path, text, message):
    path = tmp_path / "layout.toml"
    path.write_text(text)
    with pytest.raises(layout.LayoutError, match=re.escape(message)):
        layout.load(path)


@pytest.mark.parametrize("name", ["tiny", "default", "fletcher"])
def test_named_configurations_are_complete(name):
    loaded = config.load(name)
    assert loaded.name == name
    assert json.loads(loaded.resolved()) == loaded.model_dump(mode="json")
    assert loaded.contexts.count >= 16


def test_named_configurations_are_what_their_names_say():
    tiny, default, fletcher = (config.load(name) for name in ("tiny", "default", "fletcher"))
    assert tiny.card.external_ports == 2
    assert (default.card.clock_mhz, default.card.memory_bytes, default.memory.model) == (
        250,
        4 << 30,
        "banked",
    )
    assert default.card.kernels == ["split", "array_sum", "memcopy"]
    assert (fletcher.memory.latency_cycles, fletcher.memory.requests_per_cycle) == (71, 0.25)
    assert (fletcher.translator.l1_entries, fletcher.card.memory_bytes) == (1, 64 << 30)


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("translator.l1_entries=65", ["translator.l1_entries", "65", "1 to 64"]),
        ("translator.l1_entires=4", ["no field translator.l1_entires", "l1_entries"]),
        ("translater.l1_entries=4", ["no section 'translater'", "translator"]),
        ("walker.levels=6", ["walker.levels", "6", "3 to 5"]),
        ("l2.sets=48", ["l2.sets", "48", "0, or a power of two from 2 to 65536"]),
        ("l2.sets=1", ["l2.sets", "must be 0 (no L2 TLB)"]),
        ("dma.slots=1", ["dma.slots", "must be 0 (no page DMA)"]),
        ("heap.slots=1024", ["heap.slots", "walker.levels = 4", "found 3"]),
        ("heap.slots=100", ["heap.slots", "0 or 1024 or 2048 or 4096"]),
        ("dma.slots=24", ["dma.slots", "24", "0, or a power of two from 2 to 64"]),
        ("dma.buffer_lines=48", ["dma.buffer_lines", "48", "a power of two from 32 to 4096"]),
        ("page_cache.counters=8", ["page_cache.counters", "must be 0 (no access counters)", "16"]),
        ("page_cache.counters=64", ["page_cache.counters", "64 groups", "set page_cache.pages"]),
        ("page_cache.ahead=1", ["page_cache.ahead", "legal is 0 to 0 with 0 pages"]),
        ("page_cache.eager=true", ["page_cache.eager", "found page_cache.page_kib = 64"]),
        ("l2.ways=3", ["l2.ways", "3", "a power of two from 1 to 16"]),
        ("l2.ways=32", ["l2.ways", "32", "a power of two from 1 to 16"]),
        ("translator.replacement=mru", ["translator.replacement", "mru", "lru or plru or fifo or random"]),
        ("l2.replacement=tree", ["l2.replacement", "tree", "lru or plru or fifo or random"]),
        ("l2.policy=random", ["l2.policy", "random", "partition or rehash or hashed"]),
        ("range.entries=17", ["range.entries", "17", "0 to 16"]),
        ("walker.levels='four'", ["walker.levels", "four", "3 to 5"]),
        ("memory.model=ddr5", ["memory.model", "ddr5", "fixed or banked"]),
        ("card.memory_bytes=3 XB", ["card.memory_bytes", "3 XB", "2^20"]),
        ("card.memory_bytes=4097000", ["card.memory_bytes", "multiple of 4096"]),
        ("axi.data_width=96", ["axi.data_width", "96", "64 or 128 or 256 or 512 or 1024"]),
        ("contexts.count=257", ["contexts.count", "257", "16 to 256"]),
        ("card.external_ports=0", ["0 ports", "1 to 30"]),
        ("translator.buffered_ports=[0, 9]", ["translator.buffered_ports", "at most once", "9"]),
        ('card.kernels=["a", "a"]', ["'a' is there twice", "'a_2'"]),
        (
            "memory.t_refi_ns=418.6",
            ["memory.t_refi_ns leaves no time", "0 (none) or 418.64", "to 1000000", "found 418.6"],
        ),
        ("memory.row_bytes=192", ["row_bytes", "interleave_bytes"]),
        ("host_link.model=pcie", ["host_link.model", "pcie", "rate or packets"]),
        (
            "host_link.max_payload_bytes=384",
            ["host_link.max_payload_bytes", "384", "a power of two from 128 to 4096"],
        ),
        ("host_link.read_completion_boundary=96", ["host_link.read_completion_boundary", "96", "64 or 128"]),
        ("host_link.completion_bytes=512", ["host_link", "max_payload_bytes (256), found 512"]),
        ("host_link.tags=0", ["host_link.tags", "1 to 1024"]),
        ("l1_entries=4", ["not an override", "section.field=value"]),
    ],
)
def test_wrong_values_are_refused_with_what_is_legal(override, parts):
    extra = ["memory.interleave_bytes=128"] if "row_bytes" in override else []
    if "eager" in override:
        extra = ["page_cache.pages=16", "page_cache.page_kib=64"]
    with pytest.raises(ConfigError) as caught:
        config.load("tiny", [*extra, override])
    text = " ".join((str(caught.value), caught.value.found, caught.value.hint))
    for part in parts:
        assert part in text, text


def test_unknown_and_broken_configurations(tmp_path):
    with pytest.raises(ConfigError) as caught:
        config.load("defualt")
    assert "did you mean 'default'" in caught.value.hint
    with pytest.raises(ConfigError, match="does not exist"):
        config.load(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("[card\n")
    with pytest.raises(ConfigError, match="cannot be read as TOML"):
        config.load(broken)
    broken.write_text('description = "x"\n')
    with pytest.raises(ConfigError, match="card is missing"):
        config.load(broken)


def test_overrides_and_human_sizes():
    loaded = config.load(
        "default",
        ["card.memory_bytes=8 GiB", "memory.model=fixed", "walker.levels = 5", 'card.kernels=["split"]'],
    )
    assert loaded.card.memory_bytes == 8 << 30
    assert (loaded.memory.model, loaded.walker.levels, loaded.card.kernels) == ("fixed", 5, ["split"])
    assert loaded.resolved() != config.load("default").resolved()


def test_a_users_file_is_named_by_itself(tmp_path):
    text = (config.config_dir() / "tiny.toml").read_text().replace('name = "tiny"\n', "")
    path = tmp_path / "mine.toml"
    path.write_text(text)
    assert config.load(path).name == "mine"


def test_every_field_is_described():
    for section in schema.Config.model_fields.values():
        if isinstance(section.annotation, type) and issubclass(section.annotation, Section):
            assert section.annotation.__doc__
            for name, field in section.annotation.model_fields.items():
                assert field.description, name
                assert config_docs.legal(field), name


def test_a_page_dma_has_ports_of_its_own():
    without = config.load("tiny")
    with_one = config.load("tiny", ["dma.slots=8"])
    assert (with_one.memory_ports - without.memory_ports, without.most_ports - with_one.most_ports) == (2, 2)
    assert config.load("tiny", ["card.external_ports=16", "card.extra_ports=14"]).memory_ports == 32
    with pytest.raises(config.ConfigError, match="1 to 28"):
        config.load("tiny", ["card.external_ports=16", "card.extra_ports=14", "dma.slots=8"])


def test_a_heap_has_a_port_and_leaves_memory_to_the_driver():
    without = config.load("tiny")
    heap = ["heap.slots=1024", "walker.levels=4"]
    with_one = config.load("tiny", heap)
    assert with_one.memory_ports - without.memory_ports == 1
    for memory in ("256MiB", "1GiB"):
        with pytest.raises(config.ConfigError, match="leaves some to the driver"):
            config.load("tiny", [*heap, f"heap.memory_bytes={memory}"])
    with pytest.raises(config.ConfigError, match="a multiple of 2097152"):
        config.load("tiny", [*heap, "card.memory_bytes=255MiB"])


FAST = ("memory.fast.bytes=16MiB", "memory.fast.model=fixed")
HEAP = ("heap.slots=1024", "walker.levels=4")


def test_several_memories_are_written_one_by_one(tmp_path):
    text = (config.config_dir() / "tiny.toml").read_text()
    second = '[[memory]]\nname = "fast"\nbytes = "32 MiB"\nmodel = "fixed"\nlatency_cycles = 2\n\n[host_link]'
    path = tmp_path / "two.toml"
    path.write_text(text.replace("[memory]", "[[memory]]").replace("[host_link]", second))
    loaded = config.load(path, ["memory.latency_cycles=9", "memory.fast.latency_cycles=3"])
    assert [memory.name for memory in loaded.memories] == ["memory", "fast"]
    assert [memory.latency_cycles for memory in loaded.memories] == [9, 3]
    assert loaded.sizes == [224 << 20, 32 << 20]
    assert schema.Config.model_validate(json.loads(loaded.resolved())) == loaded


def test_what_memories_there_are_is_built_and_the_rest_is_opened():
    fixed, settings = config.split("tiny", [*FAST, "memory.latency_cycles=9"])
    assert set(FAST) < set(fixed) and not settings
    assert config.split("tiny", ["memory.latency_cycles=9"]) == ([], {"memory": {"latency_cycles": 9}})


def test_the_settings_of_a_further_memory_are_under_its_name(tmp_path):
    path = tmp_path / "two.toml"
    text = (config.config_dir() / "tiny.toml").read_text()
    path.write_text(text + '\n[[further_memory]]\nname = "fast"\nbytes = "2 MiB"\nmodel = "fixed"\n')
    assert config.split(path, ["memory.fast.latency_cycles=9"]) == (
        [],
        {"memory": {"fast": {"latency_cycles": 9}}},
    )
    fixed, settings = config.split(path, ["memory.fast.bytes=4MiB"])
    assert (fixed, settings) == (["memory.fast.bytes=4MiB"], {})


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        (["memory.fast.latency_cycles=3"], ["memory.fast.model is missing", "--set memory.fast.model"]),
        (["memory.fast.model=fixed"], ["memory.fast.bytes is missing"]),
        ([*FAST, "memory.fast.latency=3"], ["no field memory.fast.latency", "latency_cycles"]),
        ([*FAST, "memory.fast.bytes=3MiB"], ["memory.fast.bytes", "a multiple of 2097152"]),
        ([*FAST, "memory.fast.bytes=256MiB"], ["the first memory is what the others leave", "found 0 of"]),
        ([*FAST, "memory.bytes=2MiB"], ["memory.bytes", "0 or 251658240"]),
        ([*FAST, "memory.fast.name=host"], ["must be another name"]),
        ([*FAST, "memory.fast.name=memory"], ["'memory' is there twice"]),
        ([*FAST, "memory.fast.model=litedram-ddr4"], ["memory.fast.model", "fixed or banked"]),
        ([*FAST, "memory.fast.t_refi_ns=3"], ["memory.fast.t_refi_ns leaves no time"]),
        ([*FAST, "memory.fast.heap_bytes=2MiB"], ["memory.fast.heap_bytes", "there is no heap"]),
        ([*FAST, *HEAP, "memory.fast.heap_bytes=18MiB"], ["memory.fast.heap_bytes", "0 to 16777216"]),
        ([*HEAP, "memory.heap_bytes=2MiB"], ["memory.heap_bytes", "heap.memory_bytes"]),
        (["heap.host_bytes=2MiB"], ["heap.host_bytes", "there is no heap"]),
        (["heap.host_strict=true", *HEAP], ["heap.host_strict", "no memory of the host"]),
        (["memory.heap_strict=true"], ["memory.heap_strict", "no part of that memory"]),
        ([*FAST, *HEAP, "memory.fast.heap_strict=true"], ["memory.fast.heap_strict", "no part of that"]),
        ([*HEAP, "heap.host_bytes=2MiB", "page_cache.pages=4"], ["heap.host_bytes", "page cache"]),
        (["further_memory.name=x"], ["no section 'further_memory'"]),
    ],
)
def test_wrong_memories_are_named(overrides, parts):
    with pytest.raises(ConfigError) as caught:
        config.load("tiny", overrides)
    text = " ".join((str(caught.value), caught.value.found, caught.value.hint))
    for part in parts:
        assert part in text, text


def test_the_heap_has_a_region_in_each_memory_that_says_so():
    parts = [*FAST, *HEAP, "memory.fast.heap_bytes=8MiB", "heap.memory_bytes=32MiB"]
    loaded = config.load("tiny", parts)
    assert (loaded.heap_parts, loaded.heap_regions, loaded.heap_blocks) == ([32 << 20, 8 << 20], 2, 16)
    loaded = config.load("tiny", [*parts, "heap.host_bytes=128MiB"])
    assert (len(loaded.heap_parts), loaded.heap_regions, loaded.heap_blocks) == (3, 4, 64)


@pytest.mark.parametrize("name", pages.BLOCKS)
def test_generated_parts_are_current(name):
    text = (toolchain.root() / name).read_text()
    assert pages.page(name, text) == text, "run `python -m godwit.spec pages`"


def test_a_file_without_its_mark_is_named():
    with pytest.raises(
        ValueError, match=r"docs/counters\.md must have one part marked 'begin: generated counters"
    ):
        pages.page("docs/counters.md", "# Counters")


def test_the_command_line(tmp_path, capsys):
    assert main(["generate", "--config", "tiny", "--set", "walker.levels=4", "--out", str(tmp_path)]) == 0
    sv = sv_constants((tmp_path / "sv" / "gw_config_pkg.sv").read_text())
    assert (sv["NumPorts"], sv["NumKernels"], sv["NumExternal"], sv["Levels"]) == (2, 0, 2, 4)
    assert (tmp_path / "html" / "index.html").is_file()
    assert main(["resolve", "--config", "tiny"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "tiny"
    assert main(["resolve", "--config", "tiny", "--set", "walker.levels=9"]) == 1
    assert "walker.levels" in capsys.readouterr().err


def test_unchanged_files_are_left_alone(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    write_if_changed(path, "one")
    before = path.stat().st_mtime_ns
    write_if_changed(path, "one")
    assert path.stat().st_mtime_ns == before
    write_if_changed(path, "two")
    assert path.read_text() == "two"
    assert [item.name for item in path.parent.iterdir()] == ["file.txt"]
