# SPDX-License-Identifier: Apache-2.0
"""What of a pool is resident on the preload library: nothing before it is used, and after malloc_trim() only if that is called all the time."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from godwit import toolchain

TRIMS = 1000
TRIM = r"""
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
enum { BLOCKS = 16, BYTES = 256 << 10, PAGES = BYTES / 4096 };
static char *blocks[BLOCKS];
static void fill_and_free(void)
{
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(BYTES), 1, BYTES);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}
/* Pages of the free blocks that are there. */
static int there(void)
{
    unsigned char page[PAGES];
    int count = 0;
    for (int i = 0; i < BLOCKS; i++) {
        mincore(blocks[i], BYTES, page);
        for (int at = 0; at < PAGES; at++)
            count += page[at] & 1;
    }
    return count;
}
int main(int argc, char **argv)
{
    struct rusage before, after;
    int trims = atoi(argv[1]), done = 0;
    fill_and_free();
    int full = there(), first = malloc_trim(0), gone = there();
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < trims; i++) {
        fill_and_free();
        done += malloc_trim(0);
    }
    getrusage(RUSAGE_SELF, &after);
    long faults = after.ru_minflt - before.ru_minflt;
    fill_and_free();
    usleep(1000 * atoi(argv[2]));
    int last = malloc_trim(0);
    printf("%d %d %d %d %ld %d %d\n", full, first, gone, done, faults, last, there());
    return 0;
}
"""
PAGES = 16 * 64
START = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    long all, resident;
    FILE *file = malloc(100) && malloc(100000) ? fopen("/proc/self/statm", "r") : NULL;
    if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2)
        return 1;
    printf("%ld\n", resident);
    return 0;
}
"""
HUGE_PAGE = 512
ASKED = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { BLOCKS = 10, BYTES = (5 << 20) + (300 << 10) };
int main(void)
{
    char *low = NULL, *high = NULL, line[512];
    for (int i = 0; i < BLOCKS; i++) {
        char *block = malloc(BYTES);
        /* The first are what is in use before huge pages are asked for. */
        if (i == 2)
            low = block;
        high = block + BYTES;
        memset(block, 1, BYTES);
    }
    unsigned long start = 0, end = 0, from, to, without = 0;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (fgets(line, sizeof(line), maps)) {
        if (strncmp(line, "VmFlags:", 8)) {
            if (sscanf(line, "%lx-%lx %*c", &from, &to) == 2)
                start = from, end = to;
            continue;
        }
        if (start < (uintptr_t)low)
            start = (uintptr_t)low;
        if (end > (uintptr_t)high)
            end = (uintptr_t)high;
        if (start < end && !strstr(line, " hg "))
            without += (end - start) / 4096;
    }
    printf("%ld %ld\n", (long)(high - low) / 4096, without);
    return 0;
}
"""


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """Runs a program on a pool of 64 MiB, or on the C library: what it counted."""
    root = toolchain.root()
    build = ["cargo", "build", "-q", "--release", "--locked", "-p", "godwit-cmt-preload"]
    subprocess.run(build, cwd=root, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", str(root / "target"))
    library = f"{target}/release/libgodwit_cmt_preload.so"
    folder = tmp_path_factory.mktemp("resident")

    def run(source: str, config: str | None, *arguments: int) -> list[int]:
        program = folder / str(abs(hash(source)))
        if not program.exists():
            program.with_suffix(".c").write_text(source, encoding="utf-8")
            flags = ["-O1", "-fno-builtin", "-w"]
            subprocess.run(["cc", *flags, str(program.with_suffix(".c")), "-o", str(program)], check=True)
        environment = dict(os.environ)
        if config is not None:
            environment |= {"LD_PRELOAD": library, "GODWIT_CMT": f"size=64MiB {config}"}
        command = [str(program), *map(str, arguments)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True, timeout=300
        )
        return [int(word) for word in done.stdout.split()]

    return run


def test_a_pool_that_opens_is_not_there_before_it_is_used(counts):
    """Pages of a process: less than a MiB and a half more than on the C library, and all of the pool only where that is asked for."""
    (without,) = counts(START, None)
    (by_need,) = counts(START, "first=0")
    (populated,) = counts(START, "populate=all")
    assert by_need - without < 256 + 128
    assert populated - without > 64 * 256


def test_a_trim_now_and_then_gives_all_back_and_one_after_the_other_does_not(counts):
    """The program counts trims that gave something back, and pages that came again after them."""
    full, first, gone, done, faults, last, left = counts(TRIM, "decay=300", TRIMS, 400)
    assert (full, first, gone) == (PAGES, 1, 0)
    assert 0 < done < TRIMS / 2
    assert faults < TRIMS * PAGES / 2
    assert (last, left) == (1, 0), "none for as long as free memory is kept: it is done again"


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(),
    reason="the kernel has no transparent huge pages",
)
def test_large_blocks_beside_each_other_are_in_huge_pages_without_a_gap(counts):
    """Of blocks that end within a huge page: only what the first begins in is left to small ones."""
    pages, without = counts(ASKED, "first=0")
    assert pages > 8 * 5 * 256
    assert without < HUGE_PAGE
