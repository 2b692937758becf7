// SPDX-License-Identifier: Apache-2.0
// The files of a FolderSide, one at a time. Inside store/ only.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "port/object_parts.h"
#include "sys/file.h"

namespace stoker::folder {

// Another one whenever the file was written to or replaced, as far as its time of modification,
// its size and its inode tell.
ObjectInfo InfoOf(const std::string& key, const struct stat& file);

// Lets whoever may read the file run it, or nobody; true: it was otherwise before. Ok also where
// the file system has no such bit.
Result<bool> MarkExecutable(int fd, bool executable);

// `fd` is the file that `info` is of: kConflict otherwise. `path` is for messages.
Result<std::unique_ptr<ObjectReader>> MakeReader(sys::ScopedFd fd, ObjectInfo info,
                                                 std::string path);
// The same for a file whose versions are told otherwise, and were looked at: it must not change
// from here on.
Result<std::unique_ptr<ObjectReader>> MakeReaderAsItIs(sys::ScopedFd fd, ObjectInfo info,
                                                       std::string path);

// Where a new file is to be.
struct Place {
  sys::ScopedFd folder;
  std::string name;
  std::string key;
  std::string path;  // for messages
  // Told of what has the name now; by any thread. Empty: nobody wants to know.
  std::function<void(const ObjectInfo&)> written = nullptr;
  // Asked when a folder has the name; after Ok it is tried once more. Empty: it stays.
  std::function<Status()> make_way = nullptr;
};
Result<ObjectInfo> WriteWhole(Place place, ObjectReader& from);
Result<std::unique_ptr<PartsUpload>> MakeParts(Place place, const ObjectInfo& from,
                                               const std::string& resume);

class PartFile;
// How large the parts of a file of `size` bytes are: `least`, or more where they would be too many.
int64_t PartBytes(int64_t size, int64_t least);
// An upload into `file`, of as many bytes as `from` has; `publish` is what makes an object of it.
// `id` is what another process needs to go on with it.
std::unique_ptr<PartsUpload> PartsInto(std::unique_ptr<PartFile> file, const ObjectInfo& from,
                                       std::string id,
                                       std::function<Result<ObjectInfo>(PartFile& file)> publish);

}  // namespace stoker::folder
