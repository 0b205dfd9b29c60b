// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "error.hpp"

namespace gw {

Trace::Trace(const std::string& file) : name_(file) {
    if (file.empty()) return;
    file_.reset(std::fopen(file.c_str(), "w"));
    if (!file_)
        throw CardError(GW_CARD_EIO, format("AXI trace %s cannot be written: %s", file.c_str(), std::strerror(errno)));
    std::fputs("cycle,port,channel,id,addr,len,resp\n", file_.get());
}

void Trace::address(uint64_t cycle, const std::string& port, bool write, unsigned id, uint64_t addr, unsigned len) {
    std::fprintf(file_.get(), "%llu,%s,%s,%u,0x%llx,%u,\n", static_cast<unsigned long long>(cycle), port.c_str(),
                 write ? "aw" : "ar", id, static_cast<unsigned long long>(addr), len);
}

void Trace::write_beat(uint64_t cycle, const std::string& port) {
    std::fprintf(file_.get(), "%llu,%s,w,,,,\n", static_cast<unsigned long long>(cycle), port.c_str());
}

void Trace::answer(uint64_t cycle, const std::string& port, bool write, unsigned id, unsigned resp) {
    static constexpr const char* kNames[] = {"OKAY", "EXOKAY", "SLVERR", "DECERR"};
    std::fprintf(file_.get(), "%llu,%s,%s,%u,,,%s\n", static_cast<unsigned long long>(cycle), port.c_str(),
                 write ? "b" : "r", id, kNames[resp & 3]);
}

void Trace::check() const {
    if (file_ && std::ferror(file_.get()))
        throw CardError(GW_CARD_EIO, format("AXI trace %s: lines were lost, is the disk full?", name_.c_str()));
}

size_t Events::take(gw_mem_event* out, size_t max) {
    const size_t count = std::min(max, events_.size());
    std::copy_n(events_.begin(), count, out);
    events_.erase(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(count));
    return count;
}

}  // namespace gw
