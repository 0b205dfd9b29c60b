// SPDX-License-Identifier: Apache-2.0
// JSON comes from the header-only library that PyPI's `nlohmann-json` ships: strict, and well tested by others.
#include "options.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "error.hpp"
#include "godwit_limits.h"

namespace gw {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& message) { throw CardError(GW_CARD_EINVAL, message); }

/// One JSON object whose fields are taken by name; what is left over at the end is an unknown option.
class Section {
   public:
    Section(const json& object, std::string name) : Section(object, name, name) {}

    /// With the limits of the schema's section `schema`.
    Section(const json& object, std::string name, std::string schema)
        : object_(object), name_(std::move(name)), schema_(std::move(schema)) {
        if (!object.is_object()) refuse(name_ + " must be a JSON object, found " + object.dump());
    }

    /// A field of the configuration: its limits are the schema's.
    void take(const char* field, double& value) {
        const json* found = find(field);
        if (!found) return;
        const Limit limit = limit_of(field);
        const double number = found->is_number() ? found->get<double>() : std::nan("");
        if (!std::isfinite(number) || number < limit.low || (limit.above && number == limit.low) || number > limit.high)
            refuse(path(field) + " must be a number " +
                   format(limit.above ? "above %g, up to %g" : "from %g to %g", limit.low, limit.high) + ", found " +
                   found->dump());
        value = number;
    }

    void take(const char* field, uint64_t& value) {
        const Limit limit = limit_of(field);
        take(field, value, static_cast<uint64_t>(limit.low), static_cast<uint64_t>(limit.high));
        if (limit.multiple != 0 && value % limit.multiple != 0)
            refuse(path(field) + " must be a multiple of " + std::to_string(limit.multiple) + ", found " + std::to_string(value));
    }

    void take(const char* field, uint64_t& value, uint64_t low, uint64_t high) {
        const json* found = find(field);
        if (!found) return;
        if (!found->is_number_unsigned() || found->get<uint64_t>() < low || found->get<uint64_t>() > high)
            refuse(path(field) + " must be an integer from " + std::to_string(low) + " to " + std::to_string(high) +
                   ", found " + found->dump());
        value = found->get<uint64_t>();
    }

    void take(const char* field, bool& value) {
        const json* found = find(field);
        if (!found) return;
        if (!found->is_boolean()) refuse(path(field) + " must be true or false, found " + found->dump());
        value = found->get<bool>();
    }

    void take(const char* field, std::string& value) {
        const json* found = find(field);
        if (!found) return;
        if (!found->is_string() || found->get<std::string>().empty())
            refuse(path(field) + " must be a file name, found " + found->dump());
        value = found->get<std::string>();
    }

    template <class Choice>
    void take(const char* field, Choice& value, std::initializer_list<std::pair<const char*, Choice>> choices) {
        const json* found = find(field);
        if (!found) return;
        std::string names;
        for (const auto& [name, choice] : choices) {
            if (*found == name) {
                value = choice;
                return;
            }
            names += std::string(names.empty() ? "" : name == std::rbegin(choices)->first ? " or " : ", ") + '"' + name + '"';
        }
        refuse(path(field) + " must be " + names + ", found " + found->dump());
    }

    /// A field of the configuration that is a power of two; `or_none`: or 0.
    void take_power_of_two(const char* field, uint64_t& value, bool or_none = false) {
        take(field, value);
        if (!std::has_single_bit(value) && !(or_none && value == 0))
            refuse(path(field) + " must be " + (or_none ? "0 or " : "") + "a power of two, found " + std::to_string(value));
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
    Limit limit_of(const char* field) const {
        for (const Limit& limit : kLimits)
            if (schema_ == limit.section && std::string_view(field) == limit.field) return limit;
        refuse("the configuration's schema has no limits for " + path(field));
    }

    std::string path(const char* field) const { return name_.empty() ? field : name_ + "." + field; }

    const json& object_;
    std::string name_;
    std::string schema_;
    std::string known_;
    size_t taken_ = 0;
};

void read_memory(const json& object, MemoryOptions& memory, const std::string& name) {
    Section section(object, name, "memory");
    section.take("model", memory.model,
                 {{"fixed", MemoryOptions::Model::kFixed},
                  {"banked", MemoryOptions::Model::kBanked},
                  {"litedram-ddr4", MemoryOptions::Model::kLiteDram}});
    section.take("latency_cycles", memory.latency_cycles);
    section.take("page_table_latency_cycles", memory.page_table_latency_cycles);
    section.take("requests_per_cycle", memory.requests_per_cycle);
    section.take("controller_mhz", memory.controller_mhz);
    section.take("banks", memory.banks);
    section.take("row_bytes", memory.row_bytes);
    section.take("interleave_bytes", memory.interleave_bytes);
    section.take("bandwidth_gbps", memory.bandwidth_gbps);
    section.take("controller_ns", memory.controller_ns);
    section.take("t_rcd_ns", memory.t_rcd_ns);
    section.take("t_rp_ns", memory.t_rp_ns);
    section.take("t_cl_ns", memory.t_cl_ns);
    section.take("t_cwl_ns", memory.t_cwl_ns);
    section.take("t_ras_ns", memory.t_ras_ns);
    section.take("t_ccd_ns", memory.t_ccd_ns);
    section.take("t_rtp_ns", memory.t_rtp_ns);
    section.take("t_wr_ns", memory.t_wr_ns);
    section.take("t_rfc_ns", memory.t_rfc_ns);
    section.take("t_refi_ns", memory.t_refi_ns);
    // Of who drives the card, which reads it in the card's description: known here, and nothing in the simulation.
    bool strict = false;
    section.take("heap_strict", strict);
    section.refuse_others();

    if (memory.row_bytes % memory.interleave_bytes != 0)
        refuse(format("%s.row_bytes must be a multiple of %s.interleave_bytes, found %llu and %llu", name.c_str(), name.c_str(),
                      static_cast<unsigned long long>(memory.row_bytes),
                      static_cast<unsigned long long>(memory.interleave_bytes)));
}

void check_refresh(const MemoryOptions& memory, const std::string& name, double clock_mhz) {
    const double least = least_refresh_ns(memory, clock_mhz);
    if (memory.t_refi_ns != 0 && memory.t_refi_ns < least)
        refuse(format("%s.t_refi_ns leaves no time between refreshes: legal is 0 (none) or from %g (%s), found %g", name.c_str(),
                      least, kRefreshPeriod, memory.t_refi_ns));
}

/// The memories a card was built with: the first has what the others leave.
void read_built(const json& config, Options& options) {
    json sections = config.value("further_memory", json::array());
    sections.insert(sections.begin(), config.value("memory", json::object()));
    uint64_t rest = options.memory_bytes;
    for (json& section : sections) {
        MemoryOptions& memory = options.memories.emplace_back();
        memory.name = section.value("name", "memory");
        if (options.memories.size() > 1) rest -= memory.bytes = section.value("bytes", uint64_t{0});
        section.erase("name");
        section.erase("bytes");
        section.erase("heap_bytes");
        read_memory(section, memory, "memory");
    }
    options.memories.front().bytes = rest;
}

/// Changes of memories: fields of the first, and an object of fields by the name of any.
void change_memories(const json& object, Options& options) {
    if (!object.is_object()) refuse("memory must be a JSON object, found " + object.dump());
    const auto change = [&](const json& fields, MemoryOptions& memory, const std::string& name) {
        read_memory(fields, memory, name);
        check_refresh(memory, name, options.clock_mhz);
        if (memory.model == MemoryOptions::Model::kLiteDram && &memory != &options.memories.front())
            refuse(name + ".model: litedram-ddr4 is for the first memory");
    };
    json first = object;
    for (const auto& [name, fields] : object.items()) {
        if (!fields.is_object()) continue;
        first.erase(name);
        const auto named = [&](const MemoryOptions& memory) { return memory.name == name; };
        const auto found = std::find_if(options.memories.begin(), options.memories.end(), named);
        if (found == options.memories.end()) {
            std::string known;
            for (const MemoryOptions& memory : options.memories) known += (known.empty() ? "" : ", ") + memory.name;
            refuse("this card has no memory '" + name + "'; it has: " + known);
        }
        change(fields, *found, "memory." + name);
    }
    change(first, options.memories.front(), "memory");
}

void read_link(const json& object, LinkOptions& link) {
    Section section(object, "host_link");
    section.take("model", link.model,
                 {{"rate", LinkOptions::Model::kRate}, {"packets", LinkOptions::Model::kPackets}});
    section.take("latency_ns", link.latency_ns);
    section.take("register_latency_ns", link.register_latency_ns);
    section.take("bandwidth_gbps", link.bandwidth_gbps);
    section.take("to_host_gbps", link.to_host_gbps);
    section.take("packet_gbps", link.packet_gbps);
    section.take("request_header_bytes", link.request_header_bytes);
    section.take("completion_header_bytes", link.completion_header_bytes);
    section.take_power_of_two("max_payload_bytes", link.max_payload_bytes);
    section.take_power_of_two("max_read_request_bytes", link.max_read_request_bytes);
    section.take_power_of_two("completion_bytes", link.completion_bytes, true);
    section.take_power_of_two("read_completion_boundary", link.read_completion_boundary);
    section.take("tags", link.tags);
    section.refuse_others();

    const uint64_t bytes = link.completion_bytes;
    if (bytes != 0 && (bytes < link.read_completion_boundary || bytes > link.max_payload_bytes))
        refuse(format("host_link.completion_bytes: legal is 0, or read_completion_boundary (%llu) to max_payload_bytes (%llu), found %llu",
                      ull(link.read_completion_boundary), ull(link.max_payload_bytes), ull(bytes)));
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
    card.take("clock_mhz", options.clock_mhz);
    card.take("memory_bytes", options.memory_bytes);
    card.take("watchdog_cycles", options.watchdog_cycles);
    read_built(config, options);
    if (auto found = config.find("host_link"); found != config.end()) read_link(*found, options.link);
    if (!overrides) return options;

    const json given = parse(overrides, "options");
    Section top(given, "");
    if (const json* memory = top.find("memory")) change_memories(*memory, options);
    if (const json* link = top.find("host_link")) read_link(*link, options.link);
    if (const json* stall = top.find("stall")) read_stall(*stall, options.stall);
    if (const json* cycles = top.find("watchdog_cycles")) {
        // As the card's own, although it stands at the top.
        const json own = {{"watchdog_cycles", *cycles}};
        Section(own, "card").take("watchdog_cycles", options.watchdog_cycles);
    }
    top.take("waves", options.waves);
    top.take("axi_trace", options.axi_trace);
    top.take("events", options.events);
    top.refuse_others();
    return options;
}

}  // namespace gw
