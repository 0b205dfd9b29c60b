// SPDX-License-Identifier: Apache-2.0
// gw_card.h: checks pointers, calls the card, and turns exceptions into codes and messages. No exception leaves this file.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "card.hpp"
#include "description.hpp"
#include "error.hpp"

struct gw_card {
    explicit gw_card(const gw::Options& options) : card(options) {}
    gw::Card card;
    mutable std::string error;
};

namespace {

using gw::CardError;

/// Calls `action`; what it throws becomes the return value and `error`.
template <typename Action>
int guarded(std::string& error, const Action& action) noexcept {
    try {
        try {
            action();
            return GW_CARD_OK;
        } catch (const CardError& failure) {
            error = failure.what();
            return failure.status();
        } catch (const std::bad_alloc&) {
            error = "out of memory";
            return GW_CARD_ENOMEM;
        } catch (const std::exception& failure) {
            error = failure.what();
            return GW_CARD_EINVAL;
        }
    } catch (...) {
        return GW_CARD_ENOMEM;  // not even the message fitted
    }
}

template <typename Action>
int call(const gw_card* card, const Action& action) noexcept {
    if (!card) return GW_CARD_EINVAL;
    return guarded(card->error, action);
}

void require(bool condition, const char* message) {
    if (!condition) throw CardError(GW_CARD_EINVAL, message);
}

}  // namespace

extern "C" {

uint32_t gw_card_abi(void) { return GW_CARD_ABI; }

const char* gw_card_describe(void) { return gw::kDescription; }

gw_card* gw_card_open(const char* options, char* err, size_t err_size) {
    std::unique_ptr<gw_card> card;
    std::string message;
    guarded(message, [&] { card = std::make_unique<gw_card>(gw::parse_options(gw::kDescription, options)); });
    if (err && err_size != 0) {
        const size_t length = card ? 0 : std::min(message.size(), err_size - 1);
        std::memcpy(err, message.data(), length);
        err[length] = '\0';
    }
    return card.release();
}

void gw_card_close(gw_card* card) { delete card; }

const char* gw_card_error(const gw_card* card) { return card ? card->error.c_str() : "the card is a null pointer"; }

int gw_card_memory(gw_card* card, int* fd, uint64_t* size_bytes, void** base) {
    return call(card, [&] {
        if (fd) *fd = card->card.memory().fd();
        if (size_bytes) *size_bytes = card->card.memory().size();
        if (base) *base = card->card.memory().base();
    });
}

int gw_card_reg_read(gw_card* card, uint64_t offset, uint32_t* value) {
    return call(card, [&] {
        require(value, "gw_card_reg_read: value is a null pointer");
        *value = card->card.reg_read(offset);
    });
}

int gw_card_reg_write(gw_card* card, uint64_t offset, uint32_t value) {
    return call(card, [&] { card->card.reg_write(offset, value); });
}

int gw_card_run(gw_card* card, uint64_t max_cycles, uint32_t irq_mask, uint32_t* irq) {
    return call(card, [&] {
        const uint32_t lines = card->card.run(max_cycles, irq_mask);
        if (irq) *irq = lines;
    });
}

uint32_t gw_card_take_rises(gw_card* card) { return card ? card->card.take_rises() : 0; }

int gw_card_transfer(gw_card* card, int to_device, uint64_t device_addr, void* host, uint64_t size_bytes) {
    return call(card, [&] { card->card.transfer(to_device != 0, device_addr, host, size_bytes); });
}

int gw_card_host_window(gw_card* card, uint64_t bus_addr, void* host, uint64_t size_bytes) {
    return call(card, [&] { card->card.host_window(bus_addr, host, size_bytes); });
}

int gw_card_get_stats(const gw_card* card, gw_card_stats* out) {
    return call(card, [&] {
        require(out, "gw_card_get_stats: out is a null pointer");
        *out = card->card.stats();
    });
}

int gw_card_launch_times(const gw_card* card, uint32_t kernel, gw_launch_times* out) {
    return call(card, [&] {
        require(out, "gw_card_launch_times: out is a null pointer");
        *out = card->card.launch_times(kernel);
    });
}

int gw_card_get_decode_errors(const gw_card* card, uint64_t* count, uint64_t* first_addr) {
    return call(card, [&] {
        uint64_t first = 0;
        const uint64_t errors = card->card.decode_errors(first);
        if (count) *count = errors;
        if (first_addr) *first_addr = first;
    });
}

int gw_card_port_submit(gw_card* card, const gw_port_req* reqs, size_t count) {
    return call(card, [&] {
        require(reqs || count == 0, "gw_card_port_submit: reqs is a null pointer");
        card->card.submit(reqs, count);
    });
}

int gw_card_port_drain(gw_card* card, uint64_t max_cycles, uint32_t irq_mask, uint32_t* irq, uint64_t* pending) {
    return call(card, [&] {
        const uint64_t left = card->card.drain(max_cycles, irq_mask);
        if (irq) *irq = card->card.irq();
        if (pending) *pending = left;
    });
}

size_t gw_card_port_poll(gw_card* card, gw_port_done* out, size_t max, void* data, size_t data_size) {
    if (!card || !out) return 0;
    return card->card.poll(out, max, data, data_size);
}

int gw_card_record_events(gw_card* card, int on) {
    return call(card, [&] { card->card.events().record(on != 0); });
}

size_t gw_card_take_events(gw_card* card, gw_mem_event* out, size_t max) {
    if (!card || !out) return 0;
    return card->card.events().take(out, max);
}

}  // extern "C"
