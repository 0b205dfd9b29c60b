// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cases of the kernel's own test of HMM (tools/testing/selftests/mm/hmm-tests.c), by its names, that the other programs do not
 * have. An accelerator makes the accesses. The kernel's exclusive cases are of devices whose atomic operations the bus does not
 * carry, for which Linux takes a page away from the processors; the card has none, and what is tested is what these cases say
 * of its writes.
 */
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "huge.h"
#include "values.h"

static void open_close(const char *name)
{
	struct godwit_info before = { 0 }, after = { 0 };
	int fd, i;

	CHECK(!ioctl(card, GODWIT_IOC_INFO, &before), "info: %s", strerror(errno));
	for (i = 0; i < 64; i++) {
		fd = card_open();
		CHECK(fd >= 0, "open %d: %s", i, strerror(errno));
		close(fd);
	}
	CHECK(!ioctl(card, GODWIT_IOC_INFO, &after), "info: %s", strerror(errno));
	CHECK(before.free_bytes == after.free_bytes, "%lld bytes of device memory",
	      (long long)(before.free_bytes - after.free_bytes));
}

static void anon_read_multiple(const char *name)
{
	int round;

	for (round = 0; round < 10; round++) {
		uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 1 + round);

		SEES(values, sum);
		munmap(values, BYTES);
	}
}

/* Linux could move what was written of it; the driver leaves all memory of files where it is, and the file as it was. */
static void migrate_file_private(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *values, *file, sum, in_file = fill(from, 3);
	int fd = memfd_create("private", 0);
	struct godwit_migrate what = { .size = BYTES };

	CHECK(write(fd, from, BYTES) == (ssize_t)BYTES, "write: %s", strerror(errno));
	values = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	file = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(values != MAP_FAILED && file != MAP_FAILED, "mmap: %s", strerror(errno));
	sum = fill(values, 4);
	what.addr = (uint64_t)values;
	CHECK(!migrates() || (!ioctl(card, GODWIT_IOC_MIGRATE, &what) && !what.pages), "%llu pages moved",
	      (unsigned long long)what.pages);
	SEES(values, sum);
	fill(from, 5);
	CHECK(copies(values, from) && !memcmp(values, from, BYTES), "no copy");
	CHECK(sum_of(file) == in_file, "the file has what was written privately");
	munmap(values, BYTES);
	munmap(file, BYTES);
	munmap(from, BYTES);
	close(fd);
}

/* Gives each page that is asked for something else than zeros. */
static void *give_pages(void *of)
{
	int uffd = *(int *)of;
	uint64_t page[PAGE / 8];
	struct uffd_msg message;

	memset(page, 0xab, sizeof(page));
	while (read(uffd, &message, sizeof(message)) == sizeof(message) && message.event == UFFD_EVENT_PAGEFAULT) {
		struct uffdio_copy copy = { .src = (uint64_t)page, .dst = message.arg.pagefault.address / PAGE * PAGE, .len = PAGE };

		ioctl(uffd, UFFDIO_COPY, &copy);
	}
	return NULL;
}

/*
 * Who brings pages for the card brings them for all that use it, and waits for nobody's program: what is missing ends a launch with a fault.
 * What the program has brought is there. (Linux's own checks of memory tell of each time that nobody waits.)
 */
static void userfaultfd_read(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), i;
	struct uffdio_register all = { .range = { .start = (uint64_t)values, .len = BYTES }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct card_sum got;
	pthread_t thread;

	if (uffd < 0 || !access("/sys/kernel/debug/kmemleak", F_OK)) {
		close(uffd);
		munmap(values, BYTES);
		return;
	}
	CHECK(!ioctl(uffd, UFFDIO_API, &api) && !ioctl(uffd, UFFDIO_REGISTER, &all), "userfaultfd: %s", strerror(errno));
	CHECK(!pthread_create(&thread, NULL, give_pages, &uffd), "pthread_create");
	CHECK(!card_array_sum(card, values, COUNT, 0, &got), "%s", strerror(errno));
	CHECK(got.run.end == GODWIT_RUN_FAULT && got.run.fault_address / PAGE * PAGE == (uint64_t)values, "end %u at %llx", got.run.end,
	      (unsigned long long)got.run.fault_address);
	for (i = 0; i < PAGES; i++)
		CHECK(((volatile uint64_t *)values)[i * PAGE / 8] == 0xababababababababull, "page %llu", (unsigned long long)i);
	SEES(values, COUNT * 0xababababababababull);
	/* Nobody waits for pages any more: the thread reads until it is told to end. */
	CHECK(!ioctl(uffd, UFFDIO_UNREGISTER, &all.range), "unregister: %s", strerror(errno));
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	close(uffd);
	munmap(values, BYTES);
}

/* Pages that the card was the first to touch, in a huge one. */
static void anon_write_huge(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to;
	char *area = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	to = (uint64_t *)(((uintptr_t)area + HUGE - 1) & ~(HUGE - 1));
	CHECK(!madvise(to, HUGE, MADV_HUGEPAGE), "madvise: %s", strerror(errno));
	fill(from, 1);
	CHECK(copies(to, from) && !memcmp(to, from, BYTES), "no copy");
	CHECK(!to[COUNT] && !to[HUGE / 8 - 1], "more than was copied");
	munmap(area, 2 * HUGE);
	munmap(from, BYTES);
}

static void anon_write_hugetlbfs(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = huge_page(), sum = fill(from, 2);
	struct godwit_migrate what = { .addr = (uint64_t)to, .size = HUGE };

	CHECK(to != MAP_FAILED, "%s", strerror(errno));
	CHECK(copies(to, from) && !memcmp(to, from, BYTES), "no copy");
	/* Linux moves none of them to a device, and says nothing. */
	CHECK(!migrates() || (!ioctl(card, GODWIT_IOC_MIGRATE, &what) && !what.pages), "it moved: %s", strerror(errno));
	SEES(to, sum);
	/* The end of one page, and what is not there behind it. */
	memcpy((char *)to + HUGE - BYTES, from, BYTES);
	SEES(to + (HUGE - BYTES) / 8, sum);
	CHECK(!copies(to + HUGE / 8 - COUNT / 2, from), "a copy over its end");
	munmap(to, HUGE);
	SEES(to, 1);
	munmap(from, BYTES);
}

/* One file of huge pages in two processes. */
static void hugetlbfs(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to, sum = fill(from, 3);
	int file = memfd_create("values", MFD_HUGETLB), status;
	pid_t child;

	CHECK(file >= 0 && !ftruncate(file, HUGE), "%s", strerror(errno));
	to = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(to != MAP_FAILED, "%s", strerror(errno));
	child = fork();
	if (!child) {
		card = card_open();
		_exit(!copies(to, from));
	}
	waitpid(child, &status, 0);
	CHECK(!status, "child: %x", status);
	SEES(to, sum);
	CHECK(!ftruncate(file, 0), "truncate: %s", strerror(errno));
	SEES(to, 1);
	munmap(to, HUGE);
	close(file);
	munmap(from, BYTES);
}

/* What the card wrote is there for the process's next store, over and over: each goes on from the other's. */
static void exclusive(const char *name)
{
	uint64_t *one = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *other = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t sum = fill(one, 4);
	int i;

	for (i = 0; i < 4; i++) {
		CHECK(copies(other, one), "no copy");
		other[i]++;
		CHECK(copies(one, other), "no copy back");
		SEES(one, sum + i + 1);
	}
	munmap(one, BYTES);
	munmap(other, BYTES);
}

/* Memory that the card writes becomes read-only: nothing of what it writes afterwards comes through. */
static void exclusive_mprotect(const char *name)
{
	uint64_t *one = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t sum = fill(one, 5);

	CHECK(copies(to, one), "no copy");
	fill(one, 6);
	CHECK(!mprotect(to, BYTES, PROT_READ), "mprotect: %s", strerror(errno));
	CHECK(!copies(to, one), "a copy into memory that is read-only");
	SEES(to, sum);
	munmap(one, BYTES);
	munmap(to, BYTES);
}

/* Memory that the card writes is inherited: from then on neither sees what is written for the other. */
static void exclusive_cow(const char *name)
{
	uint64_t *one = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t old = fill(one, 7), sum;
	int status, go[2];
	char byte = 0;
	pid_t child;

	CHECK(copies(to, one) && !pipe(go), "no copy");
	child = fork();
	if (!child) {
		card = card_open();
		status = read(go[0], &byte, 1) != 1 || seen(to) != old;
		/* Its own, from here. */
		to[0]++;
		_exit(status || seen(to) != old + 1);
	}
	sum = fill(one, 8);
	CHECK(copies(to, one), "no copy for the parent");
	CHECK(write(go[1], &byte, 1) == 1, "write");
	waitpid(child, &status, 0);
	CHECK(!status, "the child sees what the card wrote for the parent");
	SEES(to, sum);
	close(go[0]);
	close(go[1]);
	munmap(one, BYTES);
	munmap(to, BYTES);
}

/* Pages that somebody else has pinned (here a pipe): the card writes them where they are, and they do not move. */
static void hmm_gup_test(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t *read_back = malloc(8 * PAGE);
	struct godwit_migrate what = { .addr = (uint64_t)to, .size = BYTES };
	struct iovec all = { to, 8 * PAGE };
	uint64_t sum = fill(from, 9);
	int pipes[2];

	fill(to, 10);
	CHECK(!pipe(pipes), "pipe: %s", strerror(errno));
	/* It brings home what was on the card. */
	if (migrates())
		CHECK(!ioctl(card, GODWIT_IOC_MIGRATE, &what) && what.pages == PAGES, "%lld moved", (long long)what.pages);
	CHECK(vmsplice(pipes[1], &all, 1, 0) == (ssize_t)all.iov_len, "vmsplice: %s", strerror(errno));
	CHECK(copies(to, from), "no copy");
	if (migrates()) {
		ioctl(card, GODWIT_IOC_MIGRATE, &what);
		SEES(to, sum);
	}
	CHECK(read(pipes[0], read_back, all.iov_len) == (ssize_t)all.iov_len, "read: %s", strerror(errno));
	CHECK(!memcmp(read_back, from, all.iov_len), "who pinned them does not see what the card wrote");
	free(read_back);
	close(pipes[0]);
	close(pipes[1]);
	munmap(from, BYTES);
	munmap(to, BYTES);
}

int main(void)
{
	card = card_open();
	if (!huge_reserve("2"))
		printf("no huge pages: %s\n", strerror(errno));
	TEST(open_close);
	TEST(anon_read_multiple);
	TEST(migrate_file_private);
	TEST(userfaultfd_read);
	TEST(anon_write_huge);
	TEST(anon_write_hugetlbfs);
	TEST(hugetlbfs);
	TEST(exclusive);
	TEST(exclusive_mprotect);
	TEST(exclusive_cow);
	TEST(hmm_gup_test);
	huge_reserve("0");
	return failures != 0;
}
