# SPDX-License-Identifier: Apache-2.0
"""Benches of the kernels, one test a kernel and ID width."""

import pytest
from kernel_run import run_kernel


@pytest.mark.parametrize("id_width", [1, 4, 6])
def test_memcopy(id_width):
    run_kernel("memcopy", id_width=id_width)


@pytest.mark.parametrize("id_width", [1, 4])
def test_split(id_width):
    run_kernel("split", id_width=id_width)


def test_array_sum():
    run_kernel("array_sum")


def test_control_block():
    run_kernel("array_sum", "cocotb_control")


def test_scale_add():
    run_kernel("scale_add")
