// SPDX-License-Identifier: GPL-2.0-only
/* The MMU: what it is, contexts, ports, faults, and page tables (core's) in device memory. */
#include <linux/delay.h>
#include <linux/ktime.h>

#include "driver.h"

#define GODWIT_FIELD(reg, value) (((value) & GW_MMU__##reg##_bm) >> GW_MMU__##reg##_bp)
/* Looks at an invalidation of everything while nothing runs. */
#define GODWIT_LOOKS 10000
/* Times that the interrupt's thread looks for more without a rest. */
#define GODWIT_ROUNDS 64

/* Whether a whole entry is at @pa: what a card wrote over its tables may say anything. */
static bool godwit_entry_fits(struct godwit_device *gdev, u64 pa)
{
	return !(pa % sizeof(u64)) && pa <= gdev->memory_bytes - sizeof(u64);
}

static uint64_t godwit_pt_read(void *ctx, uint64_t pa)
{
	struct godwit_device *gdev = ctx;

	return godwit_entry_fits(gdev, pa) ? readq(gdev->memory + pa) : 0;
}

static void godwit_pt_write(void *ctx, uint64_t pa, uint64_t pte)
{
	struct godwit_device *gdev = ctx;

	if (godwit_entry_fits(gdev, pa))
		writeq(pte, gdev->memory + pa);
}

static uint64_t godwit_pt_alloc(void *ctx)
{
	return godwit_frame_alloc(ctx);
}

static void godwit_pt_free(void *ctx, uint64_t pa)
{
	godwit_frame_free(ctx, pa);
}

static const struct gw_pt_ops godwit_pt_ops = {
	.read = godwit_pt_read,
	.write = godwit_pt_write,
	.alloc = godwit_pt_alloc,
	.free = godwit_pt_free,
};

/* What a status of core's page tables is to a program. */
int godwit_pt_errno(int status)
{
	switch (status) {
	case GW_PT_OK:
		return 0;
	case GW_PT_EEXIST:
		return -EEXIST;
	case GW_PT_ENOENT:
		return -ENOENT;
	case GW_PT_ENOMEM:
		return -ENOMEM;
	case GW_PT_ECORRUPT:
		return -EIO;
	default:
		return -EINVAL;
	}
}

int godwit_table_init(struct godwit_device *gdev, struct gw_pt *table)
{
	return godwit_pt_errno(gw_pt_init(table, &godwit_pt_ops, gdev, gdev->mode));
}

/*
 * Maps what is in a row for the card. A table that is not what was written there may keep some of it after an error, which must not be
 * reached when its pages are somebody else's.
 */
int godwit_table_map(struct godwit_device *gdev, struct gw_pt *table, const struct gw_pt_range *what, u64 pa, u32 perm, u32 order)
{
	int status = gw_pt_map(table, what->va, pa, what->size, perm, order);

	if (status == GW_PT_ECORRUPT)
		pci_clear_master(gdev->pdev);
	return godwit_pt_errno(status);
}

/* Sets a context's root table; NULL takes it away, and is complete with the next invalidation. */
void godwit_mmu_set_context(struct godwit_device *gdev, u32 number, const struct gw_pt *table)
{
	u64 root = 0;

	if (table)
		root = (u64)table->mode << GODWIT_FSC_MODE_SHIFT | (gdev->demand ? GODWIT_FSC_EN_PRI_MASK : 0) |
		       table->root >> GODWIT_PT_PAGE_SHIFT << GODWIT_FSC_PPN_SHIFT;
	godwit_write64(gdev, GODWIT_MMU(contexts) + number * sizeof(u64), root);
}

/* Binds a port; @mode is one of GODWIT_PORT_MODE_*. */
void godwit_mmu_bind(struct godwit_device *gdev, u32 port, u32 mode, u32 context)
{
	godwit_write(gdev, GODWIT_MMU(port) + port * sizeof(gw_mmu__portx__stride10_t),
		     mode << GW_MMU__PORTX__BINDING__MODE_bp | context << GW_MMU__PORTX__BINDING__CONTEXT_ID_bp);
}

/* Takes the fault record, if there is one, to the kernel whose port it names, and makes room for the next; whether there was. */
bool godwit_mmu_collect_fault(struct godwit_device *gdev)
{
	struct godwit_kernel *kernel;
	bool found = false;
	u32 fault, port;

	mutex_lock(&gdev->fault_lock);
	fault = godwit_read(gdev, GODWIT_MMU(fault));
	if (fault == ~0u || !(fault & GW_MMU__FAULT__VALID_bm))
		goto unlock;
	found = true;
	port = GODWIT_FIELD(FAULT__PORT, fault);
	godwit_count(gdev, GODWIT_EVENT_FAULTS, 1);
	if (port < gdev->kernels && !gdev->kernel[port].fault.valid) {
		kernel = &gdev->kernel[port];
		kernel->fault.cause = GODWIT_FIELD(FAULT__CAUSE, fault);
		kernel->fault.address = godwit_read(gdev, GODWIT_MMU(fault_address)) |
					(u64)godwit_read(gdev, GODWIT_MMU(fault_address) + 4) << 32;
		kernel->fault.valid = true;
	}
	/* In this order a fault that comes between the two raises the interrupt again. */
	godwit_write(gdev, GODWIT_MMU(irq_pending), GW_MMU__IRQ_PENDING__FAULT_bm);
	godwit_write(gdev, GODWIT_MMU(fault), GW_MMU__FAULT__VALID_bm);
unlock:
	mutex_unlock(&gdev->fault_lock);
	return found;
}

/*
 * The line is up as long as anything is pending, and a message is only sent when it rises: so it is over when a look at
 * everything has found nothing.
 */
irqreturn_t godwit_mmu_irq(int irq, void *data)
{
	struct godwit_device *gdev = data;
	u32 rounds = 0;
	bool found;
	u64 since;

	godwit_count(gdev, GODWIT_EVENT_MMU_INTERRUPTS, 1);
	do {
		/* This thread goes before all others: a card that says for ever that there is more must not have a processor to itself. */
		if (rounds++ % GODWIT_ROUNDS == GODWIT_ROUNDS - 1)
			usleep_range(1000, 2000);
		since = ktime_get_ns();
		found = godwit_mmu_collect_fault(gdev);
		found |= godwit_pages_serve(gdev);
		found |= godwit_lines_serve(gdev);
		godwit_lines_served(gdev, since);
	} while (found && !READ_ONCE(gdev->going));
	return IRQ_HANDLED;
}

static int godwit_mmu_identify(struct godwit_device *gdev)
{
	struct device *dev = &gdev->pdev->dev;
	u32 id = godwit_read(gdev, GODWIT_MMU(id)), hash = godwit_read(gdev, GODWIT_MMU(spec_hash));
	u32 levels, capabilities;

	if (GODWIT_FIELD(ID__MAGIC, id) != GW_MMU__ID__MAGIC_reset ||
	    GODWIT_FIELD(ID__MAJOR, id) != GW_MMU__ID__MAJOR_reset) {
		dev_err(dev, "identification reads %#010x, not %#06x with major version %u: no card that this driver knows\n",
			id, GW_MMU__ID__MAGIC_reset, GW_MMU__ID__MAJOR_reset);
		return -ENODEV;
	}
	if (hash != GODWIT_SPEC_HASH) {
		dev_err(dev, "the card was made from spec %08x, this driver from %08x: build one of them again\n", hash,
			GODWIT_SPEC_HASH);
		return -ENODEV;
	}
	capabilities = godwit_read(gdev, GODWIT_MMU(capabilities));
	levels = GODWIT_FIELD(CAPABILITIES__LEVELS, capabilities);
	gdev->contexts = min_t(u32, GODWIT_FIELD(CAPABILITIES__CONTEXTS, capabilities), godwit_param_contexts);
	gdev->spec_hash = hash;
	gdev->ports = GODWIT_FIELD(CAPABILITIES__PORTS, capabilities);
	if (levels < 3 || levels > 5 || !gdev->contexts || gdev->ports < gdev->kernels) {
		dev_err(dev, "capabilities read %#010x, which no card of %u kernels has\n", capabilities, gdev->kernels);
		return -ENODEV;
	}
	gdev->demand = GODWIT_FIELD(CAPABILITIES__PAGE_REQUESTS, capabilities);
	gdev->mode = GODWIT_MODE_SV39 + (levels - 3);
	gdev->va_bits = PAGE_SHIFT + levels * GODWIT_PT_LEVEL_BITS - 1;
	return 0;
}

/* Turns off all that somebody before may have left on, and drops what was cached. */
static int godwit_mmu_quiet(struct godwit_device *gdev)
{
	u32 i;

	for (i = 0; i < gdev->ports; i++)
		godwit_mmu_bind(gdev, i, GODWIT_PORT_MODE_OFF, 0);
	for (i = 0; i < gdev->contexts; i++)
		godwit_mmu_set_context(gdev, i, NULL);
	godwit_write(gdev, GODWIT_MMU(invalidate), GW_MMU__INVALIDATE__START_bm);
	for (i = 0; i < GODWIT_LOOKS; i++) {
		if (!(godwit_read(gdev, GODWIT_MMU(invalidate)) & GW_MMU__INVALIDATE__BUSY_bm))
			return 0;
		usleep_range(10, 20);
	}
	dev_err(&gdev->pdev->dev, "an access that was translated before does not end: reset the card\n");
	return -EIO;
}

int godwit_mmu_init(struct godwit_device *gdev)
{
	int err = godwit_mmu_identify(gdev);

	if (err)
		return err;
	mutex_init(&gdev->fault_lock);
	mutex_init(&gdev->counters_lock);
	err = godwit_mmu_quiet(gdev);
	if (err)
		return err;
	err = godwit_queue_init(gdev);
	if (err)
		return err;
	err = godwit_pages_init(gdev);
	if (err) {
		godwit_queue_fini(gdev);
		return err;
	}
	godwit_alone_init(gdev);
	godwit_lines_init(gdev);
	godwit_write(gdev, GODWIT_MMU(irq_pending), GW_MMU__IRQ_PENDING__FAULT_bm);
	godwit_write(gdev, GODWIT_MMU(fault), GW_MMU__FAULT__VALID_bm);
	godwit_write(gdev, GODWIT_MMU(irq_enable), GW_MMU__IRQ_ENABLE__FAULT_bm);
	return 0;
}

void godwit_mmu_fini(struct godwit_device *gdev)
{
	godwit_write(gdev, GODWIT_MMU(irq_enable), 0);
	godwit_lines_fini(gdev);
	godwit_pages_fini(gdev);
	godwit_queue_fini(gdev);
}
