# SPDX-License-Identifier: Apache-2.0
"""gw_axi_adapt: widths and IDs of a master made those of a bus."""

import pytest
from runner import run

# Data and ID bits of the master, then of the bus; bursts of an ID in flight.
SHAPES = (
    (32, 1, 512, 4, 16),
    (32, 4, 64, 2, 2),
    (64, 6, 1024, 2, 4),
    (512, 2, 1024, 2, 16),
    (512, 3, 128, 4, 4),
    (1024, 2, 64, 2, 2),
    (128, 4, 128, 2, 2),
)


NAMES = ("SlvDataWidth", "SlvIdWidth", "MstDataWidth", "MstIdWidth", "Bursts")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(map(str, shape)))
def test_bursts_of_every_kind(shape):
    parameters = dict(zip(NAMES, shape, strict=True))
    run("tb_axi_adapt", "cocotb_adapt", here=__file__, parameters=parameters, spec=False)


# Shapes of above, so that each is built once; 2 bursts in flight do not cover a latency.
@pytest.mark.parametrize(("kind", "shape"), [("up", SHAPES[0]), ("down", SHAPES[4]), ("ids", SHAPES[6])])
def test_cycles(kind, shape):
    parameters = dict(zip(NAMES, shape, strict=True))
    run(
        "tb_axi_adapt",
        "cocotb_adapt_cycles",
        here=__file__,
        parameters=parameters,
        spec=False,
        env={"BENCH_SHAPE": kind},
    )
