// SPDX-License-Identifier: Apache-2.0
// Event files as TensorBoard's writers make them, in any size and at any pace; and what reading
// them costs with the code of the node's agent. bench/metrics.py drives it.
//   event_flood write FILE BYTES TAGS IMAGE_BYTES   at once; 0 = no images
//   event_flood pace FILE RATE TAGS SECONDS         so many scalars a second; 0 seconds = for ever
//   event_flood read FOLDER                         prints points, series, seconds, CPU seconds
//   event_flood keep FOLDER TAGS FLUSHES POINTS     keeps so many segments of so many points in the
//                                                   store FOLDER, and prints the most memory it
//                                                   took
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <thread>
#include <vector>

#include "ledger/metrics/segments.h"
#include "metrics/event_writer.h"
#include "node/metrics/file_reading.h"
#include "store/local/local_store.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

using Steady = std::chrono::steady_clock;

[[noreturn]] void Die(const std::string& what) {
  fprintf(stderr, "event_flood: %s\n", what.c_str());
  exit(1);
}

// Event: 1 wall_time, 2 step, 5 summary. Summary.Value: 1 tag, 4 image (1 height, 2 width,
// 3 colorspace, 4 encoded).
std::string ImageRecord(double time, int64_t step, const std::string& bytes) {
  std::string image;
  protozero::pbf_writer picture(image);
  picture.add_int32(1, 512);
  picture.add_int32(2, 512);
  picture.add_int32(3, 3);
  picture.add_bytes(4, bytes);
  std::string value;
  protozero::pbf_writer one(value);
  one.add_string(1, "samples");
  one.add_message(4, image);
  std::string summary;
  protozero::pbf_writer(summary).add_message(1, value);
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(1, time);
  writer.add_int64(2, step);
  writer.add_message(5, summary);
  return metrics::EventRecord(event);
}

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The points of a training: a step gives one of each tag.
class Points {
 public:
  explicit Points(int64_t tags) {
    for (int64_t i = 0; i < tags; ++i) tags_.push_back("train/metric_" + std::to_string(i));
  }
  void Append(std::string* out, double time) {
    const auto tag = static_cast<size_t>(count_ % static_cast<int64_t>(tags_.size()));
    const int64_t step = count_ / static_cast<int64_t>(tags_.size());
    seed_ = seed_ * 6364136223846793005U + 1442695040888963407U;
    const float noise = static_cast<float>(seed_ >> 40) / static_cast<float>(1 << 24);
    const float value = 2.0F / static_cast<float>(1 + step % 10000) + noise;
    *out += metrics::ScalarRecord(time, step, tags_[tag], value);
    ++count_;
  }
  int64_t count() const { return count_; }
  int64_t step() const { return count_ / static_cast<int64_t>(tags_.size()); }

 private:
  std::vector<std::string> tags_;
  int64_t count_ = 0;
  uint64_t seed_ = 1;
};

void WriteOut(FILE* file, std::string* bytes) {
  if (fwrite(bytes->data(), 1, bytes->size(), file) != bytes->size() || fflush(file) != 0) {
    Die(std::string("write: ") + strerror(errno));
  }
  bytes->clear();
}

// Half a megabyte of scalars, then an image, so that both are spread over the file.
int Write(const char* path, int64_t bytes, int64_t tags, size_t image_bytes) {
  FILE* file = fopen(path, "wb");
  if (file == nullptr) Die(std::string(path) + ": " + strerror(errno));
  Points points(tags);
  const std::string picture(image_bytes, 'i');
  const double began = Now();
  std::string out;
  out += metrics::EventFileBegin(began);
  int64_t written = 0;
  while (written < bytes) {
    // With images, little else: a run that logs pictures has some scalars a picture.
    const size_t piece = image_bytes > 0 ? 20'000 : 1 << 20;
    while (out.size() < piece)
      points.Append(&out, began + 0.001 * static_cast<double>(points.count()));
    if (image_bytes > 0) out += ImageRecord(began, points.step(), picture);
    written += static_cast<int64_t>(out.size());
    WriteOut(file, &out);
  }
  fclose(file);
  printf("{\"points\": %lld}\n", static_cast<long long>(points.count()));
  return 0;
}

int Pace(const char* path, int64_t rate, int64_t tags, double seconds) {
  FILE* file = fopen(path, "wb");
  if (file == nullptr) Die(std::string(path) + ": " + strerror(errno));
  Points points(tags);
  std::string out;
  out += metrics::EventFileBegin(Now());
  const auto began = Steady::now();
  for (;;) {
    const double passed = std::chrono::duration<double>(Steady::now() - began).count();
    if (seconds > 0 && passed >= seconds) break;
    while (points.count() < static_cast<int64_t>(passed * static_cast<double>(rate))) {
      points.Append(&out, Now());
    }
    WriteOut(file, &out);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fclose(file);
  return 0;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// What a look of the agent does: finds the files, reads them, and packs the segment.
int Read(const char* folder) {
  RealClock clock;
  const auto began = Steady::now();
  const double cpu = CpuSeconds();
  node::MetricPlaces places;
  places.workdir = folder;
  node::MetricFiles files(places, "", node::RunNames(1, ""), clock);
  node::MetricBatch batch;
  files.Look(true, batch, [] { return false; });
  const int64_t points = batch.points();
  MetricHead head;
  head.sources = files.sources();
  size_t series = 0;
  size_t bytes = 0;
  const Status packed = PackMetrics(
      head,
      [&](const TakeSeries& take) {
        return batch.Take([&](const MetricSeries& one) {
          ++series;
          return take(one);
        });
      },
      [&](std::string_view piece) {
        bytes += piece.size();
        return Status::Ok();
      });
  if (!packed.ok() || bytes == 0) Die(packed.ToString());
  for (const MetricSource& source : head.sources) {
    if (!source.trouble.empty()) Die(source.path + " " + source.trouble);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  printf(
      "{\"points\": %lld, \"series\": %zu, \"seconds\": %.4f, \"cpu\": %.4f, \"rss_kib\": %ld}\n",
      static_cast<long long>(points), series,
      std::chrono::duration<double>(Steady::now() - began).count(), CpuSeconds() - cpu,
      usage.ru_maxrss);
  return 0;
}

// In use of this process' own, in KiB.
int64_t Anonymous() {
  FILE* file = fopen("/proc/self/status", "r");
  char line[256];
  long long kib = -1;
  while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
    if (sscanf(line, "RssAnon: %lld", &kib) == 1) break;
  }
  if (file != nullptr) fclose(file);
  if (kib < 0) Die("/proc/self/status says nothing of memory");
  return kib;
}

// What the agent of a program that writes fast does with its metrics, without the waiting.
int Keep(const char* folder, int64_t tags, int64_t flushes, int64_t points) {
  // As AgentMain has it.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 256 << 10);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  const auto store = LocalStore::Open(folder);
  if (!store.ok()) Die(store.status().ToString());
  MetricWriter writer(**store, "job", 1, 0);
  if (!writer.Begin().ok()) Die("the store cannot be read");
  node::MetricBatch batch;
  std::vector<std::string> names;
  for (int64_t i = 0; i < tags; ++i) names.push_back("train/metric_" + std::to_string(i));
  const int64_t before = Anonymous();
  std::atomic<int64_t> most = before;
  std::atomic<bool> stop = false;
  std::thread watch([&] {
    for (; !stop; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      most = std::max(most.load(), Anonymous());
    }
  });
  uint64_t seed = 1;
  int64_t step = 0;
  for (int64_t flush = 0; flush < flushes; ++flush) {
    for (int64_t i = 0; i < points / tags; ++i, ++step) {
      for (const std::string& name : names) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        const float value = static_cast<float>(seed >> 40) / static_cast<float>(1 << 24);
        batch.OnPoint(name,
                      {step, static_cast<double>(value), WallTime{1700000000000 + step * 20}});
      }
    }
    Status kept =
        writer.Add(MetricHead(), [&](const TakeSeries& take) { return batch.Take(take); });
    if (kept.ok()) kept = writer.Send();
    if (kept.ok()) kept = writer.Merge();
    if (!kept.ok()) Die(kept.ToString());
  }
  stop = true;
  watch.join();
  printf("{\"points\": %lld, \"most_kib\": %lld, \"left_kib\": %lld, \"cpu\": %.2f}\n",
         static_cast<long long>(batch.points()), static_cast<long long>(most - before),
         static_cast<long long>(Anonymous() - before), CpuSeconds());
  return 0;
}

int Main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "write" && argc == 6) {
    return Write(argv[2], atoll(argv[3]), atoll(argv[4]), static_cast<size_t>(atoll(argv[5])));
  }
  if (what == "pace" && argc == 6) {
    return Pace(argv[2], atoll(argv[3]), atoll(argv[4]), atof(argv[5]));
  }
  if (what == "keep" && argc == 6) {
    return Keep(argv[2], atoll(argv[3]), atoll(argv[4]), atoll(argv[5]));
  }
  if (what == "read" && argc == 3) return Read(argv[2]);
  Die("what it does stands at the head of event_flood.cc");
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) { return stoker::Main(argc, argv); }
