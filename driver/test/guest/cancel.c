// SPDX-License-Identifier: GPL-2.0-only
/* Launches that another thread ends: that which runs, those that wait, and nobody else's. */
#include <pthread.h>

#include "values.h"

/* Years, if nobody ends it. */
#define FOR_EVER 4000000000u

/* A launch in a thread of its own. */
struct launch {
	pthread_t thread;
	int fd;
	int error;
	volatile bool ended;
};

static char from[PAGE], to[PAGE];

static void *copy_for_ever(void *arg)
{
	struct launch *launch = arg;
	struct godwit_run run;
	uint32_t status;

	launch->error = card_memcopy_often(launch->fd, to, from, PAGE, FOR_EVER, &run, &status) ? errno : 0;
	launch->ended = true;
	return NULL;
}

static bool begin(struct launch *launch)
{
	launch->fd = card_open();
	launch->ended = false;
	return launch->fd >= 0 && !pthread_create(&launch->thread, NULL, copy_for_ever, launch);
}

static int cancel(int fd)
{
	struct godwit_cancel what = { .slot = MEMCOPY_SLOT };

	return ioctl(fd, GODWIT_IOC_CANCEL, &what);
}

/* As soon as the driver knows of the launch. */
static int cancel_when_there(struct launch *launch)
{
	while (cancel(launch->fd)) {
		if (errno != ESRCH)
			return errno;
		usleep(1000);
	}
	return 0;
}

static int end(struct launch *launch)
{
	pthread_join(launch->thread, NULL);
	close(launch->fd);
	return launch->error;
}

/* Whether the kernel works for others. */
static bool copies_a_page(void)
{
	int fd = card_open();
	struct godwit_run run;
	uint32_t status;
	bool done;

	from[9]++;
	done = !card_memcopy(fd, to, from, PAGE, &run, &status) && run.end == GODWIT_RUN_DONE && !status && to[9] == from[9];
	close(fd);
	return done;
}

static void a_launch_that_runs_ends_when_it_is_told(const char *name)
{
	struct launch launch;
	int round;

	for (round = 0; round < 3; round++) {
		CHECK(begin(&launch), "%s", strerror(errno));
		/* The last one is told at once, wherever it is then. */
		if (round < 2)
			usleep(50000);
		CHECK(!cancel_when_there(&launch), "cancel: %s", strerror(errno));
		CHECK(end(&launch) == ECANCELED, "the launch ends with %s", strerror(launch.error));
		CHECK(copies_a_page(), "the kernel does not work any more");
	}
}

static void launches_that_wait_end_and_those_of_others_go_on(const char *name)
{
	struct launch runs, waits;

	CHECK(begin(&runs), "%s", strerror(errno));
	usleep(50000);
	CHECK(begin(&waits), "%s", strerror(errno));
	CHECK(!cancel_when_there(&waits), "cancel: %s", strerror(errno));
	CHECK(end(&waits) == ECANCELED, "the launch that waits ends with %s", strerror(waits.error));
	CHECK(!runs.ended, "the launch of another context has ended");
	CHECK(!cancel_when_there(&runs) && end(&runs) == ECANCELED, "it ends with %s", strerror(runs.error));
	CHECK(copies_a_page(), "the kernel does not work any more");
}

static void what_is_not_there_cannot_end(const char *name)
{
	struct godwit_cancel far = { .slot = CARD_KERNELS }, more = { .slot = MEMCOPY_SLOT, .reserved = 1 };
	int fd = card_open();

	REFUSED(cancel(fd), ESRCH);
	REFUSED(ioctl(fd, GODWIT_IOC_CANCEL, &far), EINVAL);
	REFUSED(ioctl(fd, GODWIT_IOC_CANCEL, &more), EINVAL);
	REFUSED(ioctl(fd, GODWIT_IOC_CANCEL, 8), EFAULT);
	close(fd);
}

int main(void)
{
	TEST(a_launch_that_runs_ends_when_it_is_told);
	TEST(launches_that_wait_end_and_those_of_others_go_on);
	TEST(what_is_not_there_cannot_end);
	return failures != 0;
}
