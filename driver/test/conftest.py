# SPDX-License-Identifier: Apache-2.0
"""A guest with the driver and the card `default`; what it needs of Debian is fetched into the cache once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from godwit.vm import guests, kernel, machine

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def stock() -> kernel.Kernel:
    """Debian's own kernel."""
    if problems := machine.lacking():
        pytest.skip(f"no virtual machine here: {'; '.join(problems)}")
    return kernel.ensure("stock")


@pytest.fixture(scope="session")
def boot(stock: kernel.Kernel) -> Callable[..., machine.Ended]:
    """Boots a guest with the module, and programs of `guest/` by name, and runs a script in it."""

    def run(script: str, *programs: str, remove_at: str = "") -> machine.Ended:
        sources = [HERE / f"guest/{name}.c" for name in programs]
        guest, card = guests.with_driver(stock, script, sources)
        return machine.run(stock, guest, card, say=print, remove_at=remove_at)

    return run
