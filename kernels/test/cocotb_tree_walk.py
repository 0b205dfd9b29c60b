# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel tree_walk."""

import cocotb
import numpy as np
from axi_memory import Policy
from kernel_bench import Kernel

KEYS, VALUES, NODES = 0x1000, 0x8000, 0x2_0000
GUARD = 64
NODE = np.dtype([("key", "i8"), ("value", "i8"), ("left", "u8"), ("right", "u8")])


def plant(kernel: Kernel, keys: list[int]) -> tuple[int, dict[int, int]]:
    """Inserts keys one by one into a tree of nodes anywhere; address of the root, and values by key."""
    places = NODES + 32 * np.array(kernel.random.sample(range(4096), len(keys)), np.int64)
    nodes = np.zeros(len(keys), NODE)
    values: dict[int, int] = {}
    for index, key in enumerate(keys):
        values[key] = kernel.random.randrange(-(1 << 63), 1 << 63)
        nodes[index]["key"], nodes[index]["value"] = key, values[key]
        at = 0
        while index:
            side = "left" if key < nodes[at]["key"] else "right"
            if not nodes[at][side]:
                nodes[at][side] = places[index]
                break
            at = int(np.flatnonzero(places == int(nodes[at][side]))[0])
    for place, node in zip(places.tolist(), nodes, strict=True):
        kernel.memory.data[place : place + 32] = node.tobytes()
    return int(places[0]) if keys else 0, values


async def look_up(
    kernel: Kernel, root: int, values: dict[int, int], keys: list[int], policy=None, *, at: int = KEYS, **more
) -> dict:
    """One launch; every value is its key's, and nothing around them is changed."""
    kernel.memory.data[at : at + 8 * len(keys)] = np.array(keys, np.int64).tobytes()
    place = VALUES + 8 * kernel.random.randrange(16)
    end = place + 8 * len(keys)
    around = bytes(kernel.random.randrange(256) for _ in range(GUARD))
    kernel.memory.data[place - GUARD : place] = kernel.memory.data[end : end + GUARD] = around
    arguments = {"root": root, "keys": at, "values": place, "count": len(keys), "absent": 0xABCD}
    found = await kernel.launch(policy, **arguments, **more)
    assert found["status"] == found["bad"] == 0
    got = np.frombuffer(bytes(kernel.memory.data[place:end]), np.int64)
    assert got.tolist() == [values.get(key, 0xABCD) for key in keys]
    assert found["found"] == sum(key in values for key in keys)
    assert kernel.memory.data[place - GUARD : place] == kernel.memory.data[end : end + GUARD] == around
    return found


def some_keys(kernel: Kernel, count: int) -> list[int]:
    """Different ones, of all sizes."""
    ends = [-(1 << 63), (1 << 63) - 1, 0, -1]
    return list({*ends[: min(count, 4)], *(kernel.random.randrange(-999, 999) for _ in range(count))})[:count]


@cocotb.test()
async def trees(dut):
    """No node, one, a line of them, many; no key, one, and more than lanes."""
    kernel = await Kernel.create(dut, "tree_walk")
    for size in (0, 1, 2, 7, 60):
        keys = some_keys(kernel, size)
        for order in (keys, sorted(keys)):
            root, values = plant(kernel, order)
            for asked in (0, 1, 3, 8, 9, 70):
                wanted = [kernel.random.choice([*keys, 5]) for _ in range(asked)]
                found = await look_up(kernel, root, values, wanted)
                assert (found["visited"] > 0) == (asked > 0 and size > 0)


@cocotb.test()
async def random_look_ups(dut):
    """On a memory that stalls and reorders; keys of any alignment to a beat."""
    kernel = await Kernel.create(dut, "tree_walk")
    for _ in range(20):
        keys = some_keys(kernel, kernel.random.randrange(1, 200))
        kernel.random.shuffle(keys)
        root, values = plant(kernel, keys)
        wanted = [kernel.random.choice([*keys, kernel.random.randrange(-999, 999)]) for _ in range(100)]
        at = KEYS + 8 * kernel.random.randrange(512)
        await look_up(kernel, root, values, wanted, kernel.random_policy(), at=at, max_cycles=200_000)


@cocotb.test()
async def lanes_hide_latency(dut):
    """With a lane an ID, look-ups side by side take a lane's share of the time of their reads."""
    kernel = await Kernel.create(dut, "tree_walk")
    keys = some_keys(kernel, 100)
    root, values = plant(kernel, keys)
    lanes, latency = 8, 100
    found = await look_up(kernel, root, values, keys * 2, Policy(latency=latency), max_cycles=100_000)
    dut._log.warning(f"{found['visited']} nodes in {found['cycles']} cycles, {latency} of latency")
    assert found["cycles"] <= found["visited"] * (latency + 8) / lanes * 1.15 + 4 * latency


@cocotb.test()
async def bad_pointers(dut):
    """A pointer between nodes or a circle ends the run and is named, and the next run works."""
    kernel = await Kernel.create(dut, "tree_walk")
    keys = some_keys(kernel, 50)
    root, values = plant(kernel, keys)
    good = {"keys": KEYS, "values": VALUES, "count": 40}
    kernel.memory.data[KEYS : KEYS + 320] = np.full(40, 7).tobytes()
    found = await kernel.launch(root=root + 8, **good)
    assert (found["status"], found["bad"]) == (3, root + 8)
    circle = NODES + 32 * 4096
    node = np.array([(9, 0, circle, 0)], NODE)
    kernel.memory.data[circle : circle + 32] = node.tobytes()
    found = await kernel.launch(root=circle, depth=20, **good)
    assert (found["status"], found["bad"]) == (3, circle)
    found = await kernel.launch(root=circle, depth=0, **good)
    assert (found["status"], found["visited"]) == (3, 0)
    await look_up(kernel, root, values, keys)


@cocotb.test()
async def errors_end_the_run(dut):
    """An error of keys, nodes or values gives its status, leaves the bus quiet, and the next run works."""
    kernel = await Kernel.create(dut, "tree_walk")
    keys = some_keys(kernel, 60)
    root, values = plant(kernel, keys)
    kernel.memory.data[KEYS : KEYS + 480] = np.array(keys[:60]).tobytes()
    for policy, where, status in (
        ("read_errors", KEYS + 300, 1),
        ("read_errors", root, 1),
        ("write_errors", VALUES + 80, 2),
    ):
        for stall in (0, 30):
            bad = Policy(latency=20, reorder=True, stall_percent=stall, **{policy: [range(where, where + 8)]})
            found = await kernel.launch(bad, root=root, keys=KEYS, values=VALUES, count=60)
            assert found["status"] == status, f"{policy} at {where:x}: {found}"
        await look_up(kernel, root, values, keys)
