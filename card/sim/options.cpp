// SPDX-License-Identifier: Apache-2.0
// JSON comes from the header-only library that PyPI's `nlohmann-json` ships: strict, and well tested by others.
#include "options.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "error.hpp"

namespace gw {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& message) { throw CardError(GW_CARD_EINVAL, message); }

/// One JSON object whose fields are taken by name; what is left over at the end is an unknown option.
class Section {
   public:
    Section(const json& object, std::string name) : object_(object), name_(std::move(name)) {
        if (!object.is_object()) refuse(name_ + " must be a JSON object, found " + object.dump());
    }

    void take(const char* field, double& value, double low, double high) {
        const json* found = find(field);
        if (!found) return;
        if (!found->is_number() || !std::isfinite(found->get<double>()) || found->get<double>() < low ||
            found->get<double>() > high)
            refuse(path(field) + " must be a number from " + format("%g to %g", low, high) + ", found " + found->dump());
        value = found->get<double>();
    }

    void take(const char* field, uint64_t& value, uint64_t low, uint64_t high) {
        const json* found = find(field);
        if (!found) return;
        if (!found->is_number_unsigned() || found->get<uint64_t>() < low || found->get<uint64_t>() > high)
            refuse(path(field) + " must be an integer from " + std::to_string(low) + " to " + std::to_string(high) +
                   ", found " + found->dump());
        value = found->get<uint64_t>();
    }

    void take(const char* field, std::string& value) {
        const json* found = find(field);
        if (!found) return;
        if (!found->is_string() || found->get<std::string>().empty())
            refuse(path(field) + " must be a file name, found " + found->dump());
        value = found->get<std::string>();
    }

    void take(const char* field, MemoryOptions::Model& value) {
        const json* found = find(field);
        if (!found) return;
        if (*found == "fixed")
            value = MemoryOptions::Model::kFixed;
        else if (*found == "banked")
            value = MemoryOptions::Model::kBanked;
        else if (*found == "litedram-ddr4")
            value = MemoryOptions::Model::kLiteDram;
        else
            refuse(path(field) + " must be \"fixed\", \"banked\" or \"litedram-ddr4\", found " + found->dump());
    }

    const json* find(const char* field) {
        known_ += known_.empty() ? field : std::string(", ") + field;
        auto found = object_.find(field);
        if (found == object_.end()) return nullptr;
        ++taken_;
        return &*found;
    }

    /// Call last: every field was asked for by now.
    void refuse_others() const {
        if (taken_ == object_.size()) return;
        for (const auto& [field, value] : object_.items())
            if ((", " + known_ + ", ").find(", " + field + ", ") == std::string::npos)
                refuse("unknown option " + path(field.c_str()) + "; known are: " + known_);
    }

   private:
    std::string path(const char* field) const { return name_.empty() ? field : name_ + "." + field; }

    const json& object_;
    std::string name_;
    std::string known_;
    size_t taken_ = 0;
};

constexpr uint64_t kMaxCycles = 1'000'000'000;
constexpr double kMaxNs = 1e9;

void read_memory(const json& object, MemoryOptions& memory) {
    Section section(object, "memory");
    section.take("model", memory.model);
    section.take("latency_cycles", memory.latency_cycles, 0, kMaxCycles);
    section.take("page_table_latency_cycles", memory.page_table_latency_cycles, 0, kMaxCycles);
    section.take("requests_per_cycle", memory.requests_per_cycle, 1e-3, 64.0);
    section.take("controller_mhz", memory.controller_mhz, 1.0, 1e5);
    section.take("banks", memory.banks, 1, 1024);
    section.take("row_bytes", memory.row_bytes, 64, 1 << 20);
    section.take("interleave_bytes", memory.interleave_bytes, 64, 1 << 20);
    section.take("bandwidth_gbps", memory.bandwidth_gbps, 1e-6, 1e6);
    section.take("controller_ns", memory.controller_ns, 0, kMaxNs);
    section.take("t_rcd_ns", memory.t_rcd_ns, 0, kMaxNs);
    section.take("t_rp_ns", memory.t_rp_ns, 0, kMaxNs);
    section.take("t_cl_ns", memory.t_cl_ns, 0, kMaxNs);
    section.take("t_cwl_ns", memory.t_cwl_ns, 0, kMaxNs);
    section.take("t_ras_ns", memory.t_ras_ns, 0, kMaxNs);
    section.take("t_ccd_ns", memory.t_ccd_ns, 0, kMaxNs);
    section.take("t_rtp_ns", memory.t_rtp_ns, 0, kMaxNs);
    section.take("t_wr_ns", memory.t_wr_ns, 0, kMaxNs);
    section.take("t_rfc_ns", memory.t_rfc_ns, 0, kMaxNs);
    section.take("t_refi_ns", memory.t_refi_ns, 0, kMaxNs);
    section.refuse_others();

    if (memory.row_bytes % memory.interleave_bytes != 0 || memory.interleave_bytes % 64 != 0)
        refuse(format("memory.row_bytes must be a multiple of memory.interleave_bytes, and that of 64; found %llu and %llu",
                      static_cast<unsigned long long>(memory.row_bytes),
                      static_cast<unsigned long long>(memory.interleave_bytes)));
    if (memory.t_refi_ns != 0 && memory.t_rfc_ns >= memory.t_refi_ns)
        refuse(format("memory.t_rfc_ns must be below memory.t_refi_ns (0 = no refresh), found %g and %g", memory.t_rfc_ns,
                      memory.t_refi_ns));
}

void read_link(const json& object, LinkOptions& link) {
    Section section(object, "host_link");
    section.take("latency_ns", link.latency_ns, 0, kMaxNs);
    section.take("bandwidth_gbps", link.bandwidth_gbps, 1e-6, 1e6);
    section.take("register_latency_ns", link.register_latency_ns, 0, kMaxNs);
    section.refuse_others();
}

void read_stall(const json& object, StallOptions& stall) {
    Section section(object, "stall");
    uint64_t percent = 0;
    section.take("seed", stall.seed, 0, std::numeric_limits<uint64_t>::max());
    section.take("percent", percent, 0, 99);
    section.refuse_others();
    stall.percent = static_cast<uint32_t>(percent);
}

json parse(const char* text, const char* what) {
    try {
        return json::parse(text);
    } catch (const json::parse_error& error) {
        refuse(std::string(what) + " are not valid JSON: " + error.what());
    }
}

}  // namespace

Options parse_options(const char* describe, const char* overrides) {
    Options options;
    const json built = parse(describe, "the card's own description");
    const json config = built.value("config", json::object());

    const json card_config = config.value("card", json::object());
    Section card(card_config, "card");
    card.take("clock_mhz", options.clock_mhz, 1e-3, 1e5);
    card.take("memory_bytes", options.memory_bytes, 4096, uint64_t{1} << 55);
    card.take("watchdog_cycles", options.watchdog_cycles, 0, std::numeric_limits<uint64_t>::max());
    if (auto found = config.find("memory"); found != config.end()) read_memory(*found, options.memory);
    if (auto found = config.find("host_link"); found != config.end()) read_link(*found, options.link);
    if (!overrides) return options;

    const json given = parse(overrides, "options");
    Section top(given, "");
    if (const json* memory = top.find("memory")) read_memory(*memory, options.memory);
    if (const json* link = top.find("host_link")) read_link(*link, options.link);
    if (const json* stall = top.find("stall")) read_stall(*stall, options.stall);
    top.take("watchdog_cycles", options.watchdog_cycles, 0, std::numeric_limits<uint64_t>::max());
    top.take("waves", options.waves);
    top.take("axi_trace", options.axi_trace);
    top.take("events", options.events);
    top.refuse_others();
    return options;
}

}  // namespace gw
