/* SPDX-License-Identifier: GPL-2.0-only */
/* The driver lets go of the card, and takes it again. */
#ifndef GODWIT_BIND_H_
#define GODWIT_BIND_H_

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CARD_DRIVER "/sys/bus/pci/drivers/godwit"

static char card_slot[32];

/* The card's place on the bus, such as 0000:00:01.0. */
static inline bool card_find(void)
{
	DIR *driver = opendir(CARD_DRIVER);
	struct dirent *entry;

	while (driver && (entry = readdir(driver)))
		if (strlen(entry->d_name) == strlen("0000:00:01.0") && strchr(entry->d_name, ':'))
			snprintf(card_slot, sizeof(card_slot), "%s", entry->d_name);
	if (driver)
		closedir(driver);
	return card_slot[0];
}

static inline bool card_tell(const char *file)
{
	int fd = open(file, O_WRONLY);
	bool told = fd >= 0 && write(fd, card_slot, strlen(card_slot)) == (ssize_t)strlen(card_slot);

	close(fd);
	return told;
}

#endif /* GODWIT_BIND_H_ */
