// SPDX-License-Identifier: Apache-2.0
// What was decoded last. Records, reports, specs and manifests are read far more often than they
// change: whoever looks every few seconds parses each only once.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace stoker {

// Not thread-safe: make it thread_local. Forgets by chance, and texts over 16 KiB at once; holds at
// most kEntries of them with what they mean.
template <typename T>
class Remembered {
 public:
  // What the very same text meant; null = it is not remembered. Valid until Keep.
  const T* Find(std::string_view text) const {
    const std::unique_ptr<Entry>& entry = entries_[Slot(text)];
    return entry != nullptr && entry->text == text ? &entry->meaning : nullptr;
  }
  void Keep(std::string_view text, const T& meaning) {
    if (text.empty() || text.size() > kLongest) return;
    entries_[Slot(text)] = std::make_unique<Entry>(Entry{std::string(text), meaning});
  }

 private:
  static constexpr size_t kEntries = 128;
  static constexpr size_t kLongest = size_t{16} << 10;
  static size_t Slot(std::string_view text) {
    return std::hash<std::string_view>()(text) % kEntries;
  }
  struct Entry {
    std::string text;
    T meaning;
  };
  // Made when they are needed: whoever decodes one text does not pay for room for all.
  std::array<std::unique_ptr<Entry>, kEntries> entries_;
};

}  // namespace stoker
