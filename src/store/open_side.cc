// SPDX-License-Identifier: Apache-2.0
#include "store/open_side.h"

#include <filesystem>

#include "base/text.h"
#include "store/folder_side.h"

namespace stoker {

bool NamesBucket(const std::string& url) {
  return url.find("://") != std::string::npos && !StartsWith(url, "file://");
}

Result<std::unique_ptr<TransferSide>> OpenFolder(const std::string& url, bool must_exist) {
  std::string path = url;
  if (StartsWith(url, "file://")) path = url.substr(7);
  if (path.empty() || (path != url && path[0] != '/') || path.find('\0') != std::string::npos) {
    return Status(Code::kInvalid, "'" + Printable(url) + "' names no folder",
                  "Name a folder as /path or file:///path, a bucket as s3://bucket/prefix");
  }
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed).lexically_normal();
  if (failed) return ErrnoStatus("the working directory", failed.value());
  STOKER_ASSIGN(auto side, FolderSide::Open(absolute.string(), must_exist));
  return std::unique_ptr<TransferSide>(std::move(side));
}

}  // namespace stoker
