// SPDX-License-Identifier: GPL-2.0-only
/* Memory of malloc() that is pinned, and the real RTL that sums it: same pointers on both sides. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "card.h"
#include "check.h"

#define COUNT 5000

static uint64_t *numbers(uint64_t first)
{
	uint64_t *values = malloc(COUNT * sizeof(*values));
	int i;

	for (i = 0; i < COUNT; i++)
		values[i] = (first + i) * 0x9e3779b97f4a7c15ull;
	return values;
}

static uint64_t sum_of(const uint64_t *values)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < COUNT; i++)
		sum += values[i];
	return sum;
}

static void the_card_says_what_it_is(const char *name)
{
	struct godwit_info info = { 0 };
	int fd = card_open();

	CHECK(fd >= 0, "open: %s", strerror(errno));
	CHECK(!ioctl(fd, GODWIT_IOC_INFO, &info), "info: %s", strerror(errno));
	CHECK(info.abi == GODWIT_ABI, "ABI %u", info.abi);
	CHECK(info.kernels == CARD_KERNELS && info.contexts == 16, "%u kernels, %u contexts", info.kernels, info.contexts);
	CHECK(info.memory_bytes == CARD_MEMORY_BYTES, "%llu bytes", (unsigned long long)info.memory_bytes);
	CHECK(info.free_bytes < info.memory_bytes && info.va_bits == 47, "%u bits", info.va_bits);
	close(fd);
}

static void a_kernel_sums_what_malloc_gave(const char *name)
{
	uint64_t *values = numbers(1), sum = sum_of(values);
	struct card_sum got;
	int fd = card_open();

	CHECK(!card_pin(fd, values, COUNT * 8, 0), "pin: %s", strerror(errno));
	CHECK(!card_array_sum(fd, values, COUNT, 0, &got), "run: %s", strerror(errno));
	CHECK(got.run.end == GODWIT_RUN_DONE && !got.status, "end %u, status %u", got.run.end, got.status);
	CHECK(got.sum == sum, "%llx, not %llx", (unsigned long long)got.sum, (unsigned long long)sum);
	/* A store of the program is in the next launch's sum. */
	values[COUNT - 1] += 5;
	CHECK(!card_array_sum(fd, values, COUNT, 0, &got) && got.sum == sum + 5, "%llx", (unsigned long long)got.sum);
	close(fd);
	free(values);
}

/* With page requests memory comes without being pinned; a page that nobody has does not. */
static void what_is_not_there_is_a_fault_with_its_address(const char *name)
{
	uint64_t *values = mmap(NULL, COUNT * 8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct card_sum got;
	int fd = card_open();

	CHECK(!card_array_sum(fd, values, COUNT, 0, &got), "run: %s", strerror(errno));
	CHECK(got.run.end == GODWIT_RUN_FAULT && got.status == 1, "end %u, status %u", got.run.end, got.status);
	CHECK(got.run.fault_address - (uint64_t)values < COUNT * 8, "at %llx, not in %p",
	      (unsigned long long)got.run.fault_address, values);
	/* Pinned, taken away again and unmapped: the card has forgotten it. */
	mprotect(values, COUNT * 8, PROT_READ | PROT_WRITE);
	values[9] = 5;
	CHECK(!card_pin(fd, values, COUNT * 8, GODWIT_PIN_WRITE), "pin: %s", strerror(errno));
	CHECK(!card_array_sum(fd, values, COUNT, 0, &got) && got.run.end == GODWIT_RUN_DONE, "end %u", got.run.end);
	CHECK(got.sum == 5, "%llx", (unsigned long long)got.sum);
	CHECK(!card_unpin(fd, values, COUNT * 8), "unpin: %s", strerror(errno));
	munmap(values, COUNT * 8);
	CHECK(!card_array_sum(fd, values, COUNT, 0, &got) && got.run.end == GODWIT_RUN_FAULT, "end %u", got.run.end);
	close(fd);
}

/* The child's memory is at the same addresses, and is not the parent's. */
static void each_process_has_its_own_addresses(const char *name)
{
	uint64_t *values = numbers(3);
	struct card_sum got;
	int fd = card_open(), status = -1;
	pid_t child;

	CHECK(!card_pin(fd, values, COUNT * 8, 0), "pin: %s", strerror(errno));
	child = fork();
	if (!child) {
		int own = card_open();

		values[7] = 1;
		status = card_pin(own, values, COUNT * 8, 0) || card_array_sum(own, values, COUNT, 0, &got);
		_exit(status || got.sum != sum_of(values));
	}
	CHECK(!card_array_sum(fd, values, COUNT, 0, &got) && got.sum == sum_of(values), "parent: %llx",
	      (unsigned long long)got.sum);
	waitpid(child, &status, 0);
	CHECK(!status, "child: %x", status);
	close(fd);
	free(values);
}

static void a_process_that_dies_leaves_nothing(const char *name)
{
	struct godwit_info before = { 0 }, after = { 0 };
	int fd = card_open(), status, i;

	ioctl(fd, GODWIT_IOC_INFO, &before);
	for (i = 0; i < 20; i++) {
		pid_t child = fork();

		if (!child) {
			uint64_t *values = numbers(4);

			card_pin(card_open(), values, COUNT * 8, 0);
			raise(SIGKILL);
		}
		waitpid(child, &status, 0);
		CHECK(WIFSIGNALED(status), "child: %x", status);
	}
	ioctl(fd, GODWIT_IOC_INFO, &after);
	CHECK(before.free_bytes == after.free_bytes, "%lld bytes of device memory",
	      (long long)(before.free_bytes - after.free_bytes));
	close(fd);
}

static void contexts_end_at_their_number(const char *name)
{
	struct godwit_info info;
	int fds[64], count = 0;

	while (count < 64 && (fds[count] = card_open()) >= 0)
		count++;
	CHECK(count == 16 && errno == EUSERS, "%d contexts, then %s", count, strerror(errno));
	close(fds[5]);
	fds[5] = card_open();
	CHECK(fds[5] >= 0 && !ioctl(fds[5], GODWIT_IOC_INFO, &info) && info.context == 5, "context %u", info.context);
	while (count--)
		close(fds[count]);
}

static void what_makes_no_sense_is_refused(const char *name)
{
	static uint64_t pages[1024] __attribute__((aligned(4096)));
	uint64_t *page = pages + 512;
	struct godwit_register low = { .offset = 0 }, odd = { .offset = 0x12 }, far = { .offset = 0x10000 };
	struct godwit_run run = { .slot = CARD_KERNELS };
	struct godwit_pin pin = { .addr = (uint64_t)page, .size = 8, .flags = 2 };
	struct card_sum got;
	int fd = card_open();

	REFUSED(card_pin(fd, page, 0, 0), EINVAL);
	REFUSED(card_pin(fd, page, ~0ull, 0), EINVAL);
	REFUSED(card_pin(fd, (void *)(1ull << 47), 4096, 0), EINVAL);
	REFUSED(ioctl(fd, GODWIT_IOC_PIN, &pin), EINVAL);
	/* More than there is: nobody else's memory goes for the list of its pages. */
	REFUSED(card_pin(fd, page, 1ull << 45, 0), ENOMEM);
	REFUSED(card_pin(fd, (void *)4096, 4096, 0), EFAULT);
	REFUSED(card_unpin(fd, page, 4096), ENOENT);
	CHECK(!card_pin(fd, page, 4096, 0), "pin: %s", strerror(errno));
	REFUSED(card_pin(fd, page, 8, 0), EEXIST);
	REFUSED(card_unpin(fd, pages, 8192), ENOENT);
	/* What overlaps at its end has taken nothing. */
	REFUSED(card_pin(fd, pages, 8192, 0), EEXIST);
	CHECK(!card_unpin(fd, page, 100), "unpin: %s", strerror(errno));
	REFUSED(ioctl(fd, GODWIT_IOC_RUN, &run), EINVAL);
	run = (struct godwit_run){ .writes = (uint64_t)&low, .write_count = 1 };
	REFUSED(ioctl(fd, GODWIT_IOC_RUN, &run), EINVAL);
	run.writes = (uint64_t)&odd;
	REFUSED(ioctl(fd, GODWIT_IOC_RUN, &run), EINVAL);
	run.writes = (uint64_t)&far;
	REFUSED(ioctl(fd, GODWIT_IOC_RUN, &run), EINVAL);
	run.write_count = GODWIT_RUN_REGISTERS + 1;
	REFUSED(ioctl(fd, GODWIT_IOC_RUN, &run), EINVAL);
	run = (struct godwit_run){ .writes = 1, .write_count = 2 };
	REFUSED(ioctl(fd, GODWIT_IOC_RUN, &run), EFAULT);
	REFUSED(ioctl(fd, 0x1234, 0), ENOTTY);
	/* After all that it still works. */
	CHECK(!card_pin(fd, page, 4096, 0) && !card_array_sum(fd, page, 100, 0, &got) && got.sum == 0, "run: %s",
	      strerror(errno));
	close(fd);
}

int main(void)
{
	TEST(the_card_says_what_it_is);
	TEST(a_kernel_sums_what_malloc_gave);
	TEST(what_is_not_there_is_a_fault_with_its_address);
	TEST(each_process_has_its_own_addresses);
	TEST(a_process_that_dies_leaves_nothing);
	TEST(contexts_end_at_their_number);
	TEST(what_makes_no_sense_is_refused);
	return failures != 0;
}
