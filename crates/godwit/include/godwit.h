/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Godwit from C: shared virtual memory for accelerators.
 *
 * Objects are opaque handles. A context is one address space on a card; a buffer is device memory that a kernel and this
 * process see at the same address, so a kernel's pointer argument is the pointer itself.
 *
 * Functions that can fail return GODWIT_OK or a negative GODWIT_E*; godwit_last_error() then has one sentence that says
 * what was asked, what was found and what to do. A call that fails changes nothing. Nothing here prints or aborts.
 *
 * Handles may be used from any thread: calls on one card wait for each other, launches of one kernel queue up in the order
 * in which they come, those of different kernels run at once. After fork() the child cannot use them.
 */
#ifndef GODWIT_H_
#define GODWIT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GODWIT_ABI 2u
/* Of a name, with its end. */
#define GODWIT_NAME_SIZE 48

typedef struct godwit_card godwit_card;
typedef struct godwit_context godwit_context;
typedef struct godwit_buffer godwit_buffer;
typedef struct godwit_job godwit_job;

/* begin: generated statuses by `python -m godwit.spec pages` */
enum godwit_status {
	GODWIT_OK = 0,         /* done */
	GODWIT_EDEVICE = -1,   /* a card cannot be opened, or failed while it was used */
	GODWIT_ENOMEM = -2,    /* device memory, or host memory for the card, does not suffice */
	GODWIT_EFAULT = -3,    /* translation refused an access of a kernel: the message has the fault record */
	GODWIT_EHANG = -4,     /* no progress, or not done in time: the message says where */
	GODWIT_EINVAL = -5,    /* wrong arguments, or what was asked for is closed or in use */
	GODWIT_EINTERNAL = -6, /* a bug in Godwit */
	GODWIT_ESTATUS = -7,   /* a kernel ended and says that it failed */
	GODWIT_RUNNING = 1,    /* of a wait: the time was over first, the launch goes on */
};
/* end: generated */

/* GODWIT_ABI the library was built with. */
uint32_t godwit_abi(void);

/* Version of the library, "0.1.0". */
const char *godwit_version(void);

/* Message of this thread's last failed call; valid until its next failed call. Never NULL. */
const char *godwit_last_error(void);

/* Why the heap in hardware refused a malloc, realloc or free: its own answers. */
enum godwit_refusal {
	GODWIT_NOT_REFUSED = 0,
	GODWIT_REFUSED_SIZE_ZERO = 1,
	GODWIT_REFUSED_TOO_LARGE = 2,     /* for a slot, or beyond the slots that malloc took */
	GODWIT_REFUSED_ARGUMENT = 3,      /* no such granule or region, or a port that is off */
	GODWIT_REFUSED_NO_SLOT = 4,
	GODWIT_REFUSED_NO_FRAME = 5,      /* a strict region has not as many free pages */
	GODWIT_REFUSED_FOREIGN = 6,       /* a pointer that malloc never gave */
	GODWIT_REFUSED_NOT_LIVE = 7,      /* freed before, or never allocated */
	GODWIT_REFUSED_OTHER_CONTEXT = 8,
	GODWIT_REFUSED_QUOTA = 9,         /* the context has as many allocations as it may */
	GODWIT_REFUSED_BUSY = 10,         /* what a shrink cut off is being taken back: a little later */
};

/* That of this thread's last failed call; GODWIT_NOT_REFUSED when it failed for another reason. */
uint32_t godwit_last_refusal(void);

/* -- Cards ---------------------------------------------------------------------------------------------------------- */

/*
 * Opens `device`: "sim:NAME" for a card built with `godwit card build --config NAME`, "sim:/path/to/libgw_card.so", or
 * "/dev/godwit0" for one that the Linux driver has, whose kernels run on memory of the program (godwit_use): what the driver does not
 * give, such as buffers, registers and limits in cycles, is GODWIT_EDEVICE and a message that says so.
 * `options` is JSON (NULL for none): the fields of gw_card_open in card/sim/gw_card.h; for "/dev/godwit0" {"description": PATH}, the
 * file with the card's description, which is /etc/godwit/godwit0.json or $GODWIT_DESCRIPTION otherwise.
 */
int godwit_open(const char *device, const char *options, godwit_card **card);

/*
 * Closes the card. Its contexts and buffers can then only be destroyed and freed; buffers keep their memory for this
 * process until they are. NULL does nothing.
 */
void godwit_close(godwit_card *card);

/* The card's own description, JSON: configuration, kernels and their arguments. Valid until the card is closed. */
const char *godwit_describe(const godwit_card *card);

/* What a card has done since it was opened. */
typedef struct godwit_stats {
	uint64_t cycles;                  /* clock cycles */
	uint64_t time_ps;                 /* virtual time: cycles and link */
	uint64_t link_ps;                 /* ... of which modelled link time with the clock standing */
	uint64_t link_bytes;              /* bytes that crossed the link */
	uint64_t reads, writes;           /* bursts served by device memory, page-table reads not counted */
	uint64_t read_bytes, write_bytes;
	uint64_t pt_reads;                /* bursts from the walker's port */
	uint64_t row_hits, row_misses;    /* memory model `banked` only */
	uint64_t host_reads, host_writes; /* bursts served through the host aperture */
} godwit_stats;
int godwit_get_stats(const godwit_card *card, godwit_stats *stats);

/*
 * The hardware's counters, since reset or the last clear, by name ("walker.walks", "port0.read.hits"): the list below is what
 * this library knows; a program that goes through godwit_counter_count() meets later ones as well.
 */
/* begin: generated counters by `python -m godwit.spec pages` */
/*
 * Counters by name; N is a port, and kernel k is on port k.
 *
 * Counters of one address channel (AR or AW) of a port, portN.read. and portN.write.
 *   requests    Addresses accepted from the accelerator.
 *   hits        ... translated by the L1 TLB at once.
 *   misses      ... sent on to the next level.
 *   faults      ... answered with an error.
 *   stalls      Cycles in which an address was offered and not accepted.
 *   l2_hits     Of its misses, lookups answered by the L2 TLB.
 *   range_hits  ... by the range TLB.
 *   walks       ... by the walker.
 *
 * Counters of the walker, walker.
 *   walks               Requests answered.
 *   latency_sum         Sum of their latencies in cycles (acceptance to answer, both included).
 *   latency_max         The largest of them.
 *   faults              ... answered with a fault.
 *   merges              Steps that joined a line already being fetched.
 *   line_hits           Steps served by a line kept from an earlier fetch.
 *   cache_hits          Requests for which the walk cache skipped at least one level.
 *   pte_reads           Page-table lines read from memory.
 *   prefetches          ... of which no walk had asked for yet.
 *   prefetches_used     Prefetched lines that a walk used.
 *   prefetches_useless  Prefetched lines that were replaced before that.
 *   updates             Page-table entries in which hardware set A, or A and D.
 *
 * Counters of the second level of translation: L2 TLB and range TLB, l2.
 *   hits         Lookups answered by the L2 TLB.
 *   range_hits   ... by the range TLB.
 *   misses       ... by neither, and sent on to the walker. A card without both counts none of the three.
 *   fills        Entries of the L2 TLB written for answers of the walker.
 *   merges       Answers whose pages joined an entry that was there.
 *   evictions    Valid entries that gave way to others.
 *   drops        Cycles in which an answer was not kept: the queue was full, or an invalidation came first.
 *   invalidated  Entries cleared by invalidations.
 *
 * Counters of page requests, page.
 *   parked    Accesses that came to wait for a page that the host was asked for.
 *   no_room   ... for room to ask; they do so again.
 *   requests  Records written into the page-request queue.
 *   resolved  Pages that came.
 *   refused   Pages that will not come: refused, given up, or the context ended.
 *   timeouts  ... given up after a timeout.
 *   stale     Responses ignored, because nothing waited for them.
 *
 * Counters of the heap, heap.
 *   commands   malloc, realloc and free answered; those of a context's end are not counted.
 *   refused    ... with an error.
 *   touches    First touches of accesses that got a frame, or a group of them.
 *   zeros      Reads of untouched pages, answered with the zero frame.
 *   parked     First touches that came to wait: for a frame, or because the entry was there by then.
 *   faults     First touches that failed: no live allocation of the context, behind its end, or not allowed.
 *   reclaimed  Frames given back of what was freed, tables included.
 *   scrubbed   Frames cleared.
 *
 * Counters of the page cache, in beats and lines of 64 bytes; zero on a card without one, cache.
 *   reads          Beats of reads answered.
 *   read_misses    Times that one waited for its line.
 *   stores         Beats stored in lines that were there, or were written whole.
 *   store_misses   Beats stored beside a line that was still to come.
 *   fills          Lines read from the host.
 *   writebacks     Lines written to it.
 *   pages          Pages that were given a place.
 *   releases       Pages that left theirs.
 *   lost           Bursts of dirty lines that the host did not take: their data are lost.
 *   aheads         Pages read ahead of who reads in order.
 *   aheads_used    ... that an access met.
 *   aheads_unused  ... that left before one did.
 *   eagers         Pages written to the host before they had to leave.
 *   eagers_again   ... that were stored to again, then or while they were written.
 *
 * Of the MMU as a whole
 *   faults_lost  Faults that found the fault record occupied; stays at its maximum.
 */
/* end: generated */

/* How many counters the card has; 0 for NULL. */
size_t godwit_counter_count(const godwit_card *card);
/* Name of the counter `index`, and what it counts, in one sentence. NULL from godwit_counter_count() on. */
const char *godwit_counter_name(const godwit_card *card, size_t index);
const char *godwit_counter_doc(const godwit_card *card, size_t index);
/* All values as of one cycle, in the order of the names; fills up to `capacity` and sets `count` (may be NULL) to how many there are. */
int godwit_get_counters(godwit_card *card, uint64_t *values, size_t capacity, size_t *count);
/* One of them; GODWIT_EINVAL when there is none of that name. */
int godwit_get_counter(godwit_card *card, const char *name, uint64_t *value);
int godwit_clear_counters(godwit_card *card);
/* Counts, of events that belong to a context, only those of `context` from now on; of all contexts with NULL. */
int godwit_count_only(godwit_card *card, const godwit_context *context);

/* Bytes of device memory that are free, and those of the largest contiguous piece; either may be NULL. Of several memories: of memory 0. */
int godwit_memory_free(const godwit_card *card, uint64_t *free_bytes, uint64_t *largest_bytes);

/* One of a card's memories, which a configuration may have several of. */
typedef struct godwit_memory_info {
	char name[GODWIT_NAME_SIZE]; /* in the configuration */
	uint64_t first;              /* physical address */
	uint64_t size;               /* bytes */
	uint64_t free_bytes;         /* ... that buffers can still have */
	uint64_t largest_bytes;      /* the largest piece of those */
} godwit_memory_info;

/* How many there are; 0 for NULL. */
size_t godwit_memory_count(const godwit_card *card);
/* The one of this number; GODWIT_EINVAL from godwit_memory_count() on. */
int godwit_get_memory_info(const godwit_card *card, size_t number, godwit_memory_info *info);

/* -- Contexts ------------------------------------------------------------------------------------------------------- */

enum godwit_mode {
	GODWIT_WIDEST = 0, /* the widest mode the card walks */
	GODWIT_SV39 = 39,
	GODWIT_SV48 = 48,
	GODWIT_SV57 = 57,
};

/* A new, empty address space. `mode` is one of enum godwit_mode. */
int godwit_context_create(godwit_card *card, int mode, godwit_context **context);

/*
 * Ends it: its mappings and tables are gone. Its buffers keep their memory for this process until they are freed. NULL does
 * nothing.
 */
void godwit_context_destroy(godwit_context *context);

/* Bytes of device memory that its page tables take. */
int godwit_context_table_bytes(const godwit_context *context, uint64_t *bytes);

/* -- Buffers -------------------------------------------------------------------------------------------------------- */

enum godwit_alloc_flags {
	GODWIT_READ_ONLY = 1u,  /* kernels may only read it */
	GODWIT_CONTIGUOUS = 2u, /* one physical piece or none; launches with physical addresses need it */
	GODWIT_SCATTERED = 4u,  /* do not look for one piece: the largest pages, wherever they are */
	/* Of godwit_share(), like GODWIT_READ_ONLY: */
	GODWIT_RANGES = 8u,     /* an entry of the range TLB for every physical piece, or the memory is not shared */
	GODWIT_NO_RANGES = 16u, /* no entries; with neither, as many as there are */
	/* Of godwit_malloc(): */
	GODWIT_SMALL = 32u,     /* a slot of 64 KiB, which shares its page table with 31 others */
	/* Of godwit_alloc() and godwit_malloc(), with GODWIT_MEMORY(): */
	GODWIT_PREFERRED = 64u, /* in another memory when that one has no room */
};

/* A flag, too: in the card's memory of this number (godwit_get_memory_info()). Without it, in memory 0. */
#define GODWIT_MEMORY(number) ((uint32_t)((number) + 1) << 8 & 0xff00u)

/*
 * Device memory of `size` bytes, zeroed. `page_bytes` is 0 for the largest pages that fit, else the one size to use:
 * 4096, 65536, 2 MiB or 1 GiB, or on a card with walker.napot = "any" every power of two between them. `flags` are of enum
 * godwit_alloc_flags.
 */
int godwit_alloc(godwit_context *context, size_t size, uint64_t page_bytes, uint32_t flags, godwit_buffer **buffer);

/*
 * Reserves `size` bytes of addresses; their device memory comes page by page, when kernels touch it (on a card with page
 * requests: page_requests.places). Pages hold what `file` holds, which is never written, and zeros behind its end; zeros only
 * if it is NULL. `size` 0: as many bytes as the file has. `flags`: GODWIT_READ_ONLY. A buffer like others in all else: this
 * process sees the file, or zeros, where no page has come yet, and what it writes there before a page comes, the page has.
 */
int godwit_reserve(godwit_context *context, size_t size, const char *file, uint32_t flags, godwit_buffer **buffer);

/* Brings pages of a reservation before kernels touch them, in no simulated time. */
int godwit_bring(godwit_buffer *buffer, size_t offset, size_t size);

/* Pages of a reservation that have come; of any other buffer all of them. */
int godwit_resident_pages(const godwit_buffer *buffer, uint64_t *pages);

/*
 * `size` bytes from the heap in hardware (on a card with heap.slots): its first byte, for this process and for kernels alike. They
 * read as zero, and frames come page by page, when kernels or this process write. `granule_bytes` is what comes together, a
 * power of two from 4096 to 2 MiB, or 0 for 4096 (the next smaller one that there is; without walker.napot = "any" 64 KiB or 4096); `flags`: GODWIT_SMALL, and GODWIT_MEMORY() for
 * the memory that frames come from, which the heap has a part of (heap_bytes of the configuration); GODWIT_MEMORY(godwit_memory_count()) is
 * memory of the host (heap.host_bytes). GODWIT_PREFERRED takes another memory when the heap has not as much free in that one, or when
 * that one is strict (heap_strict) and refuses. What the hardware refuses is GODWIT_ENOMEM (no slot, no
 * frame, quota) or GODWIT_EINVAL (all else), godwit_last_error() says why and godwit_last_refusal() which; nothing has changed then. It lives
 * until it is released, at most as long as the context.
 */
int godwit_malloc(godwit_context *context, size_t size, uint64_t granule_bytes, uint32_t flags, void **pointer);

/*
 * What a kernel allocated by itself at `address` in this context, as `size` bytes like those of godwit_malloc(): this process may touch
 * them, and the functions below take the pointer. GODWIT_EINVAL when nothing of this context is there, GODWIT_ENOMEM when this process
 * uses these addresses otherwise.
 */
int godwit_adopt(godwit_context *context, uint64_t address, size_t size, void **pointer);

/* Another size, at the same place; what is in the smaller one of both stays. */
int godwit_realloc(godwit_context *context, void *pointer, size_t size);

/*
 * Takes frames for `size` bytes at `pointer`, all in one allocation: GODWIT_ENOMEM when there are not as many. A store that finds no
 * frame, and was not provided for like this, ends the program with SIGBUS; a kernel is stopped, and its launch is GODWIT_ENOMEM.
 */
int godwit_populate(godwit_context *context, void *pointer, size_t size);

/* Ends it; a kernel that still uses it is stopped first. */
int godwit_release_memory(godwit_context *context, void *pointer);

/*
 * Frees it; a kernel that still uses it is stopped first. The handle is gone in any case; after an error its memory stays
 * out of use. NULL does nothing.
 */
int godwit_free(godwit_buffer *buffer);

/* Its first byte, for this process and for kernels alike; NULL for NULL. */
void *godwit_data(const godwit_buffer *buffer);

/* Bytes that were asked for; 0 for NULL. */
size_t godwit_size(const godwit_buffer *buffer);

/* Copies over the host link, by the card's page DMA; without one the modelled time is added to the card's. Access through the
 * pointer takes no time. */
int godwit_upload(godwit_buffer *buffer, size_t offset, const void *data, size_t size);
int godwit_download(const godwit_buffer *buffer, size_t offset, void *data, size_t size);

/* -- Contiguous memory of the program ------------------------------------------------------------------------------ */

/*
 * Sets `size` bytes of device memory aside for contiguous memory, for as long as the card is open, and writes the configuration
 * with which the process's pool opens on it (`capacity` of 128 is enough): cmt_init(config). Asked again it gives the same.
 */
int godwit_cmt_config(godwit_card *card, uint64_t size, char *config, size_t capacity);

/*
 * Whether `size` bytes at `memory` are still the caller's, 0 if not. Called from any thread, when memory is shared and before
 * every launch with it, while the card waits: it must call nothing of this header.
 */
typedef int (*godwit_in_use)(const void *memory, size_t size);

/*
 * Gives memory of this process that lies in the card's memory, such as a block of a pool opened with godwit_cmt_config(), to
 * kernels at the addresses that it has, without a copy. It begins with a page and owns the rest of its last one. It is mapped
 * with pages up to `page_bytes` (0: the largest), and gets entries of the range TLB besides, as `flags` say.
 *
 * godwit_free() takes it from kernels and leaves the memory to its owner, who must keep it until then; in_use (or NULL) says
 * when that was not so, and launches with it then fail. godwit_cmt.h has godwit_share_block() for blocks of cmt.h.
 */
int godwit_share(godwit_context *context, void *memory, size_t size, uint64_t page_bytes, uint32_t flags, godwit_in_use in_use,
		 godwit_buffer **buffer);

/* How many entries of the range TLB a buffer has. */
int godwit_range_entries(const godwit_buffer *buffer, size_t *count);

/* -- Plain memory of the program ------------------------------------------------------------------------------------ */

/*
 * Lets kernels use `size` bytes at `memory`, any memory of the process: pointers into it are arguments (godwit_pointer), which reach
 * to its end. Its pages move to the card before a launch and come back when they are touched; what cannot move is lent to the
 * launch, and seen when that has ended. It must stay until godwit_forget(), which comes after the launches with it and before it
 * is freed. docs/shared-memory.md has the contract.
 */
int godwit_use(godwit_context *context, void *memory, size_t size);

/* Ends that for the memory that begins at `memory`: it is at home, with its content. */
int godwit_forget(godwit_context *context, void *memory);

/* Brings its whole pages to the card that can move (GODWIT_ENOMEM: they have no room there); brings them home. */
int godwit_migrate_to_device(godwit_context *context, const void *memory, size_t size);
int godwit_migrate_to_host(godwit_context *context, const void *memory, size_t size);

enum godwit_advice {
	GODWIT_WILL_NEED,      /* kernels will use it: as godwit_prefetch() */
	GODWIT_WILL_NEED_HOST, /* the program will use it */
	/* How its whole pages serve kernels, until something else is said: */
	GODWIT_IN_PLACE,    /* they stay in the host's memory, where the card reaches it */
	GODWIT_MIGRATE,     /* they move to the card, as without advice */
	GODWIT_READ_MOSTLY, /* ... and card and program have them at once, while they only read them */
	GODWIT_AUTO,        /* one of the first two, a group of 64 KiB at a time, by what crosses the link; where that is not counted they move */
};

/*
 * Hints, which fail for a bad handle, advice or NULL only: brings pages to the card as far as there is room; says who will use memory, and
 * how; gives the content of its whole pages up, so that nothing is copied.
 */
int godwit_prefetch(godwit_context *context, const void *memory, size_t size);
int godwit_advise(godwit_context *context, const void *memory, size_t size, int advice);
int godwit_discard(godwit_context *context, void *memory, size_t size);

/* How many bytes of its pages the card has, for this context. */
int godwit_residency(godwit_context *context, const void *memory, size_t size, size_t *device_bytes);

/* What moved since the start of the process, by name: "to_device.request", "to_host.touch", "prefetched", ... (GODWIT_EINVAL lists all). */
int godwit_migrated(godwit_context *context, const char *name, uint64_t *value);

/* -- Launches ------------------------------------------------------------------------------------------------------- */

/* An argument: a number, or the address of a byte in a live buffer or used memory of the context (0 for none). */
typedef struct godwit_arg {
	const char *name;
	uint64_t value;
} godwit_arg;

static inline godwit_arg godwit_pointer(const char *name, const void *pointer)
{
	godwit_arg arg = { name, (uint64_t)(uintptr_t)pointer };
	return arg;
}

static inline godwit_arg godwit_number(const char *name, uint64_t number)
{
	godwit_arg arg = { name, number };
	return arg;
}

enum godwit_launch_flags {
	GODWIT_BARE = 1u,         /* physical addresses and no translation, to compare */
	GODWIT_ALLOW_STATUS = 2u, /* an end with an error status is no error; the status is one of the results */
};

#define GODWIT_MAX_RESULTS 16

typedef struct godwit_result {
	char name[GODWIT_NAME_SIZE];
	uint64_t value;
} godwit_result;

typedef struct godwit_completion {
	uint64_t cycles;      /* from the start to the interrupt, as the card saw them; all but results is 0 behind the driver */
	uint64_t time_ps;     /* virtual time of these cycles */
	uint64_t launch_ps;   /* virtual time of the whole launch: arguments written, kernel run, results read */
	uint64_t start_cycle; /* cycle of the card in which it was started, */
	uint64_t end_cycle;   /* ... and ended */
	int polled;           /* the kernel has no interrupt: its end is the read that found it done */
	/*
	 * From start to end: bursts and bytes of reads, writes and host accesses are the kernel's own, the rest is what the card
	 * did, for other kernels too if there were any at work.
	 */
	godwit_stats stats;
	size_t result_count;
	godwit_result results[GODWIT_MAX_RESULTS];
} godwit_completion;

/*
 * Runs `kernel` in a context to its end, after the launches of it that came before. Every argument of the kernel must be given,
 * in any order, results excepted. `flags` are of enum godwit_launch_flags. A kernel that is not done `timeout_cycles` (0: no
 * limit) after its start is stopped. `completion` may be NULL; it is also filled with GODWIT_ESTATUS.
 */
int godwit_launch(godwit_context *context, const char *kernel, const godwit_arg *args, size_t arg_count, uint32_t flags,
		  uint64_t timeout_cycles, godwit_completion *completion);

/*
 * Starts a launch, or queues it behind those of the same kernel that came before, and returns. Its buffers must live until it
 * has ended: freeing one stops it. The card's clock runs while somebody waits, or for a callback; in between it stands, so
 * that what one thread measures is the same in every run.
 */
int godwit_start(godwit_context *context, const char *kernel, const godwit_arg *args, size_t arg_count, uint32_t flags,
		 uint64_t timeout_cycles, godwit_job **job);

/*
 * Waits for the end of a launch and returns what godwit_launch would. With `max_cycles` (0: no limit) it returns
 * GODWIT_RUNNING when so many cycles of the card have passed first; the launch goes on. Any number of threads may
 * wait, and wait again.
 */
int godwit_wait(godwit_job *job, uint64_t max_cycles, godwit_completion *completion);

/* The same with a limit in nanoseconds of this process's time; 0 only looks. */
int godwit_wait_ns(godwit_job *job, uint64_t max_ns, godwit_completion *completion);

/* Whether it has ended, 1 or 0; no simulated time passes. */
int godwit_is_ended(const godwit_job *job);

/*
 * Has callback(user) called once at the end, on a thread of the library, where everything here may be called; before this
 * returns when it has ended. The clock runs until then.
 */
typedef void (*godwit_callback)(void *user);
int godwit_on_end(godwit_job *job, godwit_callback callback, void *user);

/*
 * Ends a launch: a running kernel is stopped, one that waits is not started, and who waits for it gets GODWIT_EINVAL. `stopped`
 * (or NULL) says whether the kernel stands still; if not it cannot be launched any more. One that has ended stays as it is.
 */
int godwit_cancel(godwit_job *job, int *stopped);

/* Gives the handle back; a launch that has not ended is cancelled. Nobody may wait for it. NULL does nothing. */
void godwit_release(godwit_job *job);

/* The result register `name`; GODWIT_EINVAL when the kernel has none of that name. */
int godwit_get_result(const godwit_completion *completion, const char *name, uint64_t *value);

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_H_ */
