# SPDX-License-Identifier: Apache-2.0
"""``godwit run memcopy``: copies within device memory, by the kernel `memcopy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from godwit.errors import CheckError, InputError
from godwit.run.figures import cost_figures
from godwit.run.workload import Outcome, Setup, card_facts, run_all
from godwit.units import bytes_text

if TYPE_CHECKING:
    from godwit.launches import LaunchResult


def run(setup: Setup, *, size_bytes: int = 1 << 20, iterations: int = 1, seed: int = 1) -> Outcome:
    """Copies `size_bytes` of random data `iterations` times and compares the copy byte by byte."""
    if not 1 <= iterations < 1 << 32:
        raise InputError(f"{iterations} iterations cannot be run", found="iterations are 1 to 4,294,967,295")
    setup = setup.with_kernel("memcopy")
    with setup.open() as card:
        kernel = setup.kernel_name(card, "memcopy")
        context = setup.context(card)
        options: dict[str, Any] = {"page_size": setup.page_size, "contiguous": True}
        setup.require_memory(card, [size_bytes, size_bytes])
        data = np.frombuffer(np.random.default_rng(seed).bytes(size_bytes), "u1")
        link_before = card.stats()["link_ps"]
        source = context.put(data, access="r", **options)
        target = context.empty(size_bytes, access="w", **options)
        args = {"src": source, "dst": target, "bytes": size_bytes, "iterations": iterations}

        def check(result: LaunchResult, which: str) -> None:
            copy = np.frombuffer(target.download(), "u1") if which == "virtual" else target.to_numpy()
            different = np.flatnonzero(copy != data)
            if len(different):
                raise CheckError(
                    f"memcopy wrote a wrong byte at {different[0]:#x} ({which} addresses)",
                    found=f"{len(different):,} of {size_bytes:,} bytes differ from the source",
                    hint="--axi-trace FILE records every access",
                )

        runs = run_all(card, context, kernel, args, (target,), check, setup)
        figures = cost_figures(card, context, runs, card.stats()["link_ps"] - link_before)
        facts = card_facts(card, setup.page_size)
    return Outcome(
        "memcopy",
        f"memcopy: {bytes_text(size_bytes)}, {iterations} iteration{'s' if iterations > 1 else ''}",
        {"input": {"seed": seed}, "copy_bytes": size_bytes, "iterations": iterations},
        figures,
        facts,
    )
