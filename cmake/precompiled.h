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
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/json.h"

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

#if defined(__clang__) && !defined(STOKER_PRECOMPILED_TEST)
// What clang compiles of templates here, no source compiles again: what most do with JSON. Never
// called. Few tests do, so theirs goes without.
namespace stoker::precompiled {

template <typename Json, size_t Length>
bool Literal(Json& json, const char (*text)[Length]) {
  json = {{*text, 1}};
  return true;
}

template <typename Json, size_t... Length>
void Literals(Json& json, std::index_sequence<Length...> /*of texts*/) {
  json = std::initializer_list<bool>{Literal<Json, Length + 1>(json, nullptr)...}.size();
}

template <typename Json>
void Use(Json& json, const Json& other, std::string& text, std::string_view view) {
  const std::string& same = text;
  json = {Json::parse(text, nullptr, false), Json::parse(same, nullptr, false),
          Json::parse(view, nullptr, false), Json::parse(std::move(text), nullptr, false)};
  json["key"] = json.dump() + text;
  json.push_back(Json::array({Json::object(), 1, int64_t{1}, 1.0, true, view, text}));
  for (const auto& [key, value] : other.items()) json[key] = value;
  Literals(json, std::make_index_sequence<24>());
}

inline void UseBoth(nlohmann::json& json, nlohmann::ordered_json& ordered, std::string& text) {
  Use(json, json, text, text);
  Use(ordered, ordered, text, text);
}

}  // namespace stoker::precompiled
#endif
