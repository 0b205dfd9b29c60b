// SPDX-License-Identifier: Apache-2.0
// Constants of the pass-through card, where a real card has its generated header.
#pragma once

namespace gw_card_config {

inline constexpr unsigned kNumKernels = 1;
inline constexpr unsigned kNumExt = 3;
inline constexpr unsigned kNumMem = 6;
inline constexpr unsigned kNumDma = 0;
inline constexpr unsigned kNumHeap = 0;
inline constexpr unsigned kNumCache = 0;
inline constexpr unsigned kNumExtra = 0;
inline constexpr unsigned kIdWidth = 4;
inline constexpr unsigned kDataWidth = 512;
inline constexpr const char* kKernelNames[] = {"sleeper"};
struct DataFile {
    const char *kernel, *name, *path;
};
inline constexpr DataFile kDataFiles[] = {{"", "", ""}};
struct ExtraPort {
    unsigned kernel;
    const char* name;
};
inline constexpr ExtraPort kExtraPorts[] = {{0, ""}};
inline constexpr const char* kDescribe = R"({
  "abi": 3, "name": "passthrough", "hash": "test", "spec_hash": "test", "waves": false,
  "kernels": [{"name": "sleeper", "port": 0, "args": []}],
  "config": {
    "card": {"clock_mhz": 250, "memory_bytes": 68719476736, "watchdog_cycles": 2000},
    "memory": {"model": "fixed", "latency_cycles": 0, "page_table_latency_cycles": 0, "requests_per_cycle": 8},
    "host_link": {"latency_ns": 400, "bandwidth_gbps": 8, "register_latency_ns": 80}
  }
})";

}  // namespace gw_card_config
