// SPDX-License-Identifier: Apache-2.0
/*
 * What malloc needs when the pool does not serve: while the pool opens, and when it could not be opened. Such memory
 * comes from a small store, and from the system behind that; it is never given back.
 */
#include <cmt.h>

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STORE_BYTES ((size_t)1 << 20)
#define HEADER 16u
#define BOOT_MARK 0x676f647769742d62u

extern cmt_misuse_fn *gw_cmt_on_misuse(cmt_misuse_fn *report);
extern const char *gw_cmt_reason(void);

static char store[STORE_BYTES] __attribute__((aligned(64)));
static size_t store_used;

struct header {
	uint64_t mark;
	uint64_t size;
};

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

/* A block that does not fit into the store stands behind a page of its own with the header at its end. */
void *cmt_boot_malloc(size_t align, size_t size)
{
	size_t room = size + align + sizeof(struct header), at;
	char *block;

	if (room < size)
		return NULL;
	at = __atomic_fetch_add(&store_used, (room + HEADER - 1) & ~(size_t)(HEADER - 1), __ATOMIC_RELAXED);
	if (at < STORE_BYTES && room <= STORE_BYTES - at) {
		block = store + at;
	} else {
		block = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block == MAP_FAILED)
			return NULL;
	}
	block = (char *)(((uintptr_t)block + sizeof(struct header) + align - 1) & ~(uintptr_t)(align - 1));
	((struct header *)(void *)block)[-1] = (struct header){ BOOT_MARK ^ (uint64_t)(uintptr_t)block, size ? size : 1 };
	return block;
}

void cmt_boot_only(const char *why)
{
	say("no contiguous memory; what the program allocates is the system's and never given back", why);
}

size_t cmt_boot_size(const void *block)
{
	const struct header *header = (const struct header *)block - 1;

	return header->mark == (BOOT_MARK ^ (uint64_t)(uintptr_t)block) ? header->size : 0;
}

/* The C++ library's own operator new asks malloc once more, and throws. Without it nobody calls this. */
void *cmt_new_failed(size_t size)
{
	void *(*next)(size_t) = NULL;
	void *symbol = dlsym(RTLD_NEXT, "_Znwm");

	memcpy(&next, &symbol, sizeof(next));
	return next ? next(size) : NULL;
}
