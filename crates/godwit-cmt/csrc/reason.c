// SPDX-License-Identifier: Apache-2.0
/* Why the last call of a thread failed, without allocating anything. */
#include "cmt_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static __thread char reason[320] __attribute__((tls_model("initial-exec")));

void *cmt_fail(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	errno = error;
	return NULL;
}

void *cmt_fail_range(int status, uint64_t bytes, const struct gw_range_why *why)
{
	__atomic_fetch_add(&cmt_pool.failures, 1, __ATOMIC_RELAXED);
	return cmt_fail(ENOMEM, "%llu bytes: %s (free %llu, largest piece %llu, within the limits %llu)",
			(unsigned long long)bytes, gw_range_reason(status), (unsigned long long)why->free,
			(unsigned long long)why->largest, (unsigned long long)why->largest_placed);
}

const char *gw_cmt_reason(void)
{
	return reason;
}

void cmt_misuse(const void *pointer, const char *why)
{
	cmt_misuse_fn *report = __atomic_load_n(&cmt_pool.report, __ATOMIC_ACQUIRE);

	__atomic_fetch_add(&cmt_pool.misuses, 1, __ATOMIC_RELAXED);
	cmt_fail(EINVAL, "%p: %s", pointer, why);
	if (report)
		report(pointer, why);
	else if (cmt_boot_misuse)
		cmt_boot_misuse(pointer, why);
}

cmt_misuse_fn *gw_cmt_on_misuse(cmt_misuse_fn *report)
{
	return __atomic_exchange_n(&cmt_pool.report, report, __ATOMIC_ACQ_REL);
}
