/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's end with an error status, from C: launched, started and waited for, allowed, and right again after it. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "godwit.h"

enum { COUNT = 16, DTYPE_INT64 = 1, DTYPE_WRONG = 9 };

static uint64_t result(const godwit_completion *done, const char *name)
{
	uint64_t value = 0;

	assert(godwit_get_result(done, name, &value) == GODWIT_OK);
	return value;
}

int main(void)
{
	godwit_card *card;
	godwit_context *context;
	godwit_buffer *buffer;
	godwit_completion done;
	godwit_job *job;

	assert(godwit_open("sim:default", NULL, &card) == GODWIT_OK);
	assert(godwit_context_create(card, GODWIT_WIDEST, &context) == GODWIT_OK);
	assert(godwit_alloc(context, COUNT * sizeof(int64_t), 0, 0, &buffer) == GODWIT_OK);

	int64_t *values = godwit_data(buffer);

	for (int i = 0; i < COUNT; i++)
		values[i] = i;

	godwit_arg args[] = {
		godwit_pointer("values", values),
		godwit_number("count", COUNT),
		godwit_number("dtype", DTYPE_WRONG),
	};

	memset(&done, 0, sizeof(done));
	assert(godwit_launch(context, "array_sum", args, 3, 0, 0, &done) == GODWIT_ESTATUS);
	assert(result(&done, "status") != 0 && done.cycles > 0);
	printf("launch: %s\n", godwit_last_error());

	memset(&done, 0, sizeof(done));
	assert(godwit_start(context, "array_sum", args, 3, 0, 0, &job) == GODWIT_OK);
	assert(godwit_wait(job, 0, &done) == GODWIT_ESTATUS);
	assert(result(&done, "status") != 0 && done.cycles > 0);
	assert(godwit_wait(job, 0, &done) == GODWIT_ESTATUS); /* who waits again is told again */
	godwit_release(job);

	assert(godwit_launch(context, "array_sum", args, 3, GODWIT_ALLOW_STATUS, 0, &done) == GODWIT_OK);
	printf("allowed: status %" PRIu64 "\n", result(&done, "status"));

	args[2] = godwit_number("dtype", DTYPE_INT64);
	assert(godwit_launch(context, "array_sum", args, 3, 0, 0, &done) == GODWIT_OK);
	printf("after it: sum %" PRIu64 "\n", result(&done, "sum"));

	assert(godwit_free(buffer) == GODWIT_OK);
	godwit_context_destroy(context);
	godwit_close(card);
	return 0;
}
