# SPDX-License-Identifier: Apache-2.0
"""Writes the IP's manifests, `godwit.core` (FuseSoC) and `Bender.yml`, from what is in hw/rtl: `python tools/manifests.py`.

A test compares both with what this writes, so a new module is in them or the tests fail.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from godwit.spec.generate import RTL_MODULES, RTL_PACKAGES  # noqa: E402

RTL = "hw/rtl"
PACKAGES = ("gw_axi_pkg.sv", "gw_pkg.sv")
"""In the order in which they are read, behind the generated ones."""
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
NOTE = "Written by tools/manifests.py from the files in hw/rtl: run it when a file comes or goes."


def files() -> tuple[list[str], list[str], list[str]]:
    """Headers, packages and modules."""
    found = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / RTL).rglob("*.sv*"))
    headers = [name for name in found if name.endswith(".svh")]
    packages = [f"{RTL}/common/{name}" for name in PACKAGES]
    missing = {name for name in found if name.endswith("_pkg.sv")} ^ set(packages)
    if missing:
        raise SystemExit(f"manifests: packages are read in an order: {', '.join(missing)} belong in PACKAGES")
    modules = [name for name in found if name not in (*headers, *packages)]
    return headers, packages, [*modules, "hw/ip/gw_mmu_configured.sv"]


def fusesoc() -> str:
    """`godwit.core`."""
    headers, packages, modules = files()
    lines = [
        "CAPI=2:",
        "# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1",
        f"# {NOTE}",
        f"name: godwit:ip:mmu:{VERSION}",
        'description: "Shared virtual memory for accelerators: translators, two levels of TLB, walker, registers (gw_mmu)"',
        "",
        "filesets:",
        "  rtl:",
        "    file_type: systemVerilogSource",
        "    files:",
        *(f"      - {name}: {{is_include_file: true}}" for name in headers),
        *(f"      - {name}" for name in (*packages, *modules)),
        "  lint:",
        "    files:",
        f"      - {RTL}/lint.vlt: {{file_type: vlt}}",
        "  smoke:",
        "    file_type: systemVerilogSource",
        "    files:",
        "      - hw/ip/gw_mmu_smoke.sv",
        "",
        "generators:",
        "  godwit_spec:",
        "    interpreter: python3",
        "    command: hw/ip/generate.py",
        '    description: "Registers and parameters of the configuration `config`"',
        "",
        "generate:",
        *(
            line
            for config in ("default", "tiny")
            for part, position in (("packages", "first"), ("modules", "last"))
            for line in (
                f"  {config}_{part}:",
                "    generator: godwit_spec",
                f"    position: {position}",
                f"    parameters: {{config: {config}, part: {part}}}",
            )
        ),
        "",
        "targets:",
        "  default:",
        "    filesets: [rtl]",
        "    generate: [default_packages, default_modules]",
        "    toplevel: gw_mmu_configured",
        "  lint:",
        "    default_tool: verilator",
        '    filesets: ["tool_verilator? (lint)", rtl]',
        "    generate: [default_packages, default_modules]",
        "    toplevel: gw_mmu_configured",
        "    tools:",
        "      verilator:",
        "        mode: lint-only",
        "        verilator_options: [-Wall, --no-timing]",
        "  smoke:",
        "    default_tool: verilator",
        '    filesets: ["tool_verilator? (lint)", rtl, smoke]',
        "    generate: [tiny_packages, tiny_modules]",
        "    toplevel: gw_mmu_smoke",
        "    tools:",
        "      verilator:",
        "        mode: binary",
        '        verilator_options: [--timing, --assert, -Wno-fatal, "-CFLAGS -std=c++20", "-MAKEFLAGS OPT_FAST=-O0"]',
    ]
    return "\n".join([*lines, ""])


def bender() -> str:
    """`Bender.yml`."""
    _, packages, modules = files()
    lines = [
        "# SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1",
        f"# {NOTE}",
        "# build/spec/sv is generated: `make spec`, or `python -m godwit.spec generate --config NAME --out build/spec`.",
        "package:",
        "  name: godwit",
        '  authors: ["The Godwit authors"]',
        "",
        f"export_include_dirs: [{RTL}/common]",
        "",
        "sources:",
        f"  - include_dirs: [{RTL}/common]",
        "    files:",
        *(f"      - build/spec/sv/{name}" for name in RTL_PACKAGES),
        *(f"      - {name}" for name in packages),
        *(f"      - build/spec/sv/{name}" for name in RTL_MODULES),
        *(f"      - {name}" for name in modules),
        "  - target: test",
        "    files:",
        "      - hw/ip/gw_mmu_smoke.sv",
    ]
    return "\n".join([*lines, ""])


MANIFESTS = {"godwit.core": fusesoc, "Bender.yml": bender}


def main() -> int:
    for name, text in MANIFESTS.items():
        (ROOT / name).write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
