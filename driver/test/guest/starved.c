// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that Linux does not give, by its own fault injection (failslab, fail_page_alloc): of calls that open and pin, of launches, and of
 * the thread that brings pages for these, each allocation fails once, by its turn (fail-nth), wherever in Linux it is; of all others one
 * in so many at random. Calls end right or say ENOMEM, launches end right or with a fault, nothing is lost, and nothing is left over.
 *
 * On a kernel that has fault injection: `debug`.
 */
#include <dirent.h>

#include "files.h"
#include "values.h"

#define INJECT "/sys/kernel/debug/"
/* Allocations of a call; one with more is not looked at to its end. */
#define MOST 400
/* That a launch reads: more than a group of pages. */
#define FEW (20 * PAGE / 8)
#define ROUNDS 12
/* Of a hundred allocations, at random. */
#define PERCENT "7"

static const char *const kinds[] = { "failslab", "fail_page_alloc" };

/* Files of a thread's fault injection, opened before anything fails. */
struct victim {
	int nth;
	int random;
};

static struct victim self, server;
static uint64_t *values, wanted, wanted_few;

static bool number_to(int fd, int number)
{
	char digits[16];
	int length = snprintf(digits, sizeof(digits), "%d", number);

	return pwrite(fd, digits, length, 0) == length;
}

static int number_of(int fd)
{
	char digits[16] = "";

	return pread(fd, digits, sizeof(digits) - 1, 0) > 0 ? atoi(digits) : -1;
}

static bool set(const char *kind, const char *what, const char *value)
{
	char path[96];

	snprintf(path, sizeof(path), INJECT "%s/%s", kind, what);
	/* Not every kind has every choice. */
	return access(path, F_OK) || tell(path, value);
}

/*
 * The checks of DMA mappings end for good when an allocation of theirs fails, so none of these does: whoever is called by them is left
 * alone. Their functions are in a row.
 */
static bool checks_go_on(void)
{
	static const char *const ends[] = { "reject-start", "reject-end" };
	unsigned long long first = -1ull, last = 0, at;
	char line[256], number[32];
	FILE *symbols = fopen("/proc/kallsyms", "r");
	unsigned int k;
	bool set_all = symbols;

	while (symbols && fgets(line, sizeof(line), symbols))
		if (strstr(line, " T debug_dma_") && (at = strtoull(line, NULL, 16))) {
			first = at < first ? at : first;
			last = at > last ? at : last;
		}
	if (symbols)
		fclose(symbols);
	for (k = 0; k < 2 && last; k++) {
		snprintf(number, sizeof(number), "%llu", first);
		set_all = set_all && set(kinds[k], ends[0], number);
		snprintf(number, sizeof(number), "%llu", last);
		set_all = set_all && set(kinds[k], ends[1], number);
	}
	return set_all;
}

/* Only who says so has failures, of any size and for any use, and Linux's log says nothing of them. */
static bool injection_begins(void)
{
	static const char *const choices[][2] = {
		{ "probability", PERCENT }, { "interval", "1" },	{ "times", "-1" },
		{ "verbose", "0" },	    { "task-filter", "Y" },	{ "ignore-gfp-wait", "N" },
		{ "min-order", "0" },	    { "ignore-gfp-highmem", "N" },
	};
	unsigned int i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
			if (!set(kinds[k], choices[i][0], choices[i][1]))
				return false;
	return checks_go_on();
}

/* Of a hundred pages and of a hundred smaller pieces, how many are not given at random. */
static bool chances(const char *pages, const char *pieces)
{
	return set("fail_page_alloc", "probability", pages) && set("failslab", "probability", pieces);
}

static struct victim victim_of(int pid)
{
	struct victim found;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fail-nth", pid, pid);
	found.nth = open(path, O_RDWR);
	snprintf(path, sizeof(path), "/proc/%d/make-it-fail", pid);
	found.random = open(path, O_RDWR);
	return found;
}

/* The thread of the MMU's interrupt; 0 when there is none. */
static int server_pid(void)
{
	DIR *all = opendir("/proc");
	struct dirent *entry;
	int found = 0;
	char path[300];

	while (all && !found && (entry = readdir(all))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		/* Names may be cut. */
		if (atoi(entry->d_name) && !strncmp(contents(path), "irq/", 4) && strstr(text, "-godwit-m"))
			found = atoi(entry->d_name);
	}
	if (all)
		closedir(all);
	return found;
}

static int move_to(uint32_t flags)
{
	struct godwit_migrate what = { .addr = (uint64_t)values, .size = BYTES, .flags = flags };

	return ioctl(card, GODWIT_IOC_MIGRATE, &what) ? errno : 0;
}

static int go_out(void)
{
	return move_to(0);
}

static int come_home(void)
{
	return move_to(GODWIT_MIGRATE_TO_HOST);
}

static int touch(void)
{
	return sum_of(values) == wanted ? 0 : EILSEQ;
}

static int write_all(void)
{
	volatile uint64_t *all = values;
	uint64_t i;

	for (i = 0; i < COUNT; i += PAGE / 8)
		all[i] = all[i];
	return 0;
}

/* A launch on what is there: right, refused, or with a fault for want of a page. */
static int launch(void)
{
	struct card_sum got;

	if (card_array_sum(card, values, FEW, 0, &got))
		return errno;
	if (got.run.end == GODWIT_RUN_FAULT)
		return ENOMEM;
	return got.sum == wanted_few && !got.status ? 0 : EILSEQ;
}

static int open_and_close(void)
{
	int more = card_open();

	return more < 0 ? errno : close(more);
}

static int pin_and_unpin(void)
{
	if (card_pin(card, values, BYTES, GODWIT_PIN_WRITE))
		return errno;
	return card_unpin(card, values, BYTES) ? errno : 0;
}

/* Taken from the card, so that it asks anew. */
static int take_away(void)
{
	return mprotect(values, BYTES, PROT_READ) || mprotect(values, BYTES, PROT_READ | PROT_WRITE) ? errno : 0;
}

/* On the card, which has to ask for them, and not to be written yet: they come home first. */
static int go_out_protected(void)
{
	return go_out() ?: take_away();
}

/*
 * What is done with each allocation of @task failing once while @step is; before each turn @prepare is. How many failed, or -1
 * with errno: EILSEQ is another content. @went: how often the step did what it should all the same.
 */
static int each_fails(struct victim *task, int (*prepare)(void), int (*step)(void), int *went)
{
	int turn, err, left;

	*went = 0;
	for (turn = 1; turn <= MOST; turn++) {
		errno = prepare ? prepare() : 0;
		if (errno || !number_to(task->nth, turn))
			return -1;
		err = step();
		left = number_of(task->nth);
		if (!number_to(task->nth, 0))
			return -1;
		*went += !err;
		errno = err == ENOMEM ? 0 : err;
		if (!errno && touch())
			errno = EILSEQ;
		if (errno || (left && err)) {
			errno = errno ?: ENOMSG;
			return -1;
		}
		if (left)
			return turn - 1;
	}
	return MOST;
}

#define FAILS(task, prepare, step, least)                                                                     \
	do {                                                                                                  \
		int went_, failed_ = each_fails(task, prepare, step, &went_);                                 \
		CHECK(failed_ >= 0, #step " %s", strerror(errno));                                            \
		CHECK(failed_ >= (least) || !migrates(), #step ": %d allocations failed, not %d", failed_, least); \
		printf("# " #step ": %d allocations failed, %d went well\n", failed_, went_);                 \
	} while (0)

static void begin(uint64_t first)
{
	uint64_t i;

	values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	wanted = fill(values, first);
	for (i = 0, wanted_few = 0; i < FEW; i++)
		wanted_few += values[i];
}

static void a_context_that_does_not_open_leaves_nothing(const char *name)
{
	long long frames = after(DEBUG "pages", "frames_free ");

	begin(1);
	FAILS(&self, NULL, open_and_close, 2);
	CHECK(after(DEBUG "pages", "frames_free ") == frames, "%lld frames are free, not %lld",
	      after(DEBUG "pages", "frames_free "), frames);
	munmap(values, BYTES);
}

static void memory_that_is_pinned_or_not_is_whole(const char *name)
{
	begin(2);
	FAILS(&self, NULL, pin_and_unpin, 3);
	SEES(values, wanted);
	munmap(values, BYTES);
}

/* In the host, and nothing that the card knows of. */
static int come_home_unseen(void)
{
	return come_home() ?: take_away();
}

/* Of the call itself, and of the thread that has what it reads go to the card, or come home to be made writable first. */
static void launches_are_right_or_end_with_a_fault(const char *name)
{
	begin(3);
	FAILS(&self, come_home_unseen, launch, 2);
	FAILS(&server, come_home_unseen, launch, 10);
	FAILS(&server, go_out_protected, launch, 10);
	SEES(values, wanted);
	munmap(values, BYTES);
}

/* All of it, while this thread and that which brings pages get one allocation in so many not. */
static void nothing_is_lost_when_allocations_fail_at_random(const char *name)
{
	static int (*const steps[])(void) = { go_out, launch, touch, go_out, come_home, launch, pin_and_unpin, go_out, write_all };
	int round, why[sizeof(steps) / sizeof(steps[0])], went = 0, all = 0;
	unsigned int i, count = sizeof(steps) / sizeof(steps[0]);

	for (round = 0; round < ROUNDS; round++) {
		begin(7 + round);
		CHECK(number_to(self.random, 1) && number_to(server.random, 1), "%s", strerror(errno));
		for (i = 0; i < count; i++)
			why[i] = steps[i]();
		CHECK(number_to(self.random, 0) && number_to(server.random, 0), "%s", strerror(errno));
		for (i = 0; i < count; i++, all++) {
			CHECK(!why[i] || why[i] == ENOMEM, "step %d of round %d: %s", i, round, strerror(why[i]));
			went += !why[i];
		}
		CHECK(!touch(), "another content");
		SEES(values, wanted);
		munmap(values, BYTES);
	}
	printf("# at random: %d of %d steps went well\n", went, all);
	CHECK(went && went < all, "%d of %d went well", went, all);
}

/*
 * A page in device memory that may not be written yet (its area was protected meanwhile) comes home for that, which takes a page: the
 * launch that finds none ends with a fault, and the next one writes. The card keeps pages beside these, so that nothing else is lacking.
 */
static void what_could_not_be_written_is_when_there_is_memory(const char *name)
{
	char *room = mmap(NULL, 3 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *beside = (uint64_t *)(((uintptr_t)room + BYTES - 1) / BYTES * BYTES), *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	struct card_sum got;
	struct godwit_run run;
	long long touches;
	uint32_t status;
	int err;

	values = beside + COUNT / 2;
	fill(values, 30);
	fill(from, 31);
	CHECK(!card_array_sum(card, beside, COUNT / 2, 0, &got) && !got.sum, "%s", strerror(errno));
	CHECK(!go_out_protected(), "%s", strerror(errno));
	touches = after(DEBUG "counters", "\ntouches ");
	CHECK(chances("100", "0") && number_to(server.random, 1), "%s", strerror(errno));
	err = card_memcopy(card, values, from, BYTES / 2, &run, &status) ? errno : 0;
	CHECK(number_to(server.random, 0) && chances(PERCENT, PERCENT), "%s", strerror(errno));
	CHECK(!err && (run.end == GODWIT_RUN_FAULT || status), "%s, end %u", strerror(err), run.end);
	CHECK(after(DEBUG "counters", "\ntouches ") > touches, "nothing was to come home");
	CHECK(!card_memcopy(card, values, from, BYTES / 2, &run, &status) && run.end == GODWIT_RUN_DONE && !status, "no copy");
	CHECK(!memcmp(values, from, BYTES / 2), "another content");
	munmap(room, 3 * BYTES);
	munmap(from, BYTES);
}

static void nothing_is_left_over(const char *name)
{
	close(card);
	CHECK(after(DEBUG "pages", "pool_used ") == 0, "%lld pages are still in use", after(DEBUG "pages", "pool_used "));
	card = card_open();
	CHECK(card >= 0, "%s", strerror(errno));
	begin(20);
	SEES(values, wanted);
	munmap(values, BYTES);
}

int main(void)
{
	card = card_open();
	self = victim_of(getpid());
	server = victim_of(server_pid());
	if (!injection_begins() || self.nth < 0 || server.nth < 0 || self.random < 0 || server.random < 0) {
		printf("not ok injection: not on this kernel, or no thread of the card's: %s\n", strerror(errno));
		return 1;
	}
	TEST(a_context_that_does_not_open_leaves_nothing);
	TEST(memory_that_is_pinned_or_not_is_whole);
	TEST(launches_are_right_or_end_with_a_fault);
	TEST(nothing_is_lost_when_allocations_fail_at_random);
	TEST(what_could_not_be_written_is_when_there_is_memory);
	TEST(nothing_is_left_over);
	return failures != 0;
}
