// SPDX-License-Identifier: Apache-2.0
// Memory model `banked`: one DDR4 channel with banks, open rows, one data bus and refresh, behind a controller that serves
// row hits first.
//
// Contract
//   Every burst is cut into 64-byte lines, from the one it begins with (WRAP goes around), each one column access (BL8 on a
//   64-bit channel). Reads enter the controller when their address is accepted, writes when their last W beat is. An R beat
//   is valid once its line's data and controller_ns have passed; B once all lines are written and controller_ns has passed.
//   Lines of a burst, and bursts, may be done out of order; the AXI slave keeps the order per ID.
//
//   address = row : bank : interleave block, that is consecutive blocks of interleave_bytes go to consecutive banks, and
//   row_bytes in each of the banks make one row.
//
//   Scheduling is FR-FCFS (Rixner et al., ISCA 2000) over a window of 32 lines: the oldest line whose row is open is next;
//   a bank is closed for another row when no line of the window wants its open row, or 16 of them passed an older line by
//   (the cap keeps the age of a line bounded). Channels fill the window in turns, a line each.
//
// Timings, with the source of the defaults: JEDEC JESD79-4, DDR4-2400R (16-16-16, tCK 0.833 ns), 8 Gb devices: tRCD = tRP =
// CL = 13.32 ns, CWL 10 ns, tRAS 32 ns, tRC = tRAS + tRP, tCCD_L 5 ns between columns of one bank, tRTP 7.5 ns, tWR 15 ns,
// tRFC1 350 ns every tREFI 7.8 us. A burst of 8 holds the data bus for 64 bytes / bandwidth_gbps = 3.33 ns, which is also
// tCCD_S. controller_ns is the way through controller and PHY and back. Not modelled: tFAW, tRRD, bus turnaround, and the
// command bus.
#include <algorithm>
#include <deque>
#include <vector>

#include "memory.hpp"

namespace gw {
namespace {

constexpr size_t kWindow = 32;        // lines the scheduler chooses from
constexpr size_t kBurstsQueued = 16;  // bursts a channel may have before the window; one more deasserts ready
constexpr unsigned kPassCap = 16;

class Banked final : public MemoryTiming {
   public:
    Banked(const MemoryOptions& options, unsigned ports, const Clock& clock)
        : clock_(clock),
          interleave_(options.interleave_bytes),
          blocks_a_row_(options.row_bytes / options.interleave_bytes),
          rcd_(from_ns(options.t_rcd_ns)),
          rp_(from_ns(options.t_rp_ns)),
          cl_(from_ns(options.t_cl_ns)),
          cwl_(from_ns(options.t_cwl_ns)),
          ras_(from_ns(options.t_ras_ns)),
          ccd_(from_ns(options.t_ccd_ns)),
          bus_(from_ns(kLineBytes / options.bandwidth_gbps)),
          rtp_(from_ns(options.t_rtp_ns)),
          wr_(from_ns(options.t_wr_ns)),
          refi_(from_ns(options.t_refi_ns)),
          rfc_(from_ns(options.t_rfc_ns)),
          controller_(from_ns(options.controller_ns)),
          next_refresh_(refi_),
          banks_(options.banks),
          queues_(2 * ports) {
        window_.reserve(kWindow);
    }

    bool accepts(unsigned channel) const override {
        const Queue& queue = queues_[channel];
        return queue.taken < kBurstsQueued;
    }

    void add(Burst& burst) override {
        ++queues_[burst.channel].taken;
        burst.granted = burst.accepted;
        if (!burst.write) enqueue(burst);
    }

    void complete(Burst& burst) override { enqueue(burst); }

    void tick(uint64_t cycle) override {
        // What was accepted in `cycle` is there when the next cycle begins; decisions made now are about that cycle.
        const Femtoseconds from = clock_.start_of(cycle + 1);
        const Femtoseconds until = from + clock_.period();
        if (refi_ != 0 && from >= next_refresh_) refresh(from);
        if (pending_ == 0) return;
        fill_window();
        open_rows(from, until);
        while (serve_one(from, until)) {
        }
    }

    MemoryCounts counts() const override { return counts_; }

   private:
    struct Bank {
        bool open = false;
        bool opener = false;  // the next column access is the one its row was opened for: a miss
        uint64_t row = 0;
        unsigned passes = 0;  // columns served since an older line began to wait for another row
        Femtoseconds act_from = 0;
        Femtoseconds col_from = 0;
        Femtoseconds pre_from = 0;
    };
    struct Line {
        Burst* burst;
        uint16_t index;
        uint32_t bank;
        uint64_t row;
    };
    struct Queue {
        std::deque<Burst*> bursts;
        uint16_t line = 0;    // lines of the front burst already in the window
        unsigned taken = 0;   // bursts accepted whose lines have not all entered the window
    };

    void enqueue(Burst& burst) {
        queues_[burst.channel].bursts.push_back(&burst);
        burst.lines_left = static_cast<uint16_t>(burst.lines());
        pending_ += burst.lines_left;
        if (!burst.write) std::fill_n(burst.line_ready.begin(), burst.lines_left, kNever);
    }

    void fill_window() {
        for (size_t empty = 0; window_.size() < kWindow && empty < queues_.size();) {
            Queue& queue = queues_[turn_];
            turn_ = (turn_ + 1) % queues_.size();
            if (queue.bursts.empty()) {
                ++empty;
                continue;
            }
            empty = 0;
            Burst& burst = *queue.bursts.front();
            const unsigned line = burst.line_after(queue.line);
            const uint64_t block = (burst.first_line() + uint64_t{line} * kLineBytes) / interleave_;
            window_.push_back({&burst, static_cast<uint16_t>(line), static_cast<uint32_t>(block % banks_.size()),
                               block / banks_.size() / blocks_a_row_});
            if (++queue.line == burst.lines()) {
                queue.line = 0;
                queue.bursts.pop_front();
                --queue.taken;
            }
        }
    }

    /// Precharges and activates: for each bank the row of its oldest line, unless its open row is still wanted.
    void open_rows(Femtoseconds from, Femtoseconds until) {
        met_.assign(banks_.size(), false);
        for (const Line& line : window_) {
            if (met_[line.bank]) continue;
            met_[line.bank] = true;
            Bank& bank = banks_[line.bank];
            if (!bank.open) {
                if (std::max(from, bank.act_from) < until) activate(bank, line.row, std::max(from, bank.act_from));
            } else if (bank.row != line.row && (bank.passes >= kPassCap || !wanted(line.bank))) {
                const Femtoseconds precharge = std::max(from, bank.pre_from);
                if (precharge < until) activate(bank, line.row, std::max(precharge + rp_, bank.act_from));
            }
        }
    }

    /// A line wants the bank's open row.
    bool wanted(uint32_t bank) const {
        return std::any_of(window_.begin(), window_.end(), [&](const Line& line) {
            return line.bank == bank && line.row == banks_[bank].row;
        });
    }

    void activate(Bank& bank, uint64_t row, Femtoseconds at) {
        bank = {.open = true, .opener = true, .row = row, .act_from = at + ras_ + rp_,
                .col_from = at + rcd_, .pre_from = at + ras_};
    }

    Femtoseconds column_latency(const Line& line) const { return line.burst->write ? cwl_ : cl_; }

    /// The column access that can be issued first within the cycle, the oldest of those; false when there is none.
    bool serve_one(Femtoseconds from, Femtoseconds until) {
        if (bus_free_ - std::max(cl_, cwl_) >= until) return false;
        const Femtoseconds earliest = std::max(from, bus_free_ - std::max(cl_, cwl_));
        size_t best = window_.size();
        Femtoseconds best_at = until;
        for (size_t i = 0; i < window_.size(); ++i) {
            const Bank& bank = banks_[window_[i].bank];
            if (!bank.open || bank.row != window_[i].row) continue;
            const Femtoseconds at = std::max({from, bank.col_from, bus_free_ - column_latency(window_[i])});
            if (at < best_at) {
                best = i;
                best_at = at;
                if (at == earliest) break;  // none is earlier
            }
        }
        if (best == window_.size()) return false;
        const Line line = window_[best];
        Bank& bank = banks_[line.bank];
        ++(bank.opener ? counts_.row_misses : counts_.row_hits);
        bank.opener = false;
        const bool passed_older = std::any_of(window_.begin(), window_.begin() + static_cast<ptrdiff_t>(best),
                                              [&](const Line& other) { return other.bank == line.bank; });
        bank.passes = passed_older ? bank.passes + 1 : 0;
        const Femtoseconds data_end = best_at + column_latency(line) + bus_;
        bus_free_ = data_end;
        bank.col_from = best_at + ccd_;
        bank.pre_from = std::max(bank.pre_from, line.burst->write ? data_end + wr_ : best_at + rtp_);
        window_.erase(window_.begin() + static_cast<ptrdiff_t>(best));
        --pending_;
        finish(line, clock_.first_cycle_from(data_end + controller_));
        return true;
    }

    void finish(const Line& line, uint64_t cycle) {
        Burst& burst = *line.burst;
        --burst.lines_left;
        if (burst.write) {
            last_write_line(burst, cycle);
            return;
        }
        burst.line_ready[line.index] = cycle;
        if (line.index == burst.line_of(0)) burst.ready = cycle;
    }

    /// B waits for the line that is done last, which need not be the one scheduled last.
    static void last_write_line(Burst& burst, uint64_t cycle) {
        uint64_t& latest = burst.line_ready[0];
        const bool first = burst.lines_left + 1u == burst.lines();
        latest = first ? cycle : std::max(latest, cycle);
        if (burst.lines_left == 0) burst.ready = latest;
    }

    /// All banks are precharged and busy for tRFC. Postponed to the end of what a bank is doing, as JESD79-4 allows.
    void refresh(Femtoseconds from) {
        Femtoseconds start = from;
        bool any_open = false;
        for (const Bank& bank : banks_) {
            if (bank.open) start = std::max(start, bank.pre_from);
            any_open |= bank.open;
        }
        const Femtoseconds end = start + (any_open ? rp_ : 0) + rfc_;
        for (Bank& bank : banks_) {
            bank.open = false;
            bank.act_from = std::max(bank.act_from, end);
        }
        next_refresh_ += refi_;
    }

    const Clock clock_;
    const uint64_t interleave_, blocks_a_row_;
    const Femtoseconds rcd_, rp_, cl_, cwl_, ras_, ccd_, bus_, rtp_, wr_, refi_, rfc_, controller_;
    Femtoseconds next_refresh_;
    Femtoseconds bus_free_ = 0;
    std::vector<Bank> banks_;
    std::vector<Queue> queues_;
    std::vector<Line> window_;  // in order of age
    std::vector<bool> met_;     // of one pass over the window: banks whose oldest line was met
    size_t turn_ = 0;
    uint64_t pending_ = 0;  // lines in queues and window
    MemoryCounts counts_;
};

}  // namespace

std::unique_ptr<MemoryTiming> make_banked(const MemoryOptions& options, unsigned ports, const Clock& clock) {
    return std::make_unique<Banked>(options, ports, clock);
}

}  // namespace gw
