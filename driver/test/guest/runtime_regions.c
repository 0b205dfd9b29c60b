// SPDX-License-Identifier: GPL-2.0-only
/* The heap's regions by the C interface of the runtime: memories of the card, of which the second one's is strict. */
#include <stdlib.h>

#include "check.h"
#include "godwit.h"

#define BYTES (1ull << 20)
#define MUCH (1ull << 30)

static godwit_card *card;
static godwit_context *context;

#define DONE(call) CHECK((call) == GODWIT_OK, "%s", godwit_last_error())

static void memories_of_the_card_are_regions_of_its_heap(const char *name)
{
	void *first, *second, *other;

	DONE(godwit_malloc(context, BYTES, 0, 0, &first));
	DONE(godwit_malloc(context, BYTES, 65536, GODWIT_MEMORY(1), &second));
	memset(first, 5, BYTES);
	const godwit_arg args[] = {
		godwit_pointer("src", first),
		godwit_pointer("dst", second),
		godwit_number("bytes", BYTES),
		godwit_number("iterations", 1),
	};
	DONE(godwit_launch(context, "memcopy", args, 4, 0, 0, NULL));
	CHECK(!memcmp(first, second, BYTES), "the card does not copy");
	CHECK(godwit_malloc(context, MUCH, 0, GODWIT_MEMORY(1), &other) == GODWIT_ENOMEM, "it is not refused");
	CHECK(strstr(godwit_last_error(), "is strict") && strstr(godwit_last_error(), "free in `fast`"), "%s",
	      godwit_last_error());
	DONE(godwit_malloc(context, MUCH, 0, GODWIT_MEMORY(1) | GODWIT_PREFERRED, &other));
	DONE(godwit_populate(context, other, BYTES));
	DONE(godwit_release_memory(context, other));
	CHECK(godwit_malloc(context, BYTES, 0, GODWIT_MEMORY(7), &other) == GODWIT_EINVAL, "it is not refused");
	DONE(godwit_release_memory(context, second));
	DONE(godwit_release_memory(context, first));
}

int main(int count, char **words)
{
	if (godwit_open(count > 1 ? words[1] : "/dev/godwit0", NULL, &card) ||
	    godwit_context_create(card, GODWIT_WIDEST, &context)) {
		printf("not ok memories_of_the_card_are_regions_of_its_heap: %s\n", godwit_last_error());
		return 1;
	}
	TEST(memories_of_the_card_are_regions_of_its_heap);
	godwit_context_destroy(context);
	godwit_close(card);
	return failures != 0;
}
