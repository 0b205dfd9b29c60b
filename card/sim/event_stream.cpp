// SPDX-License-Identifier: Apache-2.0
#include "event_stream.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include "error.hpp"

namespace gw {
namespace {

// Where the port, channel and context of an event of the MMU stand: among the pins of owners of gw_card_top, in its order, or
// elsewhere.
enum class Owner { walk_start, walk_end, step, update, lookup, fill, none, invalidation };

struct Kind {
    const char* level;
    const char* name;
    unsigned bit;       // of the pins in gw_card_top: of a channel's five, or of the MMU's
    const char* value;  // what EventRecord::value is; empty: nothing
    Owner owner = Owner::none;
};

// Every address is a hit or a miss, so that `request` (bit 0) needs no record of its own.
constexpr std::array kChannelKinds = {
    Kind{"l1", "hit", 1, ""},
    Kind{"l1", "miss", 2, ""},
    Kind{"l1", "fault", 3, ""},
    Kind{"l1", "stall", 4, ""},
};

constexpr std::array kMmuKinds = {
    Kind{"walker", "start", 0, "", Owner::walk_start},
    Kind{"walker", "end", 1, "latency", Owner::walk_end},
    Kind{"walker", "fault", 2, "", Owner::walk_end},
    Kind{"walker", "merge", 3, "", Owner::step},
    Kind{"walker", "line_hit", 4, "", Owner::step},
    Kind{"walker", "cache_hit", 5, "", Owner::walk_start},
    Kind{"walker", "page_table_read", 6, "", Owner::step},
    Kind{"invalidation", "begin", 7, "scope", Owner::invalidation},
    Kind{"walker", "prefetch", 34, ""},
    Kind{"walker", "prefetch_used", 35, "", Owner::step},
    Kind{"walker", "prefetch_useless", 36, ""},
    Kind{"walker", "update", 37, "", Owner::update},
    Kind{"l2", "hit", 38, "", Owner::lookup},
    Kind{"l2", "range_hit", 39, "", Owner::lookup},
    Kind{"l2", "miss", 40, "", Owner::lookup},
    Kind{"l2", "fill", 41, "", Owner::fill},
    Kind{"l2", "merge", 42, "", Owner::fill},
    Kind{"l2", "evict", 43, "", Owner::fill},
    Kind{"l2", "drop", 44, ""},
};
// Beside these: a count instead of a pulse.
constexpr Kind kInvalidated{"l2", "invalidated", 45, "entries"};
constexpr uint8_t kFirstMmuKind = kChannelKinds.size();
constexpr uint8_t kWalkEnd = kFirstMmuKind + 1, kInvalidation = kFirstMmuKind + 7;
constexpr unsigned kRead = 6, kPrefetch = 8;  // in kMmuKinds

// Fields of the pins between the pulses.
constexpr uint64_t kPulses = uint64_t{0xffff} << 34 | 0xff;
constexpr unsigned kChannelBits = 5, kContextShift = 10, kLatencyShift = 8, kScopeShift = 24, kInvalContextShift = 26;

// An owner is {port, direction, context}; that of a fill has the context alone.
void set_owner(EventRecord& record, Owner owner, uint64_t events, const Model& top) {
    switch (owner) {
        case Owner::none: break;
        case Owner::invalidation:
            if (record.value != 0) record.context = static_cast<uint16_t>(events >> kInvalContextShift & 0xff);
            break;
        default: {
            const uint16_t pins = top.mmu_owner_o[static_cast<unsigned>(owner)];
            record.context = pins & 0xff;
            if (owner == Owner::fill) break;
            record.channel = pins >> 8 & 1;
            record.port = pins >> 9 & 0x7f;
        }
    }
}

std::string kinds_json() {
    std::string text;
    const auto add = [&](const Kind& kind) {
        text += format("%s{\"level\":\"%s\",\"name\":\"%s\",\"value\":\"%s\"}", text.empty() ? "" : ",", kind.level, kind.name,
                       kind.value);
    };
    for (const Kind& kind : kChannelKinds) add(kind);
    for (const Kind& kind : kMmuKinds) add(kind);
    add(kInvalidated);
    return text;
}

}  // namespace

EventStream::EventStream(const Model& top, const std::string& file, double clock_mhz) : top_(top), name_(file) {
    file_.reset(std::fopen(file.c_str(), "wb"));
    if (!file_)
        throw CardError(GW_CARD_EIO, format("event stream %s cannot be written: %s", file.c_str(), std::strerror(errno)));
    std::string ports;
    for (unsigned port = 0; port < kNumKernels + kNumExt; ++port)
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
    for (unsigned port = 0; port < kNumKernels + kNumExt; ++port) {
        const uint32_t pins = top_.port_event_o[port];
        if ((pins & ((1u << kContextShift) - 1)) == 0) continue;
        for (unsigned channel = 0; channel < 2; ++channel) {
            const uint32_t pulses = pins >> (channel * kChannelBits);
            for (unsigned kind = 0; kind < kChannelKinds.size(); ++kind)
                if (pulses >> kChannelKinds[kind].bit & 1)
                    add({cycle, static_cast<uint8_t>(kind), static_cast<uint8_t>(port), static_cast<uint8_t>(channel), 0,
                         static_cast<uint16_t>(pins >> kContextShift), 0});
        }
    }
    const uint64_t pins = top_.mmu_event_o;
    if ((pins & kPulses) == 0) return;
    const bool ahead = pins >> kMmuKinds[kPrefetch].bit & 1;
    for (unsigned index = 0; index < kMmuKinds.size(); ++index) {
        if (!(pins >> kMmuKinds[index].bit & 1)) continue;
        EventRecord record{cycle, static_cast<uint8_t>(kFirstMmuKind + index), EventRecord::kNone, EventRecord::kNone, 0,
                           EventRecord::kNoContext, 0};
        if (record.kind == kWalkEnd) record.value = static_cast<uint16_t>(pins >> kLatencyShift & 0xffff);
        if (record.kind == kInvalidation) record.value = static_cast<uint16_t>(pins >> kScopeShift & 3);
        // Nobody asked for what is read ahead.
        set_owner(record, index == kRead && ahead ? Owner::none : kMmuKinds[index].owner, pins, top_);
        add(record);
    }
    if (const auto entries = static_cast<uint16_t>(pins >> kInvalidated.bit & 0x1f))
        add({cycle, static_cast<uint8_t>(kFirstMmuKind + kMmuKinds.size()), EventRecord::kNone, EventRecord::kNone, 0,
             EventRecord::kNoContext, entries});
}

void EventStream::check() const {
    if (std::fflush(file_.get()) != 0 || std::ferror(file_.get()))
        throw CardError(GW_CARD_EIO, format("event stream %s: records were lost, is the disk full?", name_.c_str()));
}

}  // namespace gw
