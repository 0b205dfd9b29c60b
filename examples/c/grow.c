/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers come from somewhere, nobody knows how many: memory of the heap in hardware grows below them, at one address. Then a
 * kernel sums them where they are.
 *
 *   grow DEVICE                a card with a heap: godwit card build --set heap.slots=1024
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "godwit.h"

enum { CHUNK = 4096 / sizeof(int64_t), CHUNKS = 50, DTYPE_INT64 = 1 };

static void check(int status, const char *what)
{
	if (status != GODWIT_OK) {
		fprintf(stderr, "grow: %s: %s\n", what, godwit_last_error());
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "grow DEVICE\n");
		return 2;
	}

	godwit_card *card;
	godwit_context *context;
	void *memory;

	check(godwit_open(argv[1], NULL, &card), "open");
	check(godwit_context_create(card, GODWIT_WIDEST, &context), "context");
	check(godwit_malloc(context, CHUNK * sizeof(int64_t), 0, 0, &memory), "malloc");

	int64_t *values = memory, expected = 0;
	size_t count = 0;

	for (int chunk = 1; chunk <= CHUNKS; chunk++) {
		check(godwit_realloc(context, memory, chunk * CHUNK * sizeof(int64_t)), "realloc");
		/* An error here, instead of a signal at the first store, when the heap is full. */
		check(godwit_populate(context, values + count, CHUNK * sizeof(int64_t)), "populate");
		for (; count < (size_t)chunk * CHUNK; count++) {
			values[count] = (int64_t)count * 3 - 1000;
			expected += values[count];
		}
	}

	const godwit_arg args[] = {
		godwit_pointer("values", values),
		godwit_number("count", count),
		godwit_number("dtype", DTYPE_INT64),
	};
	godwit_completion done;
	uint64_t sum;

	check(godwit_launch(context, "array_sum", args, sizeof(args) / sizeof(args[0]), 0, 0, &done), "launch");
	check(godwit_get_result(&done, "sum", &sum), "result");
	printf("sum of %zu values: %" PRId64 " in %" PRIu64 " cycles\n", count, (int64_t)sum, done.cycles);

	/* Of two frees the second one is refused, and nothing else happens. */
	check(godwit_release_memory(context, memory), "release");
	if (godwit_release_memory(context, memory) != GODWIT_EINVAL || godwit_last_refusal() != GODWIT_REFUSED_NOT_LIVE) {
		fprintf(stderr, "grow: the second release was not refused\n");
		return 1;
	}
	printf("second release: %s\n", godwit_last_error());
	godwit_context_destroy(context);
	godwit_close(card);
	return (int64_t)sum == expected ? 0 : 1;
}
