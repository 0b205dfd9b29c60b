# SPDX-License-Identifier: Apache-2.0
"""What is generated from ``spec/``: packages, headers, Rust constants, register pages, the configuration tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from godwit.errors import GodwitError
from godwit.spec import config, pages
from godwit.spec.generate import generate
from godwit.toolchain import root


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0, or 1 after one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m godwit.spec", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("generate", help="write packages, headers, Rust constants and register pages")
    make.add_argument(
        "--config", default="default", metavar="NAME|FILE", help="configuration (default: %(default)s)"
    )
    make.add_argument(
        "--set", action="append", default=[], metavar="SECTION.FIELD=VALUE", help="override one field"
    )
    make.add_argument("--out", type=Path, required=True, metavar="DIR", help="directory to write into")
    show = commands.add_parser("resolve", help="print a configuration with all its fields as JSON")
    show.add_argument(
        "--config", default="default", metavar="NAME|FILE", help="configuration (default: %(default)s)"
    )
    show.add_argument(
        "--set", action="append", default=[], metavar="SECTION.FIELD=VALUE", help="override one field"
    )
    commands.add_parser("pages", help="bring the generated parts of hand-written files up to date")
    args = parser.parse_args(argv)
    try:
        if args.command == "generate":
            generate(args.out, config.load(args.config, args.set))
        elif args.command == "resolve":
            print(config.load(args.config, args.set).resolved())
        else:
            for path in pages.update():
                print(path.relative_to(root()))
    except GodwitError as error:
        details = [part for part in (getattr(error, "found", ""), getattr(error, "hint", "")) if part]
        print("; ".join([f"error: {error}", *details]), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
