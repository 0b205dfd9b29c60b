// SPDX-License-Identifier: GPL-2.0-only
/* What programs of the runtime are told of the card behind the driver, by the C interface: where memory is, and what the card counts. */
#include <stdlib.h>

#include "check.h"
#include "godwit.h"

#define ROWS 40000
#define PAGE 4096ul

static godwit_card *card;
static godwit_context *context;

#define DONE(call) CHECK((call) == GODWIT_OK, "%s", godwit_last_error())

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

static void memory_is_where_residency_says(const char *name)
{
	size_t size = (ROWS * 8 + PAGE - 1) / PAGE * PAGE, there;
	int64_t *values = aligned_alloc(PAGE, size);
	uint64_t sum;

	for (int64_t i = 0; i < ROWS; i++)
		values[i] = i;
	DONE(godwit_use(context, values, size));
	DONE(godwit_residency(context, values, size, &there));
	CHECK(!there, "%zu bytes are on the card", there);
	if (godwit_migrate_to_device(context, values, size) == GODWIT_OK) {
		DONE(godwit_residency(context, values, size, &there));
		CHECK(there == size, "%zu bytes are on the card, not %zu", there, size);
	}
	DONE(sums(values, &sum));
	CHECK(sum == (uint64_t)ROWS * (ROWS - 1) / 2, "%llu", (unsigned long long)sum);
	DONE(godwit_forget(context, values));
	DONE(godwit_residency(context, values, size, &there));
	CHECK(!there, "%zu bytes are on the card", there);
	free(values);
}

static void counters_count_what_a_launch_does(const char *name)
{
	int64_t *values = calloc(ROWS, 8);
	uint64_t before, after, lost_before, lost_after, sum;

	DONE(godwit_use(context, values, ROWS * 8));
	DONE(godwit_get_counter(card, "walker.walks", &before));
	DONE(godwit_get_counter(card, "faults_lost", &lost_before));
	DONE(sums(values, &sum));
	DONE(godwit_get_counter(card, "walker.walks", &after));
	DONE(godwit_get_counter(card, "faults_lost", &lost_after));
	CHECK(!sum && after > before, "%llu walks", (unsigned long long)(after - before));
	/* Others' before this are in it, too. */
	CHECK(lost_after == lost_before, "%llu faults were lost", (unsigned long long)(lost_after - lost_before));
	DONE(godwit_forget(context, values));
	free(values);
}

static void what_the_driver_does_not_give_is_an_error(const char *name)
{
	uint64_t value;

	CHECK(godwit_clear_counters(card) == GODWIT_EDEVICE, "%s", godwit_last_error());
	CHECK(godwit_migrated(context, "touches", &value) == GODWIT_EDEVICE, "%s", godwit_last_error());
	CHECK(strstr(godwit_last_error(), "counts of what moved"), "%s", godwit_last_error());
}

int main(void)
{
	if (godwit_open("/dev/godwit0", NULL, &card) || godwit_context_create(card, GODWIT_WIDEST, &context)) {
		printf("not ok memory_is_where_residency_says: %s\n", godwit_last_error());
		return 1;
	}
	TEST(memory_is_where_residency_says);
	TEST(counters_count_what_a_launch_does);
	TEST(what_the_driver_does_not_give_is_an_error);
	godwit_context_destroy(context);
	godwit_close(card);
	return failures != 0;
}
