// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <string.h>

/* Frames do not begin at 0, so that an address that was never set shows. */
#define BASE ((uint64_t)0x40000)

uint64_t *memory_entry(struct memory *memory, uint64_t pa)
{
	uint64_t frame = (pa - BASE) / 4096;

	CHECK(pa % 8 == 0 && pa >= BASE && frame < MEMORY_FRAMES && memory->live[frame]);
	return &memory->words[frame][pa % 4096 / 8];
}

static uint64_t read_entry(void *ctx, uint64_t pa)
{
	struct memory *memory = ctx;

	if (memory->reads_left == 1)
		return UINT64_MAX;
	memory->reads_left -= memory->reads_left ? 1 : 0;
	return *memory_entry(memory, pa);
}

static void write_entry(void *ctx, uint64_t pa, uint64_t pte)
{
	struct memory *memory = ctx;

	*memory_entry(memory, pa) = pte;
	memory->writes++;
}

static void write_high(void *ctx, uint64_t pa, uint32_t high)
{
	struct memory *memory = ctx;
	uint64_t *word = memory_entry(memory, pa);

	*word = (uint64_t)high << 32 | (*word & 0xffffffffu);
	memory->writes++;
}

static uint64_t alloc_frame(void *ctx)
{
	struct memory *memory = ctx;

	if (memory->give)
		return memory->give;
	for (uint64_t i = 0; memory->used < memory->limit && i < MEMORY_FRAMES; i++) {
		if (memory->live[i])
			continue;
		memory->live[i] = true;
		memory->used++;
		memset(memory->words[i], 0, sizeof(memory->words[i]));
		return BASE + i * 4096;
	}
	return GW_PT_NO_FRAME;
}

static void free_frame(void *ctx, uint64_t pa)
{
	struct memory *memory = ctx;

	CHECK(pa % 4096 == 0);
	*memory_entry(memory, pa) = ~(uint64_t)0; /* whoever looks again finds nonsense */
	memory->live[(pa - BASE) / 4096] = false;
	memory->used--;
}

const struct gw_pt_ops memory_ops = { read_entry, write_entry, alloc_frame, free_frame, write_high };

void memory_reset(struct memory *memory, uint64_t limit)
{
	memset(memory->live, 0, sizeof(memory->live));
	memory->used = 0;
	memory->limit = limit;
	memory->give = 0;
	memory->writes = 0;
}

void memory_copy(struct memory *to, const struct memory *from)
{
	memcpy(to->live, from->live, sizeof(to->live));
	for (unsigned int i = 0; i < MEMORY_FRAMES; i++)
		if (from->live[i])
			memcpy(to->words[i], from->words[i], sizeof(to->words[i]));
}

void memory_check_same(const struct memory *a, const struct memory *b)
{
	for (unsigned int i = 0; i < MEMORY_FRAMES; i++) {
		CHECK(a->live[i] == b->live[i]);
		CHECK(!a->live[i] || !memcmp(a->words[i], b->words[i], sizeof(a->words[i])));
	}
}
