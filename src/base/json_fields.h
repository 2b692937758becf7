// SPDX-License-Identifier: Apache-2.0
// One list of fields serves both directions: `template <class A, class T> void Fields(A& a, T& t)`
// calls a("name", t.member) for each, and is run with JsonOut to write and with JsonIn to read, so
// that the two cannot drift apart. Heavy (nlohmann): include it in .cc files only.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.h"
#include "base/json_depth.h"
#include "base/status.h"
#include "base/text.h"
#include "base/time.h"

namespace stoker::json {

using Value = nlohmann::ordered_json;

inline constexpr int kMaxDepth = 32;  // deeper nesting is refused: writing it back recurses
inline constexpr int kMaxRawDepth = kMaxDepth / 2;  // of a member that is JSON of its own
inline constexpr size_t kMaxElements = 20'000;      // of one list

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

// Compact text of `value`; never throws: bytes that are no UTF-8 are replaced.
inline std::string Dump(const Value& value, int indent = -1) {
  return value.dump(indent, ' ', false, Value::error_handler_t::replace);
}

// kCorrupt unless `text` is one JSON object of bounded size and depth.
inline Result<Value> ParseObject(const std::string& key, std::string_view text, size_t max_bytes) {
  const auto bad = [&](const std::string& what) {
    return Status(Code::kCorrupt, key + ": " + what);
  };
  if (text.size() > max_bytes) {
    return bad("is " + HumanSize(static_cast<int64_t>(text.size())) +
               ", larger than any that stoker writes");
  }
  if (NestedDeeper(text, kMaxDepth)) return bad("is nested too deeply");
  Value value = Value::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return bad("is not JSON");
  if (!value.is_object()) return bad("is not a JSON object");
  return value;
}

// Writes the fields. Empty text, empty lists, false and unset optionals are left out.
class JsonOut {
 public:
  template <typename T>
  void operator()(const char* name, const T& value) {
    if constexpr (std::is_same_v<T, std::string> || IsVector<T>::value) {
      if (value.empty()) return;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!value) return;
    } else if constexpr (IsOptional<T>::value) {
      if (value) object_[name] = ToJson(*value);
      return;
    }
    if constexpr (!IsOptional<T>::value) object_[name] = ToJson(value);
  }
  template <typename T>
  void Need(const char* name, const T& value) {
    object_[name] = ToJson(value);
  }
  // JSON text that is kept as JSON where it is an object or a list that may stand in a record, else
  // as text.
  void Raw(const char* name, const std::string& text) {
    if (text.empty()) return;
    Value value;
    if (!NestedDeeper(text, kMaxRawDepth)) value = Value::parse(text, nullptr, false);
    const bool keep = value.is_object() || value.is_array();
    object_[name] = keep ? std::move(value) : Value(text);
  }
  void Extra(const std::string& text) {
    if (text.empty()) return;
    const Value extra = Value::parse(text, nullptr, false);
    if (!extra.is_object()) return;
    for (const auto& [name, value] : extra.items()) {
      if (!object_.contains(name)) object_[name] = value;
    }
  }
  void Check(bool, const char*, const char*) {}
  Value Take() { return std::move(object_); }

 private:
  template <typename T>
  static Value ToJson(const T& value) {
    if constexpr (std::is_same_v<T, WallTime>) {
      // Years 0000 to 9999 are what RFC 3339 can write.
      constexpr int64_t kFirst = -62'167'219'200'000, kLast = 253'402'300'799'999;
      return FormatRfc3339(WallTime{std::clamp(value.ms, kFirst, kLast)});
    } else if constexpr (std::is_same_v<T, Duration>) {
      return value.ms;
    } else if constexpr (std::is_same_v<T, double>) {
      return std::isfinite(value) ? value : 0.0;
    } else if constexpr (std::is_enum_v<T>) {
      return std::string(Name(value));
    } else if constexpr (IsVector<T>::value) {
      Value list = Value::array();
      for (const auto& item : value) list.push_back(ToJson(item));
      return list;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      JsonOut out;
      Fields(out, value);
      return out.Take();
    }
  }
  Value object_ = Value::object();
};

// Reads the fields. A missing one leaves its default unless it is needed; null is missing. The
// first failure stays; later calls do nothing.
class JsonIn {
 public:
  // `object` is one, and outlives this.
  JsonIn(const Value& object, std::string where)
      : members_(object.get_ref<const Value::object_t&>()),
        where_(std::move(where)),
        asked_(members_.size()) {}

  template <typename T>
  void operator()(const char* name, T& value) {
    Read(name, value, false);
  }
  template <typename T>
  void Need(const char* name, T& value) {
    Read(name, value, true);
  }
  void Raw(const char* name, std::string& text) {
    const Value* found = Find(name);
    if (found == nullptr) return;
    text = found->is_string() ? found->get<std::string>() : Dump(*found);
  }
  // Members that nobody asked for, as the text of a JSON object; "" = none. Call it last.
  void Extra(std::string& text) {
    Value rest = Value::object();
    for (size_t i = 0; i < members_.size(); ++i) {
      if (asked_[i] == 0) rest[members_[i].first] = members_[i].second;
    }
    text = rest.empty() ? "" : Dump(rest);
  }
  // What must be true of a field for the record to make sense.
  void Check(bool holds, const char* name, const char* what) {
    if (!holds) Fail(name, what);
  }
  const Status& status() const { return status_; }

 private:
  // Members are asked for in the order in which they were written, most of them, so the one behind
  // the last is looked at first. Most of those that are asked for are not there: each such is held
  // against all names, by their lengths before their letters.
  const Value* Find(std::string_view name) {
    const size_t count = members_.size();
    for (size_t looked = 0, i = next_; looked < count; ++looked, ++i) {
      if (i >= count) i = 0;
      const std::string& member = members_[i].first;
      if (member.size() != name.size() || member != name) continue;
      asked_[i] = 1;
      next_ = i + 1;
      return members_[i].second.is_null() ? nullptr : &members_[i].second;
    }
    return nullptr;
  }
  void Fail(const std::string& name, const std::string& what) {
    if (status_.ok()) status_ = Status(Code::kCorrupt, where_ + name + ": " + what);
  }
  template <typename T>
  void Read(const char* name, T& value, bool needed) {
    const Value* found = Find(name);
    if (!status_.ok()) return;
    if (found != nullptr)
      FromJson(*found, name, value);
    else if (needed)
      Fail(name, "is missing");
  }
  template <typename T>
  void FromJson(const Value& json, const std::string& name, T& value) {
    if constexpr (IsOptional<T>::value) {
      value.emplace();
      FromJson(json, name, *value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!json.is_string()) return Fail(name, "is not text");
      value = json.get<std::string>();
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return Fail(name, "is neither true nor false");
      value = json.get<bool>();
    } else if constexpr (std::is_same_v<T, WallTime>) {
      const auto time = ParseRfc3339(json.is_string() ? json.get<std::string>() : "");
      if (!time.ok()) return Fail(name, "is not an RFC 3339 time");
      value = *time;
    } else if constexpr (std::is_same_v<T, Duration>) {
      FromJson(json, name, value.ms);
    } else if constexpr (std::is_same_v<T, double>) {
      if (!json.is_number()) return Fail(name, "is not a number");
      value = json.get<double>();
    } else if constexpr (std::is_integral_v<T>) {
      Integer(json, name, value);
    } else if constexpr (std::is_enum_v<T>) {
      const auto known = ParseName<T>(json.is_string() ? json.get<std::string>() : "");
      if (!known) return Fail(name, "is not one of the known names");
      value = *known;
    } else if constexpr (IsVector<T>::value) {
      if (!json.is_array()) return Fail(name, "is not a list");
      if (json.size() > kMaxElements) return Fail(name, "has too many entries");
      value.clear();
      for (size_t i = 0; i < json.size() && status_.ok(); ++i) {
        FromJson(json[i], name + "[" + std::to_string(i) + "]", value.emplace_back());
      }
    } else {
      if (!json.is_object()) return Fail(name, "is not an object");
      JsonIn in(json, where_ + name + ".");
      Fields(in, value);
      if (status_.ok()) status_ = in.status();
    }
  }
  template <typename T>
  void Integer(const Value& json, const std::string& name, T& value) {
    if (!json.is_number_integer()) return Fail(name, "is not a whole number");
    const bool too_big =
        json.is_number_unsigned() &&
        json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<T>::max());
    if (too_big || (!json.is_number_unsigned() &&
                    json.get<int64_t>() < static_cast<int64_t>(std::numeric_limits<T>::min()))) {
      return Fail(name, "is out of range");
    }
    value = json.get<T>();
  }

  const Value::object_t::Container& members_;  // a vector of pairs
  std::string where_;
  std::vector<char> asked_;  // of each member
  size_t next_ = 0;          // behind the member that was found last
  Status status_;
};

// kTooNew for a `format` above `newest`; kCorrupt when there is none. Looked at before any field.
inline Status CheckFormat(const std::string& key, const Value& object, int newest) {
  const auto found = object.find("format");
  const bool number = found != object.end() && found->is_number_unsigned();
  if (!number || found->get<uint64_t>() == 0) {
    return Status(Code::kCorrupt, key + ": format: is missing or no positive number");
  }
  if (found->get<uint64_t>() > static_cast<uint64_t>(newest)) {
    return Status(Code::kTooNew,
                  key + ": was written by a newer stoker (format " + Dump(*found) +
                      ", this one knows up to " + std::to_string(newest) + ")",
                  "Update stoker on this machine");
  }
  return Status::Ok();
}

}  // namespace stoker::json
