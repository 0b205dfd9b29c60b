/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight threads that launch one kernel, each with data of its own: launches queue up, nobody needs a lock. Then a launch that
 * is not waited for, while the program does something else; and one that takes too long and is cancelled.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "godwit.h"

#define THREADS 8
#define ROUNDS 4
#define COUNT 2000

static godwit_context *context;

static void check(int status)
{
	if (status == GODWIT_OK)
		return;
	fprintf(stderr, "error: %s\n", godwit_last_error());
	exit(1);
}

static godwit_buffer *values_of(int64_t first, size_t count)
{
	godwit_buffer *buffer;
	check(godwit_alloc(context, count * sizeof(int64_t), 0, 0, &buffer));
	int64_t *values = godwit_data(buffer);
	for (size_t i = 0; i < count; i++)
		values[i] = first + (int64_t)i;
	return buffer;
}

static void *work(void *argument)
{
	int64_t thread = *(const int *)argument;
	for (int64_t round = 0; round < ROUNDS; round++) {
		int64_t first = 1000 * thread + round;
		godwit_buffer *values = values_of(first, COUNT);
		const godwit_arg args[] = {
			godwit_pointer("values", godwit_data(values)),
			godwit_number("count", COUNT),
			godwit_number("dtype", 1),
		};
		godwit_completion done;
		uint64_t sum;
		check(godwit_launch(context, "array_sum", args, 3, 0, 0, &done));
		check(godwit_get_result(&done, "sum", &sum));
		if ((int64_t)sum != COUNT * first + (int64_t)COUNT * (COUNT - 1) / 2) {
			fprintf(stderr, "thread %" PRId64 " got another one's sum\n", thread);
			exit(1);
		}
		check(godwit_free(values));
	}
	return NULL;
}

static void said(void *user)
{
	*(volatile int *)user = 1;
}

int main(void)
{
	godwit_card *card;
	pthread_t threads[THREADS];
	int numbers[THREADS];

	check(godwit_open("sim:default", NULL, &card));
	check(godwit_context_create(card, GODWIT_WIDEST, &context));
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d launches from %d threads\n", THREADS * ROUNDS, THREADS);

	godwit_buffer *from = values_of(0, 100000), *to = values_of(7, 100000);
	godwit_arg args[] = {
		godwit_pointer("src", godwit_data(from)),
		godwit_pointer("dst", godwit_data(to)),
		godwit_number("bytes", godwit_size(from)),
		godwit_number("iterations", 1),
	};
	godwit_job *job;
	godwit_completion done;
	volatile int told = 0;
	check(godwit_start(context, "memcopy", args, 4, 0, 0, &job));
	check(godwit_on_end(job, said, (void *)&told));
	while (godwit_wait(job, 1000, &done) == GODWIT_RUNNING)
		; /* anything else */
	check(godwit_wait(job, 0, &done));
	printf("copied %s\n", ((int64_t *)godwit_data(to))[99999] == 99999 ? "all" : "something else");
	godwit_release(job);

	args[3] = godwit_number("iterations", 1000000000);
	int stopped;
	check(godwit_start(context, "memcopy", args, 4, 0, 0, &job));
	if (godwit_wait(job, 5000, NULL) != GODWIT_RUNNING)
		return 1;
	check(godwit_cancel(job, &stopped));
	if (godwit_wait(job, 0, NULL) != GODWIT_EINVAL)
		return 1;
	printf("%s; %s\n", godwit_last_error(), stopped ? "the kernel stands still" : "the kernel goes on");
	godwit_release(job);

	check(godwit_free(from));
	check(godwit_free(to));
	godwit_context_destroy(context);
	godwit_close(card);
	return told ? 0 : 1;
}
