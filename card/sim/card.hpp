// SPDX-License-Identifier: Apache-2.0
// A card: the verilated model, its clock, and everything around its pins.
//
// Contract
//   One step() is one clock cycle. All inputs of the cycle are set from what earlier cycles left; the clock rises, which ends
//   the cycle before, and the inputs follow it (gw_card_top registers them); all outputs are sampled; the clock falls, which
//   nothing depends on. So a handshake of cycle c is valid and ready together between the edges around c, whether or not an
//   output depends on an input combinationally, and all logic is evaluated once a cycle.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "axi_slave.hpp"
#include "axil_master.hpp"
#include "event_stream.hpp"
#include "gw_card.h"
#include "kernel_ports.hpp"
#include "launches.hpp"
#include "port_master.hpp"
#include "shared.hpp"
#include "watchdog.hpp"
#include "waves.hpp"

namespace gw {

class Card {
   public:
    /// Throws CardError.
    explicit Card(const Options& options);
    ~Card();
    Card(const Card&) = delete;
    Card& operator=(const Card&) = delete;

    DeviceMemory& memory() { return memory_; }
    Events& events() { return shared_.events; }

    uint32_t reg_read(uint64_t offset);
    void reg_write(uint64_t offset, uint32_t value);
    /// Returns the interrupt lines.
    uint32_t run(uint64_t max_cycles, uint32_t irq_mask);
    void transfer(bool to_device, uint64_t device_addr, void* host, uint64_t size_bytes);
    void host_window(uint64_t bus_addr, void* host, uint64_t size_bytes);

    void submit(const gw_port_req* requests, size_t count);
    /// The interrupt lines.
    uint32_t irq() const { return model_->irq_o; }
    /// Returns how many requests of driven ports are not answered.
    uint64_t drain(uint64_t max_cycles, uint32_t irq_mask);
    size_t poll(gw_port_done* out, size_t max, void* data, size_t data_size);

    gw_card_stats stats() const;
    uint32_t take_rises() { return launches_.take_rises(); }
    gw_launch_times launch_times(uint32_t kernel) const;
    uint64_t decode_errors(uint64_t& first_addr) const;

   private:
    struct Kernel {
        bool started = false;
        uint64_t since = 0;
    };

    void reset();
    void step();
    void evaluate(int clock);
    /// Throws when an RTL assertion failed; the card stays broken from then on.
    void check_model();
    void require_working() const;
    /// Throws when a trace or the event stream could not be written.
    void check_files() const;
    /// A kernel whose line is high is not waited for by the watchdog any more.
    void note_interrupts();
    void inspect();
    void register_access(uint64_t offset, std::optional<uint32_t> write_value);
    /// Kernel whose ap_ctrl is at this offset, if one's is.
    static std::optional<unsigned> control_of(uint64_t offset);
    void note_kernel(unsigned k, std::optional<uint32_t> written);
    uint64_t pending() const;

    const Clock clock_;
    const uint64_t watchdog_limit_;
    VerilatedContext context_;
    std::unique_ptr<Model> model_;
    DeviceMemory memory_;
    Link link_;
    std::unique_ptr<MemoryTiming> timing_;
    Shared shared_;
    Watchdog watchdog_;
    std::unique_ptr<Waves> waves_;
    std::vector<AxiSlave> slaves_;
    std::deque<PortAnswer> answers_;
    std::vector<PortMaster> masters_;
    AxilMaster axil_;
    KernelPorts kernel_ports_;
    Launches launches_;
    std::unique_ptr<EventStream> event_stream_;

    uint64_t cycle_ = 0;
    Femtoseconds link_time_ = 0;
    uint32_t waited_irqs_ = 0;  // interrupts the caller of run() waits for
    std::array<Kernel, kNumKernels + 1> kernels_;  // one more, so that none is legal
    std::string broken_;
};

}  // namespace gw
