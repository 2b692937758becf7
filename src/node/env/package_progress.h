// SPDX-License-Identifier: Apache-2.0
// What is said while packages are loaded, so that a long download is not a silence.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "port/process_runner.h"

namespace stoker::node {

// Reads what pip and uv print of their downloads and builds. No clock.
class PackageProgress {
 public:
  void Add(std::string_view output);
  // One line: "14 of 45 packages are loaded (1.2 GB), torch (812.3MiB) is on its way".
  std::string Line() const;

 private:
  void Read(const std::string& line);
  void Arrived(const std::string& name);

  std::string rest_;                        // a line that has not ended
  std::map<std::string, std::string> way_;  // name -> its size in words; "" = it is built
  std::map<std::string, std::string> sizes_;
  int64_t bytes_ = 0;
  int packages_ = 0;
  std::string needed_;  // how many, in uv's words
  bool uv_ = false;
};

// Passes output on, and says how far it is after each ten seconds without any. Thread-safe; `to`
// must outlive it.
class ProgressSink : public LogSink {
 public:
  explicit ProgressSink(LogSink& to) : to_(to) {}
  void Write(LogStream stream, std::string_view bytes) override;
  // To be called often.
  void Tick();

 private:
  LogSink& to_;
  std::mutex mutex_;
  PackageProgress progress_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace stoker::node
