/* SPDX-License-Identifier: Apache-2.0 */
/* Plain memory of a C program as a kernel's argument: from malloc, from inside it, and gone again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "godwit.h"

enum { DTYPE_INT64 = 1 };

static void check(int status, const char *what)
{
	if (status != GODWIT_OK) {
		fprintf(stderr, "process: %s: %s\n", what, godwit_last_error());
		exit(1);
	}
}

static int sum(godwit_context *context, const int64_t *values, uint64_t count, uint64_t *result)
{
	const godwit_arg args[] = {
		godwit_pointer("values", values),
		godwit_number("count", count),
		godwit_number("dtype", DTYPE_INT64),
	};
	godwit_completion done;
	int status = godwit_launch(context, "array_sum", args, sizeof(args) / sizeof(args[0]), 0, 0, &done);

	return status == GODWIT_OK ? godwit_get_result(&done, "sum", result) : status;
}

int main(void)
{
	static const uint64_t counts[] = { 10, 1000, 100000 };
	godwit_card *card;
	godwit_context *context;
	uint64_t result;

	check(godwit_open("sim:default", NULL, &card), "open");
	check(godwit_context_create(card, GODWIT_WIDEST, &context), "context");
	for (size_t size = 0; size < sizeof(counts) / sizeof(counts[0]); size++) {
		uint64_t count = counts[size];
		int64_t *values = malloc(count * sizeof(*values));

		for (uint64_t i = 0; i < count; i++)
			values[i] = (int64_t)i;
		if (sum(context, values, count, &result) == GODWIT_OK)
			return 2;
		check(godwit_use(context, values, count * sizeof(*values)), "use");
		if (godwit_use(context, values + 1, 8) == GODWIT_OK)
			return 3;
		check(godwit_prefetch(context, values, count * sizeof(*values)), "prefetch");
		check(sum(context, values, count, &result), "launch");
		values[count / 2] += 7;
		printf("%" PRIu64, result);
		check(sum(context, values + 1, count - 1, &result), "launch from inside");
		printf(" %" PRIu64 "\n", result);
		check(godwit_forget(context, values), "forget");
		if (values[count - 1] != (int64_t)count - 1)
			return 4;
		free(values);
	}
	godwit_context_destroy(context);
	godwit_close(card);
	return 0;
}
