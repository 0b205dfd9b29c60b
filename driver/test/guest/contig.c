// SPDX-License-Identifier: GPL-2.0-only
/*
 * Twelve pieces of 20 MiB in memory that was used before: of /dev/godwit-cmt, of hugetlb, of whose pages of 2 MiB those count that
 * follow each other, of CMA as drivers get it, and of memory that nobody reserved (alloc_contig_pages()). A line each: the
 * condition, who was asked, how many came, pages that the kernel moved for them, and microseconds of all requests.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

#include "../module/rig.h"
#include "blocks.h"
#include "files.h"
#include "huge.h"

#define PAGE 4096ul
#define MIB (1ul << 20)
#define PIECES 12
#define PIECE (20 * MIB)
/* What Linux keeps for itself, beside what it has for CMA. */
#define SPARE_KIB (140 << 10)
/* The kernel's own pages: one in so many, of so much memory. */
#define SCATTERED (200 * MIB)
#define EVERY 256
/* Pages of the process that a pipe has. */
#define PINNED 16
/* Linux moves pages no more when it has not for so long. */
#define SETTLE_US 200000

static int rig, cmt;
static char *filled;
static size_t filled_bytes;

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

/* Memory of a process, all there is, of which it gives back every other page. */
static void fill(void)
{
	size_t at;

	filled_bytes = 2048 * MIB;
	filled = mmap(NULL, filled_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	madvise(filled, filled_bytes, MADV_NOHUGEPAGE);
	for (at = 0; at < filled_bytes; at += PAGE) {
		if (at % MIB == 0 && after("/proc/meminfo", "MemFree:") - after("/proc/meminfo", "CmaFree:") < SPARE_KIB)
			break;
		filled[at] = 1;
	}
	munmap(filled + at, filled_bytes - at);
	filled_bytes = at;
	for (at = 0; at < filled_bytes; at += 2 * PAGE)
		madvise(filled + at, PAGE, MADV_DONTNEED);
}

static int of_cmt(void)
{
	struct godwit_cmt_alloc block;
	int got = 0;

	while (got < PIECES && !device_alloc(cmt, PIECE, &block))
		got++;
	return got;
}

static int of_rig(uint32_t kind)
{
	struct rig_take take = { .bytes = PIECE, .kind = kind };
	int got = 0;

	while (got < PIECES && !ioctl(rig, RIG_IOC_TAKE, &take))
		got++;
	return got;
}

static int of_cma(void)
{
	return of_rig(RIG_DMA);
}

static int of_anything(void)
{
	return of_rig(RIG_CONTIG);
}

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

/* What of the huge pages that can be had follows each other, in pieces of 20 MiB. */
static int of_hugetlb(void)
{
	uint64_t places[PIECES * PIECE / HUGE], run = 0;
	int map = open("/proc/self/pagemap", O_RDONLY), got = 0, count, i;
	char *all;

	tell("/proc/sys/vm/nr_hugepages", "120");
	count = after("/proc/meminfo", "HugePages_Total:");
	all = mmap(NULL, count * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
	if (all == MAP_FAILED)
		count = 0;
	for (i = 0; i < count; i++) {
		pread(map, &places[i], sizeof(places[i]), (uintptr_t)(all + i * HUGE) / PAGE * sizeof(places[i]));
		places[i] = (places[i] & ((1ull << 55) - 1)) * PAGE / HUGE;
	}
	close(map);
	munmap(all, count * HUGE);
	qsort(places, count, sizeof(places[0]), compare);
	for (i = 0; i < count; i++) {
		run = i && places[i] == places[i - 1] + 1 ? run + 1 : 1;
		got += run % (PIECE / HUGE) == 0;
	}
	return got;
}

static void give(void)
{
	ioctl(rig, RIG_IOC_GIVE);
	close(cmt);
	cmt = device_open();
	tell("/proc/sys/vm/nr_hugepages", "0");
}

static const struct {
	const char *name;
	int (*take)(void);
} asked[] = { { "godwit-cmt", of_cmt }, { "hugetlb", of_hugetlb }, { "cma", of_cma }, { "contig", of_anything } };

/* Linux may be moving pages for reasons of its own, as after what was asked before: until that has ended. */
static long long moved_at_rest(void)
{
	long long before, now = after("/proc/vmstat", "\npgmigrate_success ");

	do {
		before = now;
		usleep(SETTLE_US);
		now = after("/proc/vmstat", "\npgmigrate_success ");
	} while (now != before);
	return now;
}

static void ask(const char *condition)
{
	size_t i;

	for (i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		long long moved = moved_at_rest();
		uint64_t start = now_us();
		int got = asked[i].take();

		start = now_us() - start;
		printf("row %s %s %d %lld %llu\n", condition, asked[i].name, got,
		       after("/proc/vmstat", "\npgmigrate_success ") - moved, (unsigned long long)start);
		fflush(stdout);
		give();
	}
}

int main(void)
{
	struct rig_scatter scatter = { .bytes = SCATTERED, .every = EVERY };
	struct iovec some[PINNED];
	int pipes[2], i;

	rig = open("/dev/rig", O_RDWR);
	cmt = device_open();
	if (rig < 0 || cmt < 0 || pipe(pipes))
		return 1;
	/* It does not begin by itself, either. */
	tell("/proc/sys/vm/compaction_proactiveness", "0");
	ask("fresh");
	fill();
	ask("used");
	munmap(filled, filled_bytes);
	fill();
	for (i = 0; i < PINNED; i++)
		some[i] = (struct iovec){ filled + i * (filled_bytes / PINNED / (2 * PAGE)) * (2 * PAGE) + PAGE, PAGE };
	if (vmsplice(pipes[1], some, PINNED, 0) != (ssize_t)(PINNED * PAGE))
		return 2;
	ask("pinned");
	munmap(filled, filled_bytes);
	if (ioctl(rig, RIG_IOC_SCATTER, &scatter))
		return 3;
	fill();
	ask("kernel");
	return 0;
}
