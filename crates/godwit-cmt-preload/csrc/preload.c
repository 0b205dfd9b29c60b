// SPDX-License-Identifier: Apache-2.0
/*
 * What malloc needs when the pool does not serve. A program's first blocks, and what is asked for while the pool opens,
 * come from a small store: opening a pool costs more than a small program does. When the pool could not be opened, everything
 * goes to the C library, as if this library were not there.
 */
#include "store.h"

#include <cmt.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Until it is known what the configuration says. */
#define NOT_ASKED SIZE_MAX
#define BLOCK_MAX ((size_t)80 << 10)

extern uint64_t cmt_open_waits(const char *config);
extern void *gw_cmt_malloc(size_t size);
extern bool gw_cmt_is_open(void);
extern size_t cmt_trim_seldom(void);
extern void cmt_misuse(const void *pointer, const char *why);

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *block);

/* The pool could not be opened. */
static bool without_pool;

static void say(const char *what, const char *why)
{
	const char *parts[] = { "godwit-cmt: ", what, ": ", why, "\n" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		/* There is nobody to tell that telling failed. */
		if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
			return;
	}
}

void cmt_boot_misuse(const void *pointer, const char *why)
{
	(void)pointer;
	say("a pointer that is not a block in use was refused", why);
}

bool cmt_boot_serves(size_t bytes)
{
	static size_t first = NOT_ASKED;
	size_t now = __atomic_load_n(&first, __ATOMIC_ACQUIRE);

	/* With the first block, which the store serves, as it does what the question takes. */
	if (now == NOT_ASKED && __atomic_compare_exchange_n(&first, &now, STORE_BYTES / 2, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		const char *config = getenv("GODWIT_CMT");

		now = cmt_open_waits(config ? config : "");
		__atomic_store_n(&first, now, __ATOMIC_RELEASE);
	}
	/* Larger ones would soon fill it, and are what the pool is for. A C++ program's library begins with one of 71 KiB. */
	return bytes <= BLOCK_MAX && bytes <= now && store_used() <= now - bytes;
}

void *cmt_boot_malloc(size_t align, size_t size)
{
	if (without_pool)
		return align <= ALIGN_MIN ? __libc_malloc(size) : __libc_memalign(align, size);
	return store_alloc(align, size);
}

void *cmt_boot_calloc(size_t count, size_t size)
{
	return without_pool ? __libc_calloc(count, size) : store_alloc(ALIGN_MIN, count * size);
}

void *cmt_boot_realloc(void *block, size_t size)
{
	size_t old = store_size(block);
	void *moved;

	if (!store_owns(block) && without_pool)
		return __libc_realloc(block, size);
	if (!old)
		cmt_misuse(block, "not a block in use");
	if (size <= old || !old)
		return old ? block : NULL;
	moved = gw_cmt_malloc(size);
	if (moved) {
		memcpy(moved, block, old);
		store_free(block);
	}
	return moved;
}

bool cmt_boot_free(void *block)
{
	if (store_owns(block)) {
		if (!store_free(block))
			cmt_misuse(block, "not a block in use");
		return true;
	}
	if (without_pool)
		__libc_free(block);
	return without_pool;
}

size_t cmt_boot_size(const void *block)
{
	static size_t (*theirs)(void *block);

	if (!block || !without_pool || store_owns(block))
		return block ? store_size(block) : 0;
	if (!theirs) {
		void *symbol = dlsym(RTLD_NEXT, "malloc_usable_size");

		memcpy(&theirs, &symbol, sizeof(theirs));
	}
	return theirs ? theirs((void *)(uintptr_t)block) : 0;
}

void cmt_boot_only(const char *why)
{
	say("no contiguous memory, the program runs on memory of the system", why);
	without_pool = true;
}

/* glibc's: 1 if memory went back to the system. */
int cmt_boot_trim(size_t keep)
{
	static int (*theirs)(size_t keep);

	if (gw_cmt_is_open())
		return cmt_trim_seldom() > 0;
	if (!theirs) {
		void *symbol = dlsym(RTLD_NEXT, "malloc_trim");

		memcpy(&theirs, &symbol, sizeof(theirs));
	}
	return theirs ? theirs(keep) : 0;
}

/*
 * The C++ library's own operator new asks malloc once more, calls the program's handler, and throws. Extensions that are
 * loaded later bring the library in with names that only they see.
 */
void *cmt_new_failed(size_t size)
{
	static const char *const libraries[] = { "libstdc++.so.6", "libc++.so.1", "libc++abi.so.1" };
	void *symbol = dlsym(RTLD_NEXT, "_Znwm");
	void *(*next)(size_t) = NULL;

	for (size_t i = 0; !symbol && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		symbol = library ? dlsym(library, "_Znwm") : NULL;
	}
	if (!symbol) {
		say("operator new has no memory to return", "and there is no C++ library that could throw");
		abort();
	}
	memcpy(&next, &symbol, sizeof(next));
	return next(size);
}
