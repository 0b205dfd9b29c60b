/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest's files say of the driver, and what it is told by them. */
#ifndef GODWIT_FILES_H_
#define GODWIT_FILES_H_

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEBUG "/sys/kernel/debug/godwit/godwit0/"
#define PARAMETERS "/sys/module/godwit/parameters/"

static char text[1 << 18];

/* What a file says; empty without it. */
static inline const char *contents(const char *path)
{
	int fd = open(path, O_RDONLY);
	size_t got = 0;
	ssize_t more;

	while (fd >= 0 && (more = read(fd, text + got, sizeof(text) - 1 - got)) > 0)
		got += more;
	text[got] = 0;
	close(fd);
	return text;
}

/* The number behind the first @word of a file; -1 without it. */
static inline long long after(const char *path, const char *word)
{
	const char *found = strstr(contents(path), word);

	return found ? strtoll(found + strlen(word), NULL, 10) : -1;
}

static inline bool tell(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY);
	bool told = fd >= 0 && write(fd, what, strlen(what)) == (ssize_t)strlen(what);
	int why = errno;

	close(fd);
	errno = why;
	return told;
}

#endif /* GODWIT_FILES_H_ */
