# SPDX-License-Identifier: Apache-2.0
"""A kernel that allocates by itself: the example `heap_list`, and what a card refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import godwit
from godwit.card import plan
from godwit.card.interface import KernelError
from godwit.errors import StatusError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "kernel"
KERNEL = EXAMPLES / "heap_list.toml"
HEAP = ("heap.slots=1024", "heap.memory_bytes=32MiB", "walker.levels=4")
ONLY = ("card.kernels=[]", *HEAP)
PAGE, SMALL = 4096, 8
CYCLES = {"malloc": 7, "realloc": 11, "free": 10}
"""From a command to its response at the kernel's port, when nobody else asks and the stock is full."""


@pytest.fixture(scope="module")
def library():
    from godwit import cards

    return cards.ensure("tiny", list(ONLY), kernels=[str(KERNEL)]).library


@pytest.fixture
def card(library):
    with godwit.open(f"sim:{library}") as card:
        yield card


def test_a_kernel_builds_a_list_of_blocks_that_it_allocates_and_frees(card):
    free = card.heap_free()
    for how in (0, SMALL, 16 * 4):
        result = card.launch("heap_list", count=20, bytes=3 * PAGE, how=how)
        assert (result.status, result.sum, result.head) == (0, 210, 0)
    assert card.counters()["heap"]["commands"] == 3 * 2 * 20
    for _ in range(50):
        card.native.run(10_000)
    # Tables of before are the context's until it ends.
    assert card.heap_free() >= free - 64 * PAGE


def test_cycles_at_the_kernels_port_do_not_depend_on_the_size(card):
    # Behind reset the table of slots is cleared first.
    card.launch("heap_list", count=1, bytes=PAGE)
    for nbytes, grown in ((PAGE, 2 * PAGE), (1 << 30, 1 << 33), (1 << 33, 1 << 33)):
        result = card.launch("heap_list", count=1, bytes=nbytes, grown=grown)
        assert result.status == 0
        assert (result.malloc_cycles, result.realloc_cycles) == (CYCLES["malloc"], CYCLES["realloc"])
        assert result.free_cycles == CYCLES["free"]


def test_what_stays_belongs_to_the_context(card):
    # What a context that ended left is given back by and by.
    card.native.run(500_000)
    at_first = card.heap_free()
    with card.context() as context:
        before = card.heap_free()
        result = card.launch("heap_list", context=context, count=3, bytes=PAGE, keep=1)
        assert result.status == 0 and result.sum == 6 and result.head % PAGE == 0 and result.head
        assert card.heap_free() < before
        # The next run's blocks are others.
        again = card.launch("heap_list", context=context, count=3, bytes=PAGE, keep=1)
        assert again.head != result.head
    for _ in range(50):
        card.native.run(10_000)
    assert card.heap_free() == at_first


def test_a_kernel_that_fills_the_heap_by_itself_is_stopped_and_says_why(library):
    with godwit.open(f"sim:{library}") as card:
        with card.context() as context, pytest.raises(godwit.OutOfMemory, match=r"heap_list.* 0 are free"):
            # 16 pages each that it writes: more than the heap has, to the last frame.
            card.launch(
                "heap_list",
                context=context,
                count=1000,
                bytes=16 * PAGE,
                how=16 * 4,
                keep=1,
                timeout_cycles=50_000_000,
            )
        # And goes on with what the context gave back.
        assert card.launch("heap_list", count=3, bytes=PAGE).status == 0


@pytest.mark.parametrize(("nbytes", "why"), [(0, "size_zero"), (1 << 40, "too_large")])
def test_a_refusal_reaches_the_kernel(card, nbytes, why):
    from godwit.spec import layout

    status = {c.name: c.value for g in layout.load() if g.name == "heap" for c in g.constants}
    with pytest.raises(StatusError) as failed:
        card.launch("heap_list", count=3, bytes=nbytes)
    assert failed.value.status == 16 + status[why]
    assert card.launch("heap_list", count=3, bytes=PAGE).status == 0


def test_a_card_without_a_heap_is_refused():
    with pytest.raises(KernelError, match="has no heap") as refused:
        plan.plan("tiny", ["card.kernels=[]"], [KERNEL])
    assert "heap.slots" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("change", "message", "advice"),
    [
        (
            ('command = "heap_command"', 'command = "heap_comand"'),
            "has no stream heap_comand",
            "heap_command",
        ),
        (('command = "heap_command"', 'command = "heap_response"'), "consumes", "who produces"),
    ],
)
def test_streams_that_the_heap_does_not_take_are_refused(tmp_path, change, message, advice):
    text = KERNEL.read_text()
    assert change[0] in text
    (tmp_path / "heap_list.toml").write_text(text.replace(*change))
    (tmp_path / "heap_list.sv").write_text((EXAMPLES / "heap_list.sv").read_text())
    with pytest.raises(KernelError) as refused:
        plan.plan("tiny", ONLY, [tmp_path / "heap_list.toml"])
    assert message in str(refused.value) and advice in (refused.value.hint or "")


def test_a_command_of_another_width_is_refused(tmp_path):
    source = (EXAMPLES / "heap_list.sv").read_text()
    (tmp_path / "heap_list.toml").write_text(KERNEL.read_text())
    (tmp_path / "heap_list.sv").write_text(
        source.replace("[191:0] heap_command_TDATA", "[199:0] heap_command_TDATA")
    )
    with pytest.raises(KernelError, match="is no stream of the heap") as refused:
        plan.plan("tiny", ONLY, [tmp_path / "heap_list.toml"])
    assert "200 bits" in (refused.value.found or "")


PROGRAM = """
#include "godwit_heap.hpp"
#include <deque>
template <class T> struct stream {
  std::deque<T> items;
  void write(T item) { items.push_back(item); }
  T read() { T item = items.front(); items.pop_front(); return item; }
};
int main() {
  using namespace godwit;
  static_assert(sizeof(heap_command) == 24 && sizeof(heap_response) == 16, "TDATA");
  stream<heap_command> commands;
  stream<heap_response> responses;
  for (auto answer : {heap_response{0x1000, 0}, heap_response{0, 1}, heap_response{0, 0}, heap_response{0, 4}})
    responses.write(answer);
  bool right = godwit::malloc(commands, responses, 4096) == 0x1000;
  right &= godwit::malloc(commands, responses, 0, heap_writable | heap_small) == 0;
  right &= godwit::free(commands, responses, 0x1000) == 0;
  right &= godwit::realloc(commands, responses, 0x1000, 1) == 4;
  const auto &told = commands.items;
  return !(right && told[0].how == 4 && told[1].how == 12 && told[2].how == 2 && told[3].how == 1 && told[3].size == 1);
}
"""


def test_the_header_for_hls_says_what_the_heap_reads(tmp_path):
    (tmp_path / "main.cpp").write_text(PROGRAM)
    options = ("-std=c++14", "-Wall", "-Wextra", "-Werror", f"-I{EXAMPLES}")
    subprocess.run(
        ["g++", *options, str(tmp_path / "main.cpp"), "-o", str(tmp_path / "main")], check=True, timeout=120
    )
    subprocess.run([str(tmp_path / "main")], check=True, timeout=60)
