// SPDX-License-Identifier: Apache-2.0
#include "metrics/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/digest.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "base/utf8.h"

namespace stoker::metrics {
namespace {

constexpr std::array<std::string_view, 7> kSteps = {
    "step", "global_step", "_step", "trainer/global_step", "iteration", "iter", "epoch"};
constexpr std::array<std::string_view, 4> kTimes = {"time", "timestamp", "wall_time", "_timestamp"};

std::optional<int64_t> Whole(double value) {
  // Every whole number up to here is a double.
  constexpr double kMost = 9007199254740992.0;
  if (!(std::abs(value) <= kMost) || value != std::floor(value)) return std::nullopt;
  return static_cast<int64_t>(value);
}

// Years 2001 to 2286, so that a time that was needed for a step is none.
std::optional<WallTime> Moment(double value) {
  if (value >= 1e9 && value < 1e10) return WallTime{static_cast<int64_t>(value * 1000)};
  if (value >= 1e12 && value < 1e13) return WallTime{static_cast<int64_t>(value)};
  return std::nullopt;
}

}  // namespace

std::string_view Bare(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<double> ParseNumber(std::string_view text) {
  if (text.size() > 64) return std::nullopt;
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    const bool small = LowerCase(std::string(text)).find("e-") != std::string::npos;
    return small ? 0.0 : text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
  }
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> UnwrapNumber(std::string_view text, size_t* used) {
  static constexpr std::array<std::string_view, 8> kTypes = {
      "float16", "float32", "float64", "bfloat16", "int32", "int64", "tensor", "array"};
  const size_t open = text.find('(');
  if (open == text.npos || open > 24) return std::nullopt;
  const std::string type = LowerCase(text.substr(0, open));
  const size_t dot = type.rfind('.');
  const std::string_view last =
      std::string_view(type).substr(dot == std::string::npos ? 0 : dot + 1);
  if (std::find(kTypes.begin(), kTypes.end(), last) == kTypes.end()) return std::nullopt;
  // Up to the bracket that closes it; further ones are those of grad_fn=<…> or shapes.
  size_t end = open + 1;
  for (int depth = 1; end < text.size(); ++end) {
    depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  if (end >= text.size()) return std::nullopt;
  *used = end + 1;
  std::string_view inner = text.substr(open + 1, end - open - 1);
  return ParseNumber(Bare(inner.substr(0, inner.find(','))));
}

std::string SeriesName(std::string_view name) {
  std::string text = IsUtf8(name) ? std::string(name) : Spelled(name);
  if (text.size() <= kMaxName) return text;
  const std::string hash = Sha256Hex(name).substr(0, 8);
  return CutText(std::move(text), kMaxName - 9) + "~" + hash;
}

bool NamesStep(const Row& row) {
  return std::any_of(row.begin(), row.end(), [](const auto& entry) {
    return std::find(kSteps.begin(), kSteps.end(), entry.first) != kSteps.end();
  });
}

void EmitRow(const Row& row, std::optional<int64_t> step, WallTime now, PointSink& sink,
             bool epoch_counts) {
  std::string_view axis;
  for (const std::string_view name : kSteps) {
    if (name == "epoch" && !epoch_counts) continue;
    for (const auto& [key, value] : row) {
      if (axis.empty() && key == name && Whole(value)) {
        axis = name;
        step = Whole(value);
      }
    }
  }
  int64_t epoch = -1;
  for (const auto& [key, value] : row) {
    if (key == "epoch" && axis != "epoch" && value >= 0) epoch = Whole(value).value_or(-1);
  }
  std::string_view clock;
  for (const auto& [key, value] : row) {
    for (const std::string_view name : kTimes) {
      if (clock.empty() && key == name && Moment(value)) {
        clock = name;
        now = *Moment(value);
      }
    }
  }
  for (const auto& [key, value] : row) {
    if (key != axis && (clock.empty() || key != clock))
      sink.OnPoint(key, {step, value, now, axis == "epoch", epoch});
  }
}

}  // namespace stoker::metrics
