// SPDX-License-Identifier: Apache-2.0
// What gw_card_open() may be told, and what the configuration the card was built from says otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gw {

/// [memory], or each [[memory]]: see docs/memory-models.md for the meaning, and banked.cpp for the sources of the DDR4 timings.
struct MemoryOptions {
    enum class Model { kFixed, kBanked, kLiteDram };
    Model model = Model::kFixed;
    std::string name;
    uint64_t bytes = 0;

    uint64_t latency_cycles = 0;
    uint64_t page_table_latency_cycles = 0;
    double requests_per_cycle = 1.0;

    double controller_mhz = 200.0;

    uint64_t banks = 16;
    uint64_t row_bytes = 8192;
    uint64_t interleave_bytes = 64;
    double bandwidth_gbps = 19.2;
    double controller_ns = 56.0;
    double t_rcd_ns = 13.32;
    double t_rp_ns = 13.32;
    double t_cl_ns = 13.32;
    double t_cwl_ns = 10.0;
    double t_ras_ns = 32.0;
    double t_ccd_ns = 5.0;
    double t_rtp_ns = 7.5;
    double t_wr_ns = 15.0;
    double t_rfc_ns = 350.0;
    double t_refi_ns = 7800.0;
};

/// [host_link]: see docs/memory-models.md for the meaning and the sources.
struct LinkOptions {
    enum class Model { kRate, kPackets };
    Model model = Model::kRate;

    double latency_ns = 0.0;
    double register_latency_ns = 0.0;

    double bandwidth_gbps = 8.0;
    double to_host_gbps = 0.0;  // 0: as to the card

    double packet_gbps = 7.235;
    uint64_t request_header_bytes = 24;
    uint64_t completion_header_bytes = 20;
    uint64_t max_payload_bytes = 256;
    uint64_t max_read_request_bytes = 512;
    uint64_t completion_bytes = 0;  // 0: max_payload_bytes
    uint64_t read_completion_boundary = 64;
    uint64_t tags = 256;
};

/// Random back-pressure; percent 0 is none.
struct StallOptions {
    uint64_t seed = 0;
    uint32_t percent = 0;
};

struct Options {
    double clock_mhz = 250.0;
    uint64_t memory_bytes = 0;
    uint64_t watchdog_cycles = 0;
    std::vector<MemoryOptions> memories;  // in the order of their addresses, memory_bytes together
    LinkOptions link;
    StallOptions stall;
    std::string waves;
    std::string axi_trace;
    std::string events;
};

/// Reads the built card's configuration (`describe`, gw_card_describe's JSON) and applies `overrides` (JSON, or null).
/// Throws CardError(GW_CARD_EINVAL) naming the field on anything unknown, mistyped or out of range.
Options parse_options(const char* describe, const char* overrides);

}  // namespace gw
