// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the heap in hardware: malloc, realloc and free through the driver, one address for the program and for the card, and
 * the real RTL that reads and writes it.
 */
#include <signal.h>
#include <sys/wait.h>

#include "allocations.h"
#include "bus.h"
#include "files.h"
#include "values.h"

static void memory_has_one_address_for_both(const char *name)
{
	uint64_t *values = give(card, 2 * SLOT, 0, 0), *copy = give(card, BYTES, 4, 0), sum, i;
	int page;

	CHECK(values && copy, "status %u: %s", status, strerror(errno));
	CHECK(values[0] == 0 && values[(2 * SLOT - PAGE) / 8] == 0, "it does not read as zero");
	sum = fill(values, 1);
	SEES(values, sum);
	/* Frames of the copy come when the card writes them. */
	CHECK(copies(copy, values), "the card does not copy");
	for (i = 0; i < COUNT; i++)
		CHECK(copy[i] == values[i], "word %llu is %llx", (unsigned long long)i, (unsigned long long)copy[i]);
	/* System calls, too. */
	page = open("/proc/self/comm", O_RDONLY);
	CHECK(read(page, copy, 4) == 4 && !memcmp(copy, "heap", 4), "a system call does not write there");
	close(page);
	CHECK(freed(card, values) && freed(card, copy), "status %u", status);
	munmap(values, 2 * SLOT);
	munmap(copy, BYTES);
}

/* A page that the program reads first is the one that the card writes. */
static void what_the_card_writes_is_seen_where_nothing_was(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = give(card, BYTES, 0, 0), sum = 0, i;

	fill(from, 3);
	for (i = 0; i < COUNT; i += 512)
		sum += to[i];
	CHECK(!sum, "it does not read as zero");
	CHECK(copies(to, from), "the card does not copy");
	CHECK(!memcmp(to, from, BYTES), "the program does not see it");
	CHECK(freed(card, to), "status %u", status);
	munmap(to, BYTES);
	munmap(from, BYTES);
}

static void realloc_changes_the_size_where_it_is(const char *name)
{
	uint64_t *values = give(card, BYTES, 0, 0), sum;
	struct card_sum got;

	fill(values, 1);
	CHECK(resized(card, values, 4 * PAGE), "status %u", status);
	CHECK(is_nothing(values + 4 * 512) && is_nothing(values + COUNT - 1), "what was cut off is there");
	CHECK(!card_array_sum(card, values, COUNT, 0, &got) && got.run.end == GODWIT_RUN_FAULT, "the card reads it");
	CHECK(got.run.fault_address == (uint64_t)values + 4 * PAGE, "the fault is at %llx",
	      (unsigned long long)got.run.fault_address);
	CHECK(resized(card, values, BYTES), "status %u", status);
	CHECK(values[4 * 512 - 1] == (1 + 4 * 512 - 1) * 0x9e3779b97f4a7c15ull, "what was kept is lost");
	CHECK(values[4 * 512] == 0 && values[COUNT - 1] == 0, "what grew does not read as zero");
	sum = fill(values, 2);
	SEES(values, sum);
	CHECK(!resized(card, values, 9 * SLOT) && status == TOO_LARGE, "status %u", status);
	CHECK(!resized(card, values, 0) && status == SIZE_ZERO, "status %u", status);
	SEES(values, sum);
	CHECK(freed(card, values), "status %u", status);
	munmap(values, BYTES);
}

static void what_is_freed_is_gone_for_both(const char *name)
{
	uint64_t before = free_in_the_end(card, 0);
	uint64_t *values = give(card, BYTES, 0, 0), *small[4], i;

	fill(values, 1);
	CHECK(freed(card, values), "status %u", status);
	/* At once, when its entries are still there. */
	CHECK(is_nothing(values) && is_nothing(values + COUNT - 1), "the program still sees it");
	CHECK(seen(values) == 1, "the card reads it");
	CHECK(!freed(card, values) && status == NOT_LIVE, "status %u", status);
	munmap(values, BYTES);
	for (i = 0; i < 4; i++) {
		small[i] = give(card, 65536, 0, GODWIT_ALLOCATION_SMALL);
		CHECK(small[i] && small[i][8191] == 0, "status %u", status);
		small[i][8191] = i;
	}
	for (i = 0; i < 4; i++) {
		CHECK(small[i][8191] == i, "%llu", (unsigned long long)small[i][8191]);
		CHECK(freed(card, small[i]), "status %u", status);
		munmap(small[i], 65536);
	}
	/* Tables that small slots share stay until the context ends; the card clears 64 KiB at a time. */
	CHECK(free_in_the_end(card, 0) + 20 * PAGE + 65536 >= before, "%llu of %llu bytes are free",
	      (unsigned long long)free_in_the_end(card, 0), (unsigned long long)before);
}

/* What a child does with its own file and its parent's memory; 0 if nothing. */
static int child_of(uint64_t parents)
{
	int fd = card_open();
	void *seen = look_at(fd, parents, PAGE);

	if (seen != (void *)parents || !is_nothing(seen))
		return 1;
	if (freed(fd, seen) || status != OTHER_CONTEXT)
		return 2;
	if (resized(fd, seen, 2 * PAGE) || status != OTHER_CONTEXT)
		return 3;
	if (!call(fd, GODWIT_ALLOCATION_MALLOC, 0, SLOT, 0, 0))
		return 4;
	return 0;
}

static void processes_have_their_own(const char *name)
{
	uint64_t before = free_in_the_end(card, 0), *values = give(card, BYTES, 0, 0), sum = fill(values, 5);
	int ended = -1, ready[2];
	char byte = 0;
	pid_t child;

	child = fork();
	if (!child)
		_exit(child_of((uint64_t)values));
	CHECK(waitpid(child, &ended, 0) == child && !ended, "a child is not refused: %x", ended);
	CHECK(values[0] && seen(values) == sum, "its calls changed something");
	/* Killed with memory that it and the card use. */
	CHECK(!pipe(ready), "pipe");
	child = fork();
	if (!child) {
		int fd = card_open();
		uint64_t *own = give(fd, BYTES, 0, 0);

		fill(own, 7);
		write(ready[1], own ? "x" : "-", 1);
		for (;;)
			card_array_sum(fd, own, COUNT, 0, &(struct card_sum){ 0 });
	}
	CHECK(read(ready[0], &byte, 1) == 1 && byte == 'x', "the child has no memory");
	usleep(20000);
	kill(child, SIGKILL);
	CHECK(waitpid(child, &ended, 0) == child && WIFSIGNALED(ended), "%x", ended);
	SEES(values, sum);
	CHECK(freed(card, values), "status %u", status);
	munmap(values, BYTES);
	CHECK(free_in_the_end(card, 0) + 2 * 65536 >= before, "%llu of %llu bytes are free",
	      (unsigned long long)free_in_the_end(card, 0), (unsigned long long)before);
}

static void what_makes_no_sense_is_refused(const char *name)
{
	struct godwit_allocation odd = { .op = 4, .pointer = SLOT << 12 };
	void *values = give(card, BYTES, 0, 0);
	uint64_t at = (uint64_t)values;

	CHECK(!call(card, GODWIT_ALLOCATION_MALLOC, 0, 0, 0, 0) && status == SIZE_ZERO, "status %u", status);
	CHECK(!call(card, GODWIT_ALLOCATION_MALLOC, 0, 9 * SLOT, 0, 0) && status == TOO_LARGE, "status %u", status);
	CHECK(!call(card, GODWIT_ALLOCATION_MALLOC, 0, ~0ull, 0, 0) && status == TOO_LARGE, "status %u", status);
	CHECK(!call(card, GODWIT_ALLOCATION_MALLOC, 0, 65537, 0, 1) && status == TOO_LARGE, "status %u", status);
	CHECK(!call(card, GODWIT_ALLOCATION_MALLOC, 0, PAGE, 10, 0) && status == ARGUMENT, "status %u", status);
	CHECK(!freed(card, values + PAGE) && status == FOREIGN, "status %u", status);
	CHECK(!freed(card, &odd) && status == FOREIGN, "status %u", status);
	CHECK(!freed(card, values + (SLOT << 8)) && status == NOT_LIVE, "status %u", status);
	CHECK(!call(card, GODWIT_ALLOCATION_POPULATE, at, BYTES + PAGE, 0, 0) && status == NOT_LIVE, "status %u", status);
	REFUSED(ioctl(card, GODWIT_IOC_HEAP, &odd), EINVAL);
	odd = (struct godwit_allocation){ .op = GODWIT_ALLOCATION_MALLOC, .size = 1, .flags = 2 };
	REFUSED(ioctl(card, GODWIT_IOC_HEAP, &odd), EINVAL);
	odd = (struct godwit_allocation){ .op = GODWIT_ALLOCATION_MALLOC, .size = 1, .pointer = at };
	REFUSED(ioctl(card, GODWIT_IOC_HEAP, &odd), EINVAL);
	odd = (struct godwit_allocation){ .op = GODWIT_ALLOCATION_FREE, .pointer = at, .reserved = 1 };
	REFUSED(ioctl(card, GODWIT_IOC_HEAP, &odd), EINVAL);
	odd = (struct godwit_allocation){ .op = GODWIT_ALLOCATION_MALLOC, .size = 1, .region = 1 };
	REFUSED(ioctl(card, GODWIT_IOC_HEAP, &odd), EINVAL);
	odd = (struct godwit_allocation){ .op = GODWIT_ALLOCATION_POPULATE, .pointer = at, .size = ~0ull };
	REFUSED(ioctl(card, GODWIT_IOC_HEAP, &odd), EINVAL);

	/* Somewhere else, of this process alone, and behind the window. */
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, card, at) == MAP_FAILED && errno == EINVAL, "%s", strerror(errno));
	CHECK(mmap((void *)(at + SLOT), PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, card, at + SLOT) == MAP_FAILED &&
		      errno == EINVAL, "%s", strerror(errno));
	CHECK(mmap((void *)SLOT, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, card, SLOT) == MAP_FAILED &&
		      errno == EINVAL, "%s", strerror(errno));
	REFUSED(card_pin(card, values, PAGE, 0), EINVAL);
	/* Memory of this process at the heap's addresses is not the card's. */
	munmap(values, BYTES);
	CHECK(freed(card, values), "status %u", status);
	CHECK(mmap(values, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == values,
	      "%s", strerror(errno));
	fill(values, 1);
	CHECK(seen(values) == 1, "the card reads it");
	munmap(values, BYTES);
}

static void a_heap_that_is_full_says_so(const char *name)
{
	uint64_t bytes = state_of(card, 0).bytes;
	uint64_t *values = give(card, 2 * bytes, 0, 0), *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum, end;
	struct godwit_allocation all = { .op = GODWIT_ALLOCATION_POPULATE, .pointer = (uint64_t)values, .size = 2 * bytes };
	struct godwit_run run;
	uint32_t done;

	CHECK(tell(PARAMETERS "heap_wait_ms", "300"), "%s", strerror(errno));
	sum = fill(from, 9);
	CHECK(values, "status %u", status);
	REFUSED(ioctl(card, GODWIT_IOC_HEAP, &all), ENOMEM);
	end = state_of(card, 0).free_bytes;
	CHECK(!end, "%llu bytes are free", (unsigned long long)end);
	CHECK(is_nothing(values + (2 * bytes - PAGE) / 8), "a frame comes from nowhere");
	REFUSED(card_memcopy(card, values + bytes / 8, from, BYTES, &run, &done), ENOMEM);
	/* Both go on when there is room. */
	CHECK(resized(card, values, PAGE) && resized(card, values, BYTES), "status %u", status);
	CHECK(copies(values, from) && seen(values) == sum, "the card does not work any more");
	CHECK(!memcmp(values, from, BYTES), "other content");
	CHECK(freed(card, values), "status %u", status);
	munmap(values, 2 * bytes);
	munmap(from, BYTES);
}

int main(void)
{
	card = card_open();
	TEST(memory_has_one_address_for_both);
	TEST(what_the_card_writes_is_seen_where_nothing_was);
	TEST(realloc_changes_the_size_where_it_is);
	TEST(what_is_freed_is_gone_for_both);
	TEST(processes_have_their_own);
	TEST(what_makes_no_sense_is_refused);
	TEST(a_heap_that_is_full_says_so);
	close(card);
	return failures != 0;
}
