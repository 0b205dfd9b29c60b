// SPDX-License-Identifier: Apache-2.0
#include "waves.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "error.hpp"

#if VM_TRACE_FST
#include "verilated_fst_c.h"
#endif

namespace gw {

#if VM_TRACE_FST

struct Waves::File {
    VerilatedFstC fst;
};

bool waves_built() { return true; }

Waves::Waves(Model& model, VerilatedContext& context, const std::string& file) : file_(std::make_unique<File>()) {
    // VerilatedFstC says nothing when it cannot write, so ask first.
    std::FILE* probe = std::fopen(file.c_str(), "w");
    if (!probe) throw CardError(GW_CARD_EIO, format("waves %s cannot be written: %s", file.c_str(), std::strerror(errno)));
    std::fclose(probe);
    context.traceEverOn(true);
    model.trace(&file_->fst, 99);
    file_->fst.open(file.c_str());
}

Waves::~Waves() { file_->fst.close(); }

void Waves::dump(uint64_t time_ps) { file_->fst.dump(time_ps); }

#else

struct Waves::File {};

bool waves_built() { return false; }

Waves::Waves(Model&, VerilatedContext&, const std::string& file) {
    throw CardError(GW_CARD_EINVAL, format("waves %s: this card was built without waves; build it with waves on, or leave the "
                                           "option out", file.c_str()));
}

Waves::~Waves() = default;

void Waves::dump(uint64_t) {}

#endif

}  // namespace gw
