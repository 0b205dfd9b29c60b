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

/* Whether an access @from there, or to there if that is NULL, ends with SIGBUS. */
static inline bool bus_error(volatile uint64_t *to, const volatile uint64_t *from)
{
	struct sigaction action = { .sa_handler = bus_jump }, before;
	volatile int caught = 0;

	sigaction(SIGBUS, &action, &before);
	caught = sigsetjmp(bus_back, 1);
	if (!caught)
		*to = from ? *from : 1;
	sigaction(SIGBUS, &before, NULL);
	return caught == SIGBUS;
}

/* Whether a store there ends with SIGBUS. */
static inline bool is_nothing(void *at)
{
	return bus_error(at, NULL);
}

/* Whether a load there ends with SIGBUS; otherwise @value is what it found. */
static inline bool load(const void *at, uint64_t *value)
{
	return bus_error(value, at);
}

#endif /* GODWIT_BUS_H_ */
