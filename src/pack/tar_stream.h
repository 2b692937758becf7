// SPDX-License-Identifier: Apache-2.0
// tar (pax) entries through libarchive, written and read in order. Names are raw bytes: no
// character set is ever converted. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "pack/zstd_stream.h"

namespace stoker::pack {

enum class TarKind { kFile, kDir, kLink, kHardLink, kOther };

struct TarEntry {
  std::string path;
  TarKind kind = TarKind::kFile;
  uint32_t mode = 0644;  // permission bits and set-id bits
  int64_t size = 0;      // of a file's content
  int64_t mtime_ns = 0;
  std::string target;  // kLink: what it says; kHardLink: path of an earlier file
};

// The same entries give the same bytes: owner 0:0, no device or inode numbers.
class TarWriter {
 public:
  explicit TarWriter(ByteSink sink);
  ~TarWriter();
  Status Add(const TarEntry& entry);
  // The content of the file added last, in pieces, `size` bytes in all.
  Status Write(std::string_view data);
  Status Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class TarReader {
 public:
  explicit TarReader(ByteSource source);
  ~TarReader();
  // False after the last entry; then the input was read to its end and held nothing more. Content
  // that was not read is passed over. kCorrupt: damaged, or with a feature that stoker never
  // writes.
  Result<bool> Next(TarEntry& entry);
  // The next piece of the content, valid until the next call; empty at its end.
  Result<std::string_view> Read();

 private:
  struct State;
  Status Failure(const char* what);
  Status ReadToEnd();
  std::unique_ptr<State> state_;
};

}  // namespace stoker::pack
