/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C ABI of a simulated card: one shared library a configuration, loaded by crates/godwit-card.
 *
 * A card is single threaded: calls on one card must not overlap; different cards are independent. Nothing here prints
 * or aborts. Calls that can fail return GW_CARD_OK or a negative GW_CARD_E*; gw_card_error() then has one sentence that
 * says what was asked, what was found and what to do.
 *
 * Time: the clock only runs inside these calls. `time_ps` is the card's virtual time: clock cycles at the configured
 * clock, plus modelled host-link time that passes while the clock stands still (gw_card_transfer).
 */
#ifndef GW_CARD_H_
#define GW_CARD_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library is built with hidden symbols, so that cards of several configurations live in one process. */
#pragma GCC visibility push(default)

#define GW_CARD_ABI 4u

typedef struct gw_card gw_card;

/* begin: generated statuses by `python -m godwit.spec pages` */
enum gw_card_status {
	GW_CARD_OK = 0,       /* done */
	GW_CARD_EINVAL = -1,  /* bad argument or option */
	GW_CARD_EHANG = -2,   /* the watchdog found no progress: the error names the stuck handshake */
	GW_CARD_EBUS = -3,    /* a register access was answered with an AXI error */
	GW_CARD_ENOMEM = -4,  /* host memory for the card could not be had */
	GW_CARD_EIO = -5,     /* a wave or trace file could not be written */
	GW_CARD_EDESIGN = -6, /* an RTL assertion failed or the card broke the AXI protocol; only closing is left */
};
/* end: generated */

/* GW_CARD_ABI the library was built with. */
uint32_t gw_card_abi(void);

/* Static JSON: {"abi","name","hash","config":{...as resolved...},"kernels":[{name,port,args...}],"spec_hash","waves"}. */
const char *gw_card_describe(void);

/*
 * Opens a card: reset released, clock ready. `options` is JSON (NULL for none):
 *   "memory":{...}          overrides fields of the configuration's [memory] (model, latency_cycles, ...)
 *   "host_link":{...}       overrides fields of [host_link]
 *   "watchdog_cycles":N     cycles without any progress while something waits; 0 = off
 *   "stall":{"seed":S,"percent":P}  random back-pressure on every memory channel and port master
 *   "waves":"FILE.fst"      needs a card built with waves
 *   "axi_trace":"FILE.csv"  every AXI handshake: cycle,port,channel,id,addr,len,resp
 * Returns NULL and a message in `err` when it fails.
 */
gw_card *gw_card_open(const char *options, char *err, size_t err_size);
void gw_card_close(gw_card *card);

/* The last failed call's message; valid until the next call. */
const char *gw_card_error(const gw_card *card);

/* Device memory: a memfd the caller may map (offset = device physical address), its size and the card's own mapping. */
int gw_card_memory(gw_card *card, int *fd, uint64_t *size_bytes, void **base);

/* Register access through the card's AXI4-Lite port; simulated cycle by cycle, link latency included. */
int gw_card_reg_read(gw_card *card, uint64_t offset, uint32_t *value);
int gw_card_reg_write(gw_card *card, uint64_t offset, uint32_t value);

/*
 * Runs the clock until an interrupt in `irq_mask` is high or `max_cycles` have passed; `irq` gets the lines as they are
 * (bit 0: MMU, bit 1 + k: kernel k).
 */
int gw_card_run(gw_card *card, uint64_t max_cycles, uint32_t irq_mask, uint32_t *irq);

/*
 * Interrupt lines that have risen since the last call, or since open: what a message-signalled interrupt is sent for. A line
 * that fell and rose again within a register access is among them. 0 without a card.
 */
uint32_t gw_card_take_rises(gw_card *card);

/*
 * Copies between host and device memory over the link; the time is that of the link model and added. With
 * `host` NULL only the time: the caller has copied through its own mapping of the memory.
 */
int gw_card_transfer(gw_card *card, int to_device, uint64_t device_addr, void *host, uint64_t size_bytes);

/* Lets the card reach [host, host + size) at host_aperture + bus_addr, with link latency and bandwidth; size 0 removes. */
int gw_card_host_window(gw_card *card, uint64_t bus_addr, void *host, uint64_t size_bytes);

typedef struct gw_card_stats {
	uint64_t cycles;        /* since open */
	uint64_t time_ps;       /* virtual time: cycles and link */
	uint64_t link_ps;       /* ... of which modelled link time with the clock standing */
	uint64_t link_bytes;
	uint64_t reads, writes;            /* AXI bursts of accelerator ports served by device memory */
	uint64_t read_bytes, write_bytes;
	uint64_t pt_reads;                 /* bursts from the walker's port */
	uint64_t row_hits, row_misses;     /* `banked` only */
	uint64_t host_reads, host_writes;  /* bursts served through the aperture */
} gw_card_stats;
int gw_card_get_stats(const gw_card *card, gw_card_stats *out);

enum gw_launch_state {
	GW_LAUNCH_NONE = 0,      /* the kernel was never started */
	GW_LAUNCH_RUNNING = 1,   /* its end was not seen yet */
	GW_LAUNCH_INTERRUPT = 2, /* ended with the rise of its interrupt */
	GW_LAUNCH_POLLED = 3,    /* ended with the read of ap_ctrl that said done, since it raised no interrupt before */
};

/* The latest launch of a kernel, its times taken in the card: the host may come later. */
typedef struct gw_launch_times {
	uint32_t state;       /* enum gw_launch_state */
	uint32_t reserved;
	uint64_t start_cycle; /* the write of the start bit was answered */
	uint64_t end_cycle;   /* the interrupt rose, or see state; now, while it runs */
	/*
	 * From start to end: bursts and bytes of reads, writes and host accesses are the kernel's own, the rest is what the card
	 * did, for other kernels too if there were any at work.
	 */
	gw_card_stats stats;
} gw_launch_times;
int gw_card_launch_times(const gw_card *card, uint32_t kernel, gw_launch_times *out);

/* Bursts to addresses where there is nothing, answered with DECERR; `first_addr` is the first one's physical address. */
int gw_card_get_decode_errors(const gw_card *card, uint64_t *count, uint64_t *first_addr);

/*
 * External ports (configuration: card.external_ports): AXI masters driven from here, for benches, co-simulation and
 * traces. Port numbers follow the kernels'. One burst a request; requests of a port are offered in order, one a cycle,
 * as soon as the port takes them and `earliest_cycle` has come.
 */
typedef struct gw_port_req {
	uint64_t token;          /* comes back with the answer */
	uint64_t addr;           /* first byte; the burst is INCR with full-width beats unless size says less */
	uint64_t earliest_cycle; /* 0: at once */
	const void *data;        /* writes: (len + 1) << size bytes, copied by the call */
	uint32_t port;
	uint8_t write;
	uint8_t id;
	uint8_t len;             /* beats - 1 */
	uint8_t size;            /* log2 bytes a beat */
} gw_port_req;

typedef struct gw_port_done {
	uint64_t token;
	uint64_t offered_cycle;  /* first cycle with valid high */
	uint64_t accepted_cycle; /* AR or AW handshake */
	uint64_t first_cycle;    /* first R beat, or B */
	uint64_t done_cycle;     /* last R beat, or B */
	uint64_t order;          /* how many answers of this port came before this one */
	uint32_t resp;           /* worst AXI response of the burst */
	uint32_t size_bytes;     /* read data that follows in the buffer */
} gw_port_done;

int gw_card_port_submit(gw_card *card, const gw_port_req *reqs, size_t count);
/*
 * Runs until all submitted requests are answered, an interrupt in `irq_mask` is high or max_cycles have passed: `irq` gets the
 * lines as they are, `pending` how many requests are not answered. Either may be NULL.
 */
int gw_card_port_drain(gw_card *card, uint64_t max_cycles, uint32_t irq_mask, uint32_t *irq, uint64_t *pending);
/*
 * Takes up to `max` answers, oldest first; read data is packed into `data` in the same order. Returns how many;
 * an answer whose bytes do not fit is left for the next call. Without `data` the bytes are dropped.
 */
size_t gw_card_port_poll(gw_card *card, gw_port_done *out, size_t max, void *data, size_t data_size);

/* AXI handshakes on the memory side (address channels only), kept while recording is on. */
typedef struct gw_mem_event {
	uint64_t cycle;
	uint64_t addr; /* physical */
	uint32_t port; /* as above, then the command queue's port, then the walker's */
	uint8_t write;
	uint8_t id;
	uint8_t len;
	uint8_t size;
} gw_mem_event;
int gw_card_record_events(gw_card *card, int on);
size_t gw_card_take_events(gw_card *card, gw_mem_event *out, size_t max);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* GW_CARD_H_ */
