// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page DMA: lists of page copies through a ring of descriptors in host memory. Several lists may be under way, of one
 * migration or of several, and one is given to the card while it is made. The last descriptor of a list gives a fence number and
 * an interrupt; the number, in host memory too, says that the list is done. When it stops, it is over for all lists that it has:
 * whoever gave them copies all of them otherwise.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/pci.h>

#include <godwit_dma_regs.h>

#include "driver.h"

#define GODWIT_DMA_REG(name) (GODWIT_REGISTER_SPACE_DMA_BASE + offsetof(gw_dma_t, name))
#define GODWIT_DMA_FIELD(reg, value) (((value) & GW_DMA__##reg##_bm) >> GW_DMA__##reg##_bp)

/* Two steps of a migration, and as much again for what others move meanwhile. */
#define GODWIT_DMA_DESCRIPTORS (4 * GODWIT_MOVE_PAGES)
#define GODWIT_DMA_MEMORY (GODWIT_DMA_DESCRIPTORS * GODWIT_DMA_BYTES)
#define GODWIT_DMA_ON (GW_DMA__CSR__ENABLE_bm | GW_DMA__CSR__IE_bm)
/* Between two looks whether it stands, or the card is gone. */
#define GODWIT_DMA_LOOK_MS 100
/* Looks until it is at rest. */
#define GODWIT_DMA_LOOKS 10000

static u32 godwit_dma_fence(const struct godwit_dma *dma)
{
	return le32_to_cpu(READ_ONCE(*dma->fence));
}

/* Whether all of a list is done; of one that has failed, it means nothing. */
static bool godwit_list_done(const struct godwit_dma *dma, const struct godwit_list *list)
{
	return list->closed && (s32)(godwit_dma_fence(dma) - list->end) >= 0;
}

/* Takes what it says, and leaves it on or off; under struct godwit_dma.csr_lock. */
static void godwit_dma_tell(struct godwit_device *gdev)
{
	godwit_write(gdev, GODWIT_DMA_REG(csr), (gdev->dma.on ? GODWIT_DMA_ON : 0) | GW_DMA__CSR__IP_bm);
}

static void godwit_dma_turn(struct godwit_device *gdev, bool on)
{
	spin_lock(&gdev->dma.csr_lock);
	gdev->dma.on = on;
	godwit_dma_tell(gdev);
	spin_unlock(&gdev->dma.csr_lock);
}

static void godwit_dma_start(struct godwit_device *gdev)
{
	u32 at = gdev->dma.put % GODWIT_DMA_DESCRIPTORS;

	godwit_write(gdev, GODWIT_DMA_REG(first), at);
	godwit_write(gdev, GODWIT_DMA_REG(tail), at);
	gdev->dma.seen = gdev->dma.put;
	godwit_dma_turn(gdev, true);
}

/* Turns it off; when it is off, it neither reads nor writes any more. */
static int godwit_dma_stop(struct godwit_device *gdev)
{
	u32 status, looks;

	godwit_dma_turn(gdev, false);
	for (looks = 0; looks < GODWIT_DMA_LOOKS; looks++) {
		status = godwit_read(gdev, GODWIT_DMA_REG(csr));
		if (status == ~0u)
			return -ENODEV;
		if (!(status & GW_DMA__CSR__ON_bm))
			return 0;
		usleep_range(10, 20);
	}
	return -EIO;
}

/* It does not turn off: nothing that it still has under way may reach what somebody else gets. */
static void godwit_dma_break(struct godwit_device *gdev, int err)
{
	gdev->dma.broken = true;
	/* A card that is gone. */
	if (err == -ENODEV)
		return;
	dev_err(&gdev->pdev->dev, "the page DMA does not end what it was given: the card is taken off the bus\n");
	pci_clear_master(gdev->pdev);
}

irqreturn_t godwit_dma_irq(int irq, void *data)
{
	struct godwit_device *gdev = data;

	godwit_count(gdev, GODWIT_EVENT_DMA_INTERRUPTS, 1);
	/* What comes from here on raises the line again. */
	spin_lock(&gdev->dma.csr_lock);
	godwit_dma_tell(gdev);
	spin_unlock(&gdev->dma.csr_lock);
	wake_up_all(&gdev->dma.woken);
	return IRQ_HANDLED;
}

/* Nothing that it has is done any more: lists that are not done have failed when this returns, and nothing of them is under way. */
static void godwit_dma_fail(struct godwit_device *gdev, int err)
{
	struct godwit_dma *dma = &gdev->dma;
	struct godwit_list *list;
	int stopped;

	lockdep_assert_held(&dma->lock);
	stopped = godwit_dma_stop(gdev);
	if (stopped)
		godwit_dma_break(gdev, stopped);
	list_for_each_entry(list, &dma->lists, node)
		if (!godwit_list_done(dma, list))
			WRITE_ONCE(list->err, err);
	if (!stopped)
		godwit_dma_start(gdev);
	wake_up_all(&dma->woken);
}

/* What it says of itself: 0, or why nothing more is to be expected of it. */
static int godwit_dma_look(struct godwit_device *gdev)
{
	u32 status = godwit_read(gdev, GODWIT_DMA_REG(csr));

	if (status == ~0u)
		return -ENODEV;
	if (!(status & GW_DMA__CSR__STOPPED_bm))
		return 0;
	dev_warn_ratelimited(&gdev->pdev->dev, "the page DMA stands at descriptor %u for cause %u\n",
			     godwit_read(gdev, GODWIT_DMA_REG(head)), GODWIT_DMA_FIELD(CSR__CAUSE, status));
	return -EIO;
}

static unsigned long godwit_dma_deadline(void)
{
	return jiffies + msecs_to_jiffies(READ_ONCE(godwit_param_fence_ms));
}

/* Waits until there is room for @count more descriptors. One place is always free, for a full ring looks like an empty one. */
static int godwit_dma_room(struct godwit_device *gdev, u32 count)
{
	unsigned long deadline = godwit_dma_deadline();
	struct godwit_dma *dma = &gdev->dma;
	int err = 0;

	while (!err && dma->put - dma->seen + count >= GODWIT_DMA_DESCRIPTORS) {
		bool late = time_after(jiffies, deadline);
		u32 head = godwit_read(gdev, GODWIT_DMA_REG(head));

		dma->seen = dma->put - (dma->put - head) % GODWIT_DMA_DESCRIPTORS;
		if (dma->put - dma->seen + count < GODWIT_DMA_DESCRIPTORS)
			break;
		err = godwit_dma_look(gdev);
		if (!err && late)
			err = -ETIMEDOUT;
		else if (!err)
			usleep_range(50, 100);
	}
	return err;
}

/* Gives the card what is made of a list; @last: there is no more of it. */
static void godwit_list_give(struct godwit_device *gdev, struct godwit_list *list, bool last)
{
	struct godwit_dma *dma = &gdev->dma;
	u32 i;
	int err;

	mutex_lock(&dma->lock);
	err = dma->broken ? -EIO : 0;
	if (!err && !list->err) {
		err = godwit_dma_room(gdev, list->waiting);
		if (err)
			godwit_dma_fail(gdev, err);
	}
	if (err && !list->err)
		list->err = err;
	if (list->err)
		goto unlock;
	for (i = 0; i < list->waiting; i++)
		memcpy(dma->ring + (dma->put + i) % GODWIT_DMA_DESCRIPTORS * GODWIT_DMA_WORDS,
		       list->made + i * GODWIT_DMA_WORDS, GODWIT_DMA_BYTES);
	dma->put += list->waiting;
	/* A card that does not know a descriptor stands. */
	if (godwit_fails(gdev))
		dma->ring[(dma->put - 1) % GODWIT_DMA_DESCRIPTORS * GODWIT_DMA_WORDS] = 0;
	if (last) {
		list->end = dma->put;
		list->closed = true;
		dma->ring[(dma->put - 1) % GODWIT_DMA_DESCRIPTORS * GODWIT_DMA_WORDS] |=
			cpu_to_le64(GODWIT_DMA_CONTROL_FENCE_MASK | GODWIT_DMA_CONTROL_IRQ_MASK |
				    (u64)list->end << GODWIT_DMA_CONTROL_VALUE_SHIFT);
	}
	if (list_empty(&list->node))
		list_add_tail(&list->node, &dma->lists);
	/* What is in the ring is there before the card is told, as godwit_write() has it. */
	godwit_write(gdev, GODWIT_DMA_REG(tail), dma->put % GODWIT_DMA_DESCRIPTORS);
	godwit_count(gdev, GODWIT_EVENT_DMA_DOORBELLS, 1);
unlock:
	mutex_unlock(&dma->lock);
	list->waiting = 0;
}

/* Begins a list, of so many pages a copy, which go to the host or to the card. Without a page DMA, or with a broken one, it fails. */
void godwit_list_begin(struct godwit_device *gdev, struct godwit_list *list, dma_addr_t *hosts, bool home, u32 pages)
{
	INIT_LIST_HEAD(&list->node);
	list->hosts = hosts;
	list->mapped = 0;
	list->home = home;
	list->count = 0;
	list->pages = pages;
	list->waiting = 0;
	list->closed = false;
	list->lacks = 0;
	list->err = gdev->dma.ring && !READ_ONCE(gdev->dma.broken) ? 0 : -EOPNOTSUPP;
}

static enum dma_data_direction godwit_list_direction(const struct godwit_list *list)
{
	return list->home ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

static size_t godwit_list_bytes(const struct godwit_list *list)
{
	return list->pages * PAGE_SIZE;
}

/* A copy of the list, between the host and @device; without @host the latter is cleared. The caller has room for where it is. */
void godwit_list_add(struct godwit_device *gdev, struct godwit_list *list, struct page *host, u64 device)
{
	u64 lines = godwit_list_bytes(list) / GODWIT_DMA_LINE_BYTES, bus = 0;
	__le64 *at;

	if (READ_ONCE(list->err) || list->lacks)
		return;
	if (godwit_fails(gdev)) {
		list->lacks = -EIO;
		return;
	}
	if (host) {
		dma_addr_t mapped = dma_map_page(&gdev->pdev->dev, host, 0, godwit_list_bytes(list), godwit_list_direction(list));

		if (dma_mapping_error(&gdev->pdev->dev, mapped)) {
			list->lacks = -EIO;
			return;
		}
		list->hosts[list->mapped++] = mapped;
		bus = GODWIT_HOST_APERTURE_BASE + mapped;
	}
	/* Not before there is another one: the last has the fence. */
	if (list->waiting == GODWIT_DMA_BATCH)
		godwit_list_give(gdev, list, false);
	at = list->made + list->waiting++ * GODWIT_DMA_WORDS;
	at[0] = cpu_to_le64((host ? GODWIT_DMA_COPY : GODWIT_DMA_CLEAR) | lines << GODWIT_DMA_CONTROL_LINES_SHIFT);
	at[1] = cpu_to_le64(list->home ? device : bus);
	at[2] = cpu_to_le64(list->home ? bus : device);
	at[3] = 0;
	list->count++;
}

/* There is no more of it: the card has all of the list, and nobody waits yet. */
void godwit_list_close(struct godwit_device *gdev, struct godwit_list *list)
{
	if (READ_ONCE(list->err) || !list->count)
		return;
	godwit_list_give(gdev, list, true);
	if (!list->closed)
		return;
	godwit_count(gdev, GODWIT_EVENT_DMA_LISTS, 1);
	godwit_count(gdev, GODWIT_EVENT_DMA_COPIES, list->count);
	godwit_count(gdev, GODWIT_EVENT_DMA_PAGES, list->count * list->pages);
}

/* The list is done, or has failed; that it stands, is gone or takes too long is seen here. */
static int godwit_list_wait(struct godwit_device *gdev, struct godwit_list *list)
{
	unsigned long deadline = godwit_dma_deadline();
	struct godwit_dma *dma = &gdev->dma;

	/* Nothing is behind it that the card could do while somebody wakes up. */
	if (list->closed && list->end == READ_ONCE(dma->put))
		godwit_count(gdev, GODWIT_EVENT_DMA_DRAINS, 1);
	for (;;) {
		bool late = time_after(jiffies, deadline);
		int err;

		wait_event_timeout(dma->woken, READ_ONCE(list->err) || godwit_list_done(dma, list),
				   msecs_to_jiffies(GODWIT_DMA_LOOK_MS));
		if (READ_ONCE(list->err))
			return list->err;
		if (godwit_list_done(dma, list)) {
			dma_rmb();
			return 0;
		}
		err = godwit_dma_look(gdev);
		if (!err && late)
			err = -ETIMEDOUT;
		if (!err)
			continue;
		mutex_lock(&dma->lock);
		if (!list->err && !godwit_list_done(dma, list))
			godwit_dma_fail(gdev, err);
		mutex_unlock(&dma->lock);
	}
}

/* Waits for a list that is closed, and ends it. After an error some pages may have been copied, none is under way. */
int godwit_list_end(struct godwit_device *gdev, struct godwit_list *list)
{
	struct godwit_dma *dma = &gdev->dma;
	int err = READ_ONCE(list->err);
	u32 i;

	if (!err && list->count)
		err = godwit_list_wait(gdev, list);
	mutex_lock(&dma->lock);
	list_del_init(&list->node);
	mutex_unlock(&dma->lock);
	for (i = 0; i < list->mapped; i++)
		dma_unmap_page(&gdev->pdev->dev, list->hosts[i], godwit_list_bytes(list), godwit_list_direction(list));
	return err ? err : list->lacks;
}

/* A card without a page DMA works, and so does one whose page DMA this driver does not know: processors copy then. */
int godwit_dma_init(struct godwit_device *gdev)
{
	u32 id = godwit_read(gdev, GODWIT_DMA_REG(id));
	struct godwit_dma *dma = &gdev->dma;
	struct device *dev = &gdev->pdev->dev;
	__le64 *ring;
	u64 at;

	mutex_init(&dma->lock);
	spin_lock_init(&dma->csr_lock);
	init_waitqueue_head(&dma->woken);
	INIT_LIST_HEAD(&dma->lists);
	/* Registers that are not there read as ones. */
	if (id == ~0u)
		return 0;
	if (GODWIT_DMA_FIELD(ID__MAGIC, id) != GW_DMA__ID__MAGIC_reset ||
	    GODWIT_DMA_FIELD(ID__MAJOR, id) != GW_DMA__ID__MAJOR_reset) {
		dev_warn(dev, "a page DMA that identifies itself as %#010x: this driver knows none such\n", id);
		return 0;
	}
	/* A driver before this one may have left it on. */
	if (godwit_dma_stop(gdev)) {
		dev_warn(dev, "the page DMA does not come to rest: processors copy pages\n");
		return 0;
	}
	/* Aligned to its size, as the card wants it. */
	ring = dmam_alloc_coherent(dev, GODWIT_DMA_MEMORY, &dma->bus, GFP_KERNEL);
	dma->fence = dmam_alloc_coherent(dev, PAGE_SIZE, &dma->fence_bus, GFP_KERNEL);
	if (!ring || !dma->fence)
		return -ENOMEM;
	at = GODWIT_HOST_APERTURE_BASE + dma->bus;
	godwit_write64(gdev, GODWIT_DMA_REG(base), at >> PAGE_SHIFT << GW_DMA__BASE__PPN_LO_bp |
						   (ilog2(GODWIT_DMA_DESCRIPTORS) - 1) << GW_DMA__BASE__LOG2SZM1_bp);
	godwit_write64(gdev, GODWIT_DMA_REG(fence_addr),
		       (GODWIT_HOST_APERTURE_BASE + dma->fence_bus) | GW_DMA__FENCE_ADDR__WRITE_bm);
	dma->put = 0;
	dma->ring = ring;
	godwit_dma_start(gdev);
	return 0;
}

void godwit_dma_fini(struct godwit_device *gdev)
{
	int err = gdev->dma.ring ? godwit_dma_stop(gdev) : 0;

	if (err)
		godwit_dma_break(gdev, err);
}
