/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that is not there: who touches it gets SIGBUS. */
#ifndef GODWIT_BUS_H_
#define GODWIT_BUS_H_

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static sigjmp_buf bus_back;

static void bus_jump(int number)
{
	siglongjmp(bus_back, number);
}

/* Whether a store there ends with SIGBUS. */
static inline bool is_nothing(void *at)
{
	struct sigaction action = { .sa_handler = bus_jump }, before;
	volatile int caught = 0;

	sigaction(SIGBUS, &action, &before);
	caught = sigsetjmp(bus_back, 1);
	if (!caught)
		*(volatile uint64_t *)at = 1;
	sigaction(SIGBUS, &before, NULL);
	return caught == SIGBUS;
}

/* Whether a load there ends with SIGBUS; otherwise @value is what it found. */
static inline bool load(const void *at, uint64_t *value)
{
	struct sigaction action = { .sa_handler = bus_jump }, before;
	volatile int caught = 0;

	sigaction(SIGBUS, &action, &before);
	caught = sigsetjmp(bus_back, 1);
	if (!caught)
		*value = *(const volatile uint64_t *)at;
	sigaction(SIGBUS, &before, NULL);
	return caught == SIGBUS;
}

#endif /* GODWIT_BUS_H_ */
