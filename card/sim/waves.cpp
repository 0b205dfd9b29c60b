// SPDX-License-Identifier: Apache-2.0
#include "waves.hpp"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "error.hpp"

#if VM_TRACE_FST
#include "verilated_fst_c.h"
#endif

namespace gw {

#if VM_TRACE_FST

namespace {

// The writer ends the process when it finds no room: it is not to find that out. It keeps up to 128 MiB of changes, which it packs.
constexpr uint64_t kRoomBytes = uint64_t{64} << 20;
constexpr uint64_t kDumpsBetweenLooks = 4096;

// Bytes that may be written where the file is; as many as there can be when nobody knows.
uint64_t room_at(const std::string& file) {
    struct statvfs found {};
    if (statvfs(file.c_str(), &found) != 0) return UINT64_MAX;
    return uint64_t{found.f_bavail} * found.f_frsize;
}

}  // namespace

struct Waves::File {
    VerilatedFstC fst;
    std::string name;
    uint64_t dumps = 0;
};

bool waves_built() { return true; }

Waves::Waves(Model& model, VerilatedContext& context, const std::string& file) : file_(std::make_unique<File>()) {
    // VerilatedFstC says nothing when it cannot write, so ask first.
    std::FILE* probe = std::fopen(file.c_str(), "w");
    if (!probe) throw CardError(GW_CARD_EIO, format("waves %s cannot be written: %s", file.c_str(), std::strerror(errno)));
    std::fclose(probe);
    file_->name = file;
    look_for_room();
    context.traceEverOn(true);
    model.trace(&file_->fst, 99);
    file_->fst.open(file.c_str());
}

Waves::~Waves() { file_->fst.close(); }

void Waves::dump(uint64_t time_ps) {
    if (!file_->fst.isOpen()) return;
    if (++file_->dumps % kDumpsBetweenLooks == 0) look_for_room();
    file_->fst.dump(time_ps);
}

void Waves::look_for_room() {
    uint64_t room = room_at(file_->name);
    if (room >= kRoomBytes) return;
    // What there is can be looked at.
    if (file_->fst.isOpen()) file_->fst.close();
    throw CardError(GW_CARD_EIO, format("no room for more of the waves %s: %llu MiB are free there, and up to %llu are written at a time; have them "
                                        "written elsewhere, or run fewer cycles",
                                        file_->name.c_str(), static_cast<unsigned long long>(room >> 20),
                                        static_cast<unsigned long long>(kRoomBytes >> 20)));
}

#else

struct Waves::File {};

bool waves_built() { return false; }

Waves::Waves(Model&, VerilatedContext&, const std::string& file) {
    throw CardError(GW_CARD_EINVAL, format("waves %s: this card was built without waves; build it with waves on, or leave the "
                                           "option out", file.c_str()));
}

Waves::~Waves() = default;

void Waves::dump(uint64_t) {}

void Waves::look_for_room() {}

#endif

}  // namespace gw
