// SPDX-License-Identifier: GPL-2.0-only
/*
 * Huge pages of the host go to the card and come home whole, and what Linux does to a part of one splits it. With the names of the kernel's
 * own HMM test where it has the case.
 *
 *	folios [brief [NAME]]	less of what a simulated page DMA takes minutes for; that test alone
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>

#include "bind.h"
#include "counting.h"
#include "folios.h"
#include "moves.h"

static bool brief;
static const char *only;

/* The C library here is older than the kernel. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static void migrate_anon_huge_empty(const char *name)
{
	uint64_t *values = empty_parts(2, MADV_HUGEPAGE);

	begin();
	MOVES(values, 2 * HUGE, 0, 2 * HUGE_PAGES);
	HAPPENED(2, 0, 0);
	ON_CARD(2, 2 * HUGE_PAGES);
	ENTRIES(2, 0, 0);
	CHECK(card_sees(values, 0), "no zeros");
	CHECK(zeros(values, 2 * HUGE), "the process finds no zeros");
	HAPPENED(2, 2, 2);
	ON_CARD(0, 0);
	munmap(values, 2 * HUGE);
	/* What may not be written, as the kernel's own test has it. */
	values = empty_parts(1, MADV_HUGEPAGE);
	CHECK(!mprotect(values, HUGE, PROT_READ), "mprotect: %s", strerror(errno));
	MOVES(values, HUGE, 0, HUGE_PAGES);
	HAPPENED(3, 2, 2);
	CHECK(card_sees(values, 0), "no zeros");
	munmap(values, HUGE);
	ON_CARD(0, 0);
	/* Where the program has not asked for huge pages there are none. */
	values = empty_parts(1, MADV_NORMAL);
	MOVES(values, HUGE, 0, HUGE_PAGES);
	HAPPENED(3, 2, 2);
	ON_CARD(0, HUGE_PAGES);
	munmap(values, HUGE);
}

static void migrate_anon_huge_zero(const char *name)
{
	uint64_t *values = empty_parts(1, MADV_HUGEPAGE);

	CHECK(!*(volatile uint64_t *)values, "no zero");
	begin();
	MOVES(values, HUGE, 0, HUGE_PAGES);
	HAPPENED(1, 0, 0);
	CHECK(card_sees(values, 0), "no zeros");
	CHECK(zeros(values, HUGE), "the process finds no zeros");
	HAPPENED(1, 1, 1);
	munmap(values, HUGE);
	ON_CARD(0, 0);
}

static void migrate_anon_huge_free(const char *name)
{
	uint64_t *values = parts(1, MADV_HUGEPAGE);

	begin();
	MOVES(values, HUGE, 0, HUGE_PAGES);
	HAPPENED(1, 0, 0);
	CHECK(card_sees(values, part_sum(0)), "another content");
	CHECK(!madvise(values, HUGE, MADV_FREE), "madvise: %s", strerror(errno));
	CHECK(card_sees(values, part_sum(0)), "another content, of memory that is on the card");
	CHECK(!madvise(values, HUGE, MADV_DONTNEED), "madvise: %s", strerror(errno));
	ON_CARD(0, 0);
	CHECK(zeros(values, HUGE), "memory that was given back is not zero");
	munmap(values, HUGE);
}

static void migrate_anon_huge_fault(const char *name)
{
	uint64_t *values = parts(2, MADV_HUGEPAGE);

	CHECK(host_huge(values) == 2 * HUGE / 1024, "%lld KiB of huge pages", host_huge(values));
	begin();
	MOVES(values, 2 * HUGE, 0, 2 * HUGE_PAGES);
	HAPPENED(2, 0, 0);
	ENTRIES(2, 0, 0);
	CHECK(card_sees(values + HUGE / 8, part_sum(1)), "another content");
	/* One touch, in its middle. */
	values[HUGE / 8 + HUGE / 16] ^= 1;
	HAPPENED(2, 1, 1);
	ENTRIES(1, 0, 0);
	CHECK(host_huge(values) == 2 * HUGE / 1024, "%lld KiB of huge pages, here or there", host_huge(values));
	values[HUGE / 8 + HUGE / 16] ^= 1;
	CHECK(own(values, 2 * HUGE_PAGES, 0, 0), "another content at home");
	HAPPENED(2, 2, 2);
	ON_CARD(0, 0);
	/* Told to. */
	MOVES(values, 2 * HUGE, 0, 2 * HUGE_PAGES);
	MOVES(values, 2 * HUGE, GODWIT_MIGRATE_TO_HOST, 2 * HUGE_PAGES);
	HAPPENED(4, 4, 2);
	CHECK(own(values, 2 * HUGE_PAGES, 0, 0), "another content at home");
	CHECK(host_huge(values) == 2 * HUGE / 1024, "%lld KiB of huge pages", host_huge(values));
	munmap(values, 2 * HUGE);
}

/* A page of it is asked for: all of it comes, unless something else was said of a part. */
static void what_the_card_asks_for_comes_whole(const char *name)
{
	uint64_t *values = parts(3, MADV_HUGEPAGE);
	struct godwit_advise stay = { .addr = (uint64_t)values + 2 * HUGE, .size = PAGE, .advice = GODWIT_ADVICE_IN_PLACE };
	long long requests;

	CHECK(!ioctl(card, GODWIT_IOC_ADVISE, &stay), "advise: %s", strerror(errno));
	begin();
	CHECK(right(values, HUGE_PAGES / 2, 0, false), "another content");
	FOLIOS(1, 0);
	ENTRIES(1, 0, 0);
	requests = after(DEBUG "counters", "\npage_requests ");
	CHECK(card_sees(values, part_sum(0)), "another content");
	CHECK(after(DEBUG "counters", "\npage_requests ") == requests, "what has come is asked for");
	CHECK(right(values, 2 * HUGE_PAGES + HUGE_PAGES / 2, 0, false), "another content");
	FOLIOS(1, 0);
	CHECK(own(values, 3 * HUGE_PAGES, 0, 0), "another content at home");
	munmap(values, 3 * HUGE);
}

static void migrate_partial_unmap_fault(const char *name)
{
	static const uint64_t offsets[] = { 0, HUGE_PAGES / 4, HUGE_PAGES / 2 };
	unsigned int i, folios;

	for (i = 0; i < 6; i++) {
		uint64_t *values = parts(1, MADV_HUGEPAGE), first = offsets[i % 3];

		folios = i / 3;
		CHECK(tell(PARAMETERS "large_folios", folios ? "Y" : "N"), "%s", strerror(errno));
		begin();
		MOVES(values, HUGE, 0, HUGE_PAGES);
		CHECK(!munmap((char *)values + first * PAGE, HUGE / 2), "munmap: %s", strerror(errno));
		/* What is left of it is one folio yet, until a page of it moves. */
		ON_CARD(folios, folios ? HUGE_PAGES : HUGE_PAGES / 2);
		CHECK(right(values, first ? 0 : HUGE_PAGES - PAGES, 0, false), "the card finds another content");
		CHECK(own(values, HUGE_PAGES, first, HUGE_PAGES / 2), "another content at home, %u", i);
		ON_CARD(0, 0);
		munmap(values, HUGE);
	}
}

static void migrate_remap_fault(const char *name)
{
	static const uint64_t offsets[] = { 0, HUGE / 4, HUGE / 2 };
	unsigned int i;

	for (i = 0; i < 12; i++) {
		bool before = i / 6, keep = i / 3 % 2;
		int flags = MREMAP_MAYMOVE | MREMAP_FIXED | (keep ? MREMAP_DONTUNMAP : 0);
		char *values = (char *)parts(3, MADV_HUGEPAGE), *to = values + HUGE + offsets[i % 3], *at = values;

		/* What was filled there, too, is not wanted. */
		munmap(values + HUGE, 2 * HUGE);
		if (before)
			CHECK((at = mremap(values, HUGE, HUGE, flags, to)) == to, "mremap: %s", strerror(errno));
		CHECK(moved(at, HUGE, 0) == HUGE_PAGES, "not all moved, %u", i);
		CHECK(right((uint64_t *)at, 0, 0, false), "the card finds another content, %u", i);
		if (!before)
			CHECK((at = mremap(values, HUGE, HUGE, flags, to)) == to, "mremap: %s", strerror(errno));
		CHECK(right((uint64_t *)at, HUGE_PAGES - PAGES, 0, false), "the card finds another content afterwards, %u", i);
		CHECK(own((uint64_t *)at, HUGE_PAGES, 0, 0), "another content at home, %u", i);
		munmap(at, HUGE);
		if (keep)
			munmap(values, HUGE);
		ON_CARD(0, 0);
	}
}

/* Neither side has a free huge page: pages go and come one by one. */
static void migrate_anon_huge_err(const char *name)
{
	uint64_t *values = parts(1, MADV_HUGEPAGE);

	CHECK(folios_fail(true), "%s", strerror(errno));
	begin();
	MOVES(values, HUGE, 0, HUGE_PAGES);
	HAPPENED(0, 0, 0);
	ON_CARD(0, HUGE_PAGES);
	CHECK(card_sees(values, part_sum(0)), "another content");
	CHECK(own(values, HUGE_PAGES, 0, 0), "another content at home");
	CHECK(folios_fail(false), "%s", strerror(errno));
	munmap(values, HUGE);

	values = parts(2, MADV_HUGEPAGE);
	begin();
	MOVES(values, 2 * HUGE, 0, 2 * HUGE_PAGES);
	HAPPENED(2, 0, 0);
	CHECK(folios_fail(true), "%s", strerror(errno));
	/* A touch comes again, when the process has the folio in pages, and once more, when that is split. */
	values[HUGE / 16] ^= 1;
	HAPPENED(2, 0, 3);
	ON_CARD(1, 2 * HUGE_PAGES - 16);
	values[HUGE / 16] ^= 1;
	/* Told to. */
	MOVES(values + HUGE / 8, HUGE, GODWIT_MIGRATE_TO_HOST, HUGE_PAGES);
	HAPPENED(2, 0, 3);
	ON_CARD(0, HUGE_PAGES - 16);
	CHECK(right(values, 0, 0, false), "the card finds another content");
	CHECK(own(values, 2 * HUGE_PAGES, 0, 0), "another content at home");
	CHECK(folios_fail(false), "%s", strerror(errno));
	munmap(values, 2 * HUGE);
	ON_CARD(0, 0);
}

static void migrate_anon_huge_zero_err(const char *name)
{
	uint64_t *values = empty_parts(1, MADV_HUGEPAGE);

	CHECK(folios_fail(true), "%s", strerror(errno));
	begin();
	MOVES(values, HUGE, 0, HUGE_PAGES);
	CHECK(card_sees(values, 0) && zeros(values, HUGE), "no zeros");
	munmap(values, HUGE);
	values = empty_parts(1, MADV_HUGEPAGE);
	CHECK(!*(volatile uint64_t *)values, "no zero");
	MOVES(values, HUGE, 0, HUGE_PAGES);
	CHECK(card_sees(values, 0) && zeros(values, HUGE), "no zeros where there was the zero page");
	HAPPENED(0, 0, after(DEBUG "counters", "\ntouches ") - was.touches);
	munmap(values, HUGE);
	values = empty_parts(1, MADV_HUGEPAGE);
	CHECK(folios_fail(false), "%s", strerror(errno));
	MOVES(values, HUGE, 0, HUGE_PAGES);
	CHECK(folios_fail(true), "%s", strerror(errno));
	CHECK(zeros(values, HUGE), "no zeros where the host has no huge page");
	CHECK(folios_fail(false), "%s", strerror(errno));
	munmap(values, HUGE);
	ON_CARD(0, 0);
}

/* Parts of one that are given back, protected and touched. */
static void a_part_of_a_folio_that_changes_splits_it(const char *name)
{
	uint64_t *values = parts(1, MADV_HUGEPAGE);
	char *at = (char *)values;

	MOVES(values, HUGE, 0, HUGE_PAGES);
	CHECK(!madvise(at + 2 * GROUP, GROUP, MADV_DONTNEED), "madvise: %s", strerror(errno));
	CHECK(!mprotect(at + 20 * GROUP, GROUP, PROT_READ), "mprotect: %s", strerror(errno));
	ON_CARD(1, HUGE_PAGES);
	CHECK(zeros(values + 2 * GROUP / 8, GROUP), "memory that was given back is not zero");
	ON_CARD(1, HUGE_PAGES);
	CHECK(right(values, 18 * 16, 0, false) && right(values, 10 * 16, 0, false), "the card finds another content");
	/* The touch splits it: what was given back is free, and what goes to the card again has its place there. */
	CHECK(values[5 * GROUP / 8] == 5 * GROUP / 8 * 0x9e3779b97f4a7c15ull, "another content");
	CHECK(after(DEBUG "pages", "\npool_folios ") == 0 && after(DEBUG "pages", "\npool_used ") < (long long)HUGE_PAGES, "it was not split");
	CHECK(values[20 * GROUP / 8] == 20 * GROUP / 8 * 0x9e3779b97f4a7c15ull, "another content");
	CHECK(!mprotect(at + 20 * GROUP, GROUP, PROT_READ | PROT_WRITE), "mprotect: %s", strerror(errno));
	CHECK(moved(values, HUGE, 0) >= 0, "%s", strerror(errno));
	ON_CARD(0, HUGE_PAGES);
	CHECK(own(values, HUGE_PAGES, 2 * GROUP / PAGE, GROUP / PAGE), "another content at home");
	munmap(values, HUGE);
	ON_CARD(0, 0);
}

/* The child has the parent's folio; who writes gets a page of one's own. @fail: nobody has a free huge page. */
static bool child_and_parent(bool fail)
{
	uint64_t *values = parts(2, MADV_HUGEPAGE);
	int status = 1;
	bool good;
	pid_t child;

	good = moved(values, 2 * HUGE, 0) == 2 * HUGE_PAGES && folios_fail(fail);
	child = fork();
	if (!child) {
		card = card_open();
		values[HUGE / 16] ^= 7;
		values[HUGE / 16] ^= 7;
		_exit(!own(values, 2 * HUGE_PAGES, 0, 0) || moved(values, 2 * HUGE, 0) < 0 || !right(values, HUGE_PAGES / 2, 0, true));
	}
	values[0] += 9;
	waitpid(child, &status, 0);
	good &= !status && right(values, 0, 9, true);
	values[0] -= 9;
	good &= own(values, 2 * HUGE_PAGES, 0, 0);
	munmap(values, 2 * HUGE);
	return folios_fail(false) && good;
}

static void a_child_has_the_folio_too(const char *name)
{
	CHECK(child_and_parent(false), "another content");
	ON_CARD(0, 0);
	CHECK(child_and_parent(true), "another content without a free huge page");
	ON_CARD(0, 0);
}

/* The card goes: @fail: while the host has no free huge page; a child that has no context, and memory that was moved elsewhere, have theirs. */
static bool card_goes(bool fail)
{
	uint64_t *values = parts(4, MADV_HUGEPAGE), *elsewhere;
	int status = 1, go[2];
	bool good, home;
	char word;
	pid_t child;

	good = card_find() && !pipe(go) && moved(values, 4 * HUGE, 0) == 4 * HUGE_PAGES;
	child = fork();
	if (!child) {
		close(go[1]);
		close(card);
		_exit(read(go[0], &word, 1) != 1 || !own(values, 4 * HUGE_PAGES, 0, 0));
	}
	close(go[0]);
	/* The child alone has the first, part of the second is gone, and the third is elsewhere. */
	munmap(values, HUGE);
	munmap((char *)values + HUGE, GROUP);
	elsewhere = mremap((char *)values + 2 * HUGE, HUGE, HUGE, MREMAP_MAYMOVE | MREMAP_FIXED, empty_parts(1, MADV_NORMAL));
	good &= elsewhere != MAP_FAILED && folios_fail(fail);
	close(card);
	good &= card_tell(CARD_DRIVER "/unbind");
	home = values[3 * HUGE / 8] == 3 * HUGE / 8 * 0x9e3779b97f4a7c15ull;
	good &= home && write(go[1], "g", 1) == 1;
	waitpid(child, &status, 0);
	good &= !status;
	for (uint64_t i = 2 * HUGE / 8; i < 3 * HUGE / 8 && good; i++)
		good = elsewhere[i - 2 * HUGE / 8] == i * 0x9e3779b97f4a7c15ull;
	for (uint64_t i = (HUGE + GROUP) / 8; i < 4 * HUGE / 8 && good; i = i + 1 == 2 * HUGE / 8 ? 3 * HUGE / 8 : i + 1)
		good = values[i] == i * 0x9e3779b97f4a7c15ull;
	close(go[1]);
	good &= card_tell(CARD_DRIVER "/bind");
	card = card_open();
	munmap((char *)values + HUGE, 3 * HUGE);
	munmap(elsewhere, HUGE);
	return good;
}

static void folios_come_home_when_the_card_goes(const char *name)
{
	CHECK(card_goes(false), "another content");
	ON_CARD(0, 0);
	CHECK(card_goes(true), "another content without a free huge page");
	ON_CARD(0, 0);
}

/* One in so many allocations fails, of places in device memory, in the host, and of all else that a move takes. */
static void folios_that_fail_lose_nothing(const char *name)
{
	int count = brief ? 1 : 3, i;
	uint64_t *values = parts(count, MADV_HUGEPAGE);
	char every[8];

	for (i = brief ? 3 : 0; i < (brief ? 6 : 12); i++) {
		snprintf(every, sizeof(every), "%d", 2 + 7 * i);
		CHECK(tell(DEBUG "fail_every", every), "%s", strerror(errno));
		CHECK(moved(values, count * HUGE, 0) >= 0 || errno == ENOMEM, "to the card: %s", strerror(errno));
		if (i % 3 == 1)
			CHECK(moved(values, count * HUGE, GODWIT_MIGRATE_TO_HOST) >= 0 || errno == ENOMEM, "home: %s", strerror(errno));
		if (i % 3 == 2)
			seen(values + (i % 2 ? 0 : (count - 1) * HUGE / 8));
		CHECK(own(values, count * HUGE_PAGES, 0, 0), "another content in round %d", i);
		CHECK(tell(DEBUG "fail_every", "0"), "%s", strerror(errno));
		/* What has become of single pages is one again. */
		madvise(values, count * HUGE, MADV_COLLAPSE);
	}
	CHECK(right(values, HUGE_PAGES - PAGES, 0, true), "another content");
	munmap(values, count * HUGE);
	ON_CARD(0, 0);
}

/*
 * A thread counts in every page of a huge page that goes and comes, by calls and because the card wants it, sometimes without a huge page
 * to go to, and of which a child has a copy now and then. Each touch brings it home, or splits it.
 */
static void no_write_is_lost_while_folios_move(const char *name)
{
	uint64_t *values = empty_parts(1, MADV_HUGEPAGE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	int rounds = brief ? 5 : 40, i, wrong;
	bool done = true;
	pid_t child;

	CHECK(tell(PARAMETERS "fight_ms", "0"), "%s", strerror(errno));
	begin();
	CHECK(counting_begins_in(values, HUGE_PAGES), "pthread_create");
	for (i = 0; i < rounds && done; i++) {
		done = folios_fail(i % 5 == 3) && (i % 3 ? moved(values, HUGE, 0) >= 0 : copies(to, values + HUGE / 16));
		if (i % 4 == 1)
			done = done && moved(values, HUGE, GODWIT_MIGRATE_TO_HOST) >= 0;
		child = i % 5 == 4 ? fork() : 0;
		if (i % 5 == 4 && !child)
			_exit(values[0] < values[HUGE / 8 - PAGE / 8]);
		if (child)
			done = done && waitpid(child, &wrong, 0) == child && !wrong;
		/* What has become of single pages is one again. */
		madvise(values, HUGE, MADV_COLLAPSE);
	}
	wrong = counting_ends();
	CHECK(folios_fail(false) && tell(PARAMETERS "fight_ms", "10"), "%s", strerror(errno));
	CHECK(done, "round %d: %s", i, strerror(errno));
	CHECK(wrong == (int)HUGE_PAGES, "page %d counts %llu of %llu", wrong, (unsigned long long)values[wrong * PAGE / 8],
	      (unsigned long long)counts);
	CHECK(after(DEBUG "counters", "\nfolios_out ") > was.out, "no folio moved");
	munmap(values, HUGE);
	munmap(to, BYTES);
	ON_CARD(0, 0);
}

/* The module has a pool of 128 MiB: what has no aligned place any more moves in pages, until none is left. */
static void a_pool_that_is_full_of_folios_is_full(const char *name)
{
	unsigned long pool = after(DEBUG "pages", "\npool ") / HUGE_PAGES, i;
	char *values = (char *)empty_parts(pool + 2, MADV_HUGEPAGE), *one = (char *)parts(1, MADV_NOHUGEPAGE);

	MOVES(one, PAGE, 0, 1);
	begin();
	MOVES(values, (pool + 2) * HUGE, 0, pool * HUGE_PAGES - 1);
	HAPPENED((long long)pool - 1, 0, 0);
	ON_CARD((long long)pool - 1, pool * HUGE_PAGES);
	/* Half of each is given back, which they keep as long as nobody splits them. */
	for (i = 0; i < pool; i++)
		CHECK(!madvise(values + i * HUGE, HUGE / 2, MADV_DONTNEED), "madvise: %s", strerror(errno));
	munmap(values, (pool + 2) * HUGE);
	munmap(one, HUGE);
	ON_CARD(0, 0);
}

/* Each in a process of its own: one that fails leaves nothing to the others. */
static void each(void (*test)(const char *), const char *name)
{
	int status = 1, before = failures;
	pid_t child;

	if (only && strcmp(only, name))
		return;
	fflush(stdout);
	tell(PARAMETERS "large_folios", "Y");
	child = fork();
	if (!child) {
		card = card_open();
		test(name);
		fflush(stdout);
		_exit(failures != before);
	}
	waitpid(child, &status, 0);
	tell(DEBUG "fail_every", "0");
	folios_fail(false);
	tell(PARAMETERS "large_folios", "Y");
	failures += status != 0;
	if (!status)
		printf("ok %s\n", name);
	else if (!WIFEXITED(status))
		printf("not ok %s: ended by signal %d\n", name, WTERMSIG(status));
	fflush(stdout);
}

#define EACH(function) each(function, #function)

int main(int argc, char **argv)
{
	brief = argc > 1;
	only = argc > 2 ? argv[2] : NULL;
	card = card_open();
	if (!migrates() || after(DEBUG "pages", "\npool_folios ") < 0) {
		printf("skip: this kernel has no device-private memory\n");
		return 0;
	}
	close(card);
	huge_pages_when_asked();
	tell("/sys/kernel/mm/transparent_hugepage/use_zero_page", "1");
	EACH(migrate_anon_huge_empty);
	EACH(migrate_anon_huge_zero);
	EACH(migrate_anon_huge_free);
	EACH(migrate_anon_huge_fault);
	EACH(what_the_card_asks_for_comes_whole);
	EACH(migrate_partial_unmap_fault);
	EACH(migrate_remap_fault);
	EACH(migrate_anon_huge_err);
	EACH(migrate_anon_huge_zero_err);
	EACH(a_part_of_a_folio_that_changes_splits_it);
	EACH(a_child_has_the_folio_too);
	EACH(folios_come_home_when_the_card_goes);
	EACH(folios_that_fail_lose_nothing);
	EACH(no_write_is_lost_while_folios_move);
	if (!brief)
		EACH(a_pool_that_is_full_of_folios_is_full);
	return failures != 0;
}
