// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page DMA: lists of page copies through a ring of descriptors in host memory, one list at a time. The last descriptor of
 * a list gives a fence number and an interrupt; the number, in host memory too, says that the list is done. One that stops is over:
 * whoever gave it copies all of it otherwise.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/pci.h>

#include <godwit_dma_regs.h>

#include "driver.h"

#define GODWIT_DMA_REG(name) (GODWIT_REGISTER_SPACE_DMA_BASE + offsetof(gw_dma_t, name))
#define GODWIT_DMA_FIELD(reg, value) (((value) & GW_DMA__##reg##_bm) >> GW_DMA__##reg##_bp)

#define GODWIT_DMA_DESCRIPTORS (PAGE_SIZE / GODWIT_DMA_BYTES)
#define GODWIT_DMA_WORDS (GODWIT_DMA_BYTES / sizeof(__le64))
/* The fence number is behind the ring, in a page of its own. */
#define GODWIT_DMA_MEMORY (2 * PAGE_SIZE)
#define GODWIT_DMA_ON (GW_DMA__CSR__ENABLE_bm | GW_DMA__CSR__IE_bm)
/* Between two looks whether it stands, or the card is gone. */
#define GODWIT_DMA_LOOK_MS 100
/* Looks until it is at rest. */
#define GODWIT_DMA_LOOKS 10000

static u32 godwit_dma_fence(const struct godwit_dma *dma)
{
	return le32_to_cpu(READ_ONCE(*(__le32 *)(dma->ring + PAGE_SIZE / sizeof(__le64))));
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
	complete(&gdev->dma.done);
	return IRQ_HANDLED;
}

/* Begins a list, whose pages go to the host or to the card; false: there is no page DMA that could take one. */
bool godwit_dma_begin(struct godwit_device *gdev, bool home)
{
	struct godwit_dma *dma = &gdev->dma;

	if (!dma->ring)
		return false;
	mutex_lock(&dma->lock);
	if (dma->broken) {
		mutex_unlock(&dma->lock);
		return false;
	}
	dma->count = 0;
	dma->mapped = 0;
	dma->home = home;
	return true;
}

static enum dma_data_direction godwit_dma_direction(const struct godwit_dma *dma)
{
	return dma->home ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

/* A page of the list, between the host and @device; without @host the latter is cleared. */
int godwit_dma_add(struct godwit_device *gdev, struct page *host, u64 device)
{
	struct godwit_dma *dma = &gdev->dma;
	__le64 *at = dma->ring + (dma->put + dma->count) % GODWIT_DMA_DESCRIPTORS * GODWIT_DMA_WORDS;
	u64 lines = PAGE_SIZE / GODWIT_DMA_LINE_BYTES, bus = 0;

	lockdep_assert_held(&dma->lock);
	if (WARN_ON_ONCE(dma->count == GODWIT_STEP_PAGES))
		return -ENOSPC;
	if (godwit_fails(gdev))
		return -EIO;
	if (host) {
		dma_addr_t mapped = dma_map_page(&gdev->pdev->dev, host, 0, PAGE_SIZE, godwit_dma_direction(dma));

		if (dma_mapping_error(&gdev->pdev->dev, mapped))
			return -EIO;
		dma->hosts[dma->mapped++] = mapped;
		bus = GODWIT_HOST_APERTURE_BASE + mapped;
	}
	at[0] = cpu_to_le64((host ? GODWIT_DMA_COPY : GODWIT_DMA_CLEAR) | lines << GODWIT_DMA_CONTROL_LINES_SHIFT);
	at[1] = cpu_to_le64(dma->home ? device : bus);
	at[2] = cpu_to_le64(dma->home ? bus : device);
	at[3] = 0;
	dma->count++;
	return 0;
}

/* The list is done, it stands, the card is gone, or it takes too long. */
static int godwit_dma_wait(struct godwit_device *gdev)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(READ_ONCE(godwit_param_fence_ms));
	struct godwit_dma *dma = &gdev->dma;
	u32 status;

	for (;;) {
		bool late = time_after(jiffies, deadline);

		wait_for_completion_timeout(&dma->done, msecs_to_jiffies(GODWIT_DMA_LOOK_MS));
		if (godwit_dma_fence(dma) == dma->put) {
			dma_rmb();
			return 0;
		}
		status = godwit_read(gdev, GODWIT_DMA_REG(csr));
		if (status == ~0u)
			return -ENODEV;
		if (status & GW_DMA__CSR__STOPPED_bm) {
			dev_warn_ratelimited(&gdev->pdev->dev, "the page DMA stands at descriptor %u for cause %u\n",
					     godwit_read(gdev, GODWIT_DMA_REG(head)), GODWIT_DMA_FIELD(CSR__CAUSE, status));
			return -EIO;
		}
		if (late)
			return -ETIMEDOUT;
	}
}

static int godwit_dma_run(struct godwit_device *gdev)
{
	struct godwit_dma *dma = &gdev->dma;
	__le64 *last = dma->ring + (dma->put + dma->count - 1) % GODWIT_DMA_DESCRIPTORS * GODWIT_DMA_WORDS;
	int err, stopped;

	dma->put += dma->count;
	*last |= cpu_to_le64(GODWIT_DMA_CONTROL_FENCE_MASK | GODWIT_DMA_CONTROL_IRQ_MASK |
			     (u64)dma->put << GODWIT_DMA_CONTROL_VALUE_SHIFT);
	reinit_completion(&dma->done);
	/* What is in the ring is there before the card is told, as godwit_write() has it. */
	godwit_write(gdev, GODWIT_DMA_REG(tail), dma->put % GODWIT_DMA_DESCRIPTORS);
	godwit_count(gdev, GODWIT_EVENT_DMA_LISTS, 1);
	godwit_count(gdev, GODWIT_EVENT_DMA_PAGES, dma->count);
	err = godwit_dma_wait(gdev);
	if (!err)
		return 0;
	stopped = godwit_dma_stop(gdev);
	if (stopped)
		godwit_dma_break(gdev, stopped);
	else
		godwit_dma_start(gdev);
	return err;
}

/* Has the list done, unless @err says that it is none, and ends it. After an error some pages may have been copied, none is under way. */
int godwit_dma_end(struct godwit_device *gdev, int err)
{
	struct godwit_dma *dma = &gdev->dma;
	u32 i;

	lockdep_assert_held(&dma->lock);
	if (!err && dma->count)
		err = godwit_dma_run(gdev);
	for (i = 0; i < dma->mapped; i++)
		dma_unmap_page(&gdev->pdev->dev, dma->hosts[i], PAGE_SIZE, godwit_dma_direction(dma));
	mutex_unlock(&dma->lock);
	return err;
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
	init_completion(&dma->done);
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
	ring = dmam_alloc_coherent(dev, GODWIT_DMA_MEMORY, &dma->bus, GFP_KERNEL);
	if (!ring)
		return -ENOMEM;
	at = GODWIT_HOST_APERTURE_BASE + dma->bus;
	godwit_write64(gdev, GODWIT_DMA_REG(base), at >> PAGE_SHIFT << GW_DMA__BASE__PPN_LO_bp |
						   (ilog2(GODWIT_DMA_DESCRIPTORS) - 1) << GW_DMA__BASE__LOG2SZM1_bp);
	godwit_write64(gdev, GODWIT_DMA_REG(fence_addr), (at + PAGE_SIZE) | GW_DMA__FENCE_ADDR__WRITE_bm);
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
