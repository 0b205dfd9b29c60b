// SPDX-License-Identifier: GPL-2.0-only
/* Contiguous memory of /dev/godwit-cmt: where it is, whose it is, and when others get it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "../module/rig.h"
#include "blocks.h"
#include "values.h"

#define MIB (1ul << 20)

static struct godwit_cmt_info whole;

/* All of it is free again, also what was just freed. */
static bool all_free(void)
{
	int fd = device_open();
	struct godwit_cmt_info now = device_info(fd);

	close(fd);
	return now.free_bytes == whole.total_bytes && !now.ending_bytes && now.largest_bytes == whole.largest_bytes;
}

/* Whether the kernel sees this physical address behind a pointer; of memory without pages it does not say. */
static bool is_at(const void *at, uint64_t address)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	if (pread(fd, &entry, sizeof(entry), (uintptr_t)at / PAGE * sizeof(entry)) != sizeof(entry))
		entry = 0;
	close(fd);
	return !(whole.flags & GODWIT_CMT_PAGES) || (entry >> 63 && (entry & ((1ull << 55) - 1)) == address / PAGE);
}

static bool is_zero(const uint64_t *at, uint64_t bytes)
{
	uint64_t i;

	for (i = 0; i < bytes / 8; i++)
		if (at[i])
			return false;
	return true;
}

static int ends(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void blocks_are_one_piece_at_their_address(const char *name)
{
	struct godwit_cmt_alloc block;
	int fd = device_open();
	uint64_t *at, *part, i;

	CHECK(whole.abi == GODWIT_CMT_ABI && whole.largest_bytes >= 4 * MIB && whole.areas, "%llu bytes in %u areas",
	      (unsigned long long)whole.largest_bytes, whole.areas);
	CHECK(!device_alloc(fd, 3 * MIB - 5, &block), "%s", strerror(errno));
	CHECK(block.bytes == 3 * MIB && block.address % PAGE == 0, "%llx", (unsigned long long)block.address);
	CHECK(device_info(fd).blocks == 1 && device_info(fd).free_bytes == whole.total_bytes - 3 * MIB, "not counted");
	at = device_map(fd, block.bytes, block.address);
	CHECK(at != MAP_FAILED, "%s", strerror(errno));
	CHECK(is_zero(at, block.bytes), "there was something");
	for (i = 0; i < block.bytes / PAGE; i++) {
		at[i * PAGE / 8] = i;
		CHECK(is_at(&at[i * PAGE / 8], block.address + i * PAGE), "page %lu is elsewhere", i);
	}
	part = device_map(fd, PAGE, block.address + 5 * PAGE);
	CHECK(part != MAP_FAILED && *part == 5, "a page of it");
	munmap(part, PAGE);
	munmap(at, block.bytes);
	close(fd);
	CHECK(all_free(), "not all is free again");
}

static void limits_are_kept(const char *name)
{
	struct godwit_cmt_alloc low, first, block = { .bytes = MIB, .align = MIB, .node = GODWIT_CMT_ANY_NODE };
	uint64_t start, middle;
	int fd = device_open();

	CHECK(!device_alloc(fd, PAGE, &low), "%s", strerror(errno));
	start = low.address;
	CHECK(!ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block) && block.address % MIB == 0, "align: %s", strerror(errno));
	CHECK(!device_free(fd, block.address), "free: %s", strerror(errno));
	CHECK(!device_alloc(fd, whole.largest_bytes / 2, &first), "half: %s", strerror(errno));
	middle = first.address + first.bytes;
	CHECK(!device_free(fd, first.address), "free: %s", strerror(errno));
	block = (struct godwit_cmt_alloc){ .bytes = PAGE, .min = middle, .node = GODWIT_CMT_ANY_NODE };
	CHECK(!ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block) && block.address >= middle, "min: %s", strerror(errno));
	block = (struct godwit_cmt_alloc){ .bytes = PAGE, .max = start + 2 * PAGE - 1, .node = GODWIT_CMT_ANY_NODE };
	CHECK(!ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block) && block.address == start + PAGE, "max: %s", strerror(errno));
	block = (struct godwit_cmt_alloc){ .bytes = PAGE, .node = 0, .flags = GODWIT_CMT_STRICT_NODE };
	CHECK(!ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block), "node: %s", strerror(errno));
	close(fd);
	CHECK(all_free(), "not all is free again");
}

static void what_does_not_fit_is_refused_with_its_reason(const char *name)
{
	struct godwit_cmt_alloc block = { .bytes = whole.total_bytes + PAGE, .node = GODWIT_CMT_ANY_NODE };
	int fd = device_open();

	REFUSED(ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block), ENOMEM);
	CHECK(block.reason == GODWIT_CMT_FULL && block.free_bytes == whole.total_bytes &&
	      block.largest_bytes == whole.largest_bytes, "full: %u", block.reason);
	block = (struct godwit_cmt_alloc){ .bytes = PAGE, .max = 4 * PAGE, .node = GODWIT_CMT_ANY_NODE };
	REFUSED(ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block), ENOMEM);
	CHECK(block.reason == GODWIT_CMT_ELSEWHERE && !block.placed_bytes, "elsewhere: %u", block.reason);
	block = (struct godwit_cmt_alloc){ .bytes = PAGE, .node = 77, .flags = GODWIT_CMT_STRICT_NODE };
	REFUSED(ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block), ENOMEM);
	CHECK(block.reason == GODWIT_CMT_ELSEWHERE, "node: %u", block.reason);
	block = (struct godwit_cmt_alloc){ .bytes = PAGE, .align = 1ull << 62, .node = GODWIT_CMT_ANY_NODE };
	REFUSED(ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block), ENOMEM);
	CHECK(block.reason == GODWIT_CMT_UNALIGNED, "align: %u", block.reason);
	/* Every other page is taken. */
	while (!device_alloc(fd, PAGE, &block))
		;
	CHECK(block.reason == GODWIT_CMT_FULL && !block.free_bytes, "full: %u", block.reason);
	CHECK(device_info(fd).blocks == whole.total_bytes / PAGE, "%u blocks", device_info(fd).blocks);
	close(fd);
	CHECK(all_free(), "not all is free again");
}

static void memory_in_pieces_is_found_or_said(const char *name)
{
	struct godwit_cmt_alloc blocks[16], block;
	int fd = device_open(), i;

	for (i = 0; i < 16; i++)
		CHECK(!device_alloc(fd, whole.largest_bytes / 32, &blocks[i]), "%d: %s", i, strerror(errno));
	CHECK(!device_alloc(fd, device_info(fd).largest_bytes, &block), "the rest: %s", strerror(errno));
	while (!device_alloc(fd, PAGE, &block))
		;
	for (i = 0; i < 16; i += 2)
		CHECK(!device_free(fd, blocks[i].address), "free: %s", strerror(errno));
	REFUSED(device_alloc(fd, 2 * blocks[0].bytes, &block), ENOMEM);
	CHECK(block.reason == GODWIT_CMT_IN_PIECES && block.largest_bytes == blocks[0].bytes, "%u", block.reason);
	CHECK(!device_free(fd, blocks[3].address), "free: %s", strerror(errno));
	CHECK(!device_alloc(fd, 3 * blocks[0].bytes, &block) && block.address == blocks[2].address, "%s", strerror(errno));
	close(fd);
	CHECK(all_free(), "not all is free again");
}

static void sizes_change_where_blocks_are(const char *name)
{
	struct godwit_cmt_alloc block, next;
	int fd = device_open(), i;
	uint64_t *at;

	CHECK(!device_alloc(fd, 2 * PAGE, &block), "%s", strerror(errno));
	at = device_map(fd, 2 * PAGE, block.address);
	at[0] = 7;
	CHECK(!device_resize(fd, block.address, MIB + 1), "grow: %s", strerror(errno));
	REFUSED(device_resize(fd, block.address, PAGE), EBUSY);
	munmap(at, 2 * PAGE);
	at = device_map(fd, MIB + PAGE, block.address);
	CHECK(at != MAP_FAILED && at[0] == 7 && is_zero(at + 1, MIB + PAGE - 8), "what it holds");
	for (i = 0; i < 4; i++)
		at[i * PAGE / 8] = i + 1;
	munmap(at, MIB + PAGE);
	CHECK(!device_resize(fd, block.address, 2 * PAGE), "shrink: %s", strerror(errno));
	CHECK(device_map(fd, 3 * PAGE, block.address) == MAP_FAILED && errno == ENXIO, "more than there is");
	CHECK(!device_alloc(fd, PAGE, &next) && next.address == block.address + 2 * PAGE, "what was cut off: %s", strerror(errno));
	REFUSED(device_resize(fd, block.address, 3 * PAGE), EBUSY);
	at = device_map(fd, PAGE, next.address);
	CHECK(is_zero(at, PAGE), "what was cut off is not clean");
	munmap(at, PAGE);
	REFUSED(device_resize(fd, block.address, 0), EINVAL);
	REFUSED(device_resize(fd, block.address + PAGE, PAGE), ENOENT);
	REFUSED(device_resize(fd, block.address, ~0ull), EINVAL);
	REFUSED(device_resize(fd, block.address, 1ull << 62), EBUSY);
	close(fd);
}

static void processes_have_their_own(const char *name)
{
	struct godwit_cmt_alloc block, other;
	int fd = device_open(), second;
	uint64_t *at;
	pid_t child;

	CHECK(!device_alloc(fd, MIB, &block), "%s", strerror(errno));
	at = device_map(fd, MIB, block.address);
	memset(at, 0x5a, MIB);
	child = fork();
	if (!child) {
		second = device_open();
		if (device_map(second, PAGE, block.address) != MAP_FAILED || errno != ENXIO)
			_exit(1);
		if (device_free(second, block.address) != -1 || errno != ENOENT || device_export(second, block.address) != -1)
			_exit(2);
		if (device_alloc(second, PAGE, &other) || other.address - block.address < MIB)
			_exit(3);
		/* The file and the mapping that it has from its parent are its parent's. */
		at[1] = at[0] + 1;
		_exit(0);
	}
	CHECK(!ends(child), "the child has what is not its own");
	CHECK(at[1] == at[0] + 1, "what a child writes is seen");
	close(fd);
	CHECK(!all_free(), "what is mapped was given back");
	munmap(at, MIB);
	CHECK(all_free(), "not all is free again");
}

static void a_process_that_is_killed_leaves_nothing(const char *name)
{
	struct godwit_cmt_alloc block;
	uint64_t *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *at;
	int fd, i;

	for (i = 0; i < 4; i++) {
		pid_t child = fork();

		if (!child) {
			fd = device_open();
			while (!device_alloc(fd, MIB, &block)) {
				memset(device_map(fd, MIB, block.address), 0xff, MIB);
				device_export(fd, block.address);
				++*shared;
			}
			pause();
		}
		while (*shared < (i + 1) * (whole.largest_bytes / MIB / 2))
			usleep(1000);
		kill(child, SIGKILL);
		CHECK(ends(child) == 128 + SIGKILL, "killed");
		CHECK(all_free(), "not all is free again");
	}
	fd = device_open();
	CHECK(!device_alloc(fd, whole.largest_bytes, &block), "%s", strerror(errno));
	at = device_map(fd, block.bytes, block.address);
	CHECK(is_zero(at, block.bytes), "something of it is seen");
	munmap(at, block.bytes);
	close(fd);
}

static void a_block_lives_as_long_as_somebody_maps_it(const char *name)
{
	struct godwit_cmt_alloc block, other;
	int fd = device_open();
	uint64_t *at;

	CHECK(!device_alloc(fd, MIB, &block), "%s", strerror(errno));
	at = device_map(fd, MIB, block.address);
	at[0] = 11;
	CHECK(!device_free(fd, block.address), "free: %s", strerror(errno));
	REFUSED(device_free(fd, block.address), ENOENT);
	CHECK(!device_alloc(fd, MIB, &other) && other.address != block.address, "it was given to others");
	CHECK(at[0] == 11 && !at[PAGE / 8], "what it holds");
	/* A part that is left is as good as the whole. */
	munmap(at, MIB - PAGE);
	CHECK(device_info(fd).free_bytes == whole.total_bytes - 2 * MIB, "it was given to others");
	munmap((char *)at + MIB - PAGE, PAGE);
	CHECK(device_info(fd).free_bytes == whole.total_bytes - MIB, "it is not free");
	close(fd);
}

static void a_dma_buf_is_the_same_memory_elsewhere(const char *name)
{
	struct godwit_cmt_alloc block;
	int fd = device_open(), buffer;
	uint64_t *at, *there;
	pid_t child;

	CHECK(!device_alloc(fd, MIB, &block), "%s", strerror(errno));
	at = device_map(fd, MIB, block.address);
	at[PAGE / 8] = 42;
	buffer = device_export(fd, block.address);
	CHECK(buffer >= 0, "export: %s", strerror(errno));
	CHECK(lseek(buffer, 0, SEEK_END) == (off_t)MIB, "its size");
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, buffer, 0) == MAP_FAILED && errno == EINVAL, "a copy");
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, buffer, MIB) == MAP_FAILED, "what is behind it");
	close(fd);
	munmap(at, MIB);
	child = fork();
	if (!child) {
		there = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, buffer, PAGE);
		if (there == MAP_FAILED || there[0] != 42 || !is_at(there, block.address + PAGE))
			_exit(1);
		there[1] = 43;
		_exit(0);
	}
	CHECK(!ends(child), "another process does not see it");
	there = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, buffer, 0);
	CHECK(there != MAP_FAILED && there[PAGE / 8 + 1] == 43, "what another process wrote");
	close(buffer);
	CHECK(!all_free(), "what is mapped was given back");
	munmap(there, MIB);
	CHECK(all_free(), "not all is free again");
}

static void another_driver_gets_a_dma_buf_in_one_piece(const char *name)
{
	int fd = device_open(), rig = open("/dev/rig", O_RDWR);
	struct godwit_cmt_alloc block;
	struct rig_import import;

	CHECK(rig >= 0 && !device_alloc(fd, 3 * MIB, &block), "%s", strerror(errno));
	import = (struct rig_import){ .fd = device_export(fd, block.address) };
	CHECK(!ioctl(rig, RIG_IOC_IMPORT, &import), "import: %s", strerror(errno));
	CHECK(import.entries == 1 && import.address == block.address && import.bytes == 3 * MIB, "%llx of %llx in %u",
	      (unsigned long long)import.address, (unsigned long long)import.bytes, import.entries);
	/* It grows, and the dma-buf is what it was. */
	CHECK(!device_resize(fd, block.address, 3 * MIB + PAGE), "grow: %s", strerror(errno));
	CHECK(!ioctl(rig, RIG_IOC_IMPORT, &import) && import.bytes == 3 * MIB, "import: %s", strerror(errno));
	close(import.fd);
	close(rig);
	close(fd);
	CHECK(all_free(), "not all is free again");
}

static void what_is_pinned_is_given_to_nobody(const char *name)
{
	struct godwit_cmt_alloc block;
	int fd = device_open(), pipes[2];
	struct iovec all;
	uint64_t *at;

	CHECK(!device_alloc(fd, 4 * PAGE, &block), "%s", strerror(errno));
	at = device_map(fd, 4 * PAGE, block.address);
	memset(at, 1, 4 * PAGE);
	all = (struct iovec){ at, 4 * PAGE };
	CHECK(!pipe(pipes), "pipe: %s", strerror(errno));
	if (!(whole.flags & GODWIT_CMT_PAGES)) {
		CHECK(vmsplice(pipes[1], &all, 1, 0) == -1, "memory without pages was pinned");
	} else {
		CHECK(vmsplice(pipes[1], &all, 1, 0) == 4 * PAGE, "vmsplice: %s", strerror(errno));
		CHECK(device_resize(fd, block.address, PAGE) == -1 && errno == EBUSY, "what is pinned was cut off");
		munmap(at, 4 * PAGE);
		REFUSED(device_resize(fd, block.address, PAGE), EBUSY);
		CHECK(!device_free(fd, block.address), "free: %s", strerror(errno));
		CHECK(device_info(fd).ending_bytes == 4 * PAGE, "it is not waited for");
		CHECK(device_info(fd).free_bytes == whole.total_bytes - 4 * PAGE, "it was given to others");
	}
	close(pipes[0]);
	close(pipes[1]);
	munmap(at, 4 * PAGE);
	close(fd);
	CHECK(all_free(), "not all is free again");
}

/* The RTL reads and writes blocks at the pointers that the process has, as in the kernel's own case `mixedmap`. */
static void mixedmap(const char *name)
{
	struct godwit_cmt_alloc block;
	int fd = device_open();
	uint64_t *at, sum;

	card = card_open();
	CHECK(!device_alloc(fd, 2 * BYTES, &block), "%s", strerror(errno));
	at = device_map(fd, 2 * BYTES, block.address);
	sum = fill(at, 3);
	if (!(whole.flags & GODWIT_CMT_PAGES)) {
		CHECK(seen(at) == 1, "memory without pages was found");
	} else {
		SEES(at, sum);
		CHECK(copies(at + COUNT, at), "the card does not write it");
		CHECK(!memcmp(at, at + COUNT, BYTES), "what the card wrote");
		munmap(at, BYTES);
		CHECK(seen(at) == 1, "it is still seen");
		SEES(at + COUNT, sum);
	}
	munmap(at, 2 * BYTES);
	close(card);
	close(fd);
	CHECK(all_free(), "not all is free again");
}

static void nonsense_is_refused(const char *name)
{
	struct godwit_cmt_alloc block = { .node = GODWIT_CMT_ANY_NODE };
	struct godwit_cmt_export what = { .reserved = 1 };
	struct godwit_cmt_piece piece;
	int fd = device_open();

	REFUSED(ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block), EINVAL);
	block.bytes = ~0ull;
	REFUSED(ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block), EINVAL);
	block.bytes = PAGE;
	block.align = 3;
	REFUSED(ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block), EINVAL);
	block.align = 0;
	block.flags = 2;
	REFUSED(ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block), EINVAL);
	block.flags = 0;
	block.reserved = 1;
	REFUSED(ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block), EINVAL);
	REFUSED(ioctl(fd, GODWIT_CMT_IOC_ALLOC, NULL), EFAULT);
	REFUSED(ioctl(fd, GODWIT_CMT_IOC_EXPORT, &what), EINVAL);
	REFUSED(ioctl(fd, _IO('g', 0x65)), ENOTTY);
	CHECK(!device_alloc(fd, 2 * PAGE, &block), "%s", strerror(errno));
	piece = (struct godwit_cmt_piece){ .address = block.address, .bytes = PAGE };
	REFUSED(ioctl(fd, GODWIT_CMT_IOC_FREE, &piece), EINVAL);
	REFUSED(device_free(fd, block.address + PAGE), ENOENT);
	REFUSED(device_free(fd, block.address + 1), ENOENT);
	REFUSED(device_free(fd, 0), ENOENT);
	REFUSED(device_export(fd, block.address + PAGE), ENOENT);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, block.address) == MAP_FAILED && errno == EINVAL, "a copy");
	CHECK(device_map(fd, 3 * PAGE, block.address) == MAP_FAILED && errno == ENXIO, "more than there is");
	CHECK(device_map(fd, PAGE, block.address + 2 * PAGE) == MAP_FAILED && errno == ENXIO, "what is behind it");
	CHECK(device_map(fd, PAGE, 0) == MAP_FAILED && errno == ENXIO, "other memory");
	close(fd);
	CHECK(all_free(), "not all is free again");
}

int main(void)
{
	int fd = device_open();

	whole = device_info(fd);
	close(fd);
	TEST(blocks_are_one_piece_at_their_address);
	TEST(limits_are_kept);
	TEST(what_does_not_fit_is_refused_with_its_reason);
	TEST(memory_in_pieces_is_found_or_said);
	TEST(sizes_change_where_blocks_are);
	TEST(processes_have_their_own);
	TEST(a_process_that_is_killed_leaves_nothing);
	TEST(a_block_lives_as_long_as_somebody_maps_it);
	TEST(a_dma_buf_is_the_same_memory_elsewhere);
	TEST(another_driver_gets_a_dma_buf_in_one_piece);
	TEST(what_is_pinned_is_given_to_nobody);
	TEST(mixedmap);
	TEST(nonsense_is_refused);
	return failures != 0;
}
