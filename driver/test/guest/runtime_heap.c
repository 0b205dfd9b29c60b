// SPDX-License-Identifier: GPL-2.0-only
/* The heap in hardware by the C interface of the runtime, on the device that the first word names: behind the driver as without it. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "godwit.h"

#define ROWS 40000
#define SUM ((uint64_t)ROWS * (ROWS - 1) / 2)
/* Commands that the kernel heap_calls gives at most, and the one for memory that may be written. */
#define CALLS 8
#define MALLOC_WRITABLE 4u

static godwit_card *card;
static godwit_context *context;

#define DONE(call) CHECK((call) == GODWIT_OK, "%s", godwit_last_error())
#define GIVES(call, status) CHECK((call) == (status), "%s gives \"%s\"", #call, godwit_last_error())

static int sums(const int64_t *values, uint64_t *sum)
{
	const godwit_arg args[] = {
		godwit_pointer("values", values),
		godwit_number("count", ROWS),
		godwit_number("dtype", 1),
	};
	godwit_completion done;
	int status = godwit_launch(context, "array_sum", args, 3, 0, 0, &done);

	return status ? status : godwit_get_result(&done, "sum", sum);
}

static void malloc_realloc_and_release_of_the_runtime_work(const char *name)
{
	void *memory, *small, *copy;
	int64_t *values;
	uint64_t sum;

	DONE(godwit_malloc(context, ROWS, 0, 0, &memory));
	DONE(godwit_realloc(context, memory, ROWS * 8));
	values = memory;
	for (int64_t i = 0; i < ROWS; i++)
		values[i] = i;
	DONE(sums(values, &sum));
	CHECK(sum == SUM, "%llu", (unsigned long long)sum);
	DONE(godwit_malloc(context, ROWS * 8, 65536, 0, &copy));
	const godwit_arg args[] = {
		godwit_pointer("src", values),
		godwit_pointer("dst", copy),
		godwit_number("bytes", ROWS * 8),
		godwit_number("iterations", 1),
	};
	DONE(godwit_launch(context, "memcopy", args, 4, 0, 0, NULL));
	DONE(sums(copy, &sum));
	CHECK(sum == SUM && !memcmp(copy, values, ROWS * 8), "%llu", (unsigned long long)sum);
	DONE(godwit_malloc(context, 100, 0, GODWIT_SMALL, &small));
	memset(small, 1, 100);
	DONE(godwit_populate(context, small, 100));
	DONE(godwit_release_memory(context, small));
	DONE(godwit_release_memory(context, copy));
	DONE(godwit_realloc(context, values, 4096));
	CHECK(values[511] == 511, "%lld", (long long)values[511]);
	DONE(godwit_release_memory(context, values));
}

static void refusals_have_the_heaps_reasons(const char *name)
{
	void *memory;
	uint64_t sum;

	GIVES(godwit_malloc(context, 0, 0, 0, &memory), GODWIT_EINVAL);
	CHECK(strstr(godwit_last_error(), "at least one byte"), "%s", godwit_last_error());
	GIVES(godwit_malloc(context, 1, 5000, 0, &memory), GODWIT_EINVAL);
	DONE(godwit_malloc(context, 4096, 0, 0, &memory));
	GIVES(godwit_realloc(context, (char *)memory + 4096, 1), GODWIT_EINVAL);
	CHECK(strstr(godwit_last_error(), "never gave"), "%s", godwit_last_error());
	DONE(godwit_release_memory(context, memory));
	GIVES(godwit_release_memory(context, memory), GODWIT_EINVAL);
	CHECK(strstr(godwit_last_error(), "freed before"), "%s", godwit_last_error());
	GIVES(sums(memory, &sum), GODWIT_EINVAL);
	/* More than there is, taken beforehand. */
	DONE(godwit_malloc(context, 1ull << 30, 0, 0, &memory));
	GIVES(godwit_populate(context, memory, 1ull << 30), GODWIT_ENOMEM);
	CHECK(strstr(godwit_last_error(), "no frame of the heap"), "%s", godwit_last_error());
	DONE(godwit_release_memory(context, memory));
}

/* Has the kernel `heap_calls` allocate by itself. */
static int allocated_by_a_kernel(uint64_t bytes, uint64_t *pointer)
{
	char names[3 * CALLS][16];
	godwit_arg args[2 + 3 * CALLS] = { godwit_number("count", 1), godwit_number("rest", 0) };
	godwit_completion done;
	int i, status;

	for (i = 0; i < CALLS; i++) {
		sprintf(names[3 * i], "pointer%d", i);
		sprintf(names[3 * i + 1], "size%d", i);
		sprintf(names[3 * i + 2], "how%d", i);
		args[2 + 3 * i] = godwit_number(names[3 * i], 0);
		args[3 + 3 * i] = godwit_number(names[3 * i + 1], bytes);
		args[4 + 3 * i] = godwit_number(names[3 * i + 2], MALLOC_WRITABLE);
	}
	status = godwit_launch(context, "heap_calls", args, 2 + 3 * CALLS, 0, 0, &done);
	return status ? status : godwit_get_result(&done, "result0", pointer);
}

static void what_a_kernel_allocated_becomes_the_programs(const char *name)
{
	uint64_t there = 0, sum;
	void *memory, *own;
	int64_t *values;

	DONE(allocated_by_a_kernel(ROWS * 8, &there));
	DONE(godwit_adopt(context, there, ROWS * 8, &memory));
	CHECK((uint64_t)memory == there && there, "%p, not %llx", memory, (unsigned long long)there);
	values = memory;
	for (int64_t i = 0; i < ROWS; i++)
		values[i] = i;
	DONE(sums(values, &sum));
	CHECK(sum == SUM, "%llu", (unsigned long long)sum);
	GIVES(godwit_adopt(context, there, ROWS * 8, &memory), GODWIT_EINVAL);
	CHECK(strstr(godwit_last_error(), "already"), "%s", godwit_last_error());
	DONE(godwit_malloc(context, 1, 0, 0, &own));
	GIVES(godwit_adopt(context, (uint64_t)own, 1, &memory), GODWIT_EINVAL);
	DONE(godwit_release_memory(context, own));
	DONE(godwit_realloc(context, values, 4096));
	CHECK(values[511] == 511, "%lld", (long long)values[511]);
	DONE(godwit_release_memory(context, values));
	GIVES(godwit_adopt(context, there, ROWS * 8, &memory), GODWIT_EINVAL);
	CHECK(strstr(godwit_last_error(), "that a kernel allocated at"), "%s", godwit_last_error());
}

int main(int count, char **words)
{
	if (godwit_open(count > 1 ? words[1] : "/dev/godwit0", NULL, &card) ||
	    godwit_context_create(card, GODWIT_WIDEST, &context)) {
		printf("not ok malloc_realloc_and_release_of_the_runtime_work: %s\n", godwit_last_error());
		return 1;
	}
	TEST(malloc_realloc_and_release_of_the_runtime_work);
	TEST(refusals_have_the_heaps_reasons);
	TEST(what_a_kernel_allocated_becomes_the_programs);
	godwit_context_destroy(context);
	godwit_close(card);
	return failures != 0;
}
