/* SPDX-License-Identifier: Apache-2.0 */
/*
 * misuse CASE: one wrong call of malloc's family, and whether two owners get the same memory afterwards. Says "harmless" or
 * "two owners"; an allocator that saw the call has said so, or ended the program.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HELD 64
#define LATER 4000
#define SIZE ((size_t)100)
#define LARGE ((size_t)1 << 20)

static char *volatile held[HELD];

static void *free_it(void *block)
{
	free(block);
	return NULL;
}

static void free_elsewhere(void *block)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, free_it, block) || pthread_join(thread, NULL))
		exit(2);
}

static int overlap(const char *one, const char *other, size_t size)
{
	return one && other && one < other + size && other < one + size;
}

/* Whether later blocks lie in each other, or small ones in those that are held. */
static int two_owners(size_t size, unsigned later)
{
	static char *got[LATER];

	for (unsigned i = 0; i < later; i++) {
		got[i] = malloc(size);
		for (unsigned j = 0; j < i; j++)
			if (overlap(got[i], got[j], size))
				return 1;
		for (unsigned j = 0; size == SIZE && j < HELD; j++)
			if (overlap(got[i], held[j], size))
				return 1;
	}
	return 0;
}

static void drop(unsigned number)
{
	free(held[number]);
	held[number] = NULL;
}

static void large_twice(void)
{
	char *volatile block = malloc(LARGE);

	free(block);
	free(block);
}

static void misuse(unsigned number, char *block)
{
	static char aligned[64] __attribute__((aligned(64)));

	switch (number) {
	case 0: drop(10); free(block); break;
	case 1: drop(10); drop(20); free(block); break;
	case 2:
		drop(10);
		for (unsigned i = 20; i < 60; i++)
			drop(i);
		free(block);
		break;
	case 3: drop(10); free_elsewhere(block); break;
	case 4: free_elsewhere(block); held[10] = NULL; free_elsewhere(block); break;
	case 5: large_twice(); break;
	case 6: free(block + 32); break;
	case 7: free(block + 7); break;
	case 8: free(realloc(block + 32, 5000)); break;
	case 9: free(aligned + 16); break;
	case 10: free(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)); break;
	case 11: memset(block, 'x', malloc_usable_size(block) + 1); drop(10); drop(11); break;
	case 12: drop(10); *(uintptr_t *)block = 0x4141414141414140; break;
	default: exit(2);
	}
}

int main(int argc, char **argv)
{
	unsigned number = argc > 1 ? (unsigned)atoi(argv[1]) : 99;

	/* As a program that runs for a while: not its first blocks. */
	free(malloc(300000));
	for (unsigned i = 0; i < HELD; i++)
		held[i] = malloc(SIZE);
	misuse(number, held[10]);
	puts((number == 5 ? two_owners(LARGE, 2) : two_owners(SIZE, LATER)) ? "two owners" : "harmless");
	return 0;
}
