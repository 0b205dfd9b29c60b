// SPDX-License-Identifier: GPL-2.0-only
/* A card that is pulled out while a kernel runs: every register reads as ones from when this says so. */
#include <stdlib.h>

#include "card.h"
#include "check.h"

#define COUNT 20000

static void a_card_that_is_pulled_out_ends_launches_and_nothing_else(const char *name)
{
	uint64_t *pinned = calloc(COUNT, 8), *touched = calloc(COUNT, 8);
	struct card_sum got;
	int fd = card_open(), i, last = 0;

	pinned[3] = touched[4] = 9;
	CHECK(!card_pin(fd, pinned, COUNT * 8, GODWIT_PIN_WRITE), "pin: %s", strerror(errno));
	CHECK(!card_array_sum(fd, pinned, COUNT, 0, &got) && got.sum == 9, "%s", strerror(errno));
	printf("pull the card out\n");
	fflush(stdout);
	for (i = 0; i < 1000000 && !last; i++)
		last = card_array_sum(fd, i % 2 ? touched : pinned, COUNT, 0, &got) ? errno : 0;
	CHECK(last == ENODEV, "a launch ended with %s", strerror(last));
	REFUSED(card_array_sum(fd, touched, COUNT, 0, &got), ENODEV);
	/* The memory is the process's, and can be given back. */
	CHECK(pinned[3] == 9 && touched[4] == 9, "other content");
	card_unpin(fd, pinned, COUNT * 8);
	close(fd);
	free(pinned);
	free(touched);
}

int main(void)
{
	TEST(a_card_that_is_pulled_out_ends_launches_and_nothing_else);
	return failures != 0;
}
