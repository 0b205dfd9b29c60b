/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for tables in the C tests: aborts on any access that is not to an entry of a live frame. */
#ifndef GODWIT_TEST_MEMORY_H_
#define GODWIT_TEST_MEMORY_H_

#include <godwit/pt.h>

#include <stdio.h>
#include <stdlib.h>

#define MEMORY_FRAMES 48u
#define MEMORY_LOG 65536u

#define CHECK(cond)                                                                              \
	do {                                                                                     \
		if (!(cond)) {                                                                   \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
			abort();                                                                 \
		}                                                                                \
	} while (0)

/* Writes of entries in their order, as long as there is room. */
struct memory_log {
	struct memory_write {
		uint64_t pa, pte;
	} writes[MEMORY_LOG];
	size_t count;
};

struct memory {
	uint64_t words[MEMORY_FRAMES][512];
	bool live[MEMORY_FRAMES];
	uint64_t used;   /* live frames */
	uint64_t limit;  /* frames that may be live */
	uint64_t give;   /* what alloc returns when it is not 0 */
	uint64_t writes; /* entries written so far */
	uint64_t reads_left; /* with 1 each read is answered by `lie`; each read before takes one; 0: never */
	uint64_t lie;        /* 0 as from a card that is being reset, ones as from one that was pulled out, or any entry */
	bool once;           /* only the one read, and what follows is true again */
	bool lenient;        /* accesses to no live frame do nothing, and read as 0 */
	uint64_t dice;       /* xorshift64, which answers every other read; 0: none */
	struct memory_log *log; /* gets what is written; may be NULL */
};

extern const struct gw_pt_ops memory_ops;

/* The word at @pa, as hardware sees it. */
uint64_t *memory_entry(struct memory *memory, uint64_t pa);
/* Reads the word at @pa; false: it is in no live frame. */
bool memory_peek(const struct memory *memory, uint64_t pa, uint64_t *word);
/* No frame live; at most `limit` of them from now on. */
void memory_reset(struct memory *memory, uint64_t limit);
/* Copies the live frames and what is live. */
void memory_copy(struct memory *to, const struct memory *from);
/* Aborts unless the same frames are live with the same content. */
void memory_check_same(const struct memory *a, const struct memory *b);

#endif /* GODWIT_TEST_MEMORY_H_ */
