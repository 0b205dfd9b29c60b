/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contiguous memory: cmt_areas.c takes it at load, where parameters or (cmt_described.c) the machine's description say, cmt_blocks.c gives
 * it to files of /dev/godwit-cmt, which is cmt.c; cmt_map.c shows it to processes, cmt_buffer.c exports it.
 */
#ifndef GODWIT_CMT_H_
#define GODWIT_CMT_H_

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include <godwit/range.h>

struct file;
struct godwit_cmt_alloc;
struct godwit_cmt_export;
struct godwit_cmt_piece;
struct vm_area_struct;

/**
 * struct godwit_cmt_file - an open file
 * @blocks: struct godwit_cmt_block by the number of its first page
 * @count: of them
 */
struct godwit_cmt_file {
	struct xarray blocks;
	u32 count;
};

/**
 * struct godwit_cmt_block - a piece of physical memory that somebody has
 * @kref: the file that asked for it, until it frees it; every mapping and every dma-buf
 * @node: among those that nobody has any more
 * @base: physical address
 * @bytes: in whole pages; changes under godwit_cmt_lock
 */
struct godwit_cmt_block {
	struct kref kref;
	struct list_head node;
	u64 base;
	u64 bytes;
};

/* Areas of memory that was reserved at boot, at most. */
#define GODWIT_CMT_MAX_AREAS 16

/**
 * struct godwit_cmt_described - areas that the machine's description names
 * @list: they
 * @count: of them
 * @err: why one of them cannot be said
 * @registered: devices are still matched
 */
struct godwit_cmt_described {
	struct gw_range_area list[GODWIT_CMT_MAX_AREAS];
	u32 count;
	int err;
	bool registered;
};

/* cmt_described.c: looks for them, once; what was found is the caller's until the end. */
int godwit_cmt_describe(struct godwit_cmt_described *found);
void godwit_cmt_describe_end(struct godwit_cmt_described *found);

/* cmt_areas.c */
/* Takes what the parameters say, or the machine's description; @areas are theirs, joined where they touch, @count 0 without any. */
int godwit_cmt_areas_take(const struct gw_range_area **areas, u32 *count);
void godwit_cmt_areas_give(void);
/* Linux has pages of it all, which count who uses them. */
bool godwit_cmt_has_pages(void);
/* Whether somebody beside its owner uses memory: it is pinned. */
bool godwit_cmt_is_used(u64 base, u64 bytes);
void godwit_cmt_clear(u64 base, u64 bytes);

/* cmt_blocks.c */
extern struct mutex godwit_cmt_lock;
int godwit_cmt_pool_init(const struct gw_range_area *areas, u32 count);
void godwit_cmt_pool_fini(void);
int godwit_cmt_alloc(struct godwit_cmt_file *owner, struct godwit_cmt_alloc *what);
int godwit_cmt_free(struct godwit_cmt_file *owner, const struct godwit_cmt_piece *what);
int godwit_cmt_resize(struct godwit_cmt_file *owner, struct godwit_cmt_piece *what);
void godwit_cmt_free_all(struct godwit_cmt_file *owner);
struct godwit_cmt_block *godwit_cmt_find(struct godwit_cmt_file *owner, u64 address);
struct godwit_cmt_block *godwit_cmt_get(struct godwit_cmt_file *owner, u64 address, u64 *bytes);
void godwit_cmt_put(struct godwit_cmt_block *block);
void godwit_cmt_stats(struct gw_range_stats *stats);
u64 godwit_cmt_ending(void);

/* cmt.c */
int godwit_cmt_init(void);
void godwit_cmt_exit(void);

/* cmt_map.c */
int godwit_cmt_mmap(struct file *file, struct vm_area_struct *vma);
void godwit_cmt_map(struct godwit_cmt_block *block, struct vm_area_struct *vma, bool exported);

/* cmt_buffer.c */
int godwit_cmt_buffer(struct godwit_cmt_block *block, u64 bytes, struct godwit_cmt_export *what, void __user *user);

#endif /* GODWIT_CMT_H_ */
