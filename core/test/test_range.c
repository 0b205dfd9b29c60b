// SPDX-License-Identifier: Apache-2.0
/* Unit tests of the range allocator: what the fuzzer's model does not say, case by case. */
#include <godwit/range.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define SHIFT 12u
#define ANY ((struct gw_range_request){ .max = ~(uint64_t)0, .node = GW_RANGE_ANY_NODE })

#define CHECK(condition)                                                            \
	do {                                                                        \
		if (!(condition)) {                                                 \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

static struct gw_range *make(const struct gw_range_area *areas, uint32_t count)
{
	struct gw_range *r;
	size_t bytes;

	CHECK(gw_range_storage(areas, count, SHIFT, &bytes) == GW_RANGE_OK);
	r = malloc(sizeof(*r) + bytes);
	CHECK(r && gw_range_init(r, areas, count, SHIFT, r + 1, bytes) == GW_RANGE_OK);
	CHECK(gw_range_check(r, NULL) == GW_RANGE_OK);
	return r;
}

static int alloc(struct gw_range *r, struct gw_range_request request, uint64_t bytes, uint64_t *pa)
{
	request.bytes = bytes;
	return gw_range_alloc(r, &request, pa, NULL);
}

static void areas_that_touch_are_one(void)
{
	const struct gw_range_area areas[] = { { 32 * MIB, 16 * MIB, 1 }, { 0, 16 * MIB, 0 }, { 16 * MIB, 16 * MIB, 0 } };
	struct gw_range *r = make(areas, 3);
	uint64_t pa = 1;

	CHECK(alloc(r, ANY, 48 * MIB, &pa) == GW_RANGE_OK && pa == 0);
	CHECK(gw_range_free_bytes(r) == 0);
	CHECK(gw_range_free(r, 0, NULL) == GW_RANGE_OK);
	CHECK(gw_range_largest_free(r, 0, ~(uint64_t)0) == 48 * MIB);
	free(r);
}

static void a_border_inside_a_granule_is_no_border(void)
{
	const struct gw_range_area areas[] = { { 0, 3 * SHIFT + 4090, 0 }, { 3 * SHIFT + 4090, MIB - 3 * SHIFT - 4090, 0 } };
	struct gw_range *r = make(areas, 2);
	uint64_t pa;

	CHECK(alloc(r, ANY, MIB, &pa) == GW_RANGE_OK && pa == 0);
	free(r);
}

static void holes_are_never_part_of_a_range(void)
{
	const struct gw_range_area areas[] = { { 0, 16 * MIB, 0 }, { 16 * MIB + 4096, 16 * MIB, 0 } };
	struct gw_range *r = make(areas, 2);
	struct gw_range_request request = ANY;
	struct gw_range_why why;
	uint64_t pa;

	request.bytes = 17 * MIB;
	CHECK(gw_range_alloc(r, &request, &pa, &why) == GW_RANGE_EFRAGMENT);
	CHECK(why.free == 32 * MIB && why.largest == 16 * MIB && why.largest_placed == 16 * MIB);
	CHECK(gw_range_free(r, 16 * MIB, NULL) == GW_RANGE_EFOREIGN);
	free(r);
}

static void the_failure_says_what_stands_in_the_way(void)
{
	const struct gw_range_area areas[] = { { 4096, MIB, 0 }, { (uint64_t)1 << 32, 16 * MIB, 1 } };
	struct gw_range *r = make(areas, 2);
	struct gw_range_request request = ANY;
	uint64_t pa;

	CHECK(alloc(r, request, 0, &pa) == GW_RANGE_ESIZE);
	CHECK(alloc(r, request, ~(uint64_t)0, &pa) == GW_RANGE_ESIZE);
	CHECK(alloc(r, request, 18 * MIB, &pa) == GW_RANGE_ENOMEM);
	CHECK(alloc(r, request, 17 * MIB, &pa) == GW_RANGE_EFRAGMENT);
	request.max = 0xffffffff;
	CHECK(alloc(r, request, 2 * MIB, &pa) == GW_RANGE_EPLACE);
	request.align = MIB;
	CHECK(alloc(r, request, MIB, &pa) == GW_RANGE_EUNALIGNED);
	request.align = 3;
	CHECK(alloc(r, request, MIB, &pa) == GW_RANGE_EALIGN);
	request = ANY;
	request.node = 0;
	CHECK(alloc(r, request, 2 * MIB, &pa) == GW_RANGE_OK && pa == (uint64_t)1 << 32);
	request.flags = GW_RANGE_STRICT_NODE;
	CHECK(alloc(r, request, 2 * MIB, &pa) == GW_RANGE_EPLACE);
	CHECK(gw_range_check(r, NULL) == GW_RANGE_OK);
	free(r);
}

static void bad_areas_are_refused(void)
{
	const struct gw_range_area overlap[] = { { 0, 2 * MIB, 0 }, { MIB, MIB, 0 } };
	const struct gw_range_area wraps[] = { { ~(uint64_t)0 - 4095, 8192, 0 } };
	const struct gw_range_area small[] = { { 1, 4096, 0 } };
	const struct gw_range_area top[] = { { 0 - 16 * MIB, 16 * MIB, 0 } };
	struct gw_range r;
	uint64_t storage[512];
	size_t bytes;

	CHECK(gw_range_init(&r, overlap, 2, SHIFT, storage, sizeof(storage)) == GW_RANGE_EAREA);
	CHECK(gw_range_storage(wraps, 1, SHIFT, &bytes) == GW_RANGE_EAREA);
	CHECK(gw_range_init(&r, small, 1, SHIFT, storage, sizeof(storage)) == GW_RANGE_EAREA);
	CHECK(gw_range_storage(overlap, 0, SHIFT, &bytes) == GW_RANGE_EAREA);
	CHECK(gw_range_storage(top, 1, 3, &bytes) == GW_RANGE_EGRANULE);
	CHECK(gw_range_init(&r, top, 1, SHIFT, storage, 64) == GW_RANGE_ESTORAGE);
	/* The very top of the address space is memory as any other. */
	CHECK(gw_range_init(&r, top, 1, SHIFT, storage, sizeof(storage)) == GW_RANGE_OK);
	CHECK(gw_range_largest_free(&r, 0, ~(uint64_t)0) == 16 * MIB);
}

static void a_change_of_the_bitmap_behind_its_back_is_found(void)
{
	const struct gw_range_area areas[] = { { 0, 16 * MIB, 0 } };
	struct gw_range *r = make(areas, 1);
	uint64_t pa, at;

	CHECK(alloc(r, ANY, 64 * KIB, &pa) == GW_RANGE_OK);
	r->used[0] ^= 1 << 5;
	CHECK(gw_range_check(r, &at) == GW_RANGE_ECORRUPT && at < 64 * KIB);
	r->used[0] ^= 1 << 5;
	CHECK(gw_range_check(r, &at) == GW_RANGE_OK);
	r->full[0][0] |= 2;
	CHECK(gw_range_check(r, &at) == GW_RANGE_ECORRUPT && at == 64 * 4096);
	free(r);
}

static void every_status_has_its_words(void)
{
	for (int status = GW_RANGE_OK; status > GW_RANGE_ECORRUPT; status--)
		CHECK(gw_range_reason(status) != gw_range_reason(GW_RANGE_ECORRUPT));
}

static void storage_that_is_zero_becomes_what_any_storage_becomes(void)
{
	static const uint64_t sizes[] = { 1, 63, 64, 65, 127, 4095, 4096, 4097, 300000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint64_t granule = (uint64_t)1 << SHIFT;
		const struct gw_range_area areas[] = { { 0, sizes[i] * granule, 0 }, { (sizes[i] + 7) * granule, 100 * granule, 0 } };
		struct gw_range r, zeroed;
		size_t bytes;
		void *dirty, *zero;

		CHECK(gw_range_storage(areas, 2, SHIFT, &bytes) == GW_RANGE_OK);
		dirty = malloc(bytes);
		zero = calloc(1, bytes);
		CHECK(dirty && zero);
		memset(dirty, 0xa5, bytes);
		CHECK(gw_range_init(&r, areas, 2, SHIFT, dirty, bytes) == GW_RANGE_OK);
		CHECK(gw_range_init_zeroed(&zeroed, areas, 2, SHIFT, zero, bytes) == GW_RANGE_OK);
		CHECK(!memcmp(dirty, zero, bytes) && gw_range_check(&zeroed, NULL) == GW_RANGE_OK);
		free(dirty);
		free(zero);
	}
}

int main(void)
{
	storage_that_is_zero_becomes_what_any_storage_becomes();
	areas_that_touch_are_one();
	a_border_inside_a_granule_is_no_border();
	holes_are_never_part_of_a_range();
	the_failure_says_what_stands_in_the_way();
	bad_areas_are_refused();
	a_change_of_the_bitmap_behind_its_back_is_found();
	every_status_has_its_words();
	puts("tests passed");
	return 0;
}
