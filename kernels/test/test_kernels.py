# SPDX-License-Identifier: Apache-2.0
"""Benches of the kernels, one test a kernel and ID width."""

import pytest
from kernel_run import run_kernel


@pytest.mark.parametrize("id_width", [1, 6])
def test_memcopy(id_width):
    """One ID shared by all slots, and more IDs than slots; 4 bits, an ID a slot, are the others' width."""
    run_kernel("memcopy", id_width=id_width)


@pytest.mark.parametrize("data_width", [64, 128, 1024])
def test_memcopy_on_other_beats(data_width):
    """Narrower and wider than 512 bits; 4 KiB are no longer a burst of 64 beats."""
    run_kernel("memcopy", data_width=data_width)


def test_split():
    run_kernel("split")


def test_split_with_one_id_a_stream():
    run_kernel("split", id_width=1, testcase=["random_launches", "errors_end_the_run"])


def test_split_rows():
    run_kernel("split_rows")


def test_split_rows_with_one_id_a_stream():
    run_kernel("split_rows", id_width=2, testcase=["random_launches", "errors_end_the_run"])


@pytest.mark.parametrize("id_width", [2, 4])
def test_split_malloc(id_width):
    """In steps of 4 KiB, so that outputs grow often; with an ID a stream the rest."""
    cases = ["random_launches", "a_refusal_ends_the_run_and_leaves_nothing", "errors_end_the_run"]
    run_kernel(
        "split_malloc",
        id_width=id_width,
        testcase=None if id_width == 4 else cases,
        parameters={"StepBytes": 4096},
    )


def test_split_text():
    run_kernel("split_text")


@pytest.mark.parametrize("id_width", [2, 3])
def test_split_text_with_few_ids(id_width):
    """One a stream: of four streams each way, without bitmaps of the text, and of all."""
    cases = ["random_launches", "bad_arguments_touch_nothing", "errors_end_the_run"]
    run_kernel("split_text", id_width=id_width, testcase=cases)


@pytest.mark.parametrize("id_width", [2, 3, 4])
def test_split_text_malloc(id_width):
    """In steps of 4 KiB, so that outputs grow often; with an ID a stream the rest, of four streams each way and of all."""
    cases = [
        "random_launches",
        "bad_arguments_touch_nothing",
        "offsets_that_do_not_fit_the_text_leave_nothing",
        "a_refusal_ends_the_run_and_leaves_nothing",
        "errors_end_the_run",
    ]
    run_kernel(
        "split_text_malloc",
        id_width=id_width,
        testcase=None if id_width == 4 else cases,
        parameters={"StepBytes": 4096},
    )


def test_array_sum():
    run_kernel("array_sum")


@pytest.mark.parametrize("data_width", [64, 128, 1024])
def test_array_sum_on_other_beats(data_width):
    """Two lanes, four and 32: a step of the bitmap has fewer bits than a byte, or more than a word of 16."""
    run_kernel("array_sum", data_width=data_width)


@pytest.mark.parametrize("id_width", [1, 4, 6])
def test_traffic(id_width):
    run_kernel("traffic", id_width=id_width)


@pytest.mark.parametrize("id_width", [1, 4, 6])
def test_hashjoin(id_width):
    """One lane, eight and 32."""
    run_kernel("hashjoin", id_width=id_width)


def test_stencil():
    run_kernel("stencil")


def test_stencil_with_one_id():
    run_kernel("stencil", id_width=1, testcase="random_pictures")


def test_sobel():
    run_kernel("sobel")


def test_sobel_with_one_id():
    run_kernel("sobel", id_width=1, testcase="random_pictures")


def test_bfs():
    run_kernel("bfs")


def test_bfs_with_one_id_a_stream():
    run_kernel("bfs", id_width=2, testcase="random_graphs")


@pytest.mark.parametrize("id_width", [1, 4, 6])
def test_tree_walk(id_width):
    """One lane, eight and 32."""
    cases = ["trees", "random_look_ups", "bad_pointers", "errors_end_the_run"]
    run_kernel("tree_walk", id_width=id_width, testcase=None if id_width == 4 else cases)


def test_control_block():
    run_kernel("array_sum", "cocotb_control")


def test_scale_add():
    run_kernel("scale_add")
