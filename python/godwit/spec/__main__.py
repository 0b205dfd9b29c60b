# SPDX-License-Identifier: Apache-2.0
"""``python -m godwit.spec generate [--config NAME|FILE] [--set SECTION.FIELD=VALUE] --out DIR``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from godwit.spec.generate import generate


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m godwit.spec", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("generate", help="write packages, headers and Rust constants made from spec/")
    make.add_argument("--config", default="default", metavar="NAME|FILE", help="configuration (default: %(default)s)")
    make.add_argument("--set", action="append", default=[], metavar="SECTION.FIELD=VALUE", help="override one field")
    make.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory to write into")
    args = parser.parse_args(argv)
    generate(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
