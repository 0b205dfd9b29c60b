// SPDX-License-Identifier: GPL-2.0-only
/* The card on the bus: found, brought up, and taken away, at any time. */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "cmt.h"
#include "driver.h"

#define GODWIT_NAME "godwit"
/* Bus addresses that the host aperture has. */
#define GODWIT_DMA_BITS GODWIT_HOST_APERTURE_BIT
#define GODWIT_MAX_KERNELS 31

static int godwit_request_irqs(struct godwit_device *gdev)
{
	struct pci_dev *pdev = gdev->pdev;
	u32 slot;
	int err;

	err = request_threaded_irq(pci_irq_vector(pdev, GODWIT_PCI_VECTOR_MMU), NULL, godwit_mmu_irq, IRQF_ONESHOT,
				   GODWIT_NAME "-mmu", gdev);
	if (err)
		return err;
	if (gdev->dma.ring) {
		err = request_threaded_irq(pci_irq_vector(pdev, GODWIT_PCI_VECTOR_DMA), NULL, godwit_dma_irq, IRQF_ONESHOT,
					   GODWIT_NAME "-dma", gdev);
		if (err)
			goto free_mmu;
	}
	for (slot = 0; slot < gdev->kernels; slot++) {
		gdev->kernel[slot].irq = pci_irq_vector(pdev, GODWIT_PCI_VECTOR_KERNEL0 + slot);
		err = request_threaded_irq(gdev->kernel[slot].irq, NULL, godwit_kernel_irq, IRQF_ONESHOT,
					   GODWIT_NAME "-kernel", gdev);
		if (err)
			break;
	}
	if (!err)
		return 0;
	while (slot--)
		free_irq(gdev->kernel[slot].irq, gdev);
	if (gdev->dma.ring)
		free_irq(pci_irq_vector(pdev, GODWIT_PCI_VECTOR_DMA), gdev);
free_mmu:
	free_irq(pci_irq_vector(pdev, GODWIT_PCI_VECTOR_MMU), gdev);
	return err;
}

static void godwit_free_irqs(struct godwit_device *gdev)
{
	u32 slot;

	for (slot = 0; slot < gdev->kernels; slot++)
		free_irq(gdev->kernel[slot].irq, gdev);
	if (gdev->dma.ring)
		free_irq(pci_irq_vector(gdev->pdev, GODWIT_PCI_VECTOR_DMA), gdev);
	free_irq(pci_irq_vector(gdev->pdev, GODWIT_PCI_VECTOR_MMU), gdev);
}

/*
 * A page that a process and the card both use is mapped once, and both go on using it: where Linux gives a device copies of pages
 * (bounce buffers), which it brings up to date when a mapping begins or ends, neither would see what the other writes. It limits
 * the size of mappings there, and nowhere else but for devices that it does not trust: these are behind an IOMMU, and whole pages
 * are theirs without a copy.
 */
static int godwit_check_bounce(struct pci_dev *pdev)
{
	struct device *dev = &pdev->dev;

	if (dma_max_mapping_size(dev) == SIZE_MAX || (pdev->untrusted && device_iommu_mapped(dev)))
		return 0;
	dev_err(dev, "the card would work on copies of memory (bounce buffers) and cannot share it: this guest's memory is encrypted, Linux was booted with swiotlb=force, or some memory is beyond the bus\n");
	return -EOPNOTSUPP;
}

/* Registers, memory, vectors; all of it undone by godwit_pci_off(). */
static int godwit_pci_on(struct godwit_device *gdev)
{
	struct pci_dev *pdev = gdev->pdev;
	int err, vectors;

	err = pci_enable_device_mem(pdev);
	if (err)
		return err;
	err = pci_request_mem_regions(pdev, GODWIT_NAME);
	if (err)
		goto disable;
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(GODWIT_DMA_BITS));
	if (err)
		goto release;
	err = godwit_check_bounce(pdev);
	if (err)
		goto release;
	/* Page tables have as many entries as it takes: neighbours of any number are one piece. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	err = -ENOMEM;
	gdev->memory_bytes = pci_resource_len(pdev, GODWIT_PCI_BAR_MEMORY);
	gdev->regs = pci_iomap(pdev, GODWIT_PCI_BAR_REGISTERS, 0);
	if (!gdev->regs)
		goto release;
	gdev->memory = pci_iomap(pdev, GODWIT_PCI_BAR_MEMORY, 0);
	if (!gdev->memory)
		goto unmap_regs;
	vectors = pci_msix_vec_count(pdev);
	if (vectors < (int)GODWIT_PCI_VECTOR_KERNEL0 || vectors > (int)GODWIT_PCI_VECTOR_KERNEL0 + GODWIT_MAX_KERNELS) {
		dev_err(&pdev->dev, "%d MSI-X vectors: no card has so many\n", vectors);
		err = -ENODEV;
		goto unmap_memory;
	}
	gdev->kernels = vectors - GODWIT_PCI_VECTOR_KERNEL0;
	if (pci_resource_len(pdev, GODWIT_PCI_BAR_REGISTERS) <
	    GODWIT_REGISTER_SPACE_KERNEL_BASE + gdev->kernels * GODWIT_REGISTER_SPACE_KERNEL_STRIDE) {
		dev_err(&pdev->dev, "BAR %u does not hold the registers of %u kernels\n", GODWIT_PCI_BAR_REGISTERS,
			gdev->kernels);
		err = -ENODEV;
		goto unmap_memory;
	}
	godwit_heap_probe(gdev);
	err = godwit_heap_host_forget(gdev);
	if (err)
		goto unmap_memory;
	vectors = pci_alloc_irq_vectors(pdev, vectors, vectors, PCI_IRQ_MSIX);
	if (vectors < 0) {
		err = vectors;
		goto unmap_memory;
	}
	pci_set_master(pdev);
	return 0;

unmap_memory:
	pci_iounmap(pdev, gdev->memory);
unmap_regs:
	pci_iounmap(pdev, gdev->regs);
release:
	pci_release_mem_regions(pdev);
disable:
	pci_disable_device(pdev);
	return err;
}

static void godwit_pci_off(struct godwit_device *gdev)
{
	pci_clear_master(gdev->pdev);
	pci_free_irq_vectors(gdev->pdev);
	pci_iounmap(gdev->pdev, gdev->memory);
	pci_iounmap(gdev->pdev, gdev->regs);
	pci_release_mem_regions(gdev->pdev);
	pci_disable_device(gdev->pdev);
}

/* Takes the card, from its registers to its device file. */
int godwit_up(struct pci_dev *pdev)
{
	struct godwit_device *gdev = kzalloc(sizeof(*gdev), GFP_KERNEL);
	int err;

	if (!gdev)
		return -ENOMEM;
	kref_init(&gdev->kref);
	gdev->pdev = pdev;
	init_rwsem(&gdev->alive_lock);
	mutex_init(&gdev->contexts_lock);
	INIT_LIST_HEAD(&gdev->context_list);
	pci_set_drvdata(pdev, gdev);
	/* A card that sleeps or is reset is let go of without its driver being unbound: what was allocated for the device goes then, too. */
	err = -ENOMEM;
	if (!devres_open_group(&pdev->dev, gdev, GFP_KERNEL))
		goto put;
	err = godwit_pci_on(gdev);
	if (err)
		goto group;
	err = godwit_frames_init(gdev);
	if (err)
		goto off;
	err = godwit_kernels_init(gdev);
	if (err)
		goto off;
	/* Before anybody else takes frames: its own are where it says. */
	godwit_heap_init(gdev);
	err = godwit_mmu_init(gdev);
	if (err)
		goto off;
	godwit_heap_check_cache(gdev);
	err = godwit_dma_init(gdev);
	if (err)
		goto mmu;
	err = godwit_request_irqs(gdev);
	if (err)
		goto dma;
	godwit_pool_init(gdev);
	err = godwit_chardev_add(gdev);
	if (err)
		goto pool;
	godwit_debugfs_add(gdev);
	devres_close_group(&pdev->dev, gdev);
	dev_info(&pdev->dev, "%s: spec %08x, %u kernels, %u contexts, %llu MiB\n", gdev->name, GODWIT_SPEC_HASH,
		 gdev->kernels, gdev->contexts, gdev->memory_bytes >> 20);
	return 0;

pool:
	godwit_pool_fini(gdev);
	godwit_free_irqs(gdev);
dma:
	godwit_dma_fini(gdev);
mmu:
	godwit_mmu_fini(gdev);
off:
	godwit_pci_off(gdev);
group:
	devres_release_group(&pdev->dev, gdev);
put:
	pci_set_drvdata(pdev, NULL);
	godwit_device_put(gdev);
	return err;
}

/* Lets go of it: what is under way ends, memory comes home, and its open files are of no card any more. */
void godwit_down(struct pci_dev *pdev)
{
	struct godwit_device *gdev = pci_get_drvdata(pdev);

	/* It did not come back from sleep or a reset. */
	if (!gdev)
		return;
	pci_set_drvdata(pdev, NULL);
	godwit_debugfs_remove(gdev);
	godwit_chardev_remove(gdev);
	/* Launches that wait hold the lock that is wanted next. */
	WRITE_ONCE(gdev->going, true);
	godwit_kernels_wake(gdev);
	down_write(&gdev->alive_lock);
	godwit_contexts_end(gdev);
	/* Its thread may be at a request of a context that was there, and uses the pool without a lock. */
	disable_irq(pci_irq_vector(pdev, GODWIT_PCI_VECTOR_MMU));
	godwit_pool_fini(gdev);
	godwit_dma_fini(gdev);
	godwit_mmu_fini(gdev);
	godwit_free_irqs(gdev);
	godwit_pci_off(gdev);
	devres_release_group(&pdev->dev, gdev);
	up_write(&gdev->alive_lock);
	godwit_device_put(gdev);
}

static int godwit_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	return godwit_up(pdev);
}

static const struct pci_device_id godwit_pci_ids[] = {
	{ PCI_DEVICE_SUB(GODWIT_PCI_VENDOR, GODWIT_PCI_DEVICE, GODWIT_PCI_VENDOR, GODWIT_PCI_DEVICE) },
	{}
};
MODULE_DEVICE_TABLE(pci, godwit_pci_ids);

static struct pci_driver godwit_driver = {
	.name = GODWIT_NAME,
	.id_table = godwit_pci_ids,
	.probe = godwit_probe,
	.remove = godwit_down,
	.err_handler = &godwit_reset_handlers,
};

static int __init godwit_init(void)
{
	int err = godwit_pools_init();

	if (err)
		return err;
	err = godwit_cmt_init();
	if (err)
		goto pools;
	godwit_debugfs_init();
	err = pci_register_driver(&godwit_driver);
	if (err)
		goto cmt;
	err = godwit_sleep_init(&godwit_driver);
	if (!err)
		return 0;
	pci_unregister_driver(&godwit_driver);
cmt:
	godwit_debugfs_exit();
	godwit_cmt_exit();
pools:
	godwit_pools_exit();
	return err;
}
module_init(godwit_init);

static void __exit godwit_exit(void)
{
	godwit_sleep_exit();
	pci_unregister_driver(&godwit_driver);
	godwit_debugfs_exit();
	godwit_cmt_exit();
	godwit_pools_exit();
}
module_exit(godwit_exit);

MODULE_DESCRIPTION("Shared virtual memory for Godwit accelerator cards");
MODULE_LICENSE("GPL");
