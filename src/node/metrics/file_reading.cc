// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/file_reading.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "metrics/csv_rows.h"
#include "metrics/event_file.h"
#include "metrics/numbers.h"
#include "metrics/text_rows.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr size_t kPiece = 256 << 10;
constexpr size_t kMaxLine = 64 << 10;  // of JSON
constexpr size_t kMaxScalars = 2000;   // of v2 tags, in the head of a segment

struct Nowhere : metrics::PointSink {
  void OnPoint(std::string_view, const metrics::Point&) override {}
  void OnHyperparameter(std::string_view, const std::string&) override {}
};

}  // namespace

struct MetricFiles::File {
  MetricSource source;
  std::unique_ptr<metrics::EventFileReader> events;
  std::unique_ptr<metrics::CsvReader> table;
  std::string line;      // of JSON lines: one that has not ended
  std::string tail;      // the last bytes that the reader has been given
  int64_t position = 0;  // bytes that the reader has been given
  dev_t device = 0;
  ino_t inode = 0;
  struct timespec changed = {};
  std::string run = {};  // what it is a source of; "" = nothing has come of it yet

  // From the beginning of the file, or where the source says.
  void Begin(bool anew) {
    if (anew) source.offset = 0;
    line.clear();
    tail.clear();
    if (source.kind == "tensorboard") {
      events = std::make_unique<metrics::EventFileReader>(source.offset);
      events->names().scalars.insert(source.scalars.begin(), source.scalars.end());
    }
    // A table is read from its beginning: its rows are counted, and its header is needed.
    if (source.kind == "csv") {
      table = anew && table ? std::make_unique<metrics::CsvReader>(table->TakeRows())
                            : std::make_unique<metrics::CsvReader>(source.rows);
      source.offset = 0;
    }
    position = source.offset;
  }

  void Lines(std::string_view bytes, WallTime now, metrics::PointSink& sink) {
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
  void TakeLine(WallTime now, metrics::PointSink& sink) {
    if (line.size() > kMaxLine) {
      source.trouble = "lines of more than 64 KiB are left out";
    } else if (const auto row = metrics::ReadJsonRow(line)) {
      metrics::EmitRow(row->row, std::nullopt, now, sink);
    } else if (source.path.empty() && !metrics::Bare(line).empty() && source.trouble.empty()) {
      source.trouble = "lines that are no JSON objects are left out";
    }
  }

  // Gives `bytes`, which stand at `position`, to the reader.
  void Take(std::string_view bytes, WallTime now, metrics::PointSink& sink) {
    if (events) {
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
    } else if (table) {
      table->Feed(bytes, now, sink);
      source.rows = table->again() ? std::max(source.rows, table->rows()) : table->rows();
      source.offset = table->offset();
      if (table->damaged() > 0) source.trouble = "rows of more than 1 MiB are left out";
      if (table->nameless() > 0) source.trouble = "has more cells in a row than names: left out";
    } else {
      Lines(bytes, now, sink);
      const size_t last = bytes.rfind('\n');
      if (last != bytes.npos) source.offset = position + static_cast<int64_t>(last) + 1;
    }
    position += static_cast<int64_t>(bytes.size());
    Remember(bytes);
  }

  void Remember(std::string_view bytes) {
    constexpr size_t kTail = 128;
    tail += bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
    if (tail.size() > kTail) tail.erase(0, tail.size() - kTail);
  }

  static bool Holds(int fd, int64_t at, const std::string& bytes) {
    std::string there(bytes.size(), 0);
    const ssize_t got = ::pread(fd, there.data(), there.size(), at);
    return got == static_cast<ssize_t>(there.size()) && there == bytes;
  }

  // Deleted and begun again, truncated, or written over: what was read stands there no more. A
  // table that a column was added to is another one, whatever its size.
  bool WrittenAnew(int fd, int64_t size) const {
    if (size < position) return true;
    if (!Holds(fd, position - static_cast<int64_t>(tail.size()), tail)) return true;
    return table && !table->header().empty() && !Holds(fd, 0, table->header());
  }
};

MetricFiles::MetricFiles(MetricPlaces places, std::string extra, RunNames runs, Clock& clock)
    : places_(std::move(places)), extra_(std::move(extra)), runs_(std::move(runs)), clock_(clock) {
  Add("jsonl", "");
}
MetricFiles::~MetricFiles() = default;

std::string MetricFiles::PathOf(const MetricSource& source) const {
  if (source.path.empty()) return extra_;
  return source.path[0] == '/' ? source.path : places_.workdir + "/" + source.path;
}

MetricFiles::File& MetricFiles::Add(const std::string& kind, const std::string& path) {
  auto file = std::make_unique<File>();
  file->source.kind = kind;
  file->source.path = path;
  file->Begin(true);
  by_path_[path] = file.get();
  files_.push_back(std::move(file));
  return *files_.back();
}

void MetricFiles::Find() {
  const auto found = FindMetricFiles(places_);
  if (!found.ok()) return;  // the next look finds them
  // As one look after the other would have found them: names depend on who was first.
  std::vector<std::pair<WallTime, const FoundFile*>> fresh;
  for (const FoundFile& file : *found) {
    if (by_path_.count(file.path) > 0 || files_.size() + fresh.size() >= kMaxFound) continue;
    MetricSource source;
    source.path = file.path;
    fresh.emplace_back(BegunAt(PathOf(source)), &file);
  }
  std::sort(fresh.begin(), fresh.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.ms, a.second->path) < std::tie(b.first.ms, b.second->path);
  });
  for (const auto& [begun, file] : fresh) Name(Add(file->kind, file->path), begun, {});
}

// It is one of a run from now on.
void MetricFiles::Name(File& file, WallTime begun, WallTime written) {
  file.run = "own";
  if (file.source.path.empty()) return;
  const auto found = runs_.Find(file.source.kind, FolderOf(file.source.path), begun);
  found.run->written.ms = std::max(found.run->written.ms, written.ms);
  file.source.prefix = found.prefix;
  file.run = SourceOf(*found.run);
}

void MetricFiles::PassOver() {
  const auto found = FindMetricFiles(places_);
  if (!found.ok()) return;
  for (const FoundFile& one : *found) {
    File& file = Add(one.kind, one.path);
    const std::string path = PathOf(file.source);
    if (file.table) {
      Nowhere nowhere;
      const auto text = sys::ReadFile(path);
      if (text.ok()) file.Take(*text, {}, nowhere);
      continue;
    }
    struct stat info = {};
    if (::stat(path.c_str(), &info) == 0) file.source.offset = info.st_size;
    file.Begin(false);
    std::string end(static_cast<size_t>(std::min<int64_t>(file.position, 128)), 0);
    const auto fd = sys::Open(path, O_RDONLY | O_NONBLOCK);
    if (fd.ok() && ::pread(fd->get(), end.data(), end.size(),
                           file.position - static_cast<int64_t>(end.size())) ==
                       static_cast<ssize_t>(end.size())) {
      file.Remember(end);
    }
  }
}

void MetricFiles::set_sources(const std::vector<MetricSource>& sources) {
  for (const MetricSource& source : sources) {
    const auto known = by_path_.find(source.path);
    File& file = known != by_path_.end() ? *known->second : Add(source.kind, source.path);
    file.source = source;
    file.Begin(false);
  }
}

std::vector<MetricSource> MetricFiles::sources() const {
  std::vector<MetricSource> all;
  for (const auto& file : files_) all.push_back(file->source);
  return all;
}

void MetricFiles::Look(bool find, MetricBatch& batch, const std::function<bool()>& stop) {
  if (find) Find();
  batch.set_several(Several());
  for (const auto& file : files_) {
    if (stop()) return;
    Read(*file, batch, stop);
  }
  batch.set_source("", "");
}

bool MetricFiles::Several() const {
  std::string kind;
  for (const auto& file : files_) {
    struct stat info = {};
    const bool own = file->source.path.empty();
    if (own && (extra_.empty() || ::stat(extra_.c_str(), &info) != 0 || info.st_size == 0))
      continue;
    const std::string of = own ? "own" : file->source.kind;
    if (!kind.empty() && kind != of) return true;
    kind = of;
  }
  return false;
}

void MetricFiles::Read(File& file, MetricBatch& batch, const std::function<bool()>& stop) {
  const std::string path = PathOf(file.source);
  struct stat info = {};
  if (path.empty() || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const bool same = info.st_ino == file.inode && info.st_size == file.position &&
                    info.st_mtim.tv_sec == file.changed.tv_sec &&
                    info.st_mtim.tv_nsec == file.changed.tv_nsec;
  if (same) return;
  const auto fd = sys::Open(path, O_RDONLY | O_NONBLOCK);
  if (!fd.ok()) {
    file.source.trouble = fd.status().message();
    return;
  }
  if (file.WrittenAnew(fd->get(), info.st_size)) file.Begin(true);
  const WallTime written = {info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1'000'000};
  bool grown = false;
  const int64_t before = batch.points();
  std::string piece(kPiece, 0);
  while (!stop()) {
    const ssize_t got = ::pread(fd->get(), piece.data(), piece.size(), file.position);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (file.events && file.events->broken()) break;
    if (!std::exchange(grown, true)) {
      Name(file, file.run.empty() ? BegunAt(path) : WallTime{}, written);
      batch.set_source(file.source.prefix, file.run);
    }
    file.Take(std::string_view(piece).substr(0, static_cast<size_t>(got)), clock_.Wall(), batch);
  }
  file.source.points += batch.points() - before;
  file.inode = info.st_ino;
  file.changed = info.st_mtim;
}

}  // namespace stoker::node
