// SPDX-License-Identifier: Apache-2.0
// Device memory and the interface of the models that say when an access to it is done. Content and time are separate:
// a model never sees data, so that every model gives the same results in different cycles.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "burst.hpp"
#include "options.hpp"

namespace gw {

struct MemoryCounts {
    uint64_t row_hits = 0;
    uint64_t row_misses = 0;
};

/// When accesses to device memory are done.
///
/// Channels are numbered 2 * port + write. Once a cycle, after the handshakes of that cycle: add() and complete(), then
/// tick(). The model sets `granted`, `ready` and (reads) `line_ready` of a burst, each later than the cycle it is set in.
class MemoryTiming {
   public:
    virtual ~MemoryTiming() = default;

    /// Whether the channel takes an address in the coming cycle. True again at the latest when all it took are done.
    virtual bool accepts(unsigned channel) const = 0;
    /// An address was accepted. The burst stays where it is until its last beat, or B, is taken.
    virtual void add(Burst& burst) = 0;
    /// The last W beat of a write was accepted (`burst.complete` is set); never before its add().
    virtual void complete(Burst& burst) = 0;
    virtual void tick(uint64_t cycle) = 0;

    virtual MemoryCounts counts() const { return {}; }
};

/// `page_table_port`: the port with the page-table latency of its own.
std::unique_ptr<MemoryTiming> make_fixed(const MemoryOptions& options, unsigned ports, unsigned page_table_port);
std::unique_ptr<MemoryTiming> make_banked(const MemoryOptions& options, unsigned ports, const Clock& clock);
/// For as many ports as the card has. Throws CardError(GW_CARD_EINVAL) when the card was built without the controller.
std::unique_ptr<MemoryTiming> make_litedram(const MemoryOptions& options, const Clock& clock);

/// One of several memories: its model, and its first address.
struct MemoryPart {
    uint64_t first;
    std::unique_ptr<MemoryTiming> timing;
};
/// Memories that follow one another from address 0 on as one: a single one is itself.
std::unique_ptr<MemoryTiming> join_memories(std::vector<MemoryPart> parts);

/// Anonymous file of the whole size, mapped without reservation: only pages that were touched cost anything.
class DeviceMemory {
   public:
    explicit DeviceMemory(uint64_t size_bytes);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    int fd() const { return fd_; }
    uint64_t size() const { return size_; }
    uint8_t* base() const { return base_; }
    bool contains(uint64_t addr, uint64_t bytes) const { return addr <= size_ && bytes <= size_ - addr; }

   private:
    uint64_t size_;
    int fd_ = -1;
    uint8_t* base_ = nullptr;
};

}  // namespace gw
