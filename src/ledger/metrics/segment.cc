// SPDX-License-Identifier: Apache-2.0
#include "ledger/metrics/segment.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json_fields.h"
#include "ledger/log/log_codec.h"
#include "metrics/numbers.h"

namespace stoker {

template <class A>
void Fields(A& a, MetricSource& s) {
  a("kind", s.kind);
  a("path", s.path);
  a("prefix", s.prefix);
  a("offset", s.offset);
  a("rows", s.rows);
  a("points", s.points);
  a("scalars", s.scalars);
  a("trouble", s.trouble);
}
template <class A>
void Fields(A& a, const MetricSource& s) {
  Fields(a, const_cast<MetricSource&>(s));
}
template <class A>
void Fields(A& a, MetricRun& r) {
  a("kind", r.kind);
  a("path", r.path);
  a("name", r.name);
  a("shape", r.shape);
  a("attempt", r.attempt);
  a("number", r.number);
  a("begun", r.begun.ms);
  a("written", r.written.ms);
  a("ended", r.ended);
  a("parts", r.parts);
}
template <class A>
void Fields(A& a, const MetricRun& r) {
  Fields(a, const_cast<MetricRun&>(r));
}

namespace {

using json::Value;
using metrics::Entry;

constexpr size_t kMaxLine = 16 << 20;
// A window of 64 KiB, and not the 1 MiB of logs: eight segments are read at once when they become
// one, and each reader holds a window or two. A higher level makes up for it.
constexpr Packing kPacking = {6, 16, 14};
constexpr size_t kMaxEntries = 1'000'000;

bool IsFloat(double value) {
  return !std::isfinite(value) || static_cast<double>(static_cast<float>(value)) == value;
}

// The shortest text that reads back as the same number; as a float where the series is of floats.
void AppendNumber(double value, bool floats, std::string* out) {
  if (!std::isfinite(value)) {
    fmt::format_to(std::back_inserter(*out), "\"{}\"", value);
  } else if (floats) {
    fmt::format_to(std::back_inserter(*out), "{}", static_cast<float>(value));
  } else {
    fmt::format_to(std::back_inserter(*out), "{}", value);
  }
}

template <typename Each>
void AppendColumn(const char* name, const std::vector<Entry>& entries, Each each,
                  std::string* out) {
  *out += std::string(",\"") + name + "\":[";
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) *out += ',';
    each(entries[i]);
  }
  *out += ']';
}

std::optional<double> NumberIn(const Value& value, bool floats) {
  std::optional<double> number;
  if (value.is_number()) number = value.get<double>();
  if (value.is_string()) number = metrics::ParseNumber(value.get_ref<const std::string&>());
  if (number && floats) number = static_cast<double>(static_cast<float>(*number));
  return number;
}

const Value* ListIn(const Value& object, const char* name, size_t size) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array() || found->size() != size) return nullptr;
  return &*found;
}

// "buckets": [index, count, last step, last time, min, its step, max, its step, mean, finite, nans]
bool ReadBuckets(const Value& list, bool floats, std::vector<Entry>* entries) {
  if (!list.is_array()) return false;
  for (const Value& b : list) {
    if (!b.is_array() || b.size() != 11) return false;
    for (const size_t whole : {0, 1, 2, 3, 5, 7, 9, 10}) {
      if (!b[whole].is_number_integer()) return false;
    }
    const auto min = NumberIn(b[4], floats);
    const auto max = NumberIn(b[6], floats);
    const auto mean = NumberIn(b[8], false);
    const int64_t index = b[0].get<int64_t>();
    const bool known = index >= 0 && index < static_cast<int64_t>(entries->size());
    if (!known || !min || !max || !mean || b[1].get<int64_t>() < 1) return false;
    Entry& entry = (*entries)[static_cast<size_t>(index)];
    entry.count = b[1].get<int64_t>();
    entry.last_step = b[2].get<int64_t>();
    entry.last_time.ms = b[3].get<int64_t>();
    entry.min = *min;
    entry.min_step = b[5].get<int64_t>();
    entry.max = *max;
    entry.max_step = b[7].get<int64_t>();
    entry.mean = *mean;
    entry.finite = b[9].get<int64_t>();
    entry.nans = b[10].get<int64_t>();
  }
  return true;
}

Status Damaged(const std::string& what) {
  return Status(Code::kCorrupt, "a segment of metrics is damaged: " + what);
}

}  // namespace

namespace {

template <class T>
Value ListOf(const std::vector<T>& all) {
  Value list = Value::array();
  for (const T& one : all) {
    json::JsonOut out;
    Fields(out, one);
    list.push_back(out.Take());
  }
  return list;
}

}  // namespace

std::string EncodeMetricHead(const MetricHead& head) {
  Value begins = Value::object();
  for (const auto& [source, begin] : head.begins) {
    Value& one = begins[source] = Value::object();
    if (begin.step) one["step"] = *begin.step;
    if (begin.epoch) one["epoch"] = *begin.epoch;
  }
  const Value out = {{"format", 1},
                     {"begins", std::move(begins)},
                     {"resumed", head.resumed},
                     {"attempt", head.attempt},
                     {"rank", head.rank},
                     {"first", head.first},
                     {"flushes", head.flushes},
                     {"log_line", head.log_line},
                     {"log_points", head.log_points},
                     {"log_kinds", head.log_kinds},
                     {"log_names", head.log_series.names},
                     {"log_first_epoch", head.log_series.first_epoch},
                     {"log_rounds", head.log_series.rounds},
                     {"orders", head.orders},
                     {"sources", ListOf(head.sources)},
                     {"aside", head.aside},
                     {"runs", ListOf(head.runs)}};
  return json::Dump(out) + "\n";
}

Result<MetricHead> DecodeMetricHead(std::string_view line) {
  STOKER_ASSIGN(const Value object, json::ParseObject("a segment of metrics", line, kMaxLine));
  STOKER_TRY(json::CheckFormat("a segment of metrics", object, 1));
  MetricHead head;
  json::JsonIn in(object, "");
  in.Need("attempt", head.attempt);
  in.Need("rank", head.rank);
  in.Need("first", head.first);
  in.Need("flushes", head.flushes);
  in("log_line", head.log_line);
  in("log_points", head.log_points);
  in("log_kinds", head.log_kinds);
  in("sources", head.sources);
  in("runs", head.runs);
  std::vector<std::string> aside;
  in("aside", aside);
  head.aside.insert(aside.begin(), aside.end());
  in("log_first_epoch", head.log_series.first_epoch);
  in("resumed", head.resumed);
  STOKER_TRY(in.status());
  const auto counts = [&](const char* member, auto* into) {
    const auto found = object.find(member);
    if (found == object.end() || !found->is_object()) return;
    for (const auto& [name, count] : found->items()) {
      if (count.is_number_integer()) (*into)[name] = count.template get<int64_t>();
    }
  };
  counts("orders", &head.orders);
  counts("log_rounds", &head.log_series.rounds);
  const auto begins = object.find("begins");
  if (begins != object.end() && begins->is_object()) {
    for (const auto& [source, one] : begins->items()) {
      SourceBegin& begin = head.begins[source];
      if (!one.is_object()) continue;
      const auto whole = [&in = one](const char* name) {
        const auto found = in.find(name);
        const bool there = found != in.end() && found->is_number_integer();
        return there ? std::optional(found->get<int64_t>()) : std::nullopt;
      };
      begin = {whole("step"), whole("epoch")};
    }
  }
  const auto names = object.find("log_names");
  if (names != object.end() && names->is_object()) {
    for (const auto& [name, kind] : names->items()) {
      if (kind.is_string() && !kind.get_ref<const std::string&>().empty()) {
        head.log_series.names[name] = kind.get<std::string>();
      }
    }
  }
  return head;
}

std::string EncodeMetricSeries(const MetricSeries& series) {
  const std::vector<Entry>& all = series.entries;
  bool floats = true;
  for (const Entry& e : all) floats = floats && IsFloat(e.last) && IsFloat(e.min) && IsFloat(e.max);
  std::string out = "{\"name\":" + json::Dump(Value(series.name));
  if (floats) out += ",\"f32\":true";
  if (series.ordered) out += ",\"ordered\":true";
  if (!series.source.empty()) out += ",\"source\":" + json::Dump(Value(series.source));
  if (series.by_epoch) out += ",\"by_epoch\":true";
  AppendColumn(
      "step", all, [&](const Entry& e) { out += std::to_string(e.first_step); }, &out);
  AppendColumn(
      "time", all, [&](const Entry& e) { out += std::to_string(e.first_time.ms); }, &out);
  AppendColumn(
      "value", all, [&](const Entry& e) { AppendNumber(e.last, floats, &out); }, &out);
  std::string buckets;
  for (size_t i = 0; i < all.size(); ++i) {
    const Entry& e = all[i];
    if (e.count == 1) continue;
    buckets += fmt::format("{}[{},{},{},{},", buckets.empty() ? "" : ",", i, e.count, e.last_step,
                           e.last_time.ms);
    AppendNumber(e.min, floats, &buckets);
    buckets += fmt::format(",{},", e.min_step);
    AppendNumber(e.max, floats, &buckets);
    buckets += fmt::format(",{},", e.max_step);
    AppendNumber(e.mean, false, &buckets);
    buckets += fmt::format(",{},{}]", e.finite, e.nans);
  }
  if (!buckets.empty()) out += ",\"buckets\":[" + buckets + "]";
  return out + "}\n";
}

Result<MetricSeries> DecodeMetricSeries(std::string_view line) {
  STOKER_ASSIGN(const Value object, json::ParseObject("a segment of metrics", line, kMaxLine));
  MetricSeries series;
  const auto name = object.find("name");
  const auto steps = object.find("step");
  if (name == object.end() || !name->is_string()) return Damaged("a series without a name");
  if (steps == object.end() || !steps->is_array() || steps->size() > kMaxEntries) {
    return Damaged("a series without steps");
  }
  series.name = name->get<std::string>();
  series.ordered = object.value("ordered", Value(false)) == true;
  const auto source = object.find("source");
  if (source != object.end() && source->is_string()) series.source = source->get<std::string>();
  series.by_epoch = object.value("by_epoch", Value(false)) == true;
  const bool floats = object.value("f32", Value(false)) == true;
  const Value* times = ListIn(object, "time", steps->size());
  const Value* values = ListIn(object, "value", steps->size());
  if (times == nullptr || values == nullptr) return Damaged("columns of different lengths");
  series.entries.reserve(steps->size());
  for (size_t i = 0; i < steps->size(); ++i) {
    const auto value = NumberIn((*values)[i], floats);
    if (!value || !(*steps)[i].is_number_integer() || !(*times)[i].is_number_integer()) {
      return Damaged("a point that is none");
    }
    series.entries.push_back(
        metrics::EntryOf((*steps)[i].get<int64_t>(), WallTime{(*times)[i].get<int64_t>()}, *value));
  }
  const auto buckets = object.find("buckets");
  if (buckets != object.end() && !ReadBuckets(*buckets, floats, &series.entries)) {
    return Damaged("a bucket that is none");
  }
  return series;
}

namespace {

// Stops at the first list or object behind the name of the outermost object.
class KeyOf : public nlohmann::json_sax<nlohmann::json> {
 public:
  SeriesKey found;

  bool key(string_t& key) override {
    into_ = nullptr;
    if (depth_ == 1 && key == "name") into_ = &found.first;
    if (depth_ == 1 && key == "source") into_ = &found.second;
    return true;
  }
  bool string(string_t& text) override {
    if (into_ != nullptr) *std::exchange(into_, nullptr) = std::move(text);
    return true;
  }
  bool start_object(std::size_t) override { return Deeper(); }
  bool start_array(std::size_t) override { return Deeper(); }
  bool end_object() override { return --depth_ > 0; }
  bool end_array() override { return --depth_ > 0; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool binary(binary_t&) override { return false; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool Deeper() {
    into_ = nullptr;
    return ++depth_ == 1 || found.first.empty();
  }
  std::string* into_ = nullptr;
  int depth_ = 0;
};

}  // namespace

SeriesKey MetricSeriesKey(std::string_view line) {
  KeyOf reader;
  (void)nlohmann::json::sax_parse(line, &reader);
  return std::move(reader.found);
}

Status PackMetrics(const MetricHead& head, const GiveSeries& give, const TakePacked& take) {
  LogCompressor packer(kPacking);
  STOKER_TRY(packer.Add(EncodeMetricHead(head)));
  const auto pack = [&](const MetricSeries& one) -> Status {
    STOKER_TRY(packer.Add(EncodeMetricSeries(one)));
    return take(packer.TakePacked());
  };
  STOKER_TRY(give(pack));
  STOKER_ASSIGN(const std::string rest, packer.Finish());
  return take(rest);
}

}  // namespace stoker
