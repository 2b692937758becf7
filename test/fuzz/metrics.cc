// SPDX-License-Identifier: Apache-2.0
// What programs write of their training: event files, tables, lines of the log; and the segments
// that are kept of it. Read in one piece and in pieces, they must give the same.
#include <fmt/format.h>

#include <cmath>

#include "ledger/log/log_codec.h"
#include "ledger/metrics/lines.h"
#include "ledger/metrics/segment.h"
#include "metrics/csv_rows.h"
#include "metrics/event_file.h"
#include "metrics/log_lines.h"
#include "metrics/metric_totals.h"
#include "metrics/rules/rule_watch.h"
#include "metrics/trackers/mlflow_lines.h"
#include "metrics/trackers/settings_text.h"
#include "metrics/trackers/wandb_file.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

using namespace metrics;

// All that a reader gives, as text.
struct Heard : PointSink {
  std::string text;
  void OnPoint(std::string_view name, const Point& point) override {
    text += fmt::format("{}={}@{}\n", SeriesName(name), point.value, point.step.value_or(-1));
  }
  void OnHyperparameter(std::string_view name, const std::string& json) override {
    text += std::string(name) + ":" + json + "\n";
  }
};

size_t PieceOf(std::string_view input) {
  return input.empty() ? 1 : 1 + static_cast<unsigned char>(input.back()) % 40;
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(event_file) {
  using namespace stoker::fuzz;
  EventFileReader whole;
  Heard once;
  whole.Feed(input, once);
  EventFileReader pieces;
  Heard many;
  const size_t piece = PieceOf(input);
  for (size_t at = 0; at < input.size(); at += piece) pieces.Feed(input.substr(at, piece), many);
  FUZZ_EXPECT(once.text == many.text, once.text + "|" + many.text);
  FUZZ_EXPECT(whole.offset() == pieces.offset() && whole.broken() == pieces.broken(), "offset");
  FUZZ_EXPECT(whole.offset() >= 0 && whole.offset() <= static_cast<int64_t>(input.size()), "past");
  // Without the frames, which hardly any bytes have: one record.
  EventNames names;
  Heard record;
  (void)ReadEvent(input, names, record);
}

FUZZ_TARGET(metric_table) {
  using namespace stoker::fuzz;
  CsvReader whole;
  Heard once;
  whole.Feed(input, {}, once);
  CsvReader pieces;
  Heard many;
  const size_t piece = PieceOf(input);
  for (size_t at = 0; at < input.size(); at += piece)
    pieces.Feed(input.substr(at, piece), {}, many);
  FUZZ_EXPECT(once.text == many.text, once.text + "|" + many.text);
  // A reader that knows all rows has nothing new.
  CsvReader known(whole.rows());
  Heard nothing;
  known.Feed(input, {}, nothing);
  FUZZ_EXPECT(nothing.text.empty(), nothing.text);
}

FUZZ_TARGET(metric_trackers) {
  using namespace stoker::fuzz;
  WandbFileReader whole;
  Heard once;
  whole.Feed(input, once);
  WandbFileReader pieces;
  Heard many;
  MlflowReader lines("loss", 0);
  const size_t piece = PieceOf(input);
  for (size_t at = 0; at < input.size(); at += piece) {
    pieces.Feed(input.substr(at, piece), many);
    lines.Feed(input.substr(at, piece), many);
  }
  Heard line;
  MlflowReader at_once("loss", 0);
  at_once.Feed(input, line);
  FUZZ_EXPECT(at_once.given() == lines.given(), "lines");
  FUZZ_EXPECT(whole.offset() == pieces.offset() && whole.damaged() == pieces.damaged(), "offset");
  FUZZ_EXPECT(whole.offset() >= 0 && whole.offset() <= static_cast<int64_t>(input.size()), "past");
  // One that knows all has nothing new.
  WandbFileReader known(static_cast<int64_t>(input.size()));
  Heard nothing;
  known.Feed(input, nothing);
  FUZZ_EXPECT(nothing.text.empty(), nothing.text);
  // Without the frames, which hardly any bytes have.
  WandbRecords records;
  Heard record;
  (void)records.Read(input, true, record);
  (void)GiveYamlSettings(input, record);
  (void)GiveOverrides(input, {}, record);
  GiveJsonSetting("x", input, record);
}

FUZZ_TARGET(metric_lines) {
  using namespace stoker::fuzz;
  LogLines lines({});
  Heard heard;
  for (size_t at = 0; at < input.size();) {
    const size_t end = std::min(input.find('\n', at), input.size());
    const std::string_view line = input.substr(at, end - at);
    lines.Record(0, line.size() % 7 == 3, line, {}, heard);
    at = end + 1;
  }
  lines.Finish(heard);
  (void)WithoutEscapes(input);
}

FUZZ_TARGET(metric_segment) {
  using namespace stoker;
  using namespace stoker::fuzz;
  const auto head = DecodeMetricHead(input);
  FUZZ_EXPECT(head.ok() || Refused(head.status(), Code::kCorrupt, Code::kTooNew),
              head.status().ToString());
  const auto series = DecodeMetricSeries(input);
  FUZZ_EXPECT(series.ok() || Refused(series.status(), Code::kCorrupt), series.status().ToString());
  if (series.ok()) {
    // What is read is written again as something that reads as the same.
    const std::string text = EncodeMetricSeries(*series);
    const auto again = DecodeMetricSeries(text);
    FUZZ_EXPECT(again.ok() && EncodeMetricSeries(*again) == text, text);
    std::vector<metrics::Entry> entries = series->entries;
    metrics::Thin(&entries, 8, 4);
  }
  const auto totals = DecodeMetricTotals("metrics.json", input);
  FUZZ_EXPECT(totals.ok() || Refused(totals.status(), Code::kCorrupt, Code::kTooNew),
              totals.status().ToString());
  MetricLines lines{std::string(input)};
  for (int i = 0; i < 1000; ++i) {
    const auto line = lines.Next();
    if (!line.ok()) FUZZ_EXPECT(line.status().Is(Code::kCorrupt), line.status().ToString());
    if (!line.ok() || !*line) break;
  }
}

FUZZ_TARGET(stop_rule) {
  using namespace stoker;
  using namespace stoker::fuzz;
  // A rule on the first line; what follows are values.
  const size_t end = std::min(input.find('\n'), input.size());
  const std::string_view text = input.substr(0, end);
  const ParsedRule parsed = ParseRule(text);
  if (!parsed.rule) {
    FUZZ_EXPECT(!parsed.message.empty(), std::string(text));
    FUZZ_EXPECT(parsed.column >= 1 && parsed.column <= text.size() + 1, std::string(text));
    return;
  }
  const std::string again = RuleText(*parsed.rule);
  FUZZ_EXPECT(ParseRule(again).rule == parsed.rule, again);
  RuleWatch watch({*parsed.rule});
  const std::string series = parsed.rule->metric.empty() ? "grad_norm" : parsed.rule->metric;
  FUZZ_EXPECT(watch.Wants(series), again);
  int64_t step = 0;
  for (const char c : input.substr(end)) {
    const double value = c == 'n' ? std::nan("") : c == 'i' ? HUGE_VAL : (c - 'a') * 1e-8;
    watch.Take(series, c == 'o', EntryOf(step, WallTime{step * 1000}, value));
    step += c == 'b' ? -3 : 7;
  }
  FUZZ_EXPECT(watch.TakeVerdicts().size() <= 1, again);
}
