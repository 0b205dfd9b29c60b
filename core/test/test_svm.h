/* SPDX-License-Identifier: Apache-2.0 */
/* What the unit tests of the policies share. */
#ifndef GODWIT_TEST_SVM_H_
#define GODWIT_TEST_SVM_H_

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                            \
	do {                                                                        \
		if (!(condition)) {                                                 \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

/* test_around.c */
void test_around(void);
/* test_evict.c */
void test_evict(void);

#endif /* GODWIT_TEST_SVM_H_ */
