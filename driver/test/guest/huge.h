/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of hugetlbfs, which the system has to have reserved. */
#ifndef GODWIT_HUGE_H_
#define GODWIT_HUGE_H_

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE (2ul << 20)

static inline bool huge_reserve(const char *pages)
{
	int fd = open("/proc/sys/vm/nr_hugepages", O_WRONLY);
	bool done = fd >= 0 && write(fd, pages, 1) == 1;

	close(fd);
	return done;
}

/* One, the process's own. */
static inline void *huge_page(void)
{
	return mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
}

#endif /* GODWIT_HUGE_H_ */
