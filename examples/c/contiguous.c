/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block of contiguous memory is a kernel's argument where it is: one entry of the range TLB instead of pages.
 *
 *   contiguous [DEVICE]        DEVICE is "sim:default" unless given; links libgodwit and libgodwit_cmt
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "godwit_cmt.h"

enum { COUNT = 200000, DTYPE_INT64 = 1, POOL_BYTES = 16 << 20, PAGE_BYTES = 4096 };

static void check(int status, const char *what)
{
	if (status != GODWIT_OK) {
		fprintf(stderr, "contiguous: %s: %s\n", what, godwit_last_error());
		exit(1);
	}
}

static int sum(godwit_context *context, const int64_t *values, godwit_completion *done)
{
	const godwit_arg args[] = {
		godwit_pointer("values", values),
		godwit_number("count", COUNT),
		godwit_number("dtype", DTYPE_INT64),
	};

	return godwit_launch(context, "array_sum", args, sizeof(args) / sizeof(args[0]), 0, 0, done);
}

static void report(godwit_card *card, godwit_context *context, const char *name, const int64_t *values)
{
	godwit_completion done;
	uint64_t result, walks;

	check(godwit_clear_counters(card), "counters");
	check(sum(context, values, &done), "launch");
	check(godwit_get_result(&done, "sum", &result), "result");
	check(godwit_get_counter(card, "walker.walks", &walks), "counter");
	if (result != (uint64_t)COUNT * (COUNT - 1) / 2) {
		fprintf(stderr, "contiguous: the sum is %" PRIu64 "\n", result);
		exit(1);
	}
	printf("%-11s  sum %" PRIu64 " in %" PRIu64 " cycles, %" PRIu64 " page-table walks\n", name, result, done.cycles, walks);
}

int main(int argc, char **argv)
{
	godwit_card *card;
	godwit_context *context;
	godwit_buffer *paged, *shared;
	char config[128];

	check(godwit_open(argc > 1 ? argv[1] : "sim:default", NULL, &card), "open");
	check(godwit_context_create(card, GODWIT_WIDEST, &context), "context");
	/* The process's pool lies in the card's memory. */
	check(godwit_cmt_config(card, POOL_BYTES, config, sizeof(config)), "memory for the pool");
	if (cmt_init(config) != 0) {
		fprintf(stderr, "contiguous: %s\n", cmt_reason());
		return 1;
	}
	int64_t *values = cmt_alloc_contiguous(COUNT * sizeof(*values), NULL);

	if (!values) {
		fprintf(stderr, "contiguous: %s\n", cmt_reason());
		return 1;
	}
	for (int64_t i = 0; i < COUNT; i++)
		values[i] = i;

	check(godwit_alloc(context, COUNT * sizeof(*values), PAGE_BYTES, 0, &paged), "alloc");
	memcpy(godwit_data(paged), values, COUNT * sizeof(*values));
	check(godwit_share_block(context, values, GODWIT_RANGES, &shared), "share");
	report(card, context, "pages", godwit_data(paged));
	report(card, context, "range entry", values);

	/* A block that is freed before it is taken from kernels is no argument any more. */
	godwit_completion done;

	cmt_free(values);
	if (sum(context, values, &done) == GODWIT_OK)
		return 1;
	printf("%s\n", godwit_last_error());

	check(godwit_free(shared), "free");
	check(godwit_free(paged), "free");
	godwit_context_destroy(context);
	godwit_close(card);
	return 0;
}
