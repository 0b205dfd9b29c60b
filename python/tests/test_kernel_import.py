# SPDX-License-Identifier: Apache-2.0
"""``godwit kernel import``, and what it knows of HLS's files. Nothing is built."""

from __future__ import annotations

import json
import re
import tomllib
import zipfile
from pathlib import Path

import hls_text
import pytest
from hls_files import ARGS, KERNEL_XML, component, control_block, driver_header
from hls_text import memory

from godwit.card import hls, importing
from godwit.card.interface import KernelError
from godwit.card.kernel import user_kernel
from godwit.card.manifest import load
from godwit.cli.app import run


@pytest.fixture
def exported(tmp_path) -> Path:
    """A kernel as HLS exports it: Verilog with two memory ports, its driver's header, component.xml and kernel.xml."""
    (tmp_path / "hdl" / "verilog").mkdir(parents=True)
    (tmp_path / "drivers" / "vadd_v1_0" / "src").mkdir(parents=True)
    verilog = tmp_path / "hdl" / "verilog"
    buses = {"m_axi_gmem0": memory(32), "m_axi_gmem1": memory(512)}
    (verilog / "vadd.v").write_text(hls_text.module("vadd", buses, body="vadd_control_s_axi control ();"))
    (verilog / "vadd_control_s_axi.v").write_text(control_block())
    (tmp_path / "drivers" / "vadd_v1_0" / "src" / "xvadd_hw.h").write_text(driver_header())
    (tmp_path / "component.xml").write_text(component(chain=True))
    (tmp_path / "kernel.xml").write_text(KERNEL_XML)
    return tmp_path


def told(kernel: hls.HlsKernel) -> list[tuple[str, int, int, bool]]:
    return [(arg.name, arg.offset, arg.width, arg.direction == "out") for arg in kernel.args]


def test_the_drivers_header_has_offsets_widths_and_directions(exported):
    kernel = hls.find(exported / "drivers" / "vadd_v1_0" / "src" / "xvadd_hw.h")
    assert (kernel.name, kernel.protocol, told(kernel)) == ("vadd", "ap_ctrl_chain", ARGS)
    assert all(arg.pointer is None for arg in kernel.args)


@pytest.mark.parametrize("space", ["spirit", "ipxact"])
def test_component_xml_of_every_ip_xact_is_read(tmp_path, space):
    path = tmp_path / "component.xml"
    path.write_text(component(space=space))
    kernel = hls.find(path)
    assert (kernel.name, kernel.protocol) == ("vadd", "ap_ctrl_hs")
    assert [(arg.name, arg.offset, arg.direction) for arg in kernel.args] == [
        (name, offset, "out" if out else "in") for name, offset, _, out in ARGS
    ]
    assert kernel.sources == (tmp_path / "hdl" / "verilog" / "vadd.v",)


def test_component_xml_of_the_ip_packager_knows_pointers(tmp_path):
    """RTL kernels: one register an argument, without a description; a pointer's says which port it goes through."""

    def register(name, offset, size, bus=""):
        parameter = f"<parameter><name>ASSOCIATED_BUSIF</name><value>{bus}</value></parameter>" if bus else ""
        return (
            f"<register><name>{name}</name><addressOffset>{offset:#05x}</addressOffset><size>{size}</size>"
            f"<parameters>{parameter}</parameters></register>"
        )

    control = (
        "<register><name>CTRL</name><description>Control signals</description>"
        "<field><name>AP_START</name></field></register>"
    )
    registers = (
        register("GIER", 4, 32) + register("out_r", 0x10, 64, "m_axi_gmem") + register("size", 0x1C, 32)
    )
    (tmp_path / "component.xml").write_text(
        f"<component><name>k</name><memoryMaps><memoryMap><addressBlock>{control}{registers}</addressBlock>"
        "</memoryMap></memoryMaps></component>"
    )
    kernel = hls.find(tmp_path / "component.xml")
    assert [(arg.name, arg.offset, arg.width, arg.pointer, arg.bundle) for arg in kernel.args] == [
        ("out_r", 0x10, 64, True, "gmem"),
        ("size", 0x1C, 32, False, ""),
    ]
    assert kernel.protocol == "ap_ctrl_hs"


@pytest.mark.parametrize("language", ["verilog", "anylanguage"])
def test_sources_are_those_of_the_synthesis_view(tmp_path, language):
    """HLS has a view a language, Vivado's packager one for all; beside it lie test benches that nothing can compile."""
    views = {
        f"xilinx_{language}synthesis_view_fileset": ["src/k.v", "src/part.sv", "src/k.xdc"],
        f"xilinx_{language}behavioralsimulation_view_fileset": ["src/k.v", "src/part.sv"],
        "xilinx_testbench_view_fileset": ["src/k_tb.sv"],
    }
    text = component(name="k", files=()).replace("spirit:", "")
    sets = "".join(
        f"<fileSet><name>{view}</name>{''.join(f'<file><name>{name}</name></file>' for name in names)}</fileSet>"
        for view, names in views.items()
    )
    text = re.sub(r"<fileSets>.*</fileSets>", f"<fileSets>{sets}</fileSets>", text)
    (tmp_path / "component.xml").write_text(text)
    (tmp_path / "src").mkdir()
    for name in ("k.v", "part.sv", "k_tb.sv"):
        (tmp_path / "src" / name).write_text(f"module {name.split('.')[0]}; endmodule\n")
    kernel = hls.find(tmp_path)
    assert kernel.sources == (tmp_path / "src" / "k.v", tmp_path / "src" / "part.sv")
    assert importing.sources(kernel) == list(kernel.sources)


def test_the_verilog_alone_has_offsets_widths_and_directions(exported, tmp_path):
    kernel = hls.find(exported / "hdl" / "verilog" / "vadd.v")
    assert (kernel.name, kernel.protocol, told(kernel)) == ("vadd", "ap_ctrl_chain", ARGS)
    assert importing.sources(kernel) == [exported / "hdl" / "verilog"]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "k.v").write_text(hls_text.module("k"))
    with pytest.raises(KernelError, match="not one of HLS's"):
        hls.find(tmp_path / "own" / "k.v")


def test_kernel_xml_knows_pointers_and_bundles(tmp_path):
    (tmp_path / "kernel.xml").write_text(KERNEL_XML)
    kernel = hls.find(tmp_path / "kernel.xml")
    assert [(arg.name, arg.offset, arg.pointer, arg.bundle) for arg in kernel.args] == [
        ("b", 0x10, True, "gmem1"),
        ("n", 0x1C, False, ""),
        ("flags", 0x24, False, ""),
    ]
    assert kernel.protocol == "ap_ctrl_chain"


def test_a_folder_joins_what_its_files_know(exported):
    """Pointers from kernel.xml, widths and results from the header, sources from component.xml."""
    kernel = hls.find(exported)
    assert told(kernel) == ARGS
    assert next((arg.name, arg.pointer, arg.bundle) for arg in kernel.args) == ("b", True, "gmem1")
    assert kernel.sources == (exported / "hdl" / "verilog" / "vadd.v",)


def test_a_return_value_is_a_result(tmp_path):
    (tmp_path / "xf_hw.h").write_text(
        driver_header("f", args=[("ap_return", 0x10, 32, True), ("x", 0x18, 32, False)])
    )
    assert told(hls.find(tmp_path)) == [("ap_return", 0x10, 32, True), ("x", 0x18, 32, False)]


TWO_PORTS = [("n", 0x10, 32, False), ("a", 0x8010, 64, False), ("b", 0x801C, 64, False)]
"""Arguments of a kernel whose pointers have no bundle: HLS puts them at a port of their own, `control_r`."""


def pointer_port(kind: str, folder: Path) -> Path:
    """A description, as HLS writes it, of a kernel with `control` and `control_r`."""
    if kind == "header":
        path = folder / "xk_hw.h"
        pointers = driver_header("k", control=False, args=[("a", 0x10, 64, False), ("b", 0x1C, 64, False)])
        numbers = driver_header("k", chain=False, args=[("n", 0x10, 32, False)])
        path.write_text(numbers + pointers.replace("// control\n", "// control_r\n"))
    elif kind == "component.xml":
        path = folder / "component.xml"

        def registers(*words: tuple[str, int]) -> str:
            return "".join(
                f"<register><name>{name}_{at}</name><description>Data signal of {name}</description>"
                f"<addressOffset>{at}</addressOffset><field><bitWidth>32</bitWidth></field></register>"
                for name, at in words
            )

        control = "<register><name>CTRL</name><field><name>AP_START</name></field></register>"
        control += registers(("n", 0x10))
        block = registers(("a", 0x10), ("a", 0x14), ("b", 0x1C), ("b", 0x20))
        maps = "".join(
            f"<memoryMap><name>{name}</name><addressBlock>{text}</addressBlock></memoryMap>"
            for name, text in (("s_axi_control", control), ("s_axi_control_r", block))
        )
        path.write_text(f"<component><name>k</name><memoryMaps>{maps}</memoryMaps></component>")
    else:
        path = folder / "k.v"
        blocks = control_block("k", chain=False, args=[("n", 0x10, 32, False)])
        pointers = control_block("k", args=[("a", 0x10, 64, False), ("b", 0x1C, 64, False)])
        for start in ("output wire ap_start, output wire ap_continue, ", "ADDR_AP_CTRL = 6'h00, "):
            pointers = pointers.replace(start, "")
        blocks += pointers.replace("k_control_s_axi", "k_control_r_s_axi")
        # The order of ports in the header says nothing: HLS sorts neither.
        buses = {"s_axi_control_r": hls_text.CONTROL, "m_axi_gmem": memory()}
        body = "k_control_s_axi u_control ();\nk_control_r_s_axi u_control_r ();"
        path.write_text(hls_text.module("k", buses, body=body) + blocks)
    return path


@pytest.mark.parametrize("kind", ["header", "component.xml", "verilog"])
def test_registers_of_a_second_control_port_are_behind_the_first_one_s(tmp_path, kind):
    assert told(hls.find(pointer_port(kind, tmp_path))) == TWO_PORTS


def test_a_kernel_with_two_control_ports_is_imported_and_checked(tmp_path, capsys):
    path = pointer_port("verilog", tmp_path)
    assert run(["kernel", "import", str(path), "--output", str(tmp_path / "k.toml")]) == 0
    capsys.readouterr()
    manifest = load(tmp_path / "k.toml")
    assert [(arg.name, arg.offset) for arg in manifest.args] == [(name, at) for name, at, *_ in TWO_PORTS]
    assert run(["kernel", "check", str(tmp_path / "k.toml"), "--json"]) == 0
    told_ = json.loads(capsys.readouterr().out)
    assert told_["control"]["port"] == "s_axi_control"
    assert told_["further_controls"] == [{"port": "s_axi_control_r", "addr_width": 6, "offset": 0x8000}]
    # A pointer at the first port's offset is none of its registers.
    (tmp_path / "k.toml").write_text((tmp_path / "k.toml").read_text().replace("0x801c", "0x1c"))
    with pytest.raises(KernelError, match="argument b is at 0x801c in the control block"):
        user_kernel(tmp_path / "k.toml")
    (tmp_path / "k.toml").write_text(
        (tmp_path / "k.toml").read_text().replace("offset = 0x1c", "offset = 0x8040")
    )
    with pytest.raises(KernelError, match="ends at 0x48, past what s_axi_control_r addresses"):
        user_kernel(tmp_path / "k.toml")


@pytest.mark.parametrize("kind", ["component.xml", "verilog"])
def test_three_control_ports_are_refused_with_the_pragma_that_makes_one(tmp_path, kind):
    if kind == "verilog":
        path = tmp_path / "k.v"
        further = {"s_axi_control_r": hls_text.CONTROL, "s_axi_more": hls_text.CONTROL}
        path.write_text(hls_text.module("k", {"m_axi_gmem": memory(), **further}))
        find = user_kernel
        (tmp_path / "k.toml").write_text('name = "k"\n')
    else:
        path, find = pointer_port(kind, tmp_path), hls.find
        text = path.read_text()
        last = text[text.rindex("<memoryMap>") : text.index("</memoryMaps>")]
        path.write_text(text.replace("</memoryMaps>", last + "</memoryMaps>"))
    with pytest.raises(KernelError, match="3 control ports") as refused:
        find(path)
    assert "control_r" in refused.value.found
    assert "bundle=control in every s_axilite pragma" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (driver_header() + "\n// a_r\n// 0x00 : Control signals\n", "arguments at 2 control ports"),
        ("#define NOTHING\n", "not a header of an HLS driver"),
    ],
)
def test_headers_that_cannot_be_used(tmp_path, text, message):
    (tmp_path / "xvadd_hw.h").write_text(text)
    with pytest.raises(KernelError, match=message):
        hls.find(tmp_path / "xvadd_hw.h")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("kernel.xml", "<root>", "cannot be read as XML"),
        ("kernel.xml", "<root/>", "neither a kernel.xml nor a component.xml"),
        ("notes.txt", "", "is not a description that HLS writes"),
    ],
)
def test_files_of_something_else(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(KernelError, match=message):
        hls.find(tmp_path / name)
    with pytest.raises(KernelError, match="does not exist"):
        hls.find(tmp_path / "none.xml")


def test_a_packed_kernel_is_to_be_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "vadd.xo", "w") as packed:
        packed.writestr("vadd/kernel.xml", KERNEL_XML)
    with pytest.raises(KernelError, match="is packed") as caught:
        hls.find(tmp_path / "vadd.xo")
    assert "unzip" in caught.value.hint


def test_import_writes_a_manifest_that_loads(exported, tmp_path, monkeypatch, capsys):
    """Control protocol, bundle and offsets; `b` is a buffer because kernel.xml says so."""
    monkeypatch.setattr("godwit.card.wiring.check", lambda *_: None)
    manifest = exported / "out" / "vadd.toml"
    manifest.parent.mkdir()
    assert run(["kernel", "import", str(exported), "-o", str(manifest), "--buffer", "b=r"]) == 0
    loaded = load(manifest)
    assert loaded.control == "ap_ctrl_chain"
    assert [path.name for path in loaded.sources] == ["vadd.v", "vadd_control_s_axi.v"]
    assert [(arg.name, str(arg.kind), arg.offset, arg.access, arg.bundle) for arg in loaded.args] == [
        ("b", "buffer", 0x10, "r", "gmem1"),
        ("n", "u32", 0x1C, None, None),
        ("flags", "u32", 0x24, None, None),
        ("sum", "out_u64", 0x2C, None, None),
    ]
    captured = capsys.readouterr()
    assert "ap_ctrl_chain (read from its control block)" in captured.out
    assert "vadd.toml written" in captured.err
    assert run(["kernel", "import", str(exported), "-o", str(manifest)]) == 1
    assert "--force overwrites it" in capsys.readouterr().err


def test_a_guess_is_said_and_can_be_changed(exported, capsys, monkeypatch):
    monkeypatch.setattr("godwit.card.wiring.check", lambda *_: None)
    monkeypatch.chdir(exported)
    described = "drivers/vadd_v1_0/src/xvadd_hw.h"
    assert run(["kernel", "import", described]) == 0
    assert (
        "note: b: taken for a pointer because it has 64 bits; a number is --scalar b"
        in capsys.readouterr().err
    )
    assert tomllib.loads((exported / "vadd.toml").read_text())["args"][0]["kind"] == "buffer"
    assert run(["kernel", "import", described, "--scalar", "b", "--force"]) == 0
    assert tomllib.loads((exported / "vadd.toml").read_text())["args"][0]["kind"] == "u64"
    assert run(["kernel", "import", described, "--scalar", "c", "--force"]) == 1
    assert "has no argument c" in capsys.readouterr().err


@pytest.mark.parametrize("described", ["hdl/verilog/vadd.v", "component.xml"])
def test_sources_without_the_top_module_come_on_top(exported, tmp_path, monkeypatch, described):
    """A vendor's library, given in a file of its own."""
    top = exported / "hdl" / "verilog" / "vadd.v"
    text = top.read_text()
    top.write_text(text.replace("endmodule", "  vendor_fifo u_fifo ();\nendmodule", 1))
    library = tmp_path / "library.v"
    library.write_text("module vendor_fifo; endmodule\n")
    monkeypatch.chdir(tmp_path)
    assert run(["kernel", "import", str(exported / described), "-o", "k.toml"]) == 1
    assert run(["kernel", "import", str(exported / described), "-o", "k.toml", "--source", str(library)]) == 0
    assert library in load(tmp_path / "k.toml").sources
    assert top in load(tmp_path / "k.toml").sources


def test_wide_arguments_are_words(exported):
    kernel = hls.HlsKernel("vadd", exported / "component.xml", (hls.HlsArg("key", 0x10, 96, "in"),))
    files = importing.sources(kernel)
    made = importing.manifest(kernel, exported, given=files, ports=importing.read(kernel, files))
    args = tomllib.loads(made.text)["args"]
    assert [(arg["name"], arg["offset"]) for arg in args] == [
        ("key_0", 0x10),
        ("key_1", 0x14),
        ("key_2", 0x18),
    ]
    assert "96 bits are passed as words" in made.notes[0]


def test_a_kernel_without_start_and_end_is_not_imported(exported, capsys):
    for file in ("component.xml", "kernel.xml"):
        (exported / file).unlink()
    (exported / "drivers" / "vadd_v1_0" / "src" / "xvadd_hw.h").write_text(driver_header(control=False))
    assert run(["kernel", "import", str(exported), "-o", str(exported / "k.toml")]) == 1
    error = capsys.readouterr().err
    assert "ap_ctrl_none" in error
    assert "s_axilite port=return" in error
    assert not (exported / "k.toml").exists()
