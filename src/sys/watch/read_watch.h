// SPDX-License-Identifier: Apache-2.0
// Whether anybody reads the files that lay in a directory at one time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace stoker {

// Two witnesses: the kernel's hints of opens and reads below the directory, and the files' own
// times of access, which also tell of reads by other names of a file. Either is enough to say that
// one was read; only both together that none was. Thread-safe.
class ReadWatch {
 public:
  // The files below `root` now that `counts` takes.
  ReadWatch(const std::string& root, const std::function<bool(const std::string& path)>& counts);

  // Hints that it needs besides those of writes: inotify(7).
  static const uint32_t kMask;
  // What happened to one path: an event's mask.
  void OnEvent(uint32_t mask, const std::string& path);
  // Hints were lost, or are not to be had.
  void Lost();
  // More hints are of use.
  bool listens() const;
  void Forget();
  // Whether one was read; nullopt: not known. What somebody has written is not read any more.
  std::optional<bool> Judge();

 private:
  struct File {
    uint64_t ino = 0;
    uint64_t names = 0;
    int64_t read_ns = 0;
    int opens = 0;  // that have not ended
  };
  void WasRead();
  bool LooksRead(const std::string& path, const File& file) const;

  const std::string root_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, File> files_;
  bool known_ = true;
  bool read_ = false;
  bool forgotten_ = false;
};

}  // namespace stoker
