/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums an array on a card: the kernel gets the pointer this program uses.
 *
 *   vector_sum [DEVICE]        DEVICE is "sim:default" unless given
 *
 * docs/c-api.md says how to build it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "godwit.h"

enum { COUNT = 100000, DTYPE_INT64 = 1, COUNTERS = 1024 };

static void check(int status, const char *what)
{
	if (status != GODWIT_OK) {
		fprintf(stderr, "vector_sum: %s: %s\n", what, godwit_last_error());
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *device = argc > 1 ? argv[1] : "sim:default";
	godwit_card *card;
	godwit_context *context;
	godwit_buffer *buffer;

	check(godwit_open(device, NULL, &card), "open");
	check(godwit_context_create(card, GODWIT_WIDEST, &context), "context");
	check(godwit_alloc(context, COUNT * sizeof(int64_t), 0, 0, &buffer), "alloc");

	int64_t *values = godwit_data(buffer);
	int64_t expected = 0;

	for (int64_t i = 0; i < COUNT; i++) {
		values[i] = i * i - 7 * i;
		expected += values[i];
	}

	const godwit_arg args[] = {
		godwit_pointer("values", values),
		godwit_number("count", COUNT),
		godwit_number("dtype", DTYPE_INT64),
	};
	godwit_completion done;
	uint64_t sum, status;

	/* Others may use the card as well: only this program's accesses are to be counted. */
	check(godwit_count_only(card, context), "count");
	check(godwit_launch(context, "array_sum", args, sizeof(args) / sizeof(args[0]), 0, 0, &done), "launch");
	check(godwit_get_result(&done, "sum", &sum), "result");
	check(godwit_get_result(&done, "status", &status), "result");

	/* Every counter has a name; those of a port are "port0.read.hits" and so on. */
	uint64_t requests = 0, hits = 0;
	uint64_t values_of[COUNTERS];
	size_t count;

	check(godwit_get_counters(card, values_of, COUNTERS, &count), "counters");
	for (size_t i = 0; i < count && i < COUNTERS; i++) {
		const char *name = godwit_counter_name(card, i);

		if (strstr(name, ".read.requests"))
			requests += values_of[i];
		else if (strstr(name, ".read.hits"))
			hits += values_of[i];
	}
	printf("sum of %d values at %p: %" PRId64 " in %" PRIu64 " cycles, %" PRIu64 " of %" PRIu64
	       " reads translated by the L1 TLB\n", COUNT, (void *)values, (int64_t)sum, done.cycles, hits, requests);

	int ok = status == 0 && (int64_t)sum == expected && requests > 0;

	if (!ok)
		fprintf(stderr, "vector_sum: expected %" PRId64 " and reads (kernel status %" PRIu64 ")\n", expected, status);
	check(godwit_free(buffer), "free");
	godwit_context_destroy(context);
	godwit_close(card);
	return ok ? 0 : 1;
}
