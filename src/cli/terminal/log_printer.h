// SPDX-License-Identifier: Apache-2.0
// Records of a job's log as a terminal or a file should get them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ledger/log/log_reader.h"

namespace stoker::cli {

class Context;

// To standard output as it is, past the filter of Context::Print: what LogPrinter has made.
void PrintRaw(Context& context, std::string_view bytes);

// Keeps the programs' bytes as they are when the output is a file or a pipe, and makes them
// harmless when it is a terminal. With several nodes each line says which node it is from, and with
// `times` each begins with when it was written: UTC, by the clock of its node.
class LogPrinter {
 public:
  // Said before the first line of an attempt that follows another: from, to. Empty = nothing is.
  using Between = std::function<std::string(int from, int to)>;

  LogPrinter(bool terminal, bool many_nodes, bool color, bool times = false)
      : terminal_(terminal), many_nodes_(many_nodes), color_(color), times_(times) {}
  void set_between(Between between) { between_ = std::move(between); }
  // What is printed next begins a line: something else has ended the one that was open.
  void LineClosed() { open_line_.clear(); }
  std::string Format(const std::vector<LogRecord>& records);

 private:
  void Prefix(const LogRecord& record, std::string* out) const;

  bool terminal_;
  bool many_nodes_;
  bool color_;
  bool times_;
  std::map<std::pair<int, int>, bool> open_line_;  // (attempt, rank): the last record goes on
  std::pair<int, int> last_{-1, -1};
  Between between_;
  int newest_ = 0;  // the highest attempt that had a line
};

}  // namespace stoker::cli
