// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gw {

/// What the models of this thread printed since the last call, in one line. Cards are single threaded, and the text is
/// taken in the call in which it was printed, so threads and not cards are what must be kept apart.
std::string take_model_output();

}  // namespace gw
