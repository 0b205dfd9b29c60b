/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_H_
#define CHECK_H_

#include <stdio.h>
#include <stdlib.h>

#include <cmt.h>

#define CHECK(condition)                                                                               \
	do {                                                                                           \
		if (!(condition)) {                                                                    \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, cmt_reason()); \
			exit(1);                                                                       \
		}                                                                                      \
	} while (0)

#endif /* CHECK_H_ */
