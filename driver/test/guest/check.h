/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest's test programs say: a line a check, `ok NAME` or `not ok NAME: why`. */
#ifndef GODWIT_CHECK_H_
#define GODWIT_CHECK_H_

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int failures __attribute__((unused));

#define CHECK(what, ...)                                                 \
	do {                                                             \
		if (!(what)) {                                           \
			printf("not ok %s: line %d: ", name, __LINE__);  \
			printf(__VA_ARGS__);                             \
			printf("\n");                                    \
			failures++;                                      \
			return;                                          \
		}                                                        \
	} while (0)

/* That a call fails, and how. */
#define REFUSED(call, number)                                                                          \
	do {                                                                                           \
		int got_ = (call);                                                                     \
		CHECK(got_ == -1 && errno == (number), "%s gives %d (%s), not %s", #call, got_,        \
		      got_ ? strerror(errno) : "done", #number);                                       \
	} while (0)

#define TEST(function)                             \
	do {                                       \
		int before_ = failures;            \
		function(#function);               \
		if (failures == before_)           \
			printf("ok %s\n", #function); \
		fflush(stdout);                    \
	} while (0)

#endif /* GODWIT_CHECK_H_ */
