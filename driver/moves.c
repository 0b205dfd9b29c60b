// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a process on their way to the card or home, piece by piece: a piece is taken from the process (migrate_vma_setup(), which
 * has the notifier take it from the card), its pages get a place and are given to the page DMA one after the other, and when all have
 * been copied the process gets the copies: nobody can write it in between. The next piece is taken while this one is copied, and they
 * end in their order.
 *
 * DOC: locking
 *   The memory map's lock of the process first, then struct godwit_pool.device_lock, from the first piece to the end of the last, and
 *   under that the page DMA's. The notifier's locks are taken inside migrate_vma_setup(), under both; the context's, too, when pages are
 *   shown to the card. Pages of a piece are locked meanwhile: those of the next one are only tried, and nothing is faulted in.
 */
#include <linux/log2.h>
#include <linux/migrate.h>
#include <linux/mmap_lock.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "migrate.h"
#include "trace.h"

/* Of the first piece to the card; the next has four times as many, and so on: the first is soon under way, and many in one go cost the least. */
#define GODWIT_MOVE_FIRST 32
/* Pieces that grow. */
#define GODWIT_MOVE_GROWS (ilog2(GODWIT_MOVE_PAGES / GODWIT_MOVE_FIRST) / 2)

/* A place that nobody takes. */
static void godwit_place_put(struct page *place)
{
	if (!place)
		return;
	unlock_page(place);
	put_page(place);
}

/* What was never touched is as writable as its area. */
static bool godwit_is_writable(const struct godwit_piece *piece, unsigned long src)
{
	return src & MIGRATE_PFN_VALID ? src & MIGRATE_PFN_WRITE : piece->args.vma->vm_flags & VM_WRITE;
}

/* A page of the pool for page @i of the host; without one it stays where it is. */
static void godwit_place_out(struct godwit_moves *moves, struct godwit_piece *piece, unsigned long i)
{
	struct godwit_copy *copy = &piece->copy;
	unsigned long src = copy->src[i];
	struct page *to;

	copy->dst[i] = 0;
	if (!(src & MIGRATE_PFN_MIGRATE) || godwit_fails(moves->device))
		return;
	to = godwit_pool_take(moves->pool, moves->ctx->mm, (piece->args.start >> PAGE_SHIFT) + i);
	if (!to)
		return;
	copy->dst[i] = migrate_pfn(page_to_pfn(to)) | (godwit_is_writable(piece, src) ? MIGRATE_PFN_WRITE : 0);
	godwit_copy_add(moves->device, copy, i);
}

/* Pages that were taken from their process get their places: all of them one, if it is @place that they have taken. */
static void godwit_place_all(struct godwit_moves *moves, struct godwit_piece *piece, struct page *place)
{
	struct godwit_copy *copy = &piece->copy;
	unsigned long i;

	copy->whole = place && godwit_folio_is_taken(copy);
	godwit_copy_begin(moves->device, copy);
	if (copy->whole && !godwit_fails(moves->device)) {
		godwit_folio_add(moves->device, copy, place, godwit_is_writable(piece, copy->src[0]));
		place = NULL;
	}
	for (i = 0; i < copy->count && !copy->whole; i++)
		if (moves->home)
			godwit_place_home(moves->device, copy, i, GFP_HIGHUSER, &piece->why);
		else
			godwit_place_out(moves, piece, i);
	godwit_copy_close(moves->device, copy);
	godwit_place_put(place);
}

/* A page of the host for page @i of a pool; without one it stays where it is, @err says why. */
void godwit_place_home(struct godwit_device *gdev, struct godwit_copy *copy, unsigned long i, gfp_t gfp, int *err)
{
	struct page *from = migrate_pfn_to_page(copy->src[i]), *to;

	copy->dst[i] = 0;
	if (!(copy->src[i] & MIGRATE_PFN_MIGRATE) || !from || !is_device_private_page(from))
		return;
	to = godwit_fails(gdev) ? NULL : alloc_page(gfp);
	if (!to) {
		*err = -ENOMEM;
		return;
	}
	lock_page(to);
	copy->dst[i] = migrate_pfn(page_to_pfn(to)) | (copy->src[i] & MIGRATE_PFN_WRITE);
	godwit_copy_add(gdev, copy, i);
}

/* Fills the places that pages have got, or takes these back, and they stay where they are. */
int godwit_fill(struct godwit_device *gdev, struct godwit_copy *copy)
{
	int err = godwit_copy_end(gdev, copy);
	unsigned long i;

	for (i = 0; i < copy->count && err; i++) {
		struct page *to = migrate_pfn_to_page(copy->dst[i]);

		godwit_place_put(to);
		copy->dst[i] = 0;
	}
	return err;
}

static u32 godwit_count_moved(const struct godwit_copy *copy)
{
	unsigned long i;
	u32 moved = 0;

	for (i = 0; i < copy->count; i++)
		moved += copy->dst[i] && copy->src[i] & MIGRATE_PFN_MIGRATE;
	return moved * godwit_copy_pages(copy);
}

/* @address is 0 when all pages come home, whosever they are. */
void godwit_tell_home(struct godwit_device *gdev, u64 address, const struct godwit_copy *copy)
{
	u32 pages = godwit_count_moved(copy);

	if (!pages)
		return;
	trace_godwit_home(gdev->id, address, pages);
	godwit_count(gdev, GODWIT_EVENT_PAGES_HOME, pages);
	godwit_count(gdev, GODWIT_EVENT_FOLIOS_HOME, copy->whole);
}

static void godwit_tell_out(struct godwit_device *gdev, u64 address, const struct godwit_copy *copy)
{
	u32 pages = godwit_count_moved(copy);

	if (!pages)
		return;
	trace_godwit_out(gdev->id, address, pages);
	godwit_count(gdev, GODWIT_EVENT_PAGES_OUT, pages);
	godwit_count(gdev, GODWIT_EVENT_FOLIOS_OUT, copy->whole);
}

/* Takes pages of an area from their process, and has them be copied; a folio that is all of them, to its @place. */
static int godwit_piece_begin(struct godwit_moves *moves, struct godwit_piece *piece, struct vm_area_struct *vma,
			      unsigned long start, unsigned long end, struct page *place)
{
	struct godwit_copy *copy = &piece->copy;
	int err;

	copy->count = (end - start) >> PAGE_SHIFT;
	memset(piece->args.src, 0, copy->count * sizeof(*piece->args.src));
	piece->args.vma = vma;
	piece->args.start = start;
	piece->args.end = end;
	piece->args.flags = moves->home ? MIGRATE_VMA_SELECT_DEVICE_PRIVATE : MIGRATE_VMA_SELECT_SYSTEM;
	if (place)
		piece->args.flags |= GODWIT_SELECT_FOLIOS;
	piece->why = 0;
	godwit_count(moves->device, GODWIT_EVENT_PIECES, 1);
	err = migrate_vma_setup(&piece->args);
	if (err)
		godwit_place_put(place);
	else
		godwit_place_all(moves, piece, place);
	return err;
}

/* Waits for its copies, which the process gets. */
static void godwit_piece_end(struct godwit_moves *moves, struct godwit_piece *piece)
{
	int err = godwit_fill(moves->device, &piece->copy);
	u32 moved;

	migrate_vma_pages(&piece->args);
	moved = godwit_count_moved(&piece->copy);
	if (moves->home)
		godwit_tell_home(moves->device, piece->args.start, &piece->copy);
	else
		godwit_tell_out(moves->device, piece->args.start, &piece->copy);
	migrate_vma_finalize(&piece->args);
	moves->moved += moved;
	/* The card is not to ask for what has just gone to it, nor for what was there and was taken from it with the others. */
	if (!moves->home)
		godwit_inplace_show_moved(moves->ctx, piece->args.start >> PAGE_SHIFT, piece->copy.count, piece->copy.whole);
	/* Of pages that go to the card nothing is wrong when they stay. */
	if (moves->home && !moved && !moves->err)
		moves->err = err ? err : piece->why;
}

static void godwit_moves_end_one(struct godwit_moves *moves)
{
	godwit_piece_end(moves, moves->pieces[moves->ended++ % ARRAY_SIZE(moves->pieces)]);
}

/* Where the next piece ends: at a multiple of its most, as larger pages do. */
static unsigned long godwit_moves_next(const struct godwit_moves *moves, unsigned long start, unsigned long end)
{
	/* It is the host that pages wait for on their way home. */
	u32 grows = moves->home ? GODWIT_MOVE_GROWS : min_t(u32, moves->begun, GODWIT_MOVE_GROWS);
	unsigned long bytes = (unsigned long)GODWIT_MOVE_FIRST * PAGE_SIZE << 2 * grows;

	return min(end, round_down(start, bytes) + bytes);
}

/*
 * Begins with an area's range; where it has got to, which may be before the end: somebody waits for the memory map, the card goes, the
 * program is to end, or something is wrong.
 */
unsigned long godwit_moves_add(struct godwit_moves *moves, struct vm_area_struct *vma, unsigned long start, unsigned long end)
{
	while (start < end && !moves->err) {
		struct godwit_piece *piece = moves->pieces[moves->begun % ARRAY_SIZE(moves->pieces)];
		struct page *place;
		unsigned long next;

		if (!moves->device || READ_ONCE(moves->device->going)) {
			moves->err = -ENODEV;
			break;
		}
		place = godwit_folio_place(moves, vma, start, end, piece->args.src);
		next = place ? start + GODWIT_FOLIO_BYTES : godwit_moves_next(moves, start, end);
		moves->err = godwit_piece_begin(moves, piece, vma, start, next, place);
		if (moves->err)
			break;
		start = next;
		/* One is under way when the next is begun, and both have a place. */
		if (++moves->begun - moves->ended == ARRAY_SIZE(moves->pieces))
			godwit_moves_end_one(moves);
		if (mmap_lock_is_contended(vma->vm_mm) || fatal_signal_pending(current))
			break;
	}
	return start;
}

/* Room for two pieces of as many pages as are to move. */
int godwit_moves_init(struct godwit_moves *moves, struct godwit_context *ctx, u64 pages, bool home)
{
	unsigned long most = min_t(u64, pages, GODWIT_MOVE_PAGES);
	size_t each = sizeof(struct godwit_piece) + most * (2 * sizeof(unsigned long) + sizeof(dma_addr_t));
	u32 i;

	*moves = (struct godwit_moves){ .pool = ctx->device->pool, .ctx = ctx, .home = home };
	if (!moves->pool)
		return -EOPNOTSUPP;
	/* A move is a hint, and who made it hears of it: Linux has nothing to say of that. */
	moves->room = kvzalloc(ARRAY_SIZE(moves->pieces) * each, GFP_KERNEL | __GFP_NOWARN);
	if (!moves->room)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(moves->pieces); i++) {
		struct godwit_piece *piece = moves->room + i * each;
		struct migrate_vma *args = &piece->args;

		args->src = (void *)(piece + 1);
		args->dst = args->src + most;
		args->pgmap_owner = moves->pool;
		piece->copy = (struct godwit_copy){ .src = args->src, .dst = args->dst, .home = home,
						    .hosts = (void *)(args->dst + most) };
		moves->pieces[i] = piece;
	}
	return 0;
}

void godwit_moves_fini(struct godwit_moves *moves)
{
	kvfree(moves->room);
}

/* From here to the close the memory map's lock is held, and the card stays. */
void godwit_moves_open(struct godwit_moves *moves)
{
	down_read(&moves->pool->device_lock);
	moves->device = moves->pool->device;
}

/* Nothing is under way any more. */
void godwit_moves_close(struct godwit_moves *moves)
{
	while (moves->ended != moves->begun)
		godwit_moves_end_one(moves);
	up_read(&moves->pool->device_lock);
}
