// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <string.h>

#include <godwit_layout.h>

/* Frames do not begin at 0, so that an address that was never set shows. */
#define BASE ((uint64_t)0x40000)

uint64_t *memory_entry(struct memory *memory, uint64_t pa)
{
	uint64_t frame = (pa - BASE) / 4096;

	CHECK(pa % 8 == 0 && pa >= BASE && frame < MEMORY_FRAMES && memory->live[frame]);
	return &memory->words[frame][pa % 4096 / 8];
}

bool memory_peek(const struct memory *memory, uint64_t pa, uint64_t *word)
{
	uint64_t frame = (pa - BASE) / 4096;

	CHECK(pa % 8 == 0 && pa >= BASE && frame < MEMORY_FRAMES);
	if (memory->live[frame])
		*word = memory->words[frame][pa % 4096 / 8];
	return memory->live[frame];
}

static bool is_live(const struct memory *memory, uint64_t pa)
{
	uint64_t frame = (pa - BASE) / 4096;

	return pa % 8 == 0 && pa >= BASE && frame < MEMORY_FRAMES && memory->live[frame];
}

static uint64_t roll(struct memory *memory)
{
	memory->dice ^= memory->dice << 13;
	memory->dice ^= memory->dice >> 7;
	memory->dice ^= memory->dice << 17;
	return memory->dice;
}

/* What may be taken for an entry: none, a page, a table or the next free frame, of a frame that there is or may be; and any other. */
static uint64_t invent(struct memory *memory)
{
	uint64_t choice = roll(memory), pa = BASE + (choice >> 8) % (MEMORY_FRAMES + 4) * 4096, ppn = pa >> GODWIT_PT_PAGE_SHIFT;

	switch (choice & 7) {
	case 0:
	case 1:
		return 0;
	case 2:
		return UINT64_MAX;
	case 3:
		return GODWIT_PTE_V | GODWIT_PTE_R | GODWIT_PTE_U | GODWIT_PTE_A;
	case 4:
		return ppn << GODWIT_PTE_PPN_SHIFT | GODWIT_PTE_V | GODWIT_PTE_R | GODWIT_PTE_U | GODWIT_PTE_A;
	case 5:
		return ppn << GODWIT_PTE_PPN_SHIFT | GODWIT_PTE_V;
	case 6:
		return pa;
	default:
		return roll(memory);
	}
}

static uint64_t read_entry(void *ctx, uint64_t pa)
{
	struct memory *memory = ctx;

	if (memory->dice && roll(memory) & 1)
		return invent(memory);
	if (memory->reads_left == 1) {
		memory->reads_left = memory->once ? 0 : 1;
		return memory->lie;
	}
	memory->reads_left -= memory->reads_left ? 1 : 0;
	return memory->lenient && !is_live(memory, pa) ? 0 : *memory_entry(memory, pa);
}

static void store(struct memory *memory, uint64_t pa, uint64_t pte)
{
	struct memory_log *log = memory->log;

	if (memory->lenient && !is_live(memory, pa))
		return;
	*memory_entry(memory, pa) = pte;
	memory->writes++;
	if (log && log->count < MEMORY_LOG)
		log->writes[log->count++] = (struct memory_write){ pa, pte };
}

static void write_entry(void *ctx, uint64_t pa, uint64_t pte)
{
	store(ctx, pa, pte);
}

static void write_high(void *ctx, uint64_t pa, uint32_t high)
{
	store(ctx, pa, (uint64_t)high << 32 | (*memory_entry(ctx, pa) & 0xffffffffu));
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
	if (memory->lenient && !is_live(memory, pa))
		return;
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
	memory->log = NULL;
	memory->reads_left = 0;
	memory->once = false;
	memory->lenient = false;
	memory->dice = 0;
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
