// SPDX-License-Identifier: Apache-2.0
// The AXI trace (a CSV line a handshake) and the recorded address handshakes of gw_card_record_events().
#pragma once

#include <cstdio>
#include <deque>
#include <memory>
#include <string>

#include "gw_card.h"

namespace gw {

/// `cycle,port,channel,id,addr,len,resp`: port is NAME on the memory side and NAME.port on the accelerator side of an
/// external port; channel is ar, r, aw, w or b; a field that the channel does not have is empty.
class Trace {
   public:
    /// Throws CardError(GW_CARD_EIO). An empty name is no trace.
    explicit Trace(const std::string& file);

    bool on() const { return file_ != nullptr; }
    void address(uint64_t cycle, const std::string& port, bool write, unsigned id, uint64_t addr, unsigned len);
    void write_beat(uint64_t cycle, const std::string& port);
    void answer(uint64_t cycle, const std::string& port, bool write, unsigned id, unsigned resp);
    /// Throws CardError(GW_CARD_EIO) when lines were lost.
    void check() const;

   private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::string name_;
    std::unique_ptr<std::FILE, Close> file_;
};

class Events {
   public:
    void record(bool on) { on_ = on; }
    bool on() const { return on_; }
    void add(const gw_mem_event& event) { events_.push_back(event); }
    size_t take(gw_mem_event* out, size_t max);

   private:
    bool on_ = false;
    std::deque<gw_mem_event> events_;
};

}  // namespace gw
