// SPDX-License-Identifier: GPL-2.0-only
/*
 * An array goes to the card and comes home, in each way that the driver has, also without large pages; what the driver counted meanwhile is said in a line each:
 *
 *	ways BYTES...
 *	ways huge BYTES...	only those of huge pages, which move whole, or page by page
 *	ways NAME BYTES...	only that in which it stays in the host, by this name
 */
#include <stdio.h>

#include "../../../driver/test/guest/files.h"
#include "../../../driver/test/guest/huge.h"
#include "../../../driver/test/guest/places.h"

#define MOST_COUNTERS 64
/* The MMU's register that counts what the L1 TLB of array_sum's reads did not have. */
#define MISSES (0x2000 + 0x100 * ARRAY_SUM_SLOT + 16)

static struct counted {
	char name[32];
	long long value;
} before[MOST_COUNTERS];

static uint32_t misses(void)
{
	struct godwit_register word = { .offset = MISSES };
	struct godwit_counters what = { .words = (uint64_t)&word, .count = 1 };

	return ioctl(card, GODWIT_IOC_COUNTERS, &what) ? 0 : word.value;
}

/* Pages of all sizes in the card's table of this process. */
static unsigned long long translations(void)
{
	const char *line = contents(DEBUG "entries");
	unsigned long long small, groups, huge;
	int process;

	while ((line = strchr(line, '\n')) && *++line)
		if (sscanf(line, "%*d %d %*u %llu %llu %llu", &process, &small, &groups, &huge) == 4 && process == getpid())
			return small + groups + huge;
	return 0;
}

/* Reads the driver's counters; with @said, says what came to them since they were read last. */
static void count(const char *said)
{
	static uint32_t missed;
	struct counted now;
	const char *line;
	int i;

	if (said)
		printf("%s misses=%u translations=%llu", said, misses() - missed, translations());
	missed = misses();
	line = contents(DEBUG "counters");
	for (i = 0; i < MOST_COUNTERS && sscanf(line, "%31s %lld", now.name, &now.value) == 2; i++) {
		if (said)
			printf(" %s=%lld", now.name, now.value - before[i].value);
		before[i] = now;
		line = strchr(line + 1, '\n');
		if (!line)
			break;
	}
	if (said)
		printf("\n");
}

/* The sum that the process sees of all of it. */
static uint64_t sum_up(const volatile uint64_t *values, uint64_t bytes)
{
	uint64_t sum = 0, i;

	for (i = 0; i < bytes / 8; i++)
		sum += values[i];
	return sum;
}

static bool moves(const void *at, uint64_t bytes, uint32_t flags)
{
	struct godwit_migrate what = { .addr = (uint64_t)at, .size = bytes, .flags = flags };

	return !ioctl(card, GODWIT_IOC_MIGRATE, &what);
}

static bool launch(const uint64_t *values, uint64_t bytes, uint64_t wanted)
{
	struct card_sum got;

	return !card_array_sum(card, values, bytes / 8, 0, &got) && got.run.end == GODWIT_RUN_DONE && !got.status &&
	       got.sum == wanted;
}

/* One way: @by_hand moves them by calls, @in_place leaves them where they are; @huge: they are huge pages. */
static bool way(const char *name, uint64_t bytes, bool by_hand, bool in_place, bool huge)
{
	uint64_t room = huge ? bytes + HUGE : bytes, wanted, i;
	char *area = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *values = (uint64_t *)(huge ? ((uintptr_t)area + HUGE - 1) & ~(HUGE - 1) : (uintptr_t)area);
	char said[64];
	bool right;

	madvise(values, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	for (i = 0; i < bytes / 8; i++)
		values[i] = i * 0x9e3779b97f4a7c15ull;
	wanted = sum_up(values, bytes);
	right = advise(values, bytes, in_place ? GODWIT_ADVICE_IN_PLACE : GODWIT_ADVICE_MOVE);
	count(NULL);
	right = right && (!by_hand || moves(values, bytes, 0)) && launch(values, bytes, wanted);
	snprintf(said, sizeof(said), "counted %s there %llu", name, (unsigned long long)bytes);
	count(said);
	right = right && launch(values, bytes, wanted);
	snprintf(said, sizeof(said), "counted %s again %llu", name, (unsigned long long)bytes);
	count(said);
	right = right && (!by_hand || moves(values, bytes, GODWIT_MIGRATE_TO_HOST)) && sum_up(values, bytes) == wanted;
	snprintf(said, sizeof(said), "counted %s home %llu", name, (unsigned long long)bytes);
	count(said);
	munmap(area, room);
	return right;
}

static bool all_ways(uint64_t bytes)
{
	return way("demand", bytes, false, false, false) && way("hand", bytes, true, false, false) &&
	       way("in_place", bytes, false, true, false) && tell(PARAMETERS "large_pages", "N") &&
	       way("demand_small", bytes, false, false, false) && way("hand_small", bytes, true, false, false) &&
	       way("in_place_small", bytes, false, true, false) && tell(PARAMETERS "large_pages", "Y");
}

/* Linux has no huge pages where memory is as little as here, if it is not told to. */
static bool huge_ways(uint64_t bytes)
{
	return tell("/sys/kernel/mm/transparent_hugepage/enabled", "madvise") && tell(PARAMETERS "large_folios", "Y") &&
	       way("demand_whole", bytes, false, false, true) && way("hand_whole", bytes, true, false, true) &&
	       tell(PARAMETERS "large_folios", "N") && way("demand_pieces", bytes, false, false, true) &&
	       way("hand_pieces", bytes, true, false, true);
}

int main(int argc, char **argv)
{
	bool only = argc > 1 && !strtoull(argv[1], NULL, 0), huge = only && !strcmp(argv[1], "huge");
	int i;

	card = card_open();
	if (!migrates()) {
		printf("this kernel has no device-private memory\n");
		return 1;
	}
	for (i = only ? 2 : 1; i < argc; i++) {
		uint64_t bytes = strtoull(argv[i], NULL, 0);

		if (!(huge ? huge_ways(bytes) : only ? way(argv[1], bytes, false, true, false) : all_ways(bytes))) {
			printf("another sum, or no launch: %s\n", strerror(errno));
			return 1;
		}
	}
	return 0;
}
