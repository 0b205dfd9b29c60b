# SPDX-License-Identifier: Apache-2.0
"""How tests are spread over processes (`pytest -n 2`): the longest first, those that share a slow fixture in one process."""

import re

import pytest

# What takes longest, longest first: a process that meets one of them last leaves the other cores idle.
FIRST = (
    "hw/formal/test_formal.py::test_proof[translator]",
    "hw/formal/test_formal.py::test_proof[walker]",
    "hw/formal/",
    "kernels/test/test_kernels.py::test_hashjoin",
    "python/tests/test_build.py",
    "python/tests/test_package.py",
    "hw/test/walker/",
    "kernels/test/",
    "driver/test/test_guest",
    "card/test/",
    "hw/test/",
    "core/test/",
    "python/tests/test_cmt.py",
)
# Files whose tests stay in one process, since each process would make their fixture anew.
TOGETHER = (
    "python/tests/test_build.py",
    "python/tests/test_install.py",
    "python/tests/test_ip.py",
    "python/tests/test_package.py",
)
# Files whose tests share a guest: one for each kernel that it boots.
GUESTS = re.compile(
    r"(driver/test/test_guest(?:_cmt|_contig|_dma|_heap|_starved|_stays)?\.py)::.*?(?:\[(stock|backports|debug)\b.*)?$"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next((at for at, name in enumerate(FIRST) if item.nodeid.startswith(name)), len(FIRST))

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        """One test at a time, or one file of those that stay together, or all of a guest."""

        def _split_scope(self, nodeid: str) -> str:
            if guest := GUESTS.match(nodeid):
                return f"{guest[1]} {guest[2]}"
            file = nodeid.partition("::")[0]
            return file if file in TOGETHER else nodeid

    config.option.loadscopereorder = False
    return Scheduling(config, log)
