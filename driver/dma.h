/* SPDX-License-Identifier: GPL-2.0-only */
/* The page DMA, on a card that has one: dma.c. */
#ifndef GODWIT_DMA_H_
#define GODWIT_DMA_H_

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "params.h"

struct godwit_device;
struct page;

/**
 * struct godwit_dma - the page DMA of a card
 * @lock: a list, from its first copy to its end
 * @done: completed by its interrupt
 * @ring: descriptors, and behind them the fence number, in host memory; NULL without a page DMA
 * @bus: where the card finds them
 * @put: descriptors that were ever put, which is the number of the fence behind them
 * @hosts: of the list that is made: where the card finds pages of the host, for each that has one
 * @count: copies of that list
 * @mapped: of @hosts
 * @home: of that list: pages go to the host
 * @csr_lock: its control register, which its interrupt writes, too
 * @on: as that has it
 * @broken: it does not do what it should; nothing is asked of it any more
 */
struct godwit_dma {
	struct mutex lock;
	struct completion done;
	__le64 *ring;
	dma_addr_t bus;
	u32 put;
	dma_addr_t hosts[GODWIT_STEP_PAGES];
	u32 count;
	u32 mapped;
	bool home;
	spinlock_t csr_lock;
	bool on;
	bool broken;
};

int godwit_dma_init(struct godwit_device *gdev);
void godwit_dma_fini(struct godwit_device *gdev);
irqreturn_t godwit_dma_irq(int irq, void *data);
bool godwit_dma_begin(struct godwit_device *gdev, bool home);
int godwit_dma_add(struct godwit_device *gdev, struct page *host, u64 device);
int godwit_dma_end(struct godwit_device *gdev, int err);

#endif /* GODWIT_DMA_H_ */
