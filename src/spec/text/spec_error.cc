// SPDX-License-Identifier: Apache-2.0
#include "spec/text/spec_error.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kMostShown = 20;
constexpr size_t kQuotedBytes = 60;

}  // namespace

std::string Quoted(std::string_view text) {
  std::string clean;
  for (const char c : text.substr(0, kQuotedBytes * 4)) clean += c == '\n' || c == '\t' ? ' ' : c;
  clean = Printable(clean);
  bool cut = text.size() > kQuotedBytes * 4;
  if (clean.size() > kQuotedBytes) {
    size_t end = kQuotedBytes;
    while (end > 0 && (static_cast<unsigned char>(clean[end]) & 0xc0) == 0x80) --end;
    clean.resize(end);
    cut = true;
  }
  return "'" + clean + (cut ? "…'" : "'");
}

std::string SpecError::ToString() const {
  std::string out = Printable(file);
  if (line > 0) out += ":" + std::to_string(line) + ":" + std::to_string(column);
  out += ": " + Printable(message);
  if (!hint.empty()) out += ". " + Printable(hint);
  return out;
}

Status ErrorsToStatus(std::vector<SpecError> errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const SpecError& a, const SpecError& b) {
    // Flags (line 0) come after what is wrong in the file.
    if ((a.line == 0) != (b.line == 0)) return b.line == 0;
    return a.line != b.line ? a.line < b.line : a.column < b.column;
  });
  const bool only_flags =
      std::all_of(errors.begin(), errors.end(), [](const SpecError& e) { return e.line == 0; });
  std::string message;
  for (size_t i = 0; i < errors.size() && i < kMostShown; ++i) {
    if (i > 0) message += "\n";
    message += errors[i].ToString();
  }
  if (errors.size() > kMostShown) {
    message += "\nand " + std::to_string(errors.size() - kMostShown) + " more";
  }
  return Status(only_flags ? Code::kUsage : Code::kInvalid, message);
}

}  // namespace stoker
