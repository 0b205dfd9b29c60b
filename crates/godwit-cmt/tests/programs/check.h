/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_H_
#define CHECK_H_

#include <stdio.h>
#include <stdlib.h>

#include <cmt.h>

/* Opens the pool; the test says in a variable how much is checked, where it runs a program in both ways. */
static inline int open_pool(const char *config)
{
	const char *check = getenv("GODWIT_TEST_CHECK");
	char text[256];

	snprintf(text, sizeof(text), "%s%s%s", config, check ? " check=" : "", check ? check : "");
	return cmt_init(text);
}

#define CHECK(condition)                                                                               \
	do {                                                                                           \
		if (!(condition)) {                                                                    \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, cmt_reason()); \
			exit(1);                                                                       \
		}                                                                                      \
	} while (0)

#endif /* CHECK_H_ */
