// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <stdlib.h>
#include <string.h>

const struct run *model_find(const struct model *model, uint64_t vpn)
{
	for (unsigned int i = 0; i < model->count; i++)
		if (model->runs[i].first <= vpn && vpn <= model->runs[i].last)
			return &model->runs[i];
	return NULL;
}

bool model_first_mapped(const struct model *model, uint64_t first, uint64_t last, uint64_t *vpn)
{
	for (unsigned int i = 0; i < model->count; i++) {
		const struct run *run = &model->runs[i];

		if (run->last >= first && run->first <= last) {
			*vpn = run->first > first ? run->first : first;
			return true;
		}
	}
	return false;
}

bool model_first_hole(const struct model *model, uint64_t first, uint64_t last, uint64_t *vpn)
{
	for (*vpn = first; *vpn <= last;) {
		const struct run *run = model_find(model, *vpn);

		if (!run)
			return true;
		*vpn = run->last + 1;
	}
	return false;
}

/* Makes `vpn` the first page of a run, if it lies inside one. */
static void cut(struct model *model, uint64_t vpn)
{
	for (unsigned int i = 0; i < model->count; i++) {
		struct run *run = &model->runs[i];

		if (run->first < vpn && vpn <= run->last) {
			if (model->count == MODEL_RUNS)
				abort();
			memmove(run + 1, run, (model->count - i) * sizeof(*run));
			model->count++;
			run[0].last = vpn - 1;
			run[1].ppn += vpn - run[1].first;
			run[1].first = vpn;
			return;
		}
	}
}

void model_map(struct model *model, uint64_t first, uint64_t last, uint64_t ppn, uint32_t perm)
{
	unsigned int i = 0;

	if (model->count == MODEL_RUNS)
		abort();
	while (i < model->count && model->runs[i].first < first)
		i++;
	memmove(&model->runs[i + 1], &model->runs[i], (model->count - i) * sizeof(model->runs[0]));
	model->runs[i] = (struct run){ .first = first, .last = last, .ppn = ppn, .perm = perm };
	model->count++;
}

void model_unmap(struct model *model, uint64_t first, uint64_t last)
{
	unsigned int kept = 0;

	cut(model, first);
	cut(model, last + 1);
	for (unsigned int i = 0; i < model->count; i++)
		if (model->runs[i].last < first || model->runs[i].first > last)
			model->runs[kept++] = model->runs[i];
	model->count = kept;
}

void model_protect(struct model *model, uint64_t first, uint64_t last, uint32_t perm)
{
	cut(model, first);
	cut(model, last + 1);
	for (unsigned int i = 0; i < model->count; i++)
		if (model->runs[i].first >= first && model->runs[i].last <= last)
			model->runs[i].perm = perm;
}
