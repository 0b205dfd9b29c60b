// SPDX-License-Identifier: Apache-2.0
/*
 * What malloc needs when the pool does not serve. While the pool opens, memory comes from a small store, and from the
 * system behind that; such blocks are known by their addresses and never given back. When the pool could not be opened,
 * everything goes to the C library, as if this library were not there.
 */
#include <cmt.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STORE_BYTES ((size_t)1 << 20)
#define ALIGN_MIN 16u
#define POPULATE_MIN ((size_t)8 << 10)
/* Opening a pool takes a handful of blocks that are larger than the store. */
#define MAPPED_MAX 64u

extern cmt_misuse_fn *gw_cmt_on_misuse(cmt_misuse_fn *report);

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *block);

static char store[STORE_BYTES] __attribute__((aligned(64)));
static size_t store_used;

static struct mapped {
	char *start;
	size_t size;
} mapped[MAPPED_MAX];
static uint32_t mapped_used;

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

static void say_misuse(const void *pointer, const char *why)
{
	(void)pointer;
	say("a pointer that is not a block in use was refused", why);
}

__attribute__((constructor)) static void report_to_stderr(void)
{
	gw_cmt_on_misuse(say_misuse);
}

extern char _end[] __attribute__((visibility("hidden")));

static void populate(const char *start, const char *end)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)start & ~(page - 1);

	/* Not to have it yet is no failure. */
	madvise((void *)first, ((uintptr_t)end - first + page - 1) & ~(page - 1), MADV_POPULATE_WRITE);
}

/*
 * What opening a pool writes in any case comes in one step instead of page by page: the variables behind the store. The
 * linker puts them there, or there is less to gain.
 */
static void populate_variables(void)
{
	static bool done;

	if (!__atomic_exchange_n(&done, true, __ATOMIC_RELAXED) && _end > store + STORE_BYTES)
		populate(store + STORE_BYTES, _end);
}

/* The word before a block of the store is its size. */
static void *store_take(size_t align, size_t size)
{
	size_t room = size + align + ALIGN_MIN, at;
	char *block;

	if (room < size || room > STORE_BYTES)
		return NULL;
	at = __atomic_fetch_add(&store_used, (room + ALIGN_MIN - 1) & ~(size_t)(ALIGN_MIN - 1), __ATOMIC_RELAXED);
	if (at > STORE_BYTES - room)
		return NULL;
	block = (char *)(((uintptr_t)store + at + ALIGN_MIN + align - 1) & ~(uintptr_t)(align - 1));
	/* The areas' bitmaps, which are written at once. */
	if (size >= POPULATE_MIN)
		populate(block, block + size);
	memcpy(block - sizeof(size), &size, sizeof(size));
	return block;
}

static void *map_take(size_t align, size_t size)
{
	uint32_t index = __atomic_fetch_add(&mapped_used, 1, __ATOMIC_RELAXED);
	char *start;

	if (index >= MAPPED_MAX || size + align < size)
		return NULL;
	start = mmap(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	start = (char *)(((uintptr_t)start + align - 1) & ~(uintptr_t)(align - 1));
	mapped[index].size = size;
	__atomic_store_n(&mapped[index].start, start, __ATOMIC_RELEASE);
	return start;
}

/* Whether a block came from here while the pool opened; its size. */
static bool taken_here(const void *block, size_t *size)
{
	if ((uintptr_t)block - (uintptr_t)store < STORE_BYTES) {
		memcpy(size, (const char *)block - sizeof(*size), sizeof(*size));
		return true;
	}
	for (uint32_t i = 0; block && i < MAPPED_MAX; i++) {
		if (__atomic_load_n(&mapped[i].start, __ATOMIC_ACQUIRE) == block) {
			*size = mapped[i].size;
			return true;
		}
	}
	return false;
}

void *cmt_boot_malloc(size_t align, size_t size)
{
	void *block;

	if (without_pool)
		return align <= ALIGN_MIN ? __libc_malloc(size) : __libc_memalign(align, size);
	populate_variables();
	block = store_take(align, size ? size : 1);
	return block ? block : map_take(align, size ? size : 1);
}

void *cmt_boot_calloc(size_t count, size_t size)
{
	/* What the store and the system have is zero: it is never used again. */
	return without_pool ? __libc_calloc(count, size) : cmt_boot_malloc(ALIGN_MIN, count * size);
}

void *cmt_boot_realloc(void *block, size_t size)
{
	size_t old;
	void *moved;

	if (!taken_here(block, &old))
		return without_pool ? __libc_realloc(block, size) : NULL;
	if (size <= old)
		return block;
	moved = cmt_boot_malloc(ALIGN_MIN, size);
	return moved ? memcpy(moved, block, old) : NULL;
}

bool cmt_boot_free(void *block)
{
	size_t size;

	if (taken_here(block, &size))
		return true;
	if (without_pool)
		__libc_free(block);
	return without_pool;
}

size_t cmt_boot_size(const void *block)
{
	static size_t (*theirs)(void *block);
	size_t size;

	if (!block || taken_here(block, &size))
		return block ? size : 0;
	if (without_pool && !theirs) {
		void *symbol = dlsym(RTLD_NEXT, "malloc_usable_size");

		memcpy(&theirs, &symbol, sizeof(theirs));
	}
	return without_pool && theirs ? theirs((void *)(uintptr_t)block) : 0;
}

void cmt_boot_only(const char *why)
{
	say("no contiguous memory, the program runs on memory of the system", why);
	without_pool = true;
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
