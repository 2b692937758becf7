// SPDX-License-Identifier: Apache-2.0
#include "agent/log_mask.h"

#include <algorithm>

#include "agent/secret_forms.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr LogStream kMaskedStreams[] = {LogStream::kOut, LogStream::kErr, LogStream::kSystem};
size_t IndexOf(LogStream stream) {
  return stream == LogStream::kOut ? 0 : stream == LogStream::kErr ? 1 : 2;
}

constexpr char kMask[] = "***";

}  // namespace

LogMask::LogMask(LogSink& sink, const std::vector<std::string>& secrets) : sink_(sink) {
  for (const std::string& secret : secrets) {
    for (std::string& form : FormsOfSecret(secret)) {
      forms_[static_cast<unsigned char>(form[0])].push_back(std::move(form));
    }
  }
  for (auto& forms : forms_) {
    std::stable_sort(forms.begin(), forms.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
  }
}

size_t LogMask::Mask(std::string_view text, bool last, std::string& out) const {
  size_t done = 0;  // up to here `out` has it
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    for (const std::string& form : forms_[static_cast<unsigned char>(text[at])]) {
      if (rest.size() < form.size()) {
        if (last || !StartsWith(form, rest)) continue;
        out += text.substr(done, at - done);
        return at;
      }
      if (!StartsWith(rest, form)) continue;
      out += text.substr(done, at - done);
      out += kMask;
      done = at + form.size();
      at = done - 1;
      break;
    }
  }
  out += text.substr(done);
  return text.size();
}

void LogMask::Write(LogStream stream, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  std::string& waiting = waiting_[IndexOf(stream)];
  std::string joined;
  if (!waiting.empty()) {
    joined = waiting + std::string(bytes);
    bytes = joined;
  }
  std::string out;
  const size_t rest = Mask(bytes, false, out);
  waiting = std::string(bytes.substr(rest));
  if (!out.empty()) sink_.Write(stream, out);
}

void LogMask::Flush() {
  const std::lock_guard lock(mutex_);
  for (const LogStream stream : kMaskedStreams) {
    std::string& waiting = waiting_[IndexOf(stream)];
    if (waiting.empty()) continue;
    std::string out;
    if (waiting.size() >= kLeastMasked) {
      out = kMask;
    } else {
      Mask(waiting, true, out);
    }
    sink_.Write(stream, out);
    waiting.clear();
  }
}

std::string LogMask::Masked(std::string_view text) const {
  std::string out;
  Mask(text, true, out);
  return out;
}

}  // namespace stoker
