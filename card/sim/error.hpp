// SPDX-License-Identifier: Apache-2.0
// The one exception of the simulation: a status of gw_card.h and its sentence. The C ABI turns it into a return code.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "gw_card.h"

namespace gw {

class CardError : public std::runtime_error {
   public:
    CardError(int status, const std::string& message) : std::runtime_error(message), status_(status) {}
    int status() const { return status_; }

   private:
    int status_;
};

/// printf into a string: messages mix decimal cycles and hexadecimal addresses.
[[gnu::format(printf, 1, 2)]] inline std::string format(const char* text, ...) {
    char line[1024];
    va_list args;
    va_start(args, text);
    std::vsnprintf(line, sizeof line, text, args);
    va_end(args);
    return line;
}

/// What %llu and %llx want.
inline unsigned long long ull(uint64_t value) { return value; }

}  // namespace gw
