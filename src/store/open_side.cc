// SPDX-License-Identifier: Apache-2.0
#include "store/open_side.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace stoker {

bool NamesBucket(const std::string& url) {
  return url.find("://") != std::string::npos && !StartsWith(url, "file://");
}

std::optional<ObjectAddress> ObjectAddressOf(const std::string& url) {
  if (!NamesBucket(url) || EndsWith(url, "/")) return std::nullopt;
  const size_t slash = url.rfind('/');
  if (slash < url.find("://") + 3) return std::nullopt;
  return ObjectAddress{url.substr(0, slash), url.substr(slash + 1)};
}

Result<std::unique_ptr<FolderSide>> OpenFolder(const std::string& url, bool must_exist) {
  std::string path = url;
  if (StartsWith(url, "file://")) path = url.substr(7);
  if (path.empty() || (path != url && path[0] != '/') || path.find('\0') != std::string::npos) {
    return Status(Code::kInvalid, "'" + Printable(url) + "' names no folder",
                  "Name a folder as /path or file:///path, a bucket as s3://bucket/prefix");
  }
  std::error_code failed;
  auto absolute = std::filesystem::absolute(path, failed);
  if (failed) return ErrnoStatus("the working directory", failed.value());
  // "link/.." is the folder around what the link leads to, not the one around the link.
  if (std::find(absolute.begin(), absolute.end(), "..") != absolute.end()) {
    absolute = std::filesystem::weakly_canonical(absolute, failed);
    if (failed) return ErrnoStatus(Printable(path), failed.value());
  }
  return FolderSide::Open(absolute.lexically_normal().string(), must_exist);
}

}  // namespace stoker
