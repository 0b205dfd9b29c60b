// SPDX-License-Identifier: Apache-2.0
// Data and strobe pins as bytes, whatever the width of the bus: Verilator makes words of up to 64 bits plain integers, and
// wider ones arrays of 32 bits.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "burst.hpp"

namespace gw {

static_assert(std::endian::native == std::endian::little, "pins are copied as bytes");

template <typename Pin>
auto* bytes_of(Pin& pin) {
    using Byte = std::conditional_t<std::is_const_v<Pin>, const uint8_t, uint8_t>;
    if constexpr (std::is_integral_v<std::remove_const_t<Pin>>)
        return reinterpret_cast<Byte*>(&pin);
    else
        return reinterpret_cast<Byte*>(pin.data());
}

template <typename Pin>
Strobes strobes_of(const Pin& pin) {
    Strobes strobes = 0;
    std::memcpy(&strobes, bytes_of(pin), kBusBytes / 8);
    return strobes;
}

template <typename Pin>
void set_strobes(Pin& pin, Strobes strobes) {
    std::memcpy(bytes_of(pin), &strobes, kBusBytes / 8);
}

/// As a message has them: a digit for four bytes of the bus.
inline std::string hex(Strobes strobes) {
    std::string text(kBusBytes / 4, '0');
    for (auto digit = text.rbegin(); digit != text.rend(); ++digit, strobes >>= 4)
        *digit = "0123456789abcdef"[static_cast<unsigned>(strobes & 15)];
    return "0x" + text;
}

}  // namespace gw
