// SPDX-License-Identifier: Apache-2.0
// What trees that are mostly built from scratch read once instead of once a room, and the templates
// whose code they make once, in precompiled.cc. See cmake/precompiled.cmake.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// STOKER_READER(KIND, JSON, ADAPTER...): what reads text that ADAPTER gives.
#define STOKER_READER(KIND, JSON, ...)                            \
  KIND template class nlohmann::detail::lexer<JSON, __VA_ARGS__>; \
  KIND template class nlohmann::detail::parser<JSON, __VA_ARGS__>;
#define STOKER_JSON(KIND, JSON)                                                    \
  KIND template class nlohmann::detail::serializer<JSON>;                          \
  KIND template class nlohmann::detail::json_sax_dom_parser<JSON>;                 \
  KIND template class nlohmann::detail::json_sax_dom_callback_parser<JSON>;        \
  STOKER_READER(KIND, JSON, nlohmann::detail::iterator_input_adapter<const char*>) \
  STOKER_READER(KIND, JSON, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>)
// KIND: `extern`, or nothing where the code is made.
#define STOKER_TEMPLATES(KIND)                                     \
  KIND template class nlohmann::basic_json<>;                      \
  KIND template class nlohmann::basic_json<nlohmann::ordered_map>; \
  STOKER_JSON(KIND, nlohmann::json)                                \
  STOKER_JSON(KIND, nlohmann::ordered_json)                        \
  KIND template class std::basic_string<char>;                     \
  KIND template class std::map<std::string, std::string>;          \
  KIND template class std::set<std::string>;                       \
  KIND template class std::vector<std::string>;

STOKER_TEMPLATES(extern)
