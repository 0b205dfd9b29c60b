/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels work on memory of malloc(), by the program's own pointers: splits a column by a comparison, then sums what matches.
 *
 *   plain_pointers [DEVICE [COLUMN]]   DEVICE is "sim:default" unless given, or /dev/godwit0; COLUMN is a file of doubles,
 *                                      otherwise the program makes some
 *
 * docs/c-api.md says how to build it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "godwit.h"

enum { DTYPE_INT64 = 1, DTYPE_FLOAT64 = 3, OP_GREATER = 0, ROWS = 20000 };

static const double LIMIT = 15.0;

static void check(int status, const char *what)
{
	if (status != GODWIT_OK) {
		fprintf(stderr, "plain_pointers: %s: %s\n", what, godwit_last_error());
		exit(1);
	}
}

static void *memory(size_t size)
{
	void *found = malloc(size);

	if (!found) {
		fprintf(stderr, "plain_pointers: no memory for %zu bytes\n", size);
		exit(1);
	}
	return found;
}

/* The column in @path, or one of our own; NaN is a row without a value. */
static double *column(const char *path, size_t *rows)
{
	double *values;
	FILE *file;
	long size;

	if (!path) {
		*rows = ROWS;
		values = memory(ROWS * sizeof(*values));
		for (size_t row = 0; row < ROWS; row++)
			values[row] = (double)(row * 2654435761u % 1000u) / 10.0;
		return values;
	}
	file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < (long)sizeof(*values)) {
		fprintf(stderr, "plain_pointers: %s has no doubles\n", path);
		exit(1);
	}
	rewind(file);
	*rows = (size_t)size / sizeof(*values);
	values = memory(*rows * sizeof(*values));
	if (fread(values, sizeof(*values), *rows, file) != *rows) {
		fprintf(stderr, "plain_pointers: %s cannot be read\n", path);
		exit(1);
	}
	fclose(file);
	return values;
}

/* Whether the card has split it as this program does. */
static int is_split(const double *values, size_t rows, const uint32_t *matches, uint64_t count, const uint32_t *rest)
{
	uint64_t matched = 0, others = 0;

	for (uint32_t row = 0; row < rows; row++) {
		if (values[row] > LIMIT ? matched >= count || matches[matched++] != row
					: others >= rows - count || rest[others++] != row)
			return 0;
	}
	return matched == count;
}

int main(int argc, char **argv)
{
	const char *device = argc > 1 ? argv[1] : "sim:default";
	union {
		double value;
		uint64_t bits;
	} limit = { LIMIT };
	godwit_card *card;
	godwit_context *context;
	godwit_completion done;
	uint64_t count, sum;
	int64_t expected = 0;
	size_t rows;
	double *values = column(argc > 2 ? argv[2] : NULL, &rows);
	uint32_t *matches = memory(rows * sizeof(*matches)), *rest = memory(rows * sizeof(*rest));

	check(godwit_open(device, NULL, &card), "open");
	check(godwit_context_create(card, GODWIT_WIDEST, &context), "context");
	check(godwit_use(context, values, rows * sizeof(*values)), "use");
	check(godwit_use(context, matches, rows * sizeof(*matches)), "use");
	check(godwit_use(context, rest, rows * sizeof(*rest)), "use");
	/* A hint: where memory can move to the card, its pages do so before kernels ask for them. */
	check(godwit_prefetch(context, values, rows * sizeof(*values)), "prefetch");

	const godwit_arg split[] = {
		godwit_pointer("values", values), godwit_pointer("validity", NULL), godwit_number("rows", rows),
		godwit_number("offset", 0),       godwit_number("dtype", DTYPE_FLOAT64), godwit_number("op", OP_GREATER),
		godwit_number("constant", limit.bits), godwit_pointer("matches", matches), godwit_pointer("rest", rest),
	};

	check(godwit_launch(context, "split", split, sizeof(split) / sizeof(split[0]), 0, 0, &done), "split");
	check(godwit_get_result(&done, "match_count", &count), "match_count");

	int ok = is_split(values, rows, matches, count, rest);

	printf("split: %" PRIu64 " of %zu rows are greater than %g, %s\n", count, rows, LIMIT, ok ? "right" : "WRONG");

	/* Whole numbers of the rows that match, in memory that the card has not seen. */
	int64_t *whole = memory((count + 1) * sizeof(*whole));

	for (uint64_t i = 0; i < count && ok; i++)
		expected += whole[i] = (int64_t)values[matches[i]];
	check(godwit_use(context, whole, (count + 1) * sizeof(*whole)), "use");

	const godwit_arg array_sum[] = {
		godwit_pointer("values", whole),
		godwit_number("count", count),
		godwit_number("dtype", DTYPE_INT64),
	};

	check(godwit_launch(context, "array_sum", array_sum, 3, 0, 0, &done), "array_sum");
	check(godwit_get_result(&done, "sum", &sum), "sum");
	ok = ok && (int64_t)sum == expected;
	printf("array_sum: %" PRId64 ", %s\n", (int64_t)sum, ok ? "right" : "WRONG");

	/* Memory comes home before it is freed. */
	check(godwit_forget(context, whole), "forget");
	check(godwit_forget(context, rest), "forget");
	check(godwit_forget(context, matches), "forget");
	check(godwit_forget(context, values), "forget");
	free(whole);
	free(rest);
	free(matches);
	free(values);
	godwit_context_destroy(context);
	godwit_close(card);
	return ok ? 0 : 1;
}
