# SPDX-License-Identifier: Apache-2.0
"""Tests of kernel bfs."""

import cocotb
import numpy as np
from axi_memory import Policy
from kernel_bench import Kernel

from godwit.run.bfs import NO_LEVEL, compressed, reference

OFFSETS, TARGETS, LEVELS, QUEUE = 0x1_0000, 0x4_0000, 0x8_0000, 0xC_0000
GUARD = 128


def random_graph(kernel: Kernel, vertices: int, edges: int) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and targets of a graph with edges between any vertices, some of them several times."""
    ends = np.array([[kernel.random.randrange(vertices) for _ in range(2)] for _ in range(edges)], int)
    return compressed(*ends.reshape(-1, 2).T, vertices)


async def search(
    kernel: Kernel, graph: tuple[np.ndarray, np.ndarray], source: int, policy=None, shift: int = 0, **more
) -> dict:
    """One launch against numpy; what lies around levels and queue stays."""
    offsets, targets = graph
    vertices = len(offsets) - 1
    at = {
        "offsets": OFFSETS + shift,
        "targets": TARGETS + shift,
        "levels": LEVELS + shift,
        "queue": QUEUE + shift,
    }
    for name, values in (("offsets", offsets), ("targets", targets)):
        kernel.memory.data[at[name] : at[name] + values.nbytes] = values.astype("<u4").tobytes()
    around = kernel.random.randbytes(4 * vertices + 2 * GUARD)
    for name in ("levels", "queue"):
        kernel.memory.data[at[name] - GUARD : at[name] + 4 * vertices + GUARD] = around
    found = await kernel.launch(policy, **at, vertices=vertices, source=source, **more)
    wanted = reference(offsets, targets, source)
    reached = np.flatnonzero(wanted != NO_LEVEL)

    def words(name: str, count: int) -> np.ndarray:
        start = at[name]
        return np.frombuffer(bytes(kernel.memory.data[start : start + 4 * count]), "<u4")

    assert found["status"] == 0
    assert (words("levels", vertices) == wanted).all()
    assert (found["reached"], found["depth"]) == (len(reached), wanted[reached].max())
    assert found["edges"] == np.diff(offsets)[reached].sum()
    queue = words("queue", len(reached))
    assert sorted(queue.tolist()) == reached.tolist()
    assert (np.diff(wanted[queue].astype(int)) >= 0).all()
    for name, used in (("levels", vertices), ("queue", len(reached))):
        end = at[name] + 4 * used
        assert kernel.memory.data[at[name] - GUARD : at[name]] == around[:GUARD]
        assert kernel.memory.data[end : end + GUARD] == around[GUARD + 4 * used :][:GUARD]
    return found


@cocotb.test()
async def shapes(dut):
    """One vertex, a path, a star both ways, a ring, two parts, loops, all with all; levels of 15 to 17 vertices."""
    kernel = await Kernel.create(dut, "bfs")
    for begins, ends, vertices, source in (
        ([], [], 1, 0),
        ([0], [0], 1, 0),
        (range(19), range(1, 20), 20, 0),
        (range(19), range(1, 20), 20, 7),
        ([0] * 40, range(1, 41), 41, 0),
        (range(1, 41), [0] * 40, 41, 3),
        (range(8), [1, 2, 3, 4, 5, 6, 7, 0], 8, 5),
        ([0, 1, 2, 3], [1, 0, 3, 2], 4, 0),
        ([0, 0, 0, 1, 1], [1, 1, 1, 1, 0], 3, 0),
        (np.repeat(range(9), 9), list(range(9)) * 9, 9, 4),
        *(
            ([0] * n + list(range(1, n + 1)), [*range(1, n + 1), *[n + 1] * n], n + 2, 0)
            for n in (15, 16, 17)
        ),
    ):
        await search(kernel, compressed(np.array(begins, int), np.array(ends, int), vertices), source)


@cocotb.test()
async def random_graphs(dut):
    """Random graphs, sparse to dense, on a memory that stalls and reorders."""
    kernel = await Kernel.create(dut, "bfs")
    for _ in range(14):
        vertices = kernel.random.randrange(1, 400)
        graph = random_graph(
            kernel, vertices, kernel.random.randrange(vertices * kernel.random.choice([1, 3, 8]))
        )
        shift = 4 * kernel.random.randrange(16)
        source = kernel.random.randrange(vertices)
        await search(kernel, graph, source, kernel.random_policy(), shift, max_cycles=300_000)


@cocotb.test()
async def an_edge_a_cycle(dut):
    """Ideal memory: a search costs its edges, another cycle a vertex found, and a few latencies a level."""
    kernel = await Kernel.create(dut, "bfs")
    graph = compressed(np.repeat(range(64), 64), np.array(list(range(64)) * 64), 64)
    for latency in (4, 71):
        found = await search(kernel, graph, 0, Policy(latency=latency))
        dut._log.warning(f"latency {latency}: {found['cycles']} cycles for 4096 edges, 64 vertices, 2 levels")
        assert found["edges"] == 4096
        assert found["cycles"] <= 4096 + 2 * 64 + 64 + (2 * 4 + 2) * latency + 120


@cocotb.test()
async def bad_arguments(dut):
    """What cannot be served is refused before any access; edges to no vertex are left out and counted."""
    kernel = await Kernel.create(dut, "bfs")
    good = {
        "offsets": OFFSETS,
        "targets": TARGETS,
        "levels": LEVELS,
        "queue": QUEUE,
        "vertices": 5,
        "source": 4,
    }
    for bad in ({"vertices": 0}, {"vertices": (1 << 20) + 1}, {"source": 5}, {"source": 1 << 31}):
        found = await kernel.launch(**{**good, **bad})
        assert found["status"] == 3, f"{bad}: {found}"
        assert not kernel.memory.read_bursts
        assert not kernel.memory.write_bursts
    kernel.memory.data[OFFSETS : OFFSETS + 16] = np.array([0, 4, 3, 4], "<u4").tobytes()
    kernel.memory.data[TARGETS : TARGETS + 16] = np.array([3, 1, 1 << 31, 2], "<u4").tobytes()
    found = await kernel.launch(**{**good, "vertices": 3, "source": 0})
    # Vertex 1's offsets go down: it has no edge.
    assert (found["status"], found["skipped"], found["edges"], found["reached"]) == (0, 2, 5, 3)
    await search(kernel, random_graph(kernel, 30, 60), 3)


@cocotb.test()
async def errors_end_the_run(dut):
    """A read or write error anywhere gives its status, leaves the bus quiet, and the next run works."""
    kernel = await Kernel.create(dut, "bfs")
    for policy, status, base in (
        ("read_errors", 1, OFFSETS),
        ("read_errors", 1, TARGETS),
        ("read_errors", 1, QUEUE),
        ("write_errors", 2, LEVELS),
        ("write_errors", 2, QUEUE),
    ):
        graph = random_graph(kernel, 100, 500)
        for name, values in ((OFFSETS, graph[0]), (TARGETS, graph[1])):
            kernel.memory.data[name : name + values.nbytes] = values.astype("<u4").tobytes()
        bad = Policy(
            latency=kernel.random.choice([2, 50]),
            reorder=True,
            stall_percent=kernel.random.choice([0, 30]),
            **{policy: [range(base, base + 2000)]},
        )
        at = {"offsets": OFFSETS, "targets": TARGETS, "levels": LEVELS, "queue": QUEUE}
        found = await kernel.launch(bad, **at, vertices=100, source=int(np.diff(graph[0]).argmax()))
        assert found["status"] == status, f"{policy} at {base:#x}: {found}"
        await search(kernel, graph, 0)
