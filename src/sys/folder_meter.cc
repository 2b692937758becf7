// SPDX-License-Identifier: Apache-2.0
#include "sys/folder_meter.h"

#include <sys/stat.h>

namespace stoker::sys {
namespace {

constexpr Duration kPause = Duration::Seconds(10);
constexpr Duration kAtOnce = Duration::Ms(10);
constexpr int kBetweenLooks = 64;  // entries between two looks at the clock

int64_t BytesOf(const std::filesystem::path& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_blocks) * 512 : 0;
}

}  // namespace

std::optional<int64_t> FolderMeter::Bytes(const std::string& folder) {
  namespace fs = std::filesystem;
  const MonoTime begun = clock_.Mono();
  const bool other = folder != folder_;
  const bool counting = at_ != fs::recursive_directory_iterator();
  if (other) known_.reset();
  if (!other && !counting && counted_ && begun - *counted_ < kPause) return known_;
  std::error_code error;
  if (other || !counting) {
    folder_ = folder;
    so_far_ = 0;
    at_ = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied,
                                           error);
  }
  // An error ends the iterator: the next count is another try.
  for (int seen = 1; !error && at_ != fs::recursive_directory_iterator(); ++seen) {
    so_far_ += BytesOf(at_->path());
    at_.increment(error);
    if (seen % kBetweenLooks == 0 && clock_.Mono() - begun >= kAtOnce) return known_;
  }
  at_ = {};
  counted_ = clock_.Mono();
  if (!error) known_ = so_far_;
  return known_;
}

}  // namespace stoker::sys
