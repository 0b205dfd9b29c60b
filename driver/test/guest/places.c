// SPDX-License-Identifier: GPL-2.0-only
/* Where memory is said to be, and what the card is said to have counted: as it is, of this program's memory alone, and of counters alone. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "huge.h"
#include "places.h"
#include "values.h"

/* Registers of the MMU: a read channel's requests, and what is no counter. */
#define READ_REQUESTS(port) (0x2000 + 0x100 * (port))
#define IDENTIFICATION 0u
#define CONTEXTS 0x4000u

static void snapshot(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum;
	char *page = (char *)values;

	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_NONE);
	sum = fill(values, 1);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST);
	CHECK(advise(values, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	SEES(values, sum);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	/* A change of protection takes them from the card, and a hole is nowhere. */
	mprotect(page, 4 * PAGE, PROT_READ);
	madvise(page + 8 * PAGE, 4 * PAGE, MADV_DONTNEED);
	munmap(page + 12 * PAGE, 4 * PAGE);
	LOOK(values);
	ARE(0, 3, GODWIT_PLACE_HOST);
	ARE(8, 15, GODWIT_PLACE_NONE);
	ARE(16, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	/* Part of it, by a pointer into a page: no more than its pages is filled in. */
	memset(places, 9, sizeof(places));
	CHECK(!look(page + 16 * PAGE + 100, PAGE, places), "%s", strerror(errno));
	ARE(0, 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	ARE(2, PAGES - 1, 9);
	munmap(values, BYTES);
}

static void memory_that_moved_is_where_it_went(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 2);
	struct godwit_migrate what = { .addr = (uint64_t)values, .size = BYTES };
	unsigned int place = migrates() ? GODWIT_PLACE_CARD : GODWIT_PLACE_HOST;

	CHECK((ioctl(card, GODWIT_IOC_MIGRATE, &what) == 0) == migrates(), "migrate: %s", strerror(errno));
	LOOK(values);
	/* What has gone to the card need not be asked for. */
	ARE(0, PAGES - 1, migrates() ? place | GODWIT_PLACE_SHOWN : place);
	SEES(values, sum);
	LOOK(values);
	ARE(0, PAGES - 1, place | GODWIT_PLACE_SHOWN);
	CHECK(fill(values, 2) == sum, "another content");
	LOOK(values);
	if (migrates())
		ARE(0, PAGES - 1, GODWIT_PLACE_HOST);
	munmap(values, BYTES);
}

/* One page at two addresses: what the card writes at the one is at the other. */
static void double_map(const char *name)
{
	int file = memfd_create("values", 0);
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *one, *other;

	CHECK(file >= 0 && !ftruncate(file, BYTES), "%s", strerror(errno));
	one = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	other = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	fill(from, 3);
	CHECK(copies(one, from), "no copy");
	CHECK(!memcmp(other, from, BYTES), "another content");
	SEES(other, fill(from, 3));
	LOOK(one);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	munmap(one, BYTES);
	LOOK(other);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	munmap(other, BYTES);
	munmap(from, BYTES);
}

/* A huge page: in the host as a whole, and as the card touches it 4 KiB by 4 KiB. */
static void compound(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *values, sum = fill(from, 5);

	CHECK(huge_reserve("1"), "no huge pages: %s", strerror(errno));
	values = huge_page();
	CHECK(values != MAP_FAILED, "%s", strerror(errno));
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_NONE);
	values[HUGE / 8 - 1] = 1;
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST);
	CHECK(copies(values, from), "no copy");
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	CHECK(!look(values + COUNT, BYTES, places), "%s", strerror(errno));
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST);
	CHECK(!mprotect(values, HUGE, PROT_READ), "mprotect: %s", strerror(errno));
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST);
	CHECK(!copies(values, from), "a copy into memory that is read-only");
	SEES(values, sum);
	munmap(values, HUGE);
	munmap(from, BYTES);
	huge_reserve("0");
}

static int count(struct godwit_register *words, uint32_t number)
{
	struct godwit_counters what = { .words = (uint64_t)words, .count = number };

	return ioctl(card, GODWIT_IOC_COUNTERS, &what);
}

static void counters_are_those_of_the_card(const char *name)
{
	struct godwit_register before[] = { { READ_REQUESTS(ARRAY_SUM_SLOT), 0 }, { READ_REQUESTS(MEMCOPY_SLOT), 0 } };
	struct godwit_register after[] = { { READ_REQUESTS(ARRAY_SUM_SLOT), 0 }, { READ_REQUESTS(MEMCOPY_SLOT), 0 } };
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 4);

	CHECK(!count(before, 2), "%s", strerror(errno));
	SEES(values, sum);
	CHECK(!count(after, 2), "%s", strerror(errno));
	/* A burst is at most a page. */
	CHECK(after[0].value - before[0].value >= PAGES, "%u requests", after[0].value - before[0].value);
	CHECK(after[1].value == before[1].value, "%u requests of the other kernel", after[1].value - before[1].value);
	munmap(values, BYTES);
}

static void what_is_no_counter_is_not_read(const char *name)
{
	static const uint32_t none[] = {
		IDENTIFICATION, 0x1002, 0x1ffc, CONTEXTS, READ_REQUESTS(0) + 0x40, READ_REQUESTS(63), 0x4000000, ~3u,
	};
	struct godwit_register words[] = { { READ_REQUESTS(0), 0 }, { 0, 0 } };
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		words[1].offset = none[i];
		CHECK(count(words, 2) == -1 && errno == EINVAL, "%#x: %s", none[i], strerror(errno));
	}
	REFUSED(count(words, 0), EINVAL);
	REFUSED(count(words, GODWIT_COUNTER_WORDS + 1), EINVAL);
	REFUSED(count(NULL, 1), EFAULT);
	REFUSED(ioctl(card, GODWIT_IOC_COUNTERS, NULL), EFAULT);
}

static void places_of_nothing_are_refused(const char *name)
{
	REFUSED(look(places, 0, places), EINVAL);
	REFUSED(look(places, ~0ull, places), EINVAL);
	REFUSED(look((void *)~0xffful, PAGE, places), EINVAL);
	REFUSED(look(places, PAGE, NULL), EFAULT);
	REFUSED(ioctl(card, GODWIT_IOC_RESIDENCY, NULL), EFAULT);
}

int main(void)
{
	card = card_open();
	TEST(snapshot);
	TEST(memory_that_moved_is_where_it_went);
	TEST(double_map);
	TEST(compound);
	TEST(counters_are_those_of_the_card);
	TEST(what_is_no_counter_is_not_read);
	TEST(places_of_nothing_are_refused);
	return failures != 0;
}
