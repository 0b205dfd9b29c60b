// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of a process that works with the card: it starts another program, is killed for want of memory, or has its memory read and
 * written by a disk, without a copy in between. There is /dev/rigdisk, and GROUP is a control group with less memory than a process wants.
 *
 *	processes GROUP
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "files.h"
#include "values.h"

#define USED "/sys/class/misc/godwit0/contexts_used"
#define MIB (1ul << 20)
/* Of what is allocated in the group. */
#define WANTED_MIB 256

static const char *group;

/* The other program: the context is of the memory that was there before, and of nothing that is there now. */
static int execed(int fd, const uint64_t *before)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 5);

	card = fd;
	return seen(values) != sum && seen(before) <= 2 ? 0 : 1;
}

static void begin_another_program(const char *self)
{
	char number[16], address[24];
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 4);

	card = open("/dev/godwit0", O_RDWR);
	if (card < 0 || seen(values) != sum)
		_exit(2);
	snprintf(number, sizeof(number), "%d", card);
	snprintf(address, sizeof(address), "%#lx", (unsigned long)values);
	execl(self, self, "execed", number, address, NULL);
	_exit(3);
}

static void a_program_that_begins_another_one_takes_no_memory_along(const char *name)
{
	long long used = after(USED, "");
	int status;
	pid_t child = fork();

	if (!child)
		begin_another_program("/proc/self/exe");
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status), "it ended with %x", status);
	CHECK(after(USED, "") == used, "%lld contexts are in use, before it were %lld", after(USED, ""), used);
}

static volatile bool reading;

static void *sum_all_the_time(void *values)
{
	struct card_sum got;

	while (reading && !card_array_sum(card, values, COUNT, 0, &got))
		;
	return NULL;
}

static void a_disk_reads_and_writes_what_the_card_has(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *other = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t *back = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 20);
	int disk = open("/dev/rigdisk", O_RDWR | O_DIRECT), round;
	pthread_t thread;

	card = card_open();
	CHECK(disk >= 0 && card >= 0, "open: %s", strerror(errno));
	SEES(values, sum);
	CHECK(pwrite(disk, values, BYTES, 0) == BYTES, "write: %s", strerror(errno));
	CHECK(pread(disk, back, BYTES, 0) == BYTES && sum_of(back) == sum, "what was written is not what the card had");
	/* What the card wrote last. */
	sum = fill(other, 21);
	CHECK(copies(values, other), "no copy");
	CHECK(pwrite(disk, values, BYTES, BYTES) == BYTES, "write: %s", strerror(errno));
	CHECK(pread(disk, back, BYTES, BYTES) == BYTES && sum_of(back) == sum, "what was written is not what the card wrote");
	/* Into memory that the card has, also while it reads there. */
	reading = true;
	CHECK(!pthread_create(&thread, NULL, sum_all_the_time, values), "pthread_create");
	for (round = 0; round < 10; round++) {
		sum = fill(other, 30 + round);
		CHECK(pwrite(disk, other, BYTES, 2 * BYTES) == BYTES, "write: %s", strerror(errno));
		CHECK(pread(disk, values, BYTES, 2 * BYTES) == BYTES, "read: %s", strerror(errno));
		SEES(values, sum);
	}
	reading = false;
	pthread_join(thread, NULL);
	CHECK(sum_of(values) == sum, "the process sees something else");
	close(disk);
	close(card);
	munmap(values, BYTES);
	munmap(other, BYTES);
	munmap(back, BYTES);
}

/* Has more and more memory, and the card use it. */
static void want_too_much(void)
{
	struct card_sum got;
	char path[64], self[16];
	int i;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	snprintf(self, sizeof(self), "%d", getpid());
	card = card_open();
	if (card < 0 || !tell(path, self))
		_exit(1);
	for (i = 0; i < WANTED_MIB; i++) {
		uint64_t *more = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memset(more, i, MIB);
		card_array_sum(card, more, 8 * PAGE / 8, 0, &got);
		/* What is on the card comes home. */
		more[0] = got.sum;
	}
	_exit(0);
}

static void who_is_killed_for_want_of_memory_leaves_nothing(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 40);
	long long used = after(USED, "");
	int status, waits;
	pid_t child = fork();

	if (!child)
		want_too_much();
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ended with %x",
	      status);
	/* Whoever frees its memory may be at it still. */
	for (waits = 0; waits < 1000 && after(USED, "") != used; waits++)
		usleep(10000);
	CHECK(after(USED, "") == used, "%lld contexts are in use, before it were %lld", after(USED, ""), used);
	card = card_open();
	SEES(values, sum);
	close(card);
	munmap(values, BYTES);
}

int main(int count, char **words)
{
	if (count > 3 && !strcmp(words[1], "execed"))
		return execed(atoi(words[2]), (const uint64_t *)strtoul(words[3], NULL, 0));
	group = count > 1 ? words[1] : "";
	TEST(a_program_that_begins_another_one_takes_no_memory_along);
	TEST(a_disk_reads_and_writes_what_the_card_has);
	TEST(who_is_killed_for_want_of_memory_leaves_nothing);
	return failures != 0;
}
