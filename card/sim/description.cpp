// SPDX-License-Identifier: Apache-2.0
#include "description.hpp"

#include "gw_card_description.h"

const char* const gw::kDescription = gw_card_config::kDescribe;
