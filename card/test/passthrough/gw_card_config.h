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
struct ExtraPort {
    unsigned kernel;
    const char* name;
};
inline constexpr ExtraPort kExtraPorts[] = {{0, ""}};

}  // namespace gw_card_config
