/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a test program that is told to move. */
#ifndef GODWIT_MOVES_H_
#define GODWIT_MOVES_H_

#include "values.h"

/* Pages that moved, or -1; @flags: GODWIT_MIGRATE_TO_HOST, or 0 to the card. */
static inline long moved(const void *at, uint64_t bytes, uint32_t flags)
{
	struct godwit_migrate what = { .addr = (uint64_t)at, .size = bytes, .flags = flags };

	return ioctl(card, GODWIT_IOC_MIGRATE, &what) ? -1 : (long)what.pages;
}

#define MOVES(at, bytes, flags, wanted)                                                             \
	do {                                                                                        \
		long moved_ = moved(at, bytes, flags);                                              \
		CHECK(moved_ == (long)(wanted), "%ld pages moved, not %ld: %s", moved_, (long)(wanted), \
		      moved_ < 0 ? strerror(errno) : "");                                           \
	} while (0)

#endif /* GODWIT_MOVES_H_ */
