// SPDX-License-Identifier: Apache-2.0
// What a card says of itself, compiled for each; all else of the simulation is the same for cards with the same ports.
#pragma once

namespace gw {

/// The JSON of gw_card_describe().
extern const char* const kDescription;

}  // namespace gw
