/* SPDX-License-Identifier: GPL-2.0-only */
/* The card's counters, a line each: counters [DEVICE] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "godwit.h"

int main(int argc, char **argv)
{
	size_t count, i;
	uint64_t *values;
	godwit_card *card;

	if (godwit_open(argc > 1 ? argv[1] : "/dev/godwit0", NULL, &card)) {
		fprintf(stderr, "counters: %s\n", godwit_last_error());
		return 1;
	}
	count = godwit_counter_count(card);
	values = calloc(count, sizeof(*values));
	if (!values || godwit_get_counters(card, values, count, &count)) {
		fprintf(stderr, "counters: %s\n", values ? godwit_last_error() : "no memory");
		return 1;
	}
	for (i = 0; i < count; i++)
		printf("%s %" PRIu64 "\n", godwit_counter_name(card, i), values[i]);
	free(values);
	godwit_close(card);
	return 0;
}
