// SPDX-License-Identifier: GPL-2.0-only
/*
 * The machine sleeps while a card is used, or the driver is told of a reset that is none: launches end with ENODEV, memory that was on the
 * card is whole, and the card, which has all that it had, is there again afterwards. Sleep is Linux's own test of it, in which devices
 * sleep and nothing else does. A real reset: reset.c.
 */
#include <pthread.h>

#include "../module/rig.h"
#include "files.h"
#include "moves.h"
#include "values.h"

#define POWER "/sys/power/"

static int ended_with;

/* Launches until one fails. */
static void *launch(void *values)
{
	struct card_sum got;

	while (!card_array_sum(card, values, COUNT, 0, &got))
		;
	ended_with = errno;
	return NULL;
}

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
	uint64_t *busy = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *away = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE),
		 *pinned = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), wanted[3];
	struct godwit_info info;
	pthread_t other;
	int old, round;

	for (round = 0; round < 3; round++) {
		card = card_open();
		CHECK(card >= 0, "open: %s", strerror(errno));
		wanted[0] = fill(busy, 1 + round);
		wanted[1] = fill(away, 11 + round);
		wanted[2] = fill(pinned, 21 + round);
		if (migrates())
			MOVES(away, BYTES, 0, PAGES);
		CHECK(!card_pin(card, pinned, BYTES, GODWIT_PIN_WRITE), "pin: %s", strerror(errno));
		CHECK(!pthread_create(&other, NULL, launch, busy), "pthread_create");
		usleep(20000);
		CHECK(happens(), "%s", strerror(errno));
		pthread_join(other, NULL);
		CHECK(ended_with == ENODEV, "a launch ended with %s", strerror(ended_with));
		REFUSED(ioctl(card, GODWIT_IOC_INFO, &info), ENODEV);
		CHECK(sum_of(busy) == wanted[0] && sum_of(away) == wanted[1] && sum_of(pinned) == wanted[2], "another content");
		/* The old file stays open once, which is in nobody's way. */
		old = card;
		card = card_open();
		CHECK(card >= 0, "open afterwards: %s", strerror(errno));
		SEES(away, wanted[1]);
		SEES(busy, wanted[0]);
		close(card);
		if (round)
			close(old);
	}
	munmap(busy, BYTES);
	munmap(away, BYTES);
	munmap(pinned, BYTES);
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
