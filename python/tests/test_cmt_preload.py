# SPDX-License-Identifier: Apache-2.0
"""Real programs on the preload library: shells, interpreters and their children, and the C library's small print."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from godwit import toolchain


@pytest.fixture(scope="module")
def preload() -> str:
    """The library, built."""
    root = toolchain.root()
    command = ["cargo", "build", "-q", "--release", "--locked", "-p", "godwit-cmt-preload"]
    subprocess.run(command, cwd=root, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    return str(target / "release" / "libgodwit_cmt_preload.so")


def run(preload: str, config: str, *command: str) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ, LD_PRELOAD=preload, GODWIT_CMT=config, PYTHONMALLOC="malloc")
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


MULTIPROCESSING = """
import multiprocessing, multiprocessing.pool
def square(n):
    return n * n, bytes(n % 100_000)
if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    with multiprocessing.pool.Pool(2) as pool:
        print(sum(n for n, _ in pool.map(square, range(3000))))
"""
PROGRAMS = {
    "bash": (["bash", "-c", "for i in 1 2 3 4 5 6; do x=$(echo $i | cat); done; (echo $x); echo $x"], "6\n6\n"),
    "perl": (
        ["perl", "-e", "my @a = map { $_ x 9 } 1..9999; for (1..4) { my $p = fork; if (!$p) { @a = (); "
         "exit 0 } waitpid $p, 0; exit 1 if $? } print scalar(@a)"],
        "9999",
    ),
    "multiprocessing": ([sys.executable, "-c", MULTIPROCESSING], "8995500500\n"),
}  # fmt: skip


@pytest.mark.parametrize("config", ["size=256MiB", "size=64MiB backing=memfd", "size=64MiB backing=hugetlb"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_that_fork_run_and_shared_backing_is_refused(preload, program, config):
    command, output = PROGRAMS[program]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = run(preload, config, *command)
    assert (done.returncode, done.stdout) == (0, output), done.stderr
    if "backing" in config:
        assert "use backing=private" in done.stderr
    else:
        assert done.stderr == ""


FIRST = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(what) do { if (!(what)) { printf("%d: %s\n", __LINE__, #what); return 1; } } while (0)
static int window(void) /* whether the pool has its addresses, 128 MiB and more */
{
    static char line[512];
    unsigned long from, to;
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), maps))
        found += sscanf(line, "%lx-%lx", &from, &to) == 2 && to - from >= (128ul << 20);
    fclose(maps);
    return found > 0;
}
int main(int argc, char **argv)
{
    int waits = atoi(argv[1]);
    char *all[64], *grown = calloc(7, 11), *aligned;
    CHECK(!grown[0] && !grown[76]);
    memset(grown, 7, 77);
    for (int i = 0; i < 64; i++)
        all[i] = memset(malloc(100 + i), i, 100 + i);
    CHECK(!posix_memalign((void **)&aligned, 4096, 10) && (uintptr_t)aligned % 4096 == 0);
    CHECK(window() == !waits);
    free(all[0]);
    if (argc > 2) {
        free(all[0]);
        free(all[1] + 16);
        free(all[2] + 1);
    }
    for (size_t size = 100; size < 3000000; size = size * 3 / 2) {
        grown = realloc(grown, size);
        CHECK(grown[0] == 7 && grown[76] == 7);
    }
    CHECK(window());
    for (int i = 1; i < 64; i++) {
        CHECK(all[i][0] == i && all[i][99 + i] == i);
        all[i] = realloc(all[i], 5000);
        CHECK(all[i][0] == i && all[i][99 + i] == i);
        free(all[i]);
    }
    free(aligned);
    free(grown);
    puts("good");
    return 0;
}
"""


@pytest.mark.parametrize(
    ("config", "waits"),
    [("", 1), ("size=128MiB", 1), ("size=128MiB first=0", 0), ("size=128MiB populate=all", 0)],
)
def test_a_programs_first_blocks_need_no_pool(preload, tmp_path, config, waits):
    """They live on when it opens, and what is wrong with a pointer or the configuration is told all the same."""
    program = compiled(tmp_path, "cc", FIRST, "first")
    done = run(preload, config, program, str(waits))
    assert (done.returncode, done.stdout, done.stderr) == (0, "good\n", "")
    done = run(preload, f"{config} check=all", program, str(waits), "misuse")
    assert (done.returncode, done.stdout) == (0, "good\n")
    assert done.stderr.count("was refused") == 3


LARGE_FIRST = r"""
#include <cmt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(what) do { if (!(what)) { printf("%d: %s\n", __LINE__, #what); exit(1); } } while (0)
static char *large;
static void *use(void *all)
{
    char **blocks = all;
    struct cmt_extent where;
    for (int i = 0; i < 100; i++) {
        blocks[i] = calloc(3, 33);
        for (int at = 0; at < 99; at++)
            CHECK(!blocks[i][at]);
        memset(blocks[i], i, 99);
    }
    CHECK(!cmt_extents(blocks[0], &where, 1));
    return NULL;
}
int main(void)
{
    char *blocks[2][100], *many[5000];
    struct cmt_stats stats;
    struct cmt_extent where;
    pthread_t thread;
    large = malloc(1 << 20);
    CHECK(cmt_extents(large, &where, 1) == 1 && where.bytes >= 1 << 20);
    use(blocks[0]);
    pthread_create(&thread, NULL, use, blocks[1]);
    pthread_join(thread, NULL);
    cmt_stats(&stats);
    CHECK(stats.superblock_bytes == 0);
    for (int i = 0; i < 5000; i++)
        CHECK(many[i] = memset(malloc(100), 1, 100));
    cmt_stats(&stats);
    CHECK(stats.superblock_bytes > 0 && cmt_extents(many[4999], &where, 1) == 1);
    for (int i = 0; i < 100; i++) {
        CHECK(blocks[0][i][98] == i && blocks[1][i][0] == i);
        blocks[0][i] = realloc(blocks[0][i], 200);
        CHECK(blocks[0][i][98] == i);
        free(blocks[0][i]);
        free(blocks[1][i]);
    }
    for (int i = 0; i < 5000; i++)
        free(many[i]);
    free(large);
    CHECK(!cmt_check());
    puts("good");
    return 0;
}
"""


@pytest.mark.parametrize("check", ["all", "some"])
def test_small_blocks_beside_large_ones_need_no_heap_at_first(preload, tmp_path, check):
    """They are zero, no contiguous memory, and live on when the pool has small blocks of its own."""
    include = toolchain.root() / "crates" / "godwit-cmt" / "include"
    link = ["-pthread", f"-I{include}", preload]
    program = compiled(tmp_path, "cc", LARGE_FIRST, "large_first", *link)
    done = run(preload, f"size=128MiB check={check}", program)
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr
    assert done.stderr.count("was refused") == 2


OPENED = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *left[5000];
static void *work(void *arg)
{
    size_t seed = (size_t)arg;
    for (int i = 0; i < 5000; i++) {
        size_t size = 16 + (i * 37 + seed * 101) % 2000;
        free(left[i]);
        left[i] = memset(malloc(size), (int)seed, size);
    }
    return NULL;
}
int main(void)
{
    pthread_t thread;
    for (size_t turn = 1; turn < 30; turn++) {
        if (turn % 7 == 0)
            work((void *)turn);
        pthread_create(&thread, NULL, work, (void *)turn);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 5000; i++) {
        if (left[i][0] != 29 || left[i][15] != 29)
            return 1;
        free(left[i]);
    }
    puts("good");
    return 0;
}
"""


@pytest.mark.parametrize("config", ["size=256MiB", "size=256MiB first=0"])
def test_a_thread_that_ends_may_be_the_one_that_opened_the_pool(preload, tmp_path, config):
    program = compiled(tmp_path, "cc", OPENED, "opened", "-pthread")
    done = run(preload, config, program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "good\n", "")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("size=lots", "expected a number of bytes"),
        ("first=1MiB", "at most 512KiB"),
        ("decay=soon", "milliseconds from 0 to 1000000, or never"),
        ("populate=all decay=10", "use backing=private populate=need"),
        ("area=4GiB:1MiB area=4GiB:1MiB", "0x100000000"),
        ("size=64MiB backing=memfd", "use backing=private"),
    ],
)
def test_a_wrong_configuration_is_told_to_the_smallest_program(preload, config, words):
    done = run(preload, config, "ls", "/")
    assert done.returncode == 0
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def compiled(tmp_path: Path, compiler: str, source: str, name: str, *options: str) -> str:
    file = tmp_path / f"{name}.{'c' if compiler == 'cc' else 'cpp'}"
    file.write_text(source, encoding="utf-8")
    out = tmp_path / name
    subprocess.run([compiler, "-O1", "-fno-builtin", "-w", str(file), *options, "-o", str(out)], check=True)
    return str(out)


STANDARD = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define CHECK(what) do { if (!(what)) { printf("%d: %s, errno %d\n", __LINE__, #what, errno); return 1; } } while (0)
int main(int argc, char **argv)
{
    int strict = argc > 1;
    void *block = malloc(100), *other = block;
    CHECK(block && malloc_usable_size(block) >= 100 && malloc_usable_size(NULL) == 0);
    errno = 0;
    CHECK(!pvalloc(SIZE_MAX - 10) && errno == ENOMEM);
    errno = 0;
    CHECK(!reallocarray(block, SIZE_MAX / 2, 3) && errno == ENOMEM);
    errno = 0;
    CHECK(!calloc(SIZE_MAX / 2, 3) && errno == ENOMEM);
    errno = 0;
    CHECK(!malloc(PTRDIFF_MAX) && errno == ENOMEM);
    CHECK(posix_memalign(&other, 24, 8) == EINVAL && other == block);
    CHECK(!posix_memalign(&other, 4096, 8) && (uintptr_t)other % 4096 == 0);
    memset(block, 7, 100);
    for (size_t size = 100; size < 3000000; size = size * 3 / 2) {
        block = realloc(block, size);
        CHECK(block && ((char *)block)[99] == 7);
    }
    free(block);
    free(other);
    free(NULL);
    if (strict) {
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *alone = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        free(page);
        mprotect(alone + 4096, 4096, PROT_READ | PROT_WRITE);
        free(alone + 4096);
        CHECK(errno == EINVAL && malloc_usable_size(alone + 4096) == 0);
        free(memset(malloc(1500000), 1, 1500000));
        CHECK(malloc_trim(0) == 1 && malloc_trim(0) == 0);
    }
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < 3000; i++)
        free(memset(malloc(1500000), 1, 1500000));
    CHECK(mallinfo2().uordblks + mallinfo2().hblkhd <= before + (1 << 20));
    char *zeros = calloc(1, 3000000);
    for (int i = 0; i < 3000000; i++)
        CHECK(!zeros[i]);
    puts("good");
    return 0;
}
"""


def test_the_standards_small_print(preload, tmp_path):
    program = compiled(tmp_path, "cc", STANDARD, "standard")
    done = run(preload, "size=256MiB", program, "strict")
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stdout
    assert done.stderr.count("not of this pool") == 2


def test_without_a_pool_a_program_runs_on_the_c_library(preload, tmp_path):
    """Also its large blocks are freed."""
    program = compiled(tmp_path, "cc", STANDARD, "standard")
    done = run(preload, "size=lots", program)
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stdout
    assert done.stderr.count("\n") == 1


EXTENSION = """
#include <new>
static char *volatile kept;
extern "C" int refused(unsigned long size)
{
    try { kept = new char[size]; return kept ? 0 : 2; }
    catch (const std::bad_alloc &) { return 1; }
}
"""


def test_operator_new_throws_in_an_extension_that_is_loaded_later(preload, tmp_path):
    library = compiled(tmp_path, "c++", EXTENSION, "extension.so", "-shared", "-fPIC")
    code = f"import ctypes; e = ctypes.CDLL({library!r}); print(e.refused(100), e.refused(ctypes.c_ulong(1 << 45)))"
    done = run(preload, "size=128MiB", sys.executable, "-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 1\n", "")


def test_an_unknown_constraint_flag_is_refused(preload, tmp_path):
    source = """
    #include <cmt.h>
    #include <errno.h>
    #include <string.h>
    int main(void)
    {
        struct cmt_constraints limits = { .node = CMT_ANY_NODE, .flags = 6 };
        return cmt_alloc_contiguous(4096, &limits) || errno != EINVAL || !strstr(cmt_reason(), "0x6");
    }
    """
    root = toolchain.root()
    subprocess.run(
        ["cargo", "build", "-q", "--release", "--locked", "-p", "godwit-cmt"], cwd=root, check=True
    )
    libraries = str(Path(preload).parent)
    program = compiled(
        tmp_path, "cc", source, "flags", f"-I{root}/crates/godwit-cmt/include", f"-L{libraries}",
        f"-Wl,-rpath,{libraries}", "-lgodwit_cmt",
    )  # fmt: skip
    assert subprocess.run([program], check=False).returncode == 0


def test_the_allocators_benchmark_runs_every_program_on_every_allocator(godwit, tmp_path):
    done = godwit("bench", "allocators", "--quick", "--json", "--plot", tmp_path / "allocators.png")
    assert done.returncode == 0, done.stderr
    rows = [row for row in json.loads(done.stdout) if not row["row"].startswith("peer is not installed")]
    assert len(rows) == 8 + 1 + 8 + 1 + 1
    table = (
        (toolchain.build_dir() / "bench" / "allocators" / "table.md").read_text(encoding="utf-8").splitlines()
    )
    assert len(table) == 2 + 8 + 1
    assert len({line.count("|") for line in table}) == 1
    assert all(row["value"] > 0 for row in rows)
    # Both modes see what docs/cmt.md says they do.
    assert rows[-1]["row"] == "wrong calls that are seen, of 13"
    assert rows[-1]["value"] == 6
    assert "Godwit with check=all 11" in rows[-1]["theirs"]
    assert all("Godwit" in row["theirs"] and "mimalloc 3" in row["theirs"] for row in rows if row["theirs"])
