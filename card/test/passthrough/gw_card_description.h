// SPDX-License-Identifier: Apache-2.0
// What the pass-through card says of itself.
#pragma once

namespace gw_card_config {

struct DataFile {
    const char *kernel, *name, *path;
};
inline constexpr DataFile kDataFiles[] = {{"", "", ""}};
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
