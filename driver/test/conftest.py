# SPDX-License-Identifier: Apache-2.0
"""A guest with the driver and the card `default`; what it needs of Debian is fetched into the cache once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from guest_checks import GUEST_S
from kept import Guests

from godwit.errors import SetupError
from godwit.vm import guests, initramfs, kernel, machine, module

HERE = Path(__file__).parent


Boot = Callable[..., machine.Ended]
_guests = Guests()


def pytest_runtest_setup(item: pytest.Item) -> None:
    _guests.file = str(item.path)


def pytest_exception_interact(report: pytest.TestReport) -> None:
    if report.failed:
        _guests.failed()


@pytest.fixture(scope="session")
def kernel_named() -> Callable[[str], kernel.Kernel]:
    """A kernel to build for and to boot; without what it takes to fetch it there is no test."""

    def find(kind: str) -> kernel.Kernel:
        if problems := machine.lacking():
            pytest.skip(f"no virtual machine here: {'; '.join(problems)}")
        if kind in kernel.BUILT and not kernel.is_there(kind):
            pytest.skip(
                f"no kernel `{kind}` here: `godwit vm kernel {kind}` builds it, once, in half an hour of one processor"
            )
        if kind == "stock":
            return kernel.ensure(kind)
        try:
            return kernel.ensure(kind)
        except SetupError as error:
            pytest.skip(f"Debian's archive does not give the kernel '{kind}' here: {error}")

    return find


@pytest.fixture(scope="session")
def stock(kernel_named: Callable[[str], kernel.Kernel]) -> kernel.Kernel:
    """Debian's own kernel."""
    return kernel_named("stock")


@pytest.fixture(scope="session")
def boot_on(kernel_named: Callable[[str], kernel.Kernel]) -> Callable[[str], Boot]:
    """By kernel: boots a guest with the module, and programs of `guest/` by name, others by path, and runs a script in it; with `rig` it has
    /rig.ko, too, the tests' own module. Without a configuration there is no card. One that ended well before is not
    booted again.
    """

    def on(kind: str) -> Boot:
        booted = kernel_named(kind)

        def run(
            script: str,
            *programs: str | Path,
            orders: Mapping[str, str] = {},
            timeout_s: float = GUEST_S,
            config: str | Path | None = "default",
            boot: str = "",
            memory_mib: int = 512,
            rig: bool = False,
            cards: int = 1,
        ) -> machine.Ended:
            sources = [name if isinstance(name, Path) else HERE / f"guest/{name}.c" for name in programs]
            card = None
            if config:
                guest, card = guests.with_driver(booted, script, sources, config)
            else:
                guest = guests.without_card(booted, script, sources)
            guest = replace(guest, boot=boot, memory_mib=memory_mib)
            if rig:
                built = module.beside(booted, HERE / "module").read_bytes()
                guest = replace(guest, files={**guest.files, "/rig.ko": initramfs.plain(built)})
            record = _guests.place(booted, guest, sources, card, orders, cards)
            if record and (ended := _guests.find(record)):
                return ended
            ended = machine.run(
                booted, guest, card, say=print, timeout_s=timeout_s, orders=orders, cards=cards
            )
            if record:
                _guests.keep(record, ended)
            return ended

        return run

    return on
