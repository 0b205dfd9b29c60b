// SPDX-License-Identifier: Apache-2.0
#include "event_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "error.hpp"
#include "godwit_events.h"

namespace gw {
namespace {

constexpr uint8_t kFirstMmuKind = std::size(kChannelEvents);
constexpr unsigned kMmuWords = (kMmuEventBits + 31) / 32;

/// A field of pins: one number, or Verilator's words of 32 bits. Fields have at most 32 bits.
template <typename Pins>
uint32_t field(const Pins& pins, Bits bits) {
    const uint32_t mask = bits.width >= 32 ? ~0u : (1u << bits.width) - 1;
    if constexpr (std::is_integral_v<Pins>) {
        return static_cast<uint32_t>(uint64_t{pins} >> bits.low) & mask;
    } else {
        const unsigned word = bits.low / 32, shift = bits.low % 32;
        uint64_t found = pins[word];
        if (shift + bits.width > 32) found |= uint64_t{pins[word + 1]} << 32;
        return static_cast<uint32_t>(found >> shift) & mask;
    }
}

/// The bits of mmu_event_t that are events.
constexpr std::array<uint32_t, kMmuWords> mmu_pulses() {
    std::array<uint32_t, kMmuWords> mask{};
    for (const EventKind& kind : kMmuEvents)
        for (unsigned bit = kind.event.low; bit < kind.event.low + kind.event.width; ++bit) mask[bit / 32] |= 1u << bit % 32;
    return mask;
}

template <typename Pins>
bool any_event(const Pins& pins) {
    constexpr auto kMask = mmu_pulses();
    for (unsigned word = 0; word < kMmuWords; ++word)
        if (field(pins, {32 * word, std::min(32u, kMmuEventBits - 32 * word)}) & kMask[word]) return true;
    return false;
}

template <typename Pins>
void set_owner(EventRecord& record, const EventKind& kind, const Pins& pins) {
    if (kind.owner_kind == OwnerKind::none || record.value == kind.ownerless_value) return;
    if (kind.ownerless.width != 0 && field(pins, kind.ownerless) != 0) return;
    const uint32_t owner = field(pins, kind.owner);
    record.context = owner & ((1u << kContextBits) - 1);
    if (kind.owner_kind != OwnerKind::channel) return;
    record.channel = owner >> kContextBits & 1;
    record.port = static_cast<uint8_t>(owner >> (kContextBits + 1));
}

std::string kinds_json() {
    std::string text;
    const auto add = [&](const EventKind& kind) {
        text += format("%s{\"level\":\"%s\",\"name\":\"%s\",\"value\":\"%s\"}", text.empty() ? "" : ",", kind.level, kind.name,
                       kind.value_name);
    };
    for (const EventKind& kind : kChannelEvents) add(kind);
    for (const EventKind& kind : kMmuEvents) add(kind);
    return text;
}

}  // namespace

EventStream::EventStream(const Model& top, const std::string& file, double clock_mhz) : top_(top), name_(file) {
    file_.reset(std::fopen(file.c_str(), "wb"));
    if (!file_)
        throw CardError(GW_CARD_EIO, format("event stream %s cannot be written: %s", file.c_str(), std::strerror(errno)));
    std::string ports;
    for (unsigned port = 0; port < kNumPorts; ++port)
        ports += format("%s\"%s\"", port == 0 ? "" : ",", port_name(port).c_str());
    const std::string header =
        format("{\"clock_mhz\":%g,\"ports\":[%s],\"kinds\":[", clock_mhz, ports.c_str()) + kinds_json() + "]}";
    const uint32_t length = static_cast<uint32_t>(header.size());
    std::fwrite("GWEVENTS", 1, 8, file_.get());
    std::fwrite(&length, sizeof length, 1, file_.get());
    std::fwrite(header.data(), 1, header.size(), file_.get());
}

void EventStream::add(const EventRecord& record) { std::fwrite(&record, sizeof record, 1, file_.get()); }

void EventStream::sample(uint64_t cycle) {
    for (unsigned port = 0; port < kNumPorts; ++port) {
        const auto& pins = top_.port_event_o[port];
        for (unsigned channel = 0; channel < 2; ++channel) {
            const unsigned first = channel * kChannelEventBits;
            if (field(pins, {first, kChannelEventBits}) == 0) continue;
            for (unsigned kind = 0; kind < std::size(kChannelEvents); ++kind)
                if (field(pins, {first + kChannelEvents[kind].event.low, 1}) != 0)
                    add({cycle, static_cast<uint8_t>(kind), static_cast<uint8_t>(port), static_cast<uint8_t>(channel), 0,
                         static_cast<uint16_t>(field(pins, kPortContext)), 0});
        }
    }
    const auto& pins = top_.mmu_event_o;
    if (!any_event(pins)) return;
    for (unsigned index = 0; index < std::size(kMmuEvents); ++index) {
        const EventKind& kind = kMmuEvents[index];
        if (field(pins, kind.event) == 0) continue;
        EventRecord record{cycle, static_cast<uint8_t>(kFirstMmuKind + index), EventRecord::kNone, EventRecord::kNone, 0,
                           EventRecord::kNoContext, 0};
        if (kind.value.width != 0) record.value = static_cast<uint16_t>(field(pins, kind.value));
        set_owner(record, kind, pins);
        add(record);
    }
}

void EventStream::check() const {
    if (std::fflush(file_.get()) != 0 || std::ferror(file_.get()))
        throw CardError(GW_CARD_EIO, format("event stream %s: records were lost, is the disk full?", name_.c_str()));
}

}  // namespace gw
