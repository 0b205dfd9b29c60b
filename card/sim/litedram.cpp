// SPDX-License-Identifier: Apache-2.0
// Memory model `litedram-ddr4`: LiteDRAM's own controller, verilated, decides when accesses are done.
//
// The controller (godwit.card.litedram generates it) has a clock of its own and a native port for every memory port; its PHY
// keeps no data but answers with the address it was sent to, which is compared here. Bursts are cut into lines of 64 bytes;
// reads and writes of a port take turns, each channel in order.
//
// Contract
//   A read's line may be taken from the first cycle that begins after the controller's edge that brought it; B from the one
//   after the controller took the last line's data. A channel takes kBurstsTaken bursts, then deasserts ready.
#include <algorithm>
#include <deque>
#include <vector>

#include "error.hpp"
#include "memory.hpp"
#include "model.hpp"

#if __has_include("Vgw_litedram.h")
#include "Vgw_litedram.h"

namespace gw {
namespace {

constexpr unsigned kBurstsTaken = 16;
constexpr unsigned kControllerReset = 8;

class LiteDram final : public MemoryTiming {
   public:
    LiteDram(const MemoryOptions& options, const Clock& clock)
        : clock_(clock),
          period_(Clock(options.controller_mhz).period()),
          model_(std::make_unique<Vgw_litedram>(&context_)),
          queues_(2 * kNumMem),
          ports_(kNumMem) {
        context_.fatalOnError(false);
        model_->sys_rst = 1;
        for (unsigned i = 0; i < kControllerReset; ++i) edge();
        model_->sys_rst = 0;
    }
    ~LiteDram() override { model_->final(); }

    bool accepts(unsigned channel) const override { return queues_[channel].taken < kBurstsTaken; }

    void add(Burst& burst) override {
        ++queues_[burst.channel].taken;
        burst.granted = burst.accepted;
        if (!burst.write) enqueue(burst);
    }

    void complete(Burst& burst) override { enqueue(burst); }

    void tick(uint64_t cycle) override {
        // Edges up to the beginning of the next cycle see what was accepted in this one.
        for (const Femtoseconds until = clock_.start_of(cycle + 1); next_edge_ <= until; next_edge_ += period_)
            step(std::max(cycle + 1, clock_.first_cycle_from(next_edge_)));
    }

   private:
    struct Line {
        Burst* burst;
        uint16_t index;
        uint32_t number;  // physical address in lines
    };
    struct Queue {
        std::deque<Burst*> bursts;
        uint16_t line = 0;   // lines of the front burst already asked for
        unsigned taken = 0;  // bursts accepted whose lines have not all been asked for
    };
    struct Port {
        bool turn = false;        // writes go first
        bool offered = false;     // a command waits for the controller
        bool write = false;       // ... and this is what it is
        std::deque<Line> reads;   // asked for, in order
        std::deque<Line> writes;  // data not yet taken
    };

    void enqueue(Burst& burst) {
        queues_[burst.channel].bursts.push_back(&burst);
        burst.lines_left = static_cast<uint16_t>(burst.lines());
        if (!burst.write) std::fill_n(burst.line_ready.begin(), burst.lines_left, kNever);
    }

    static Line front(const Queue& queue) {
        Burst& burst = *queue.bursts.front();
        const unsigned line = burst.line_after(queue.line);
        return {&burst, static_cast<uint16_t>(line), static_cast<uint32_t>(burst.first_line() / kLineBytes + line)};
    }

    void edge() {
        model_->sys_clk = 1;
        model_->eval();
        model_->sys_clk = 0;
        model_->eval();
    }

    /// One clock of the controller; `cycle` is the first of the card that sees what it brings.
    void step(uint64_t cycle) {
        uint32_t valid = 0, we = 0;
        for (unsigned p = 0; p < kNumMem; ++p) {
            Port& port = ports_[p];
            if (!port.offered) {
                const bool first = port.turn, some[2] = {!queues_[2 * p].bursts.empty(), !queues_[2 * p + 1].bursts.empty()};
                if (!some[0] && !some[1]) continue;
                port.write = some[first] ? first : !first;
                port.offered = true;
            }
            valid |= 1u << p;
            we |= static_cast<uint32_t>(port.write) << p;
            model_->cmd_addr[p] = front(queues_[2 * p + port.write]).number;
        }
        model_->cmd_valid = valid;
        model_->cmd_we = we;
        model_->eval();
        const uint32_t accepted = valid & model_->cmd_ready;
        for (unsigned p = 0; p < kNumMem; ++p)
            if (accepted >> p & 1) take(ports_[p], queues_[2 * p + ports_[p].write]);
        // Data of a write is asked for after its command.
        for (unsigned p = 0; p < kNumMem; ++p)
            if (!ports_[p].writes.empty()) model_->wdata[p] = ports_[p].writes.front().number;
        model_->eval();
        const uint32_t taken = model_->wdata_ready, brought = model_->rdata_valid;
        for (unsigned p = 0; p < kNumMem; ++p) {
            if (taken >> p & 1) written(ports_[p].writes, cycle);
            if (brought >> p & 1) read(ports_[p].reads, model_->rdata[p], cycle);
        }
        edge();
        if (model_->write_error) throw CardError(GW_CARD_EDESIGN, "LiteDRAM wrote to another address than it was asked to");
    }

    void take(Port& port, Queue& queue) {
        const Line line = front(queue);
        (port.write ? port.writes : port.reads).push_back(line);
        port.offered = false;
        port.turn = !port.write;
        if (++queue.line < line.burst->lines()) return;
        queue.line = 0;
        queue.bursts.pop_front();
        --queue.taken;
    }

    static void read(std::deque<Line>& lines, uint32_t address, uint64_t cycle) {
        if (lines.empty() || lines.front().number != address)
            throw CardError(GW_CARD_EDESIGN, format("LiteDRAM read line 0x%x, which is not what it was asked for", address));
        const Line line = lines.front();
        lines.pop_front();
        Burst& burst = *line.burst;
        --burst.lines_left;
        burst.line_ready[line.index] = cycle;
        if (line.index == burst.line_of(0)) burst.ready = cycle;
    }

    static void written(std::deque<Line>& lines, uint64_t cycle) {
        if (lines.empty()) throw CardError(GW_CARD_EDESIGN, "LiteDRAM took data of a write that it was not asked for");
        Burst& burst = *lines.front().burst;
        lines.pop_front();
        if (--burst.lines_left == 0) burst.ready = cycle;
    }

    const Clock clock_;
    const Femtoseconds period_;
    VerilatedContext context_;
    std::unique_ptr<Vgw_litedram> model_;
    std::vector<Queue> queues_;  // one a channel
    std::vector<Port> ports_;
    Femtoseconds next_edge_ = 0;
};

}  // namespace

std::unique_ptr<MemoryTiming> make_litedram(const MemoryOptions& options, const Clock& clock) {
    return std::make_unique<LiteDram>(options, clock);
}

}  // namespace gw

#else

namespace gw {

std::unique_ptr<MemoryTiming> make_litedram(const MemoryOptions&, const Clock&) {
    throw CardError(GW_CARD_EINVAL, "memory.model litedram-ddr4: this card was built without the controller; build one with it "
                                    "(--set memory.model=litedram-ddr4)");
}

}  // namespace gw

#endif
