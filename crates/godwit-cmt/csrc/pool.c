// SPDX-License-Identifier: Apache-2.0
/*
 * The pool's calls and mimalloc in one translation unit, so that a call goes into mimalloc's short path without another
 * call: that is a third of what an allocation costs. The crate that carries mimalloc is linked all the same, but nothing
 * of its library is needed then. Some of mimalloc's inner functions are replaced for that:
 *
 *   where an arena's memory starts. mimalloc has an arena's description at its start; ours are beside the areas, and
 *   say where the memory is in a field that is used with a function of the caller's alone, which ours do not have
 *
 *   which slices are kept for pages of one size. An arena of ours has only the slices it needs: all serve all sizes
 *
 *   what it reads of the system's settings when a process starts. Two files are opened for answers that change nothing:
 *   its own data take no huge pages, and our areas are not of its memory
 *
 *   its options from the environment, where it looks for each of 40 in every variable: $GODWIT_CMT is what configures
 *   the pool
 *
 *   that it starts with the process and counts when that ends: it starts with the pool (heap.c)
 *
 *   what it asks the processor for: nothing uses the answers, and a virtual machine takes microseconds for each
 */
#include <mimalloc.h>
#include <mimalloc/internal.h>
#include <bitmap.h>

#define mi_chunkbin_of(slices) ((void)(slices), MI_CBIN_SMALL)

static inline uint8_t *cmt_arena_memory(const mi_arena_t *arena)
{
	return arena->commit_fun_arg ? arena->commit_fun_arg : (uint8_t *)arena;
}

/* The first token of the argument says whether this is a call or mimalloc's definition, which nothing calls then. */
#define mi_arena_start(argument) (CMT_START_OF_##argument)
#define CMT_START_OF_arena cmt_arena_memory(arena)
#define CMT_START_OF_mi_arena_t cmt_arena_start_unused)(mi_arena_t
/* With the half of a pair of brackets that the macro of each case leaves open. */
#define mi_option_init(argument) CMT_OPTION_OF_##argument)
#define CMT_OPTION_OF_desc ((desc)->init = MI_OPTION_DEFAULTED
#define CMT_OPTION_OF_mi_option_desc_t cmt_option_init_unused(mi_option_desc_t
#define MI_PRIM_HAS_PROCESS_ATTACH 1
#define mi_detect_cpu_features(argument) CMT_FEATURES_##argument
#define CMT_FEATURES_ ((void)0)
#define CMT_FEATURES_void cmt_features_unused(void)
#define unix_detect_overcommit(argument) CMT_OVERCOMMIT_##argument
#define CMT_OVERCOMMIT_ true
#define CMT_OVERCOMMIT_void cmt_overcommit_unused(void)
#define unix_detect_thp(argument) CMT_THP_##argument
#define CMT_THP_ false
#define CMT_THP_void cmt_thp_unused(void)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <static.c>
#pragma GCC diagnostic pop

#include "heap.c"

#include "far.c"

#include "orphans.c"

#include "api.c"
