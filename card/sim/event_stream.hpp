// SPDX-License-Identifier: Apache-2.0
// The events of the RTL, cycle by cycle, as a binary file.
//
// Contract
//   sample() is called once a cycle with the outputs of that cycle. The file: 8 bytes "GWEVENTS", the length of the header (32
//   bits), the header (JSON: clock_mhz, port names, and for each kind of event its level, its name and what its value is),
//   then records of 16 bytes, oldest first. All numbers are little endian. Memory is bounded: records go to the file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "model.hpp"

namespace gw {

struct EventRecord {
    uint64_t cycle;
    uint8_t kind;     // index into the header's kinds
    uint8_t port;     // kNone when the event is of no port
    uint8_t channel;  // 0 reads, 1 writes, kNone
    uint8_t reserved;
    uint16_t context;  // kNoContext when it is not known
    uint16_t value;

    static constexpr uint8_t kNone = 0xff;
    static constexpr uint16_t kNoContext = 0xffff;
};
static_assert(sizeof(EventRecord) == 16);

class EventStream {
   public:
    /// Throws CardError(GW_CARD_EIO).
    EventStream(const Model& top, const std::string& file, double clock_mhz);

    void sample(uint64_t cycle);
    /// Writes out what is buffered. Throws CardError(GW_CARD_EIO) when records were lost.
    void check() const;

   private:
    void add(const EventRecord& record);

    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const Model& top_;
    std::string name_;
    std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace gw
