// SPDX-License-Identifier: Apache-2.0
#include "cli/log_printer.h"

#include <algorithm>

#include "base/text.h"

namespace stoker::cli {
namespace {

// Printable, but with the carriage returns that progress bars live on.
std::string ForTerminal(const std::string& text) {
  std::string out;
  bool first = true;
  for (const std::string& part : Split(text, '\r')) {
    if (!first) out += '\r';
    first = false;
    out += Printable(part);
  }
  return out;
}

}  // namespace

void LogPrinter::Prefix(const LogRecord& record, std::string* out) const {
  if (times_) *out += FormatRfc3339(record.time) + " ";
  if (!many_nodes_) return;
  *out += color_ ? "\x1b[2m[node " + std::to_string(record.rank) + "]\x1b[0m "
                 : "[node " + std::to_string(record.rank) + "] ";
}

std::string LogPrinter::Format(const std::vector<LogRecord>& records) {
  std::string out;
  for (const LogRecord& record : records) {
    const std::pair<int, int> from{record.attempt, record.rank};
    // A line that another node interrupts is closed first, so that lines do not run together.
    if (last_ != from && last_.first >= 0 && open_line_[last_]) {
      out += '\n';
      open_line_[last_] = false;
    }
    if (between_ && newest_ > 0 && record.attempt > newest_) {
      out += "stoker: " + Printable(between_(newest_, record.attempt)) + "\n";
    }
    newest_ = std::max(newest_, record.attempt);
    const bool goes_on = open_line_[from];
    if (record.note) {
      if (goes_on) out += '\n';
      out += "stoker: " + Printable(record.text) + "\n";
      open_line_[from] = false;
      continue;
    }
    if (!goes_on) Prefix(record, &out);
    out += terminal_ ? ForTerminal(record.text) : record.text;
    if (!record.continues) out += '\n';
    open_line_[from] = record.continues;
    last_ = from;
  }
  return out;
}

}  // namespace stoker::cli
