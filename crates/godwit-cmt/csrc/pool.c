// SPDX-License-Identifier: Apache-2.0
/*
 * The pool's calls and mimalloc in one translation unit, so that a call goes into mimalloc's short path without another
 * call: that is a third of what an allocation costs. The crate that carries mimalloc is linked all the same, but nothing
 * of its library is needed then.
 */
#include <static.c>

#include "heap.c"

#include "api.c"
