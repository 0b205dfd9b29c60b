// SPDX-License-Identifier: Apache-2.0
// FST waves. Only a card built with waves has the code for them: tracing slows the model down even while it is off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model.hpp"
#include "verilated.h"

namespace gw {

/// Whether this library was built with waves.
bool waves_built();

class Waves {
   public:
    /// Throws CardError: GW_CARD_EINVAL without waves in the build, GW_CARD_EIO when the file cannot be written or has no room.
    Waves(Model& model, VerilatedContext& context, const std::string& file);
    ~Waves();

    /// Throws CardError GW_CARD_EIO when there is no room for more; what was written so far is a whole file.
    void dump(uint64_t time_ps);

   private:
    void look_for_room();

    struct File;
    std::unique_ptr<File> file_;
};

}  // namespace gw
