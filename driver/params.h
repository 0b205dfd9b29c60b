/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be chosen when the module is loaded, checked when it is set. */
#ifndef GODWIT_PARAMS_H_
#define GODWIT_PARAMS_H_

#include <godwit/prefetch.h>

/* Pages brought in one go are at most what one entry of the TLB covers. */
#define GODWIT_BRING_PAGES 16
/* Pages that come home in one go. */
#define GODWIT_HOME_PAGES 16
/* Pages that are looked for in one go. */
#define GODWIT_STEP_PAGES 64
/* Pages that a process does without at a time, because they are under way as one list of the page DMA: at most what a huge page has. */
#define GODWIT_MOVE_PAGES 512
#define GODWIT_MAX_CONTEXTS 256
/* Most pages that are brought ahead, as core has it. */
#define GODWIT_AHEAD_PAGES GW_PREFETCH_MAX_WINDOW
/* pool_mib: as much as the host has memory, at most half of the card's. */
#define GODWIT_POOL_AUTO (~0u)

/* heap_mib: as much as the hardware can. */
#define GODWIT_HEAP_AUTO (~0u)

extern unsigned int godwit_param_contexts;
extern unsigned int godwit_param_bring_pages;
extern unsigned int godwit_param_home_pages;
extern unsigned int godwit_param_home_most;
extern unsigned int godwit_param_ahead_pages;
extern bool godwit_param_move;
extern bool godwit_param_large_pages;
extern bool godwit_param_large_folios;
extern unsigned int godwit_param_fight_ms;
extern unsigned int godwit_param_alone_us;
extern unsigned int godwit_param_pool_mib;
extern unsigned int godwit_param_fence_ms;
extern unsigned int godwit_param_heap_mib;
extern unsigned int godwit_param_heap_wait_ms;
extern unsigned int godwit_param_link_latency_ns;
extern unsigned int godwit_param_link_mbps;
extern unsigned int godwit_param_leave_ns;
extern unsigned int godwit_param_leave_page_ns;
extern unsigned int godwit_param_irq_records;
extern unsigned int godwit_param_irq_cycles;

#endif /* GODWIT_PARAMS_H_ */
