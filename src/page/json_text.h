// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"

namespace stoker::page {

// As text, on one line. What is no UTF-8 is replaced: bytes of others are in it.
inline std::string JsonText(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stoker::page
