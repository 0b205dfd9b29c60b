# SPDX-License-Identifier: Apache-2.0
"""The kernels' RTL is clean in Verilator and Verible and elaborates in Yosys, memories as block RAM."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_run import COMMON, ROOT, args_package, data_path, manifest_path

from godwit import toolchain
from godwit.card import manifest

HARDWARE = ROOT / "hw" / "rtl"
OWN = [
    "split",
    "split_rows",
    "split_malloc",
    "split_text",
    "split_text_malloc",
    "array_sum",
    "memcopy",
    "traffic",
    "hashjoin",
    "stencil",
    "sobel",
    "bfs",
    "tree_walk",
    "heap_calls",
]
EXAMPLE = "scale_add"
RUN_PASSES = """
import sys
import pyosys.libyosys as yosys
design = yosys.Design()
for command in sys.argv[1].split(";"):
    yosys.run_pass(command.strip(), design)
"""


def files_of(name: str, data_width: int = 512) -> list[Path]:
    """Packages and sources of a kernel, in the order in which they are read."""
    return [*data_path(data_width), args_package(name), *manifest.load(manifest_path(name)).sources]


def run(command: list, **more) -> str:
    """Runs a tool; its output, which is the failure's text too."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **more
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    return output


@pytest.mark.parametrize("id_width", [1, 6])
@pytest.mark.parametrize("name", [*OWN, EXAMPLE])
def test_verilator_lint(name, id_width):
    id_width = (
        max(id_width, 2)
        if name in ("bfs", "split_rows", "split_malloc", "split_text", "split_text_malloc")
        else id_width
    )  # they have three or four streams
    waivers = ["-Wno-SYMRSVDWORD"] if name == EXAMPLE else []
    dirs = [part for path in (COMMON, HARDWARE / "common") for part in ("-y", path)]
    options = ["--lint-only", "-Wall", "--assert", f"-GC_M_AXI_GMEM_ID_WIDTH={id_width}", "--top", name]
    for data_width in manifest.load(manifest_path(name)).data_widths:
        files = files_of(name, data_width)
        run(
            [toolchain.verilator(), *options, *waivers, *dirs, HARDWARE / "lint.vlt", *files],
            env=toolchain.env(),
        )


def test_verible_lint():
    sources = [*COMMON.glob("*.sv"), *(path for name in [*OWN, EXAMPLE] for path in files_of(name))]
    assert len(sources) > 20
    run([toolchain.verible("lint"), "--rules=line-length=length:130", *sorted(set(sources))])


@pytest.mark.parametrize("name", [*OWN, EXAMPLE])
def test_yosys_elaborates(name, tmp_path):
    """read_slang takes it, no latch comes out, and the big buffers keep one write and one read port."""
    sources = [
        path
        for path in (*COMMON.glob("*.sv"), *(HARDWARE / "common").glob("*.sv"))
        if not path.stem.endswith("_pkg")
    ]
    sources = [HARDWARE / "common/gw_axi_pkg.sv", *sources] if name != EXAMPLE else []
    files = " ".join(str(path) for path in [*files_of(name), *sources])
    script = (
        f"read_slang -I {COMMON} -I {HARDWARE / 'common'} --top {name} {files}; "
        f"hierarchy -check -top {name}; proc; select -assert-none t:$dlatch t:$_DLATCH_*; "
        f"flatten; opt; memory_dff; memory_collect; write_json {tmp_path / 'out.json'}"
    )
    run([sys.executable, "-c", RUN_PASSES, script])
    cells = json.loads((tmp_path / "out.json").read_text())["modules"][name]["cells"].values()
    memories = [cell["parameters"] for cell in cells if cell["type"] == "$mem_v2"]
    big = [m for m in memories if int(m["SIZE"], 2) * int(m["WIDTH"], 2) >= 1 << 15]
    expected = {
        "split": 4,
        "split_rows": 4,
        "split_malloc": 4,
        "split_text": 9,
        "split_text_malloc": 9,
        "array_sum": 2,
        "memcopy": 2,
        "traffic": 1,
        "hashjoin": 2,
        "stencil": 3,
        "sobel": 3,
        "bfs": 3,
        "tree_walk": 1,
        "heap_calls": 0,
        EXAMPLE: 0,
    }
    assert len(big) == expected[name]
    for memory in big:
        assert (int(memory["WR_PORTS"], 2), int(memory["RD_PORTS"], 2)) == (1, 1)
        assert int(memory["RD_CLK_ENABLE"], 2) == 1, "read without a register: no block RAM"
