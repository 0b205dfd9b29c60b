// SPDX-License-Identifier: Apache-2.0
// The verilated card and its constants. Everything that touches a pin of the model includes this.
//
// gw_card_config.h is generated with the card: numbers of ports, and names. Memory ports are numbered
// kernels first (the first bundle of each), then external ports, then further bundles of kernels, then the page DMA if there is
// one (device memory, host memory), then the heap if there is one, then the page cache if there is one (host memory), then the command
// queue, then the walker, whose port is the last one.
#pragma once

#include <string>

#include "Vgw_card_top.h"
#include "gw_card_config.h"

namespace gw {

using Model = Vgw_card_top;

inline constexpr unsigned kNumKernels = gw_card_config::kNumKernels;
inline constexpr unsigned kNumExt = gw_card_config::kNumExt;
inline constexpr unsigned kNumExtra = gw_card_config::kNumExtra;
inline constexpr unsigned kNumPorts = kNumKernels + kNumExt + kNumExtra;
inline constexpr unsigned kNumDma = gw_card_config::kNumDma;
inline constexpr unsigned kNumHeap = gw_card_config::kNumHeap;
inline constexpr unsigned kNumCache = gw_card_config::kNumCache;
inline constexpr unsigned kNumMem = gw_card_config::kNumMem;
inline constexpr unsigned kIdWidth = gw_card_config::kIdWidth;
inline constexpr unsigned kWalkerPort = kNumMem - 1;
inline constexpr unsigned kQueuePort = kNumMem - 2;
static_assert(kNumMem == kNumPorts + kNumDma + kNumHeap + kNumCache + 2);
static_assert(kNumMem <= 32, "the memory models keep a bit a channel in 64 bits");

/// Register space (docs/architecture.md): the MMU at 0, kernels from here, a page-aligned window each.
inline constexpr uint64_t kKernelRegisters = 0x0010'0000;
inline constexpr uint64_t kKernelWindow = 0x1'0000;

inline std::string port_name(unsigned port) {
    if (port < kNumKernels) return gw_card_config::kKernelNames[port];
    if (port < kNumKernels + kNumExt) return "ext" + std::to_string(port - kNumKernels);
    if (port < kNumPorts) return gw_card_config::kExtraPorts[port - kNumKernels - kNumExt].name;
    if (port < kNumPorts + kNumDma) return port == kNumPorts ? "dma" : "dma.host";
    if (port < kNumPorts + kNumDma + kNumHeap) return "heap";
    if (port < kNumPorts + kNumDma + kNumHeap + kNumCache) return "cache";
    return port == kQueuePort ? "queue" : "walker";
}

}  // namespace gw
