// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/metric_file.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "metrics/numbers.h"
#include "metrics/text_rows.h"
#include "node/metrics/found_files.h"

namespace stoker::node {
namespace {

constexpr size_t kMaxLine = 64 << 10;  // of JSON
constexpr size_t kMaxScalars = 2000;   // of v2 tags, in the head of a segment

bool Holds(int fd, int64_t at, const std::string& bytes) {
  std::string there(bytes.size(), 0);
  const ssize_t got = ::pread(fd, there.data(), there.size(), at);
  return got == static_cast<ssize_t>(there.size()) && there == bytes;
}

}  // namespace

void MetricFile::Begin(bool anew) {
  if (anew) source.offset = 0;
  if (anew && !table) source.rows = 0;
  line.clear();
  tail.clear();
  position = source.offset;
  if (source.kind == "tensorboard") {
    events = std::make_unique<metrics::EventFileReader>(source.offset);
    events->names().scalars.insert(source.scalars.begin(), source.scalars.end());
  }
  // These are read from their beginning: rows are counted, a header or what the first records say
  // is needed.
  if (source.kind == "csv") {
    table = anew && table ? std::make_unique<metrics::CsvReader>(table->TakeRows())
                          : std::make_unique<metrics::CsvReader>(source.rows);
    source.offset = 0;
    position = 0;
  } else if (source.kind == "wandb") {
    wandb = std::make_unique<metrics::WandbFileReader>(source.offset);
    position = 0;
  } else if (source.kind == "mlflow") {
    mlflow = std::make_unique<metrics::MlflowReader>(MlflowName(source.path), source.rows);
    position = 0;
  }
}

void MetricFile::Take(std::string_view bytes, WallTime now, metrics::PointSink& sink) {
  if (events) {
    TakeEvents(bytes, sink);
  } else if (table) {
    TakeTable(bytes, now, sink);
  } else if (wandb) {
    TakeWandb(bytes, sink);
  } else if (mlflow) {
    TakeMlflow(bytes, sink);
  } else {
    TakeLines(bytes, now, sink);
  }
  position += static_cast<int64_t>(bytes.size());
  Remember(bytes);
}

void MetricFile::TakeEvents(std::string_view bytes, metrics::PointSink& sink) {
  events->Feed(bytes, sink);
  source.offset = events->offset();
  source.trouble =
      events->broken()
          ? "is damaged: what follows byte " + std::to_string(source.offset) + " cannot be read"
      : events->damaged() > 0 ? std::to_string(events->damaged()) + " records are damaged"
                              : "";
  for (const std::string& tag : events->names().scalars) {
    if (source.scalars.size() >= kMaxScalars) break;
    if (source.scalars.size() < events->names().scalars.size() &&
        std::find(source.scalars.begin(), source.scalars.end(), tag) == source.scalars.end()) {
      source.scalars.push_back(tag);
    }
  }
}

void MetricFile::TakeTable(std::string_view bytes, WallTime now, metrics::PointSink& sink) {
  table->Feed(bytes, now, sink);
  source.rows = table->again() ? std::max(source.rows, table->rows()) : table->rows();
  source.offset = table->offset();
  if (table->damaged() > 0) source.trouble = "rows of more than 1 MiB are left out";
  if (table->nameless() > 0) source.trouble = "has more cells in a row than names: left out";
}

void MetricFile::TakeWandb(std::string_view bytes, metrics::PointSink& sink) {
  wandb->Feed(bytes, sink);
  source.offset = wandb->offset();
  const int64_t shift = wandb->records().shift();
  if (shift > 0) {
    source.trouble = "W&B counts its steps from 0 again: they are taken to go on at " +
                     std::to_string(shift) + "; log(…, step=N) says where they are";
  }
  if (wandb->damaged() > 0) source.trouble = "is damaged: records are left out";
  if (wandb->foreign()) source.trouble = "is in no format of W&B's that is known: it is not read";
}

void MetricFile::TakeMlflow(std::string_view bytes, metrics::PointSink& sink) {
  mlflow->Feed(bytes, sink);
  source.offset = mlflow->offset();
  source.rows = mlflow->given();
  if (mlflow->damaged() > 0) source.trouble = "lines that are no points are left out";
}

void MetricFile::TakeLines(std::string_view bytes, WallTime now, metrics::PointSink& sink) {
  const size_t last = bytes.rfind('\n');
  if (last != bytes.npos) source.offset = position + static_cast<int64_t>(last) + 1;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (line.size() <= kMaxLine) line.append(bytes.substr(0, end));
    if (end == bytes.npos) return;
    TakeLine(now, sink);
    line.clear();
    bytes.remove_prefix(end + 1);
  }
}

// Whatever else a file may hold: what is appended to $STOKER_METRICS is meant to be read.
void MetricFile::TakeLine(WallTime now, metrics::PointSink& sink) {
  if (line.size() > kMaxLine) {
    source.trouble = "lines of more than 64 KiB are left out";
  } else if (const auto row = metrics::ReadJsonRow(line)) {
    metrics::EmitRow(row->row, std::nullopt, now, sink);
  } else if (source.path.empty() && !metrics::Bare(line).empty() && source.trouble.empty()) {
    source.trouble = "lines that are no JSON objects are left out";
  }
}

void MetricFile::Remember(std::string_view bytes) {
  constexpr size_t kTail = 128;
  tail += bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
  if (tail.size() > kTail) tail.erase(0, tail.size() - kTail);
}

bool MetricFile::WrittenAnew(int fd, int64_t size) const {
  if (size < position) return true;
  if (!Holds(fd, position - static_cast<int64_t>(tail.size()), tail)) return true;
  return table && !table->header().empty() && !Holds(fd, 0, table->header());
}

bool MetricFile::HasNothingNew(int64_t size) const {
  return (wandb || mlflow) && position == 0 && size <= source.offset;
}

}  // namespace stoker::node
