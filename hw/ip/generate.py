#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FuseSoC's generator of the IP: registers and parameters of a configuration, from spec/.

FuseSoC runs it with a YAML file that has the parameters `config` (a name of spec/configs, or a TOML file) and `part` (`packages`
or `modules`: the ones are read first, the others last); what it writes is a core file beside the sources. It needs what `godwit` needs: `pip install godwit`, or the checkout's .venv on PATH.
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from godwit.spec import config, generate  # noqa: E402

PARTS = {"packages": generate.RTL_PACKAGES, "modules": generate.RTL_MODULES}


def main(argument: str) -> None:
    asked = yaml.safe_load(Path(argument).read_text(encoding="utf-8"))
    parameters = asked.get("parameters", {})
    generate.generate_rtl(Path(), config.load(parameters.get("config", "default")))
    sources = PARTS[parameters["part"]]
    core = {
        "name": asked["vlnv"],
        "filesets": {
            "rtl": {"files": [f"sv/{name}" for name in sources], "file_type": "systemVerilogSource"}
        },
        "targets": {"default": {"filesets": ["rtl"]}},
    }
    text = "CAPI=2:\n" + yaml.safe_dump(core, sort_keys=False)
    Path(f"{asked['vlnv'].split(':')[2]}.core").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
