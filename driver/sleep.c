// SPDX-License-Identifier: GPL-2.0-only
/*
 * The machine goes to sleep, or somebody resets the card: the driver lets go of it before, as if it was pulled out, and takes it again
 * afterwards. A card keeps nothing without power or over its reset, and nobody could tell a kernel that waits in the middle of its work.
 * It is taken as a card that nobody has used, or that somebody left as it was: whether it lost what it had is seen by the card itself.
 *
 * Before sleep this is done while processes still run (a notifier, no callback of the device): launches end with ENODEV in their own
 * time, none holds up the freezer, and what is in device memory comes home while there is the whole machine to take it.
 */
#include <linux/pci.h>
#include <linux/suspend.h>

#include "driver.h"

static struct pci_driver *godwit_sleeping_driver;

static int godwit_device_down(struct device *dev, void *none)
{
	device_lock(dev);
	if (dev->driver == &godwit_sleeping_driver->driver)
		godwit_down(to_pci_dev(dev));
	device_unlock(dev);
	return 0;
}

/* A card that does not come back is there without a driver's care; the log says why, and others come back. */
static void godwit_up_again(struct pci_dev *pdev, const char *what)
{
	int err = pci_get_drvdata(pdev) ? 0 : godwit_up(pdev);

	if (err)
		dev_err(&pdev->dev, "the card does not work after %s (%d): write its name to the driver's `unbind` and `bind` to try again\n", what, err);
}

static int godwit_device_up(struct device *dev, void *none)
{
	device_lock(dev);
	if (dev->driver == &godwit_sleeping_driver->driver)
		godwit_up_again(to_pci_dev(dev), "sleep");
	device_unlock(dev);
	return 0;
}

static int godwit_sleep(struct notifier_block *none, unsigned long event, void *data)
{
	int (*what)(struct device *, void *) = NULL;
	int err;

	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		what = godwit_device_down;
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		what = godwit_device_up;
		break;
	}
	if (!what)
		return NOTIFY_DONE;
	err = driver_for_each_device(&godwit_sleeping_driver->driver, NULL, NULL, what);
	return notifier_from_errno(err);
}

static struct notifier_block godwit_sleep_notifier = {
	.notifier_call = godwit_sleep,
};

/* The device is locked. */
static void godwit_reset_prepare(struct pci_dev *pdev)
{
	godwit_down(pdev);
}

static void godwit_reset_done(struct pci_dev *pdev)
{
	godwit_up_again(pdev, "its reset");
}

const struct pci_error_handlers godwit_reset_handlers = {
	.reset_prepare = godwit_reset_prepare,
	.reset_done = godwit_reset_done,
};

int godwit_sleep_init(struct pci_driver *driver)
{
	godwit_sleeping_driver = driver;
	return register_pm_notifier(&godwit_sleep_notifier);
}

/* No device is locked here: the notifier locks them. */
void godwit_sleep_exit(void)
{
	unregister_pm_notifier(&godwit_sleep_notifier);
}
