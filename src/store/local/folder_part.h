// SPDX-License-Identifier: Apache-2.0
// A file on its way into a folder: "NAME.<mark>.stoker-part" beside its place, where <mark> are 16
// hex digits that follow from NAME. By them it is told from whatever else ends in ".stoker-part":
// that is somebody's file like any other. Inside store/ only.
//
// Behind the bytes of the file lies, until it is published, a table of the parts that are whole, so
// that another process can go on. It is believed only in the same life of the machine: what a power
// cut may have torn is fetched again.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "store/local/folder_files.h"

namespace stoker::folder {

// What is called `name` in the end is called so on its way; at most as long as a name may be.
std::string PartName(const std::string& name);
// It is one of those.
bool IsPartName(const std::string& name);

// WriteAt and Note are thread-safe, for different parts.
class PartFile {
 public:
  // Part size 0: without a table. kBusy: another process writes it. What cannot be resumed is begun
  // anew, whoever began it.
  static Result<std::unique_ptr<PartFile>> Open(Place place, int64_t size, int64_t part_size,
                                                const std::string& resume);

  int fd() const { return fd_.get(); }
  const std::string& id() const { return id_; }
  int64_t part_size() const { return part_size_; }
  // What the table held when it was opened.
  const std::map<int, PartSum>& done() const { return done_; }

  Status WriteAt(int64_t offset, std::string_view bytes);
  // Part `n` is whole. The disk begins to write it, so that not all is left to Publish.
  Status Note(int n, const PartSum& sum);
  // Cuts the table off and gives the file its name, time and mode. One with a table is on the disk
  // by then: a power cut would leave it as large as it should be, but with holes.
  Result<ObjectInfo> Publish(WallTime modified, bool executable);
  // Cuts the table off and gives the file away, with its lock, under the name that it has in the
  // folder of its place. Nothing else may be called afterwards.
  struct Released {
    sys::ScopedFd fd;
    std::string name;
  };
  Result<Released> Release();
  void Remove();

 private:
  PartFile(Place place, int64_t size, int64_t part_size)
      : place_(std::move(place)), size_(size), part_size_(part_size) {}
  Status Claim();
  Status Begin();
  Status CutTable();
  Status GiveName();
  bool Resume(const std::string& id);
  std::string Header(const std::string& nonce) const;

  const Place place_;
  const int64_t size_;
  const int64_t part_size_;
  std::string temp_;  // its name
  sys::ScopedFd fd_;
  std::mutex writing_;
  std::string id_;
  std::map<int, PartSum> done_;
};

}  // namespace stoker::folder
