/* SPDX-License-Identifier: GPL-2.0-only */
/* Groups of pages of which the driver decides where they are used: stays.c. */
#ifndef GODWIT_STAYS_H_
#define GODWIT_STAYS_H_

#include <linux/types.h>

#include <godwit/stay.h>

struct godwit_context;

/* Pages that are decided about together: as many as the card counts lines of together. */
#define GODWIT_STAY_PAGES 16u

void godwit_stay_costs(struct gw_stay_costs *costs, u64 line_ps);
u64 godwit_stay_line_least(void);
u64 godwit_stay_line_most(void);
bool godwit_stay_moves(struct godwit_context *ctx, u64 page);
void godwit_stay_went(struct godwit_context *ctx, u64 page);
void godwit_stay_refused(struct godwit_context *ctx, u64 page);
void godwit_stay_left(struct godwit_context *ctx, u64 group, u32 lines);
void godwit_stay_crossed(struct godwit_context *ctx, u64 group, u32 lines);
void godwit_stays_forget(struct godwit_context *ctx, u64 first, u64 last);

#endif /* GODWIT_STAYS_H_ */
