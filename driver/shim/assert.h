/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel has static_assert() elsewhere; generated headers ask for it here. */
#include <linux/build_bug.h>
