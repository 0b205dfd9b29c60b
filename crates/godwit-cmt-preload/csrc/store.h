/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the library itself, for blocks that the pool does not serve. None of it is used twice: it is zero when it is taken. */
#ifndef CMT_STORE_H_
#define CMT_STORE_H_

#include <stdbool.h>
#include <stddef.h>

#define ALIGN_MIN 16u
/* Half of it is for what opening a pool takes. */
#define STORE_BYTES ((size_t)1 << 20)

/* From the library's variables, or, when those are used up, from the system. */
void *store_alloc(size_t align, size_t size);
/* Whether a pointer lies in such memory. */
bool store_owns(const void *pointer);
/* The size of a block in use; 0 for any other pointer. */
size_t store_size(const void *block);
/* The block is in use no more; false: it was not. */
bool store_free(void *block);
/* Bytes taken from the library's variables. */
size_t store_used(void);

#endif /* CMT_STORE_H_ */
