// SPDX-License-Identifier: Apache-2.0
#include "ledger/segments/labels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "ledger/segments/line_text.h"
#include "ledger/segments/segment_text.h"
#include "ledger/segments/segments.h"

namespace stoker {
namespace {

// Nothing can make these again, so that one damaged object must not be all of them: a few hundred.
constexpr int64_t kFullSegment = 64 << 10;
constexpr char kPrefix[] = "labels/";
constexpr char kName[] = "name";
constexpr char kNote[] = "note";
constexpr std::string_view kTag = "tag:";
// So that one more is always a number, too.
constexpr int64_t kMostStamp = int64_t{1} << 60;

struct Line {
  std::string job;
  int64_t stamp = 0;
  std::string what;
  std::string value;
};

std::optional<Line> DecodeLine(std::string_view text) {
  LineReader reader(text);
  Line line;
  reader.Text(&line.job);
  line.stamp = reader.Number(0, kMostStamp);
  reader.Text(&line.what);
  reader.Text(&line.value);
  if (!reader.Done() || !IsSafeName(line.job)) return std::nullopt;
  return line;
}

std::string Encode(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    LineWriter writer;
    writer.Text(line.job);
    writer.Number(line.stamp);
    writer.Text(line.what);
    writer.Text(line.value);
    text += writer.Take() + "\n";
  }
  return EndSegment(std::move(text));
}

Status Decode(const std::string& key, std::string_view text, std::vector<Line>* out) {
  return ReadSegmentLines(key, text, [out](std::string_view each) {
    auto line = DecodeLine(each);
    if (line) out->push_back(std::move(*line));
    return line.has_value();
  });
}

// Of two at once with one stamp all readers choose the same. What was taken away stays as a line:
// an older segment may still say it.
void KeepNewest(std::vector<Line>* lines) {
  std::sort(lines->begin(), lines->end(), [](const Line& a, const Line& b) {
    return std::tie(a.job, a.what, b.stamp, b.value) < std::tie(b.job, b.what, a.stamp, a.value);
  });
  const auto same = [](const Line& a, const Line& b) { return a.job == b.job && a.what == b.what; };
  lines->erase(std::unique(lines->begin(), lines->end(), same), lines->end());
}

using Folder = SegmentFolder<Line>;

Folder Segments(const LabelPlace& place) {
  return {place.store, place.cache, kPrefix, {Encode, Decode, KeepNewest}};
}

// A line that a newer stoker knows more of says nothing here.
void Add(const Line& line, Labels* labels) {
  if (line.what == kName && (line.value.empty() || IsSafeName(line.value))) {
    labels->name = line.value;
  } else if (line.what == kNote) {
    labels->note = Printable(line.value);
  } else if (StartsWith(line.what, kTag) && !line.value.empty()) {
    const std::string tag = line.what.substr(kTag.size());
    if (IsSafeName(tag)) labels->tags.push_back(tag);  // they come in order
  }
}

}  // namespace

LabelChange Renamed(const std::string& name) { return {kName, name}; }

LabelChange Noted(const std::string& text) {
  std::string line;
  for (const std::string& part : Split(text, '\n')) {
    const std::string clean = Printable(part);
    line += (line.empty() || clean.empty() ? "" : " ") + clean;
  }
  return {kNote, CutText(line, kMostNote)};
}

LabelChange Tagged(const std::string& tag, bool is_so) {
  return {std::string(kTag) + tag, is_so ? "1" : ""};
}

Result<AllLabels> ReadLabels(const LabelPlace& place) {
  STOKER_ASSIGN(Folder::Found found, Segments(place).ReadAll());
  KeepNewest(&found.lines);
  AllLabels all;
  for (const Line& line : found.lines) Add(line, &all.of[line.job]);
  for (const std::string& warning : found.warnings) {
    all.warnings.push_back("names, tags and notes: " + warning + ", and is left out");
  }
  return all;
}

Result<Labels> ChangeLabels(const LabelPlace& place, const std::string& job,
                            const std::vector<LabelChange>& changes, const std::string& random) {
  Folder segments = Segments(place);
  STOKER_ASSIGN(Folder::Found found, segments.ReadAll());
  std::erase_if(found.lines, [&](const Line& line) { return line.job != job; });
  // Above all that was there to see: the clocks of stores and machines may differ.
  int64_t stamp = std::clamp<int64_t>(found.store_now.ms, 0, kMostStamp);
  for (const Line& line : found.lines) {
    stamp = std::max(stamp, std::min(line.stamp + 1, kMostStamp));
  }
  std::vector<Line> lines;
  for (const LabelChange& change : changes)
    lines.push_back({job, stamp, change.what, change.value});
  STOKER_TRY(segments.Write(random, lines));
  for (Line& line : lines) found.lines.push_back(std::move(line));
  KeepNewest(&found.lines);
  Labels labels;
  for (const Line& line : found.lines) Add(line, &labels);
  return labels;
}

Status MergeLabels(const LabelPlace& place, const std::string& random, int at_least) {
  return Segments(place).Merge(random, at_least, kFullSegment);
}

Status DropLabels(const LabelPlace& place, const std::set<std::string>& jobs,
                  const std::string& random) {
  Folder segments = Segments(place);
  STOKER_ASSIGN(Folder::Found found, segments.ReadAll());
  const size_t before = found.lines.size();
  std::erase_if(found.lines, [&](const Line& line) { return jobs.contains(line.job); });
  if (found.lines.size() == before) return Status::Ok();
  KeepNewest(&found.lines);
  // In segments of the usual size; the names differ by a number behind the random part.
  const size_t some = kFullSegment / 256;
  for (size_t at = 0; at < found.lines.size(); at += some) {
    const auto from = found.lines.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = found.lines.size() - at > some ? from + static_cast<std::ptrdiff_t>(some)
                                                   : found.lines.end();
    STOKER_TRY(segments.Write(random + "-" + std::to_string(at / some), {from, to}));
  }
  return segments.Remove(found.read);
}

}  // namespace stoker
