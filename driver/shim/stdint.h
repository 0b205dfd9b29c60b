/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel has no <stdint.h>; generated headers ask for one. */
#ifndef _GODWIT_SHIM_STDINT_H
#define _GODWIT_SHIM_STDINT_H

#include <linux/types.h>

#define UINT64_C(number) number##ull

#endif
