// SPDX-License-Identifier: GPL-2.0-only
/*
 * The machine sleeps while a card is used, or the driver is told of a reset that is none: launches end with ENODEV, memory that was on the
 * card is whole, and the card, which has all that it had, is there again afterwards. Sleep is Linux's own test of it, in which devices
 * sleep and nothing else does. A real reset: reset.c.
 */
#include "../module/rig.h"
#include "files.h"
#include "in_use.h"

#define POWER "/sys/power/"

static bool sleeps(void)
{
	return tell(POWER "pm_test", "devices") && tell(POWER "state", "freeze") && tell(POWER "pm_test", "none");
}

static bool is_told_of_a_reset(void)
{
	int rig = open("/dev/rig", O_RDWR);
	bool done = rig >= 0 && !ioctl(rig, RIG_IOC_RESET);
	int why = errno;

	close(rig);
	errno = why;
	return done;
}

/* One thread works on memory here, another one's is on the card, a third one's is pinned. */
static void lets_go_and_comes_back(const char *name, bool (*happens)(void))
{
	struct in_use used = in_use_new();
	struct launches summing = { .from = used.busy };
	int old, round;

	for (round = 0; round < 3; round++) {
		USE(&used, round);
		CHECK(launches_begin(&summing), "pthread_create");
		usleep(20000);
		CHECK(happens(), "%s", strerror(errno));
		CHECK(launches_end(&summing) == ENODEV, "a launch ended with %s", strerror(summing.ended_with));
		GONE_AND_WHOLE(&used);
		old = card;
		WORKS_AGAIN(&used);
		close(card);
		/* The first old file stays open, which is in nobody's way. */
		if (round)
			close(old);
	}
	in_use_free(&used);
}

static void a_machine_sleeps_while_its_card_is_used(const char *name)
{
	lets_go_and_comes_back(name, sleeps);
}

static void a_reset_that_does_nothing_is_survived(const char *name)
{
	lets_go_and_comes_back(name, is_told_of_a_reset);
}

int main(void)
{
	TEST(a_reset_that_does_nothing_is_survived);
	TEST(a_machine_sleeps_while_its_card_is_used);
	return failures != 0;
}
