/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of /dev/godwit-cmt for fuzz.c, whose generators these use: blocks come, change, are mapped where the card is sent, and go. */
#ifndef GODWIT_FUZZ_BLOCKS_H_
#define GODWIT_FUZZ_BLOCKS_H_

#include "blocks.h"

/* Addresses and buffers that calls of any thread gave. */
#define KNOWN 16
static volatile uint64_t known_blocks[KNOWN];
static int known_buffers[KNOWN];

/* An address that is a block's, or was, or something beside it. */
static uint64_t block_place(uint64_t *state)
{
	uint64_t at = known_blocks[next(state) % KNOWN];

	return next(state) % 8 ? at + (next(state) % 4 == 0) * (next(state) % 8) * PAGE : odd(state);
}

/* Over the arena, so that pins, launches and moves meet it there. */
static void block_map(int fd, uint64_t *state)
{
	uint64_t from = next(state) % ARENA_PAGES, pages = 1 + next(state) % (ARENA_PAGES - from);
	int flags = next(state) % 8 ? MAP_SHARED : MAP_PRIVATE, prot = next(state) % 4 ? PROT_READ | PROT_WRITE : PROT_READ;

	mmap(arena + from * PAGE, pages * PAGE, prot, flags | MAP_FIXED, fd, mostly(state, block_place(state)) / PAGE * PAGE);
}

static void block_alloc(int fd, uint64_t *state)
{
	struct godwit_cmt_alloc block = {
		.bytes = next(state) % 8 ? (1 + next(state) % 64) * PAGE : size(state),
		.align = mostly(state, next(state) % 2 * PAGE << next(state) % 8),
		.min = mostly(state, 0),
		.max = mostly(state, 0),
		.node = mostly(state, GODWIT_CMT_ANY_NODE),
		.flags = mostly(state, next(state) % 2),
		.reserved = mostly(state, 0),
	};

	if (next(state) % 8 == 0)
		call(fd, GODWIT_CMT_IOC_ALLOC, &block, sizeof(block), state);
	else if (!ioctl(fd, GODWIT_CMT_IOC_ALLOC, &block))
		known_blocks[next(state) % KNOWN] = block.address;
}

static void block_export(int fd, uint64_t *state)
{
	int buffer = device_export(fd, block_place(state)), *slot = &known_buffers[next(state) % KNOWN];

	if (buffer < 0)
		return;
	block_map(buffer, state);
	mmap(arena, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, buffer, 0);
	buffer = __atomic_exchange_n(slot, buffer, __ATOMIC_SEQ_CST);
	if (buffer)
		close(buffer);
}

static void block_call(int fd, uint64_t *state)
{
	struct godwit_cmt_piece piece = {
		.address = block_place(state),
		.bytes = next(state) % 2 * (next(state) % 4 ? next(state) % 64 * PAGE : odd(state)),
	};
	struct godwit_cmt_export what = { .address = block_place(state), .reserved = mostly(state, 1) };
	struct godwit_cmt_info info = { 0 };

	switch (next(state) % 8) {
	case 0:
		call(fd, GODWIT_CMT_IOC_INFO, &info, sizeof(info), state);
		break;
	case 1:
	case 2:
		block_alloc(fd, state);
		break;
	case 3:
		call(fd, GODWIT_CMT_IOC_FREE, &piece, sizeof(piece), state);
		break;
	case 4:
		call(fd, GODWIT_CMT_IOC_RESIZE, &piece, sizeof(piece), state);
		break;
	case 5:
		block_export(fd, state);
		/* One that is refused: what it gave would stay open. */
		what.reserved |= 1;
		call(fd, GODWIT_CMT_IOC_EXPORT, &what, sizeof(what), state);
		break;
	default:
		block_map(fd, state);
	}
}

/* Nothing is kept any more; false if the device has lost something by that. Without a device there is nothing to lose. */
static bool blocks_end(void)
{
	struct godwit_cmt_info info;
	int i, fd;

	for (i = 0; i < KNOWN; i++)
		if (known_buffers[i])
			close(known_buffers[i]);
	munmap(arena, HUGE);
	fd = device_open();
	if (fd < 0)
		return true;
	info = device_info(fd);
	close(fd);
	return info.free_bytes == info.total_bytes && !info.ending_bytes;
}

#endif /* GODWIT_FUZZ_BLOCKS_H_ */
