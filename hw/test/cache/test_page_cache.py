# SPDX-License-Identifier: Apache-2.0
"""gw_page_cache as small as it can be, as it is by default, and with large pages; its choice of victims; two ports before it; the
access counters behind it; pages ahead; pages that are written before they leave.
"""

from pathlib import Path

import pytest
from runner import run

SHAPES = {
    "small": {
        "Pages": 2,
        "Replacement": 2,
        "FillMode": 0,
        "Spare": 0,
        "Reads": 2,
        "Writes": 2,
        "Fills": 2,
        "Merges": 1,
    },
    "default": {},
    "eager": {
        "Pages": 4,
        "Spare": 0,
        "Reads": 2,
        "Writes": 2,
        "Fills": 2,
        "Merges": 1,
        "RestLines": 4,
        "Eager": 1,
    },
    "large_pages": {"Pages": 4, "PageShift": 16, "Replacement": 1, "FillMode": 2, "Spare": 2, "RestLines": 6},
}


def run_page_cache(bench, parameters, env):
    run(
        "tb_page_cache",
        bench,
        here=__file__,
        dirs=[Path(__file__).parents[1] / "top"],
        parameters=parameters,
        env={f"BENCH_{name}": str(value) for name, value in env.items()},
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_page_cache(shape):
    run_page_cache("cocotb_page_cache", SHAPES[shape], {"SHAPE": shape})


AHEAD = {
    "slow_link": {
        "Pages": 8,
        "Ahead": 2,
        "Spare": 0,
        "Reads": 4,
        "Writes": 4,
        "Fills": 4,
        "Merges": 2,
        "RestLines": 32,
    },
    "fast_link": {"Pages": 16, "Ahead": 3, "RestLines": 64},
}


@pytest.mark.parametrize("shape", AHEAD)
def test_page_ahead(shape):
    parameters = AHEAD[shape]
    names = {"PAGES": "Pages", "AHEAD": "Ahead", "REST_LINES": "RestLines"}
    run_page_cache("cocotb_page_ahead", parameters, {name: parameters[of] for name, of in names.items()})


EAGER = {
    "slow_link": SHAPES["eager"],
    "fast_link": {"Pages": 8, "Ahead": 1, "Spare": 1, "RestLines": 64, "Eager": 1},
}


@pytest.mark.parametrize("shape", EAGER)
def test_page_eager(shape):
    parameters = EAGER[shape]
    names = {"PAGES": "Pages", "REST_LINES": "RestLines", "SPARE": "Spare"}
    run_page_cache("cocotb_page_eager", parameters, {name: parameters[of] for name, of in names.items()})


@pytest.mark.parametrize(("pages", "places"), [(2, 2), (4, 8)])
def test_host_cache(pages, places):
    run(
        "tb_host_cache",
        "cocotb_host_cache",
        here=__file__,
        dirs=[Path(__file__).parents[1] / "top"],
        parameters={"Pages": pages, "Places": places},
    )


@pytest.mark.parametrize(("groups", "depth", "reports"), [(16, 2, 1), (64, 16, 4)])
def test_access_counters(groups, depth, reports):
    run(
        "gw_access_counters",
        "cocotb_access_counters",
        here=__file__,
        parameters={"Groups": groups, "Depth": depth, "Reports": reports},
        env={"BENCH_GROUPS": str(groups), "BENCH_DEPTH": str(depth), "BENCH_REPORTS": str(reports)},
    )
