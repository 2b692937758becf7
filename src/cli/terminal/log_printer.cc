// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/log_printer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/screen.h"
#include "base/text.h"
#include "cli/terminal/context.h"

namespace stoker::cli {
namespace {

// Printable, but with colours and the carriage returns that progress bars live on. What moves the
// cursor otherwise, clears the screen or sets its title could unwrite what others have said.
// Colours only where they are wanted, and none is left on behind the text.
std::string ForTerminal(const std::string& text, bool color) {
  std::string out;
  bool first = true;
  for (const std::string& part : Split(text, '\r')) {
    if (!first) out += '\r';
    first = false;
    out += Printable(part, false, color ? Colours::kAll : Colours::kNone);
  }
  constexpr std::string_view kPlain = "\x1b[0m";
  if (out.find('\x1b') != std::string::npos && !EndsWith(out, kPlain)) out += kPlain;
  return out;
}

}  // namespace

void PrintRaw(Context& context, std::string_view bytes) {
  context.Print("");  // a line of progress goes first
  if (!bytes.empty()) context.set_line_open(bytes.back() != '\n');
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    // A reader such as `head` that has enough is no error of ours.
    if (written <= 0) std::_Exit(errno == EPIPE ? 0 : 1);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

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
      out +=
          (StartsWith(record.text, "stoker: ") ? "" : "stoker: ") + Printable(record.text) + "\n";
      open_line_[from] = false;
      continue;
    }
    if (!goes_on) Prefix(record, &out);
    out += terminal_ ? ForTerminal(record.text, color_) : record.text;
    if (!record.continues) out += '\n';
    open_line_[from] = record.continues;
    last_ = from;
  }
  return out;
}

}  // namespace stoker::cli
