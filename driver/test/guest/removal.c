// SPDX-License-Identifier: GPL-2.0-only
/* The driver lets go of a card that is in use, and takes it again: what was under way ends with ENODEV, and nothing is left. */
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "card.h"
#include "check.h"

#define COUNT 20000
#define DRIVER "/sys/bus/pci/drivers/godwit"

static char slot[32];

/* The card's place on the bus, such as 0000:00:01.0. */
static bool find(void)
{
	DIR *driver = opendir(DRIVER);
	struct dirent *entry;

	while (driver && (entry = readdir(driver)))
		if (strlen(entry->d_name) == strlen("0000:00:01.0") && strchr(entry->d_name, ':'))
			snprintf(slot, sizeof(slot), "%s", entry->d_name);
	if (driver)
		closedir(driver);
	return slot[0];
}

static bool tell(const char *file)
{
	int fd = open(file, O_WRONLY);
	bool told = fd >= 0 && write(fd, slot, strlen(slot)) == (ssize_t)strlen(slot);

	close(fd);
	return told;
}

static int card;
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

static void a_card_goes_while_it_is_used(const char *name)
{
	uint64_t *values = calloc(COUNT, 8), *pinned = calloc(COUNT, 8);
	struct godwit_info info;
	struct card_sum got;
	pthread_t other;
	int round;

	CHECK(find(), "no card at " DRIVER);
	for (round = 0; round < 5; round++) {
		card = card_open();
		CHECK(card >= 0, "open: %s", strerror(errno));
		CHECK(!card_pin(card, pinned, COUNT * 8, GODWIT_PIN_WRITE), "pin: %s", strerror(errno));
		CHECK(!pthread_create(&other, NULL, launch, values), "pthread_create");
		usleep(3000 * round);
		CHECK(tell(DRIVER "/unbind"), "unbind: %s", strerror(errno));
		pthread_join(other, NULL);
		CHECK(ended_with == ENODEV, "a launch ended with %s", strerror(ended_with));
		REFUSED(ioctl(card, GODWIT_IOC_INFO, &info), ENODEV);
		REFUSED(card_unpin(card, pinned, COUNT * 8), ENODEV);
		CHECK(card_open() < 0, "there is still a card");
		/* The memory is the process's alone again. */
		pinned[round] = round;
		if (round % 2)
			close(card);
		CHECK(tell(DRIVER "/bind"), "bind: %s", strerror(errno));
	}
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
