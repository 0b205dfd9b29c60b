// SPDX-License-Identifier: Apache-2.0
// How godwit_events.h, which is generated, describes one kind of event.
#pragma once

#include <cstdint>

namespace gw {

/// A field of a packed struct; width 0: none.
struct Bits {
    unsigned low = 0;
    unsigned width = 0;
};

enum class OwnerKind : uint8_t {
    none,
    channel,  // gw_pkg::owner_t: {port, direction, context}
    context,
};

struct EventKind {
    const char* level;
    const char* name;
    const char* value_name;  // what EventRecord::value is; empty: nothing
    Bits event;              // a pulse, or a number that is not zero
    Bits value = {};
    OwnerKind owner_kind = OwnerKind::none;
    Bits owner = {};
    Bits ownerless = {};       // nobody's while this is set
    int ownerless_value = -1;  // nobody's with this value
};

}  // namespace gw
