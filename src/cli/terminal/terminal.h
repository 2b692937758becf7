// SPDX-License-Identifier: Apache-2.0
// The terminal, or what stands for it: what is printed, and what is remarked meanwhile.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "base/status.h"
#include "client/open/caller.h"

namespace stoker::cli {

// Whoever reads standard error reads standard output in between.
bool OutIsErr();

// Not thread-safe except where said.
class Terminal : public client::Caller {
 public:
  Terminal();

  bool json = false;  // set by the parser

  bool color() const { return color_; }
  bool out_is_terminal() const { return out_terminal_; }
  // Columns of the terminal that standard output is; what is no terminal has no end.
  size_t out_width() const;
  // To standard output, whole; a reader that went away ends the process quietly.
  void Print(std::string_view text);
  // A remark to standard error; silent with --json. Safe from any thread.
  void Say(const std::string& text) override;
  // The same without a mark in front: several lines that stand for themselves.
  void SayPlain(const std::string& text);
  // The last byte of programs' output that went to standard output past Print ended its line, or
  // did not: then a remark on the same terminal begins a new one.
  void set_line_open(bool open) { line_open_ = open; }
  bool line_open() const { return line_open_; }
  // A line that is overwritten by the next: progress. Only on a terminal.
  void Progress(const std::string& text) override;
  // Asks on the terminal. Where there is none the answer is no.
  bool Confirm(const std::string& question) override;
  // Colours, as the settings have them.
  void Heed(const Settings& settings) override;
  void PrintError(const Status& status);
  // `text` in bold, dim, red … where colours are on.
  std::string Style(std::string_view code, std::string_view text) const;

 private:
  std::string CloseLine();  // by whoever has mutex_

  std::mutex mutex_;
  bool color_ = false;
  bool out_terminal_ = false;
  bool err_terminal_ = false;
  bool progress_shown_ = false;
  std::atomic<bool> line_open_ = false;
};

}  // namespace stoker::cli
