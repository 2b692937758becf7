// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/json.h"
#include "base/screen.h"
#include "base/text.h"

namespace stoker::cli {
namespace {

bool Has(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool IsDumb() {
  const char* value = std::getenv("TERM");
  return value != nullptr && std::string_view(value) == "dumb";
}

}  // namespace

Terminal::Terminal() {
  out_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  err_terminal_ = ::isatty(STDERR_FILENO) == 1;
  color_ = out_terminal_ && err_terminal_ && !Has("NO_COLOR") && !IsDumb();
}

void Terminal::Heed(const Settings& settings) {
  if (settings.color == "never") color_ = false;
  if (settings.color == "always") color_ = true;
}

bool Terminal::Confirm(const std::string& question) {
  if (!err_terminal_ || ::isatty(STDIN_FILENO) != 1) return false;
  Progress(question + " [y/N] ");
  char answer[8] = {};
  return std::fgets(answer, sizeof answer, stdin) != nullptr &&
         (answer[0] == 'y' || answer[0] == 'Y');
}

size_t Terminal::out_width() const {
  winsize size{};
  if (!out_terminal_ || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return SIZE_MAX;
  }
  return size.ws_col;
}

// What is printed may be of a record, a report or a job file that anybody wrote; bytes of programs
// go past this, by cli/terminal/log_printer.h.
void Terminal::Print(std::string_view anything) {
  const std::string clean =
      json ? PrintableJson(anything) : Printable(anything, true, Colours::kOwn);
  std::string_view text = clean;
  const std::lock_guard lock(mutex_);
  if (progress_shown_) {
    (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);
    progress_shown_ = false;
  }
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    // A reader such as `head` that has enough is no error of ours.
    if (written <= 0) std::_Exit(errno == EPIPE ? 0 : 1);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool OutIsErr() {
  struct stat out {};
  struct stat err {};
  return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
         out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

std::string Terminal::CloseLine() {
  const bool glued = line_open_ && OutIsErr();
  if (glued) line_open_ = false;
  return glued ? "\n" : progress_shown_ ? "\r\x1b[K" : "";
}

void Terminal::Say(const std::string& text) {
  if (json) return;
  const std::lock_guard lock(mutex_);
  const std::string line = CloseLine() + Style("2", "stoker: " + Printable(text, true)) + "\n";
  progress_shown_ = false;
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void Terminal::SayPlain(const std::string& text) {
  if (json) return;
  const std::lock_guard lock(mutex_);
  const std::string all = CloseLine() + Printable(text, true, Colours::kOwn);
  progress_shown_ = false;
  (void)!::write(STDERR_FILENO, all.data(), all.size());
}

void Terminal::Progress(const std::string& text) {
  if (json || !err_terminal_) return;
  const std::lock_guard lock(mutex_);
  const std::string line = "\r\x1b[K" + Printable(text, false, Colours::kOwn);
  progress_shown_ = true;
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void Terminal::PrintError(const Status& status) {
  if (json) {
    nlohmann::json error = {
        {"error", {{"code", CodeName(status.code())}, {"message", status.message()}}}};
    if (!status.next().empty()) error["error"]["next"] = status.next();
    Print(error.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  std::string text = Style("31", "error: ") + Printable(status.message(), true) + "\n";
  if (!status.next().empty()) text += Printable(status.next(), true) + "\n";
  const std::lock_guard lock(mutex_);
  if (progress_shown_) text = "\r\x1b[K" + text;
  progress_shown_ = false;
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

std::string Terminal::Style(std::string_view code, std::string_view text) const {
  if (!color_) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace stoker::cli
