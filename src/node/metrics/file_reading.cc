// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/file_reading.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr size_t kPiece = 256 << 10;
constexpr size_t kMostTimed = 50'000;

struct Nowhere : metrics::PointSink {
  void OnPoint(std::string_view, const metrics::Point&) override {}
  void OnHyperparameter(std::string_view, const std::string&) override {}
};

}  // namespace

// MLflow has a file for each series: which of a run's points was the first is told by their times.
struct MetricFiles::Timed : metrics::PointSink {
  struct One {
    MetricFile* file;
    std::string name;
    metrics::Point point;
  };
  MetricFile* file = nullptr;
  std::vector<One> points;
  void OnPoint(std::string_view name, const metrics::Point& point) override {
    points.push_back({file, std::string(name), point});
  }
  void OnHyperparameter(std::string_view, const std::string&) override {}
};

MetricFiles::MetricFiles(MetricPlaces places, std::string extra, RunNames runs, Clock& clock)
    : places_(std::move(places)),
      extra_(std::move(extra)),
      runs_(std::move(runs)),
      clock_(clock),
      settings_(places_.workdir),
      timed_(std::make_unique<Timed>()) {
  Add("jsonl", "");
}
MetricFiles::~MetricFiles() = default;

std::string MetricFiles::PathOf(const MetricSource& source) const {
  if (source.path.empty()) return extra_;
  return source.path[0] == '/' ? source.path : places_.workdir + "/" + source.path;
}

MetricFile& MetricFiles::Add(const std::string& kind, const std::string& path) {
  auto file = std::make_unique<MetricFile>();
  file->source.kind = kind;
  file->source.path = path;
  file->Begin(true);
  by_path_[path] = file.get();
  files_.push_back(std::move(file));
  return *files_.back();
}

void MetricFiles::Find(MetricBatch& batch) {
  const auto found = FindMetricFiles(places_);
  if (!found.ok()) return;  // the next look finds them
  // As one look after the other would have found them: names depend on who was first.
  std::vector<std::pair<WallTime, const FoundFile*>> fresh;
  for (const FoundFile& file : found->metrics) {
    if (by_path_.count(file.path) > 0 || files_.size() + fresh.size() >= kMaxFound) continue;
    MetricSource source;
    source.path = file.path;
    if (file.kind == "mlflow") source.path = RunFolderOf(file.kind, file.path);
    fresh.emplace_back(BegunAt(PathOf(source)), &file);
  }
  std::sort(fresh.begin(), fresh.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.ms, a.second->path) < std::tie(b.first.ms, b.second->path);
  });
  for (const auto& [begun, file] : fresh) Name(Add(file->kind, file->path), begun, {});
  settings_.Look(found->settings, runs_, batch);
}

// It is one of a run from now on.
void MetricFiles::Name(MetricFile& file, WallTime begun, WallTime written) {
  file.run = "own";
  if (file.source.path.empty()) return;
  const std::string folder = RunFolderOf(file.source.kind, file.source.path);
  const auto found = runs_.Find(file.source.kind, folder, begun);
  found.run->written.ms = std::max(found.run->written.ms, written.ms);
  file.source.prefix = found.prefix;
  file.run = SourceOf(*found.run);
  const auto counted = counted_.find(file.run);
  if (file.wandb && counted != counted_.end()) {
    file.wandb->records().set_goes_on(counted->second + 1);
  }
}

void MetricFiles::PassOver() {
  const auto found = FindMetricFiles(places_);
  if (!found.ok()) return;
  settings_.PassOver(found->settings);
  for (const FoundFile& one : found->metrics) {
    MetricFile& file = Add(one.kind, one.path);
    const std::string path = PathOf(file.source);
    if (file.table || file.mlflow) {
      Nowhere nowhere;
      const auto text = sys::ReadFile(path);
      if (text.ok()) file.Take(*text, {}, nowhere);
      if (file.table) continue;
      file.mlflow->Finish(nowhere);
      file.source.rows = file.mlflow->given();
      file.Begin(false);
      continue;
    }
    struct stat info = {};
    if (::stat(path.c_str(), &info) == 0) file.source.offset = info.st_size;
    file.Begin(false);
    if (file.wandb) continue;  // it is read from its beginning, if it grows at all
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
    if (settings_.TakeUp(source)) continue;
    const auto known = by_path_.find(source.path);
    MetricFile& file = known != by_path_.end() ? *known->second : Add(source.kind, source.path);
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
  if (find) Find(batch);
  batch.set_several(Several());
  for (const auto& file : files_) {
    if (stop()) return;
    Read(*file, batch, stop);
    if (timed_->points.size() > kMostTimed) GiveTimed(batch);
  }
  GiveTimed(batch);
  batch.set_source("", "");
}

void MetricFiles::GiveTimed(MetricBatch& batch) {
  std::vector<Timed::One> points = std::exchange(timed_->points, {});
  std::stable_sort(points.begin(), points.end(), [](const Timed::One& a, const Timed::One& b) {
    return a.point.time.ms < b.point.time.ms;
  });
  for (const Timed::One& one : points) {
    batch.set_source(one.file->source.prefix, one.file->run);
    const int64_t before = batch.points();
    batch.OnPoint(one.name, one.point);
    one.file->source.points += batch.points() - before;
  }
}

void MetricFiles::Finish(MetricBatch& batch) {
  for (const auto& file : files_) {
    if (!file->mlflow) continue;
    timed_->file = file.get();
    file->mlflow->Finish(*timed_);
    file->source.rows = file->mlflow->given();
  }
  GiveTimed(batch);
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

void MetricFiles::Read(MetricFile& file, MetricBatch& batch, const std::function<bool()>& stop) {
  const std::string path = PathOf(file.source);
  struct stat info = {};
  if (path.empty() || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const bool same = info.st_ino == file.inode && info.st_size == file.position &&
                    info.st_mtim.tv_sec == file.changed.tv_sec &&
                    info.st_mtim.tv_nsec == file.changed.tv_nsec;
  if (same || file.HasNothingNew(info.st_size)) return;
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
    const std::string_view bytes = std::string_view(piece).substr(0, static_cast<size_t>(got));
    timed_->file = &file;
    file.Take(bytes, clock_.Wall(),
              file.mlflow ? static_cast<metrics::PointSink&>(*timed_) : batch);
  }
  file.source.points += batch.points() - before;
  file.inode = info.st_ino;
  file.changed = info.st_mtim;
}

}  // namespace stoker::node
