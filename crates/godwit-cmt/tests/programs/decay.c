/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decay MODE: when memory that was freed goes back to the system. `age`: after a while, with calls in between; `now`: at
 * once; `never`; `trim`: when it is asked for. All of it reads as zeros when it is handed out zeroed, and no block in use changes.
 */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define DECAY_MS 60
#define LARGE 24
#define SMALL 40000

static char *large[LARGE], *small[SMALL];

static size_t resident(void)
{
	unsigned long all = 0, pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file && fscanf(file, "%lu %lu", &all, &pages) == 2);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Sizes of exact blocks, of size classes and of small blocks: 84 MiB in all. */
static size_t large_size(int i)
{
	return i % 3 ? 1 * MIB + 300000 : 5 * MIB;
}

static void fill(void)
{
	for (int i = 0; i < LARGE; i++) {
		CHECK((large[i] = cmt_malloc(large_size(i))));
		memset(large[i], 'l', large_size(i));
	}
	for (int i = 0; i < SMALL; i++) {
		CHECK((small[i] = cmt_malloc(600)));
		memset(small[i], 's', 600);
	}
}

static void empty(void)
{
	for (int i = 0; i < LARGE; i++)
		cmt_free(large[i]);
	for (int i = 0; i < SMALL; i++)
		cmt_free(small[i]);
}

/* What a program does that goes on: calls that are not short ones, for three times the decay. */
static void go_on(void)
{
	struct timespec pause = { .tv_nsec = 2000000 };

	for (int i = 0; i < 3 * DECAY_MS / 2 + 20; i++) {
		for (int call = 0; call < 40; call++) {
			errno = 7;
			cmt_free(cmt_malloc(200000));
			CHECK(errno == 7);
		}
		nanosleep(&pause, NULL);
	}
}

static void zeros_again(void)
{
	for (int i = 0; i < LARGE; i++) {
		CHECK((large[i] = cmt_calloc(1, large_size(i))));
		for (size_t at = 0; at < large_size(i); at += 64)
			CHECK(!large[i][at]);
	}
	for (int i = 0; i < SMALL; i++) {
		CHECK((small[i] = cmt_calloc(1, 600)));
		for (size_t at = 0; at < 600; at += 8)
			CHECK(!small[i][at]);
	}
	empty();
}

static sem_t filled, ended;

/* A thread that lives and does nothing has blocks in its cache. */
static void *idler(void *unused)
{
	char *block[8];

	for (int i = 0; i < 8; i++) {
		CHECK((block[i] = cmt_malloc(2 * MIB)));
		memset(block[i], 'i', 2 * MIB);
	}
	for (int i = 0; i < 8; i++)
		cmt_free(block[i]);
	sem_post(&filled);
	sem_wait(&ended);
	return unused;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "age", "now", "never", "trim" };
	static const char *const configs[] = { "size=256MiB decay=60", "size=256MiB decay=0", "size=256MiB decay=never",
					       "size=256MiB decay=1000000" };
	struct cmt_stats start, end;
	size_t before, peak, after;
	pthread_t thread;
	char *kept;
	int mode = 0;

	while (mode < 4 && (argc < 2 || strcmp(argv[1], names[mode])))
		mode++;
	CHECK(mode < 4);
	CHECK(open_pool(configs[mode]) == 0);
	cmt_stats(&start);
	CHECK((kept = cmt_malloc(3 * MIB)));
	memset(kept, 'k', 3 * MIB);
	before = resident();
	fill();
	sem_init(&filled, 0, 0);
	sem_init(&ended, 0, 0);
	pthread_create(&thread, NULL, idler, NULL);
	sem_wait(&filled);
	peak = resident();
	CHECK(peak > before + 80 * MIB);
	empty();
	if (mode == 3)
		CHECK(cmt_trim() > 0);
	else
		go_on();
	after = resident();
	fprintf(stderr, "%s: %zu, %zu, %zu MiB\n", argv[1], before / MIB, peak / MIB, after / MIB);
	if (mode == 2)
		CHECK(after > before + 80 * MIB);
	else
		CHECK(after < before + 4 * MIB);
	zeros_again();
	for (size_t at = 0; at < 3 * MIB; at++)
		CHECK(kept[at] == 'k');
	sem_post(&ended);
	pthread_join(thread, NULL);
	cmt_free(kept);
	CHECK(cmt_check() == 0);
	cmt_trim();
	cmt_stats(&end);
	CHECK(end.largest_free == start.largest_free && end.free == start.free);
	return 0;
}
