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
 * Handles may be used from any thread: calls on one card wait for each other. After fork() the child cannot use them.
 */
#ifndef GODWIT_H_
#define GODWIT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GODWIT_ABI 1u

typedef struct godwit_card godwit_card;
typedef struct godwit_context godwit_context;
typedef struct godwit_buffer godwit_buffer;

enum godwit_status {
	GODWIT_OK = 0,
	GODWIT_EDEVICE = -1,   /* a card cannot be opened, or failed while it was used */
	GODWIT_ENOMEM = -2,    /* device memory, or host memory for the card, does not suffice */
	GODWIT_EFAULT = -3,    /* translation refused an access of a kernel: the message has the fault record */
	GODWIT_EHANG = -4,     /* no progress, or not done in time: the message says where */
	GODWIT_EINVAL = -5,    /* wrong arguments, or what was asked for is closed or in use */
	GODWIT_EINTERNAL = -6, /* a bug in Godwit */
};

/* GODWIT_ABI the library was built with. */
uint32_t godwit_abi(void);

/* Version of the library, "0.1.0". */
const char *godwit_version(void);

/* Message of this thread's last failed call; valid until its next failed call. Never NULL. */
const char *godwit_last_error(void);

/* -- Cards ---------------------------------------------------------------------------------------------------------- */

/*
 * Opens `device`: "sim:NAME" for a card built with `godwit card build --config NAME`, or "sim:/path/to/libgw_card.so".
 * `options` is JSON (NULL for none): the fields of gw_card_open in card/sim/gw_card.h.
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

/* Counters of one address channel of a port, since reset or the last clear. */
typedef struct godwit_channel_counters {
	uint64_t requests; /* addresses accepted from the accelerator */
	uint64_t hits;     /* ... translated by the L1 TLB in the same cycle */
	uint64_t misses;   /* ... sent on to the next level */
	uint64_t faults;   /* ... answered with an error */
	uint64_t stalls;   /* cycles in which an address was offered and not accepted */
	uint64_t l2_hits;    /* of its misses, those answered by the L2 TLB */
	uint64_t range_hits; /* ... by the range TLB */
	uint64_t walks;      /* ... by the walker */
} godwit_channel_counters;

typedef struct godwit_port_counters {
	godwit_channel_counters read, write;
} godwit_port_counters;

typedef struct godwit_walker_counters {
	uint64_t walks;       /* requests answered */
	uint64_t latency_sum; /* sum of their latencies in cycles */
	uint64_t latency_max; /* the largest of them */
	uint64_t faults;      /* ... answered with a fault */
	uint64_t merges;      /* steps that joined a line already being fetched */
	uint64_t line_hits;   /* steps served by a line kept from an earlier fetch */
	uint64_t cache_hits;  /* requests for which the walk cache skipped at least one level */
	uint64_t pte_reads;   /* page-table lines read from memory */
	uint64_t prefetches;  /* ... of which no walk had asked for yet */
	uint64_t prefetches_used;    /* prefetched lines that a walk used */
	uint64_t prefetches_useless; /* prefetched lines that were replaced before that */
	uint64_t updates;     /* page-table entries in which hardware set A, or A and D */
} godwit_walker_counters;

/*
 * The hardware's counters, all as of one cycle. Fills up to `capacity` entries of `ports` (port k is kernel k's) and
 * sets `count` to how many ports there are; `ports`, `count` and `walker` may each be NULL.
 */
int godwit_get_counters(godwit_card *card, godwit_port_counters *ports, size_t capacity, size_t *count,
			godwit_walker_counters *walker);
int godwit_clear_counters(godwit_card *card);
/* Counts, of events that belong to a context, only those of `context` from now on; of all contexts with NULL. */
int godwit_count_only(godwit_card *card, const godwit_context *context);

/* Bytes of device memory that are free, and those of the largest contiguous piece; either may be NULL. */
int godwit_memory_free(const godwit_card *card, uint64_t *free_bytes, uint64_t *largest_bytes);

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
};

/*
 * Device memory of `size` bytes, zeroed. `page_bytes` is 0 for the largest pages that fit, else the one size to use:
 * 4096, 65536, 2 MiB or 1 GiB. `flags` are of enum godwit_alloc_flags.
 */
int godwit_alloc(godwit_context *context, size_t size, uint64_t page_bytes, uint32_t flags, godwit_buffer **buffer);

/*
 * Frees it; a kernel that still uses it is stopped first. The handle is gone in any case; after an error its memory stays
 * out of use. NULL does nothing.
 */
int godwit_free(godwit_buffer *buffer);

/* Its first byte, for this process and for kernels alike; NULL for NULL. */
void *godwit_data(const godwit_buffer *buffer);

/* Bytes that were asked for; 0 for NULL. */
size_t godwit_size(const godwit_buffer *buffer);

/* Copies over the host link: the modelled time is added to the card's. Access through the pointer takes no time. */
int godwit_upload(godwit_buffer *buffer, size_t offset, const void *data, size_t size);
int godwit_download(const godwit_buffer *buffer, size_t offset, void *data, size_t size);

/* -- Launches ------------------------------------------------------------------------------------------------------- */

/* An argument: a number, or the address of a byte in a live buffer of the context (0 for none). */
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
	GODWIT_BARE = 1u, /* physical addresses and no translation, to compare */
};

#define GODWIT_MAX_RESULTS 16
#define GODWIT_NAME_SIZE 48

typedef struct godwit_result {
	char name[GODWIT_NAME_SIZE];
	uint64_t value;
} godwit_result;

typedef struct godwit_completion {
	uint64_t cycles;    /* from the start to the interrupt */
	uint64_t time_ps;   /* virtual time of these cycles */
	uint64_t launch_ps; /* virtual time of the whole launch: arguments written, kernel run, results read */
	godwit_stats stats; /* what the card did from the start to the interrupt */
	size_t result_count;
	godwit_result results[GODWIT_MAX_RESULTS];
} godwit_completion;

/*
 * Runs `kernel` in a context to its end. Every argument of the kernel must be given, in any order, results excepted.
 * `flags` are of enum godwit_launch_flags. A kernel that is not done after `timeout_cycles` (0: no limit) is stopped.
 * `completion` may be NULL.
 */
int godwit_launch(godwit_context *context, const char *kernel, const godwit_arg *args, size_t arg_count, uint32_t flags,
		  uint64_t timeout_cycles, godwit_completion *completion);

/* The result register `name`; GODWIT_EINVAL when the kernel has none of that name. */
int godwit_get_result(const godwit_completion *completion, const char *name, uint64_t *value);

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_H_ */
