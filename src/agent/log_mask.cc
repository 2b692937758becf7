// SPDX-License-Identifier: Apache-2.0
#include "agent/log_mask.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr LogStream kMaskedStreams[] = {LogStream::kOut, LogStream::kErr, LogStream::kSystem};
size_t IndexOf(LogStream stream) {
  return stream == LogStream::kOut ? 0 : stream == LogStream::kErr ? 1 : 2;
}

constexpr char kMask[] = "***";

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// The characters that `secret` alone decides when `before` bytes stand before it.
std::string InBase64(std::string_view secret, size_t before, std::string_view alphabet) {
  const std::string bytes = std::string(before, '\0') + std::string(secret);
  std::string out;
  for (size_t bit = before == 0 ? 0 : (before + 1) * 6; bit + 6 <= bytes.size() * 8; bit += 6) {
    const size_t at = bit / 8;
    unsigned pair = static_cast<unsigned char>(bytes[at]) << 8U;
    if (at + 1 < bytes.size()) pair |= static_cast<unsigned char>(bytes[at + 1]);
    out += alphabet[(pair >> (10 - bit % 8)) & 63U];
  }
  return out;
}

std::string InUrl(std::string_view secret) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : secret) {
    if (IsAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return out;
}

std::string InJson(std::string_view secret) {
  const std::string quoted =
      nlohmann::json(secret).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

std::string_view Stripped(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

std::vector<std::string> FormsOfSecret(std::string_view secret) {
  std::set<std::string> forms;
  const auto add = [&forms](std::string_view form) {
    if (form.size() >= kLeastMasked) forms.emplace(form);
  };
  const std::string_view core = Stripped(secret);
  if (core.size() < kLeastMasked) return {};
  add(core);
  if (core.find('\n') != std::string_view::npos) {
    for (const std::string& line : Split(core, '\n')) add(Stripped(line));
  }
  add(InJson(core));
  add(InUrl(core));
  for (const std::string_view value : {core, secret}) {
    for (size_t before = 0; before < 3; ++before) {
      add(InBase64(value, before, kBase64));
      add(InBase64(value, before, kBase64Url));
    }
  }
  return {forms.begin(), forms.end()};
}

LogMask::LogMask(LogSink& sink, const std::vector<std::string>& secrets) : sink_(sink) {
  for (const std::string& secret : secrets) {
    for (std::string& form : FormsOfSecret(secret)) forms_.push_back(std::move(form));
  }
  std::stable_sort(forms_.begin(), forms_.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const std::string& form : forms_) begins_[static_cast<unsigned char>(form[0])] = true;
}

size_t LogMask::Mask(std::string_view text, bool last, std::string& out) const {
  size_t done = 0;  // up to here `out` has it
  for (size_t at = 0; at < text.size(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])]) continue;
    const std::string_view rest = text.substr(at);
    for (const std::string& form : forms_) {
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
