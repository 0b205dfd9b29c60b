/* SPDX-License-Identifier: Apache-2.0 */
/* What the unit tests of the page tables share. */
#ifndef GODWIT_TEST_PT_H_
#define GODWIT_TEST_PT_H_

/* test_orders.c */
void test_orders(void);

/* test_untrue.c */
void test_untrue(void);

#endif /* GODWIT_TEST_PT_H_ */
