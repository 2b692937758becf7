// SPDX-License-Identifier: Apache-2.0
// What was decoded last. Records, reports, specs and manifests are read far more often than they
// change: whoever looks every few seconds parses each only once.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Not thread-safe: make it thread_local. Forgets by chance, and texts over 16 KiB at once; holds at
// most kEntries of them with what they mean.
template <typename T>
class Remembered {
 public:
  // What the very same text meant; null = it is not remembered. Valid until Keep.
  const T* Find(std::string_view text) const {
    const Entry& entry = entries_[Slot(text)];
    return entry.text == text && !text.empty() ? &entry.meaning : nullptr;
  }
  void Keep(std::string_view text, const T& meaning) {
    if (text.size() <= kLongest) entries_[Slot(text)] = {std::string(text), meaning};
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
  std::vector<Entry> entries_{kEntries};
};

}  // namespace stoker
