// SPDX-License-Identifier: GPL-2.0-only
/* The driver lets go of a card that is in use, and takes it again: what was under way ends with ENODEV, and nothing is left. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bind.h"
#include "card.h"
#include "check.h"

#define COUNT 20000
static int card;
static int ended_with;
static volatile bool looked_enough;

/* Reads what debugfs and sysfs say of the card, whether or not it is there. */
static void *look(void *none)
{
	static const char *const files[] = {
		"/sys/kernel/debug/godwit/godwit0/contexts",     "/sys/kernel/debug/godwit/godwit0/queues",
		"/sys/kernel/debug/godwit/godwit0/pages",        "/sys/kernel/debug/godwit/godwit0/counters",
		"/sys/class/misc/godwit0/free_bytes",            "/sys/class/misc/godwit0/contexts_used",
	};
	char text[4096];
	unsigned int i;

	for (i = 0; !looked_enough; i++) {
		int fd = open(files[i % (sizeof(files) / sizeof(files[0]))], O_RDONLY);

		while (fd >= 0 && read(fd, text, sizeof(text)) > 0)
			;
		close(fd);
	}
	return none;
}

/* Launches until one fails. */
static void *launch(void *values)
{
	struct card_sum got;

	while (!card_array_sum(card, values, COUNT, 0, &got))
		;
	ended_with = errno;
	return NULL;
}

static void a_card_goes_while_it_is_used(const char *name)
{
	uint64_t *values = calloc(COUNT, 8), *pinned = calloc(COUNT, 8);
	struct godwit_info info;
	struct card_sum got;
	pthread_t other, watcher;
	int round;

	CHECK(card_find(), "no card at " CARD_DRIVER);
	CHECK(!pthread_create(&watcher, NULL, look, NULL), "pthread_create");
	for (round = 0; round < 5; round++) {
		card = card_open();
		CHECK(card >= 0, "open: %s", strerror(errno));
		CHECK(!card_pin(card, pinned, COUNT * 8, GODWIT_PIN_WRITE), "pin: %s", strerror(errno));
		CHECK(!pthread_create(&other, NULL, launch, values), "pthread_create");
		usleep(3000 * round);
		CHECK(card_tell(CARD_DRIVER "/unbind"), "unbind: %s", strerror(errno));
		pthread_join(other, NULL);
		CHECK(ended_with == ENODEV, "a launch ended with %s", strerror(ended_with));
		REFUSED(ioctl(card, GODWIT_IOC_INFO, &info), ENODEV);
		REFUSED(card_unpin(card, pinned, COUNT * 8), ENODEV);
		CHECK(card_open() < 0, "there is still a card");
		/* The memory is the process's alone again. */
		pinned[round] = round;
		if (round % 2)
			close(card);
		CHECK(card_tell(CARD_DRIVER "/bind"), "bind: %s", strerror(errno));
	}
	looked_enough = true;
	pthread_join(watcher, NULL);
	card = card_open();
	CHECK(card >= 0 && !card_array_sum(card, pinned, COUNT, 0, &got), "run: %s", strerror(errno));
	CHECK(got.run.end == GODWIT_RUN_DONE && got.sum == 10, "end %u, sum %llu", got.run.end, (unsigned long long)got.sum);
	free(values);
	free(pinned);
}

int main(void)
{
	TEST(a_card_goes_while_it_is_used);
	return failures != 0;
}
