/* SPDX-License-Identifier: GPL-2.0-only */
/* The page DMA, on a card that has one: dma.c. */
#ifndef GODWIT_DMA_H_
#define GODWIT_DMA_H_

#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <godwit_layout.h>

struct godwit_device;
struct page;

/* Descriptors that are given to the card in one go, as a list is made: the bytes of one cross while the host works on the next. */
#define GODWIT_DMA_BATCH 16
#define GODWIT_DMA_WORDS (GODWIT_DMA_BYTES / sizeof(__le64))

/**
 * struct godwit_dma - the page DMA of a card
 * @lock: the ring, from the room for a batch to its tail, and what follows of lists; held while it is stopped and begun again
 * @woken: by its interrupt, and when lists have failed
 * @ring: descriptors, in host memory; NULL without a page DMA
 * @bus: where the card finds them
 * @fence: number of the last one that is done, in host memory
 * @fence_bus: where the card writes it
 * @put: descriptors that were ever put
 * @seen: of them, known to be done
 * @lists: struct godwit_list.node of those of which the card has some
 * @csr_lock: its control register, which its interrupt writes, too
 * @on: as that has it
 * @broken: it does not do what it should; nothing is asked of it any more
 */
struct godwit_dma {
	struct mutex lock;
	wait_queue_head_t woken;
	__le64 *ring;
	dma_addr_t bus;
	__le32 *fence;
	dma_addr_t fence_bus;
	u32 put;
	u32 seen;
	struct list_head lists;
	spinlock_t csr_lock;
	bool on;
	bool broken;
};

/**
 * struct godwit_list - copies that are done or fail together; several may be under way, and are done in the order of their ends
 * @node: in struct godwit_dma.lists
 * @hosts: where the card finds pages of the host, for each that has one; of the caller
 * @mapped: of them
 * @home: pages go to the host
 * @count: copies
 * @pages: of each
 * @made: the last of them, that the card does not have yet
 * @waiting: of @made
 * @closed: the card has all of them
 * @end: number of the fence behind the last
 * @lacks: why one of them was not made; the list fails once the others are done
 * @err: why the card does none of them any more
 */
struct godwit_list {
	struct list_head node;
	dma_addr_t *hosts;
	u32 mapped;
	bool home;
	u32 count;
	u32 pages;
	__le64 made[GODWIT_DMA_BATCH * GODWIT_DMA_WORDS];
	u32 waiting;
	bool closed;
	u32 end;
	int lacks;
	int err;
};

int godwit_dma_init(struct godwit_device *gdev);
void godwit_dma_fini(struct godwit_device *gdev);
irqreturn_t godwit_dma_irq(int irq, void *data);
void godwit_list_begin(struct godwit_device *gdev, struct godwit_list *list, dma_addr_t *hosts, bool home, u32 pages);
void godwit_list_add(struct godwit_device *gdev, struct godwit_list *list, struct page *host, u64 device);
void godwit_list_close(struct godwit_device *gdev, struct godwit_list *list);
int godwit_list_end(struct godwit_device *gdev, struct godwit_list *list);

#endif /* GODWIT_DMA_H_ */
