# SPDX-License-Identifier: Apache-2.0
"""gw_walker: cycles at the size whose throughput is promised; rules and random traffic at smaller ones."""

import pytest
from runner import run


def walker(module, testcase=None, **parameters):
    env = {
        "BENCH_LEVELS": str(parameters["Levels"]),
        "BENCH_REQUESTS": str(parameters["Requests"]),
        "BENCH_LINES": str(parameters["Lines"]),
        "BENCH_LINE_BEATS": str(parameters.get("LineBeats", 1)),
        "BENCH_ANY_NAPOT": str(parameters.get("AnyNapot", 0)),
    }
    run("walker_tb", module, here=__file__, parameters=parameters, env=env, testcase=testcase)


SMALL = [
    {"Levels": 5, "Requests": 12, "Lines": 3, "CacheEntries": 2, "NumContexts": 5, "LineBeats": 4},
    {"Levels": 3, "Requests": 3, "Lines": 1, "CacheEntries": 1, "NumContexts": 1},
]
LONG_LINES = [
    {"Levels": 4, "Requests": 16, "Lines": 5, "CacheEntries": 2, "NumContexts": 4, "LineBeats": 16},
    {"Levels": 4, "Requests": 6, "Lines": 3, "CacheEntries": 1, "NumContexts": 1, "LineBeats": 2},
]
SIZES = [*SMALL, {"Levels": 4, "Requests": 64, "Lines": 64, "CacheEntries": 16, "NumContexts": 16}]


def name(parameters):
    return "-".join(str(value) for value in parameters.values())


def test_cycles():
    walker("cocotb_walker_cycles", **SIZES[-1], Prefetch=0)


def test_throughput_with_prefetch():
    walker("cocotb_walker_cycles", "throughput_from_cold_and_warm", **SIZES[-1])


def test_scope():
    walker("cocotb_walker_scope", **SIZES[-1])


def test_prefetch():
    walker("cocotb_walker_prefetch", **SIZES[-1])


@pytest.mark.parametrize("parameters", LONG_LINES, ids=name)
def test_lines_of_several_beats(parameters):
    walker("cocotb_walker_lines", **parameters)


@pytest.mark.parametrize("parameters", [SIZES[0], SIZES[-1]], ids=name)
def test_pages_of_the_heap(parameters):
    walker("cocotb_walker_heap", **parameters, Heap=1, Prefetch=0)


def test_without_64_kib_pages():
    walker("cocotb_walker_no_napot", **SMALL[1], Svnapot=0)


@pytest.mark.parametrize("parameters", [SIZES[0], SIZES[-1]], ids=name)
def test_pages_of_any_power_of_two(parameters):
    walker("cocotb_walker_any_napot", **parameters, AnyNapot=1)


@pytest.mark.parametrize("parameters", SIZES, ids=name)
def test_random_with_pages_of_any_power_of_two(parameters):
    walker("cocotb_walker_random", **parameters, AnyNapot=1)


@pytest.mark.parametrize("parameters", [SIZES[0], SIZES[-1]], ids=name)
def test_updates(parameters):
    walker("cocotb_walker_updates", **parameters)


@pytest.mark.parametrize("parameters", SIZES, ids=name)
def test_rules(parameters):
    walker("cocotb_walker_rules", **parameters)


@pytest.mark.parametrize("parameters", SIZES, ids=name)
def test_random(parameters):
    walker("cocotb_walker_random", **parameters)
