// SPDX-License-Identifier: Apache-2.0
// Unpacks an archive that pack/archive.h wrote, or that somebody put in its place: the input is not
// trusted. Whatever it holds, nothing is written outside the destination.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "pack/zstd_stream.h"

namespace stoker::pack {

struct ExtractLimits {
  int64_t max_bytes = int64_t{1} << 40;  // content of all files
  int64_t max_files = 2'000'000;         // entries of any kind
  int64_t max_ratio = 1000;              // unpacked to packed, once over ratio_floor
  int64_t ratio_floor = int64_t{1} << 30;
};

struct ExtractOptions {
  ExtractLimits limits;
  std::string sha256;  // of the whole archive, hex; "" = not checked
};

// Makes `dest`, which must not exist or be an empty directory. All or nothing, also for kill -9:
// the tree is built beside it, in ".<name>.extract-<random>", and renamed at the end; what a killed
// one left behind is removed by the next for the same `dest`. Permission bits and times of files
// are as packed; owner is who unpacks. Links are made as they are, and never followed. Errors:
// kCorrupt: damaged, cut short, bytes behind its end, duplicate or impossible entries, wrong
// digest; kInvalid: names or links that lead outside, devices, set-id bits, over a limit; kExists;
// kNoSpace; and whatever `source` fails with. On failure nothing is left.
Status Extract(const ByteSource& source, const std::string& dest,
               const ExtractOptions& options = {});
// The same of an archive that is held in memory, or lies in a file.
Status ExtractText(std::string_view archive, const std::string& dest,
                   const ExtractOptions& options = {});
Status ExtractFile(const std::string& archive, const std::string& dest,
                   const ExtractOptions& options = {});

}  // namespace stoker::pack
