// SPDX-License-Identifier: GPL-2.0-only
/* What can be seen of a card while it works: attributes, debugfs, tracepoints and parameters say what really happened. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "files.h"
#include "places.h"
#include "values.h"

#define ATTRIBUTES "/sys/class/misc/godwit0/"
#define TRACING "/sys/kernel/tracing/"

static void attributes_say_what_the_card_is(const char *name)
{
	struct godwit_info info;
	char hash[16];

	CHECK(!ioctl(card, GODWIT_IOC_INFO, &info), "info: %s", strerror(errno));
	CHECK(after(ATTRIBUTES "kernels", "") == info.kernels, "kernels: %s", text);
	CHECK(after(ATTRIBUTES "contexts", "") == info.contexts, "contexts: %s", text);
	CHECK(after(ATTRIBUTES "contexts_used", "") == 1, "contexts_used: %s", text);
	CHECK(after(ATTRIBUTES "va_bits", "") == info.va_bits, "va_bits: %s", text);
	CHECK(after(ATTRIBUTES "memory_bytes", "") == (long long)info.memory_bytes, "memory_bytes: %s", text);
	CHECK(after(ATTRIBUTES "free_bytes", "") == (long long)info.free_bytes, "free_bytes: %s", text);
	CHECK(after(ATTRIBUTES "page_requests", "") == !!(info.flags & GODWIT_INFO_DEMAND), "page_requests: %s", text);
	CHECK(!!after(ATTRIBUTES "pool_bytes", "") == !!(info.flags & GODWIT_INFO_MIGRATE), "pool_bytes: %s", text);
	snprintf(hash, sizeof(hash), "%08x\n", info.spec_hash);
	CHECK(!strcmp(contents(ATTRIBUTES "spec"), hash), "spec: %s", text);
}

static void counters_count_what_happened(const char *name)
{
	long long launches = after(DEBUG "counters", "\nlaunches "), shown = after(DEBUG "counters", "\npages_shown ");
	long long told = after(DEBUG "counters", "\nkernel_interrupts ");
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 1);

	SEES(values, sum);
	CHECK(after(DEBUG "counters", "\nlaunches ") == launches + 1, "launches: %s", text);
	CHECK(after(DEBUG "counters", "\npages_shown ") >= shown + (long long)PAGES, "pages_shown: %s", text);
	CHECK(after(DEBUG "counters", "\npage_requests ") >= after(DEBUG "counters", "\ngroups "), "requests: %s", text);
	CHECK(after(DEBUG "counters", "\ngroups ") >= after(DEBUG "counters", "\nbatches "), "groups: %s", text);
	CHECK(after(DEBUG "counters", "\nbatches ") > 0, "batches: %s", text);
	CHECK(after(DEBUG "counters", "\nmmu_interrupts ") > 0, "mmu_interrupts: %s", text);
	/* Launches of before that were cancelled had none. */
	CHECK(after(DEBUG "counters", "\nkernel_interrupts ") > told, "kernel_interrupts: %s", text);
	/* Of a context that closes nothing is left. */
	munmap(values, BYTES);
	close(card);
	CHECK(after(DEBUG "counters", "\npages_hidden ") == after(DEBUG "counters", "\npages_shown "), "hidden: %s", text);
	card = card_open();
}

/* The line of this process in `contexts`. */
static bool own_context(unsigned long *host, unsigned long *device, unsigned long *pinned)
{
	const char *line = contents(DEBUG "contexts");
	unsigned int number;
	int process;

	while ((line = strchr(line, '\n')) && *++line)
		if (sscanf(line, "%u %d %lu %lu %lu", &number, &process, host, device, pinned) == 5 && process == getpid())
			return true;
	return false;
}

static void contexts_have_their_pages(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *pinned = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t sum = fill(values, 1);
	struct godwit_migrate what = { .addr = (uint64_t)values, .size = BYTES };
	unsigned long host, device, held;
	long long out = after(DEBUG "counters", "\npages_out "), home = after(DEBUG "counters", "\npages_home ");

	CHECK(advise(values, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	SEES(values, sum);
	CHECK(!card_pin(card, pinned, BYTES, 0), "pin: %s", strerror(errno));
	CHECK(own_context(&host, &device, &held), "not in it: %s", text);
	CHECK(host == PAGES && !device && held == PAGES, "%s", text);
	CHECK(after(DEBUG "pages", "frames_free ") < after(DEBUG "pages", "frames "), "%s", text);
	if (!ioctl(card, GODWIT_IOC_MIGRATE, &what)) {
		SEES(values, sum);
		CHECK(own_context(&host, &device, &held) && !host && device == what.pages, "%s", text);
		CHECK(after(DEBUG "pages", "pool_used ") == (long long)what.pages, "%s", text);
		CHECK(after(DEBUG "counters", "pages_out ") == out + (long long)what.pages, "%s", text);
		fill(values, 2);
		CHECK(after(DEBUG "counters", "pages_home ") == home + (long long)what.pages, "%s", text);
		CHECK(after(DEBUG "pages", "pool_used ") == 0, "%s", text);
	}
	CHECK(!card_unpin(card, pinned, BYTES), "unpin: %s", strerror(errno));
	munmap(values, BYTES);
	CHECK(own_context(&host, &device, &held) && !host && !device && !held, "%s", text);
}

static void queues_are_empty_when_nothing_runs(const char *name)
{
	const char *page_requests;
	unsigned int head, tail;

	CHECK(sscanf(contents(DEBUG "queues"), "%*[^\n]\ncommand %u %u", &head, &tail) == 2 && head == tail, "%s", text);
	page_requests = strstr(text, "page_request ");
	CHECK(page_requests && sscanf(page_requests, "page_request %u %u", &head, &tail) == 2 && head == tail, "%s", text);
	CHECK(!strstr(text, "broken"), "%s", text);
}

static void tracepoints_tell_the_story_of_a_launch(const char *name)
{
	static const char *const told[] = {
		"godwit_launch:", "godwit_page_request:", "godwit_batch:", "godwit_bring:", "godwit_launch_end:",
	};
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 1);
	struct godwit_migrate what = { .addr = (uint64_t)values, .size = BYTES };
	const char *at;
	bool moves;
	size_t i;

	CHECK(advise(values, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	mount("tracing", TRACING, "tracefs", 0, NULL);
	CHECK(tell(TRACING "events/godwit/enable", "1"), "enable: %s", strerror(errno));
	CHECK(tell(TRACING "trace", "\n"), "clear: %s", strerror(errno));
	SEES(values, sum);
	moves = !ioctl(card, GODWIT_IOC_MIGRATE, &what);
	fill(values, 2);
	munmap(values, BYTES);
	CHECK(tell(TRACING "events/godwit/enable", "0"), "disable: %s", strerror(errno));
	/* In this order: the launch first, what it asked for, and its end. */
	for (at = contents(TRACING "trace"), i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		at = strstr(at, told[i]);
		CHECK(at, "no %s in %.2000s", told[i], text);
	}
	CHECK(strstr(at, "error=0 end=0"), "%.2000s", at);
	CHECK(strstr(at, "godwit_invalidate:"), "%.2000s", at);
	CHECK(!moves || (strstr(at, "godwit_out:") && strstr(at, "godwit_home:")), "%.2000s", at);
}

static void parameters_are_checked_when_they_are_set(const char *name)
{
	struct stat found;

	CHECK(after(PARAMETERS "bring_pages", "") == 16, "%s", text);
	CHECK(!tell(PARAMETERS "bring_pages", "3") && errno == EINVAL, "3 pages: %s", strerror(errno));
	CHECK(!tell(PARAMETERS "bring_pages", "32") && errno == EINVAL, "32 pages: %s", strerror(errno));
	CHECK(after(PARAMETERS "home_pages", "") == 16, "%s", text);
	CHECK(!tell(PARAMETERS "home_pages", "0") && errno == EINVAL, "0 pages: %s", strerror(errno));
	CHECK(after(PARAMETERS "home_most", "") == 512, "%s", text);
	CHECK(!tell(PARAMETERS "home_most", "1024") && errno == EINVAL, "1024 pages: %s", strerror(errno));
	CHECK(!tell(PARAMETERS "home_pages", "32") && errno == EINVAL, "32 pages: %s", strerror(errno));
	CHECK(!tell(PARAMETERS "fence_ms", "99") && errno == EINVAL, "99 ms: %s", strerror(errno));
	CHECK(tell(PARAMETERS "fence_ms", "60001") && after(PARAMETERS "fence_ms", "") == 60001, "%s", text);
	CHECK(tell(PARAMETERS "fence_ms", "60000"), "%s", strerror(errno));
	CHECK(!stat(PARAMETERS "contexts", &found) && !(found.st_mode & 0222), "contexts: %o", found.st_mode);
}

/* Fences that were not for an invalidation. */
static long long fences_of_answers(void)
{
	return after(DEBUG "counters", "\nfences ") - after(DEBUG "counters", "\ninvalidations ");
}

static void answers_of_a_batch_have_one_fence(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 4);
	long long requests = after(DEBUG "counters", "\npage_requests "), batches = after(DEBUG "counters", "\nbatches ");
	long long fences = fences_of_answers();

	/* Each page by a request of its own. */
	CHECK(advise(values, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	SEES(values, sum);
	/* What the last batch has still to do is done when the context has ended. */
	munmap(values, BYTES);
	close(card);
	requests = after(DEBUG "counters", "\npage_requests ") - requests;
	batches = after(DEBUG "counters", "\nbatches ") - batches;
	fences = fences_of_answers() - fences;
	CHECK(fences <= batches, "%lld fences for %lld batches", fences, batches);
	CHECK(requests >= (long long)PAGES && fences < requests / 2, "%lld fences for %lld requests", fences, requests);
	card = card_open();
}

static void one_page_at_a_time_is_one_group_a_page(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 3);
	long long groups;

	CHECK(advise(values, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	CHECK(tell(PARAMETERS "bring_pages", "1"), "%s", strerror(errno));
	groups = after(DEBUG "counters", "\ngroups ");
	SEES(values, sum);
	groups = after(DEBUG "counters", "\ngroups ") - groups;
	CHECK(groups >= (long long)PAGES, "%lld groups", groups);
	CHECK(tell(PARAMETERS "bring_pages", "16"), "%s", strerror(errno));
	munmap(values, BYTES);
}

int main(void)
{
	card = card_open();
	TEST(attributes_say_what_the_card_is);
	TEST(counters_count_what_happened);
	TEST(contexts_have_their_pages);
	TEST(queues_are_empty_when_nothing_runs);
	TEST(tracepoints_tell_the_story_of_a_launch);
	TEST(parameters_are_checked_when_they_are_set);
	TEST(answers_of_a_batch_have_one_fence);
	TEST(one_page_at_a_time_is_one_group_a_page);
	return failures != 0;
}
