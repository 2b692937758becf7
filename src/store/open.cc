// SPDX-License-Identifier: Apache-2.0
#include "store/open.h"

#include <filesystem>
#include <utility>

#include "base/text.h"
#include "store/local/local_store.h"
#include "store/open_gcs.h"
#include "store/open_s3.h"

namespace stoker {
namespace {

std::string TypeOf(const std::string& key) {
  const std::string_view end = std::string_view(key).substr(key.find_last_of('.') + 1);
  if (end == "html") return "text/html; charset=utf-8";
  if (end == "css") return "text/css; charset=utf-8";
  if (end == "js") return "text/javascript; charset=utf-8";
  if (end == "svg") return "image/svg+xml";
  return "";
}

}  // namespace

Result<std::unique_ptr<ObjectStore>> OpenSite(const std::string& url) {
  if (StartsWith(url, "s3://")) return OpenS3(url, {}, TypeOf);
  if (StartsWith(url, "gs://")) return OpenGcs(url, {}, TypeOf);
  return Status(Code::kInvalid, "'" + Printable(url) + "' names no bucket",
                "Name it as s3://bucket/prefix or gs://bucket/prefix");
}

Result<std::unique_ptr<ObjectStore>> OpenStore(const std::string& url,
                                               std::function<bool()> stopped, NoFolder missing) {
  const std::string next =
      "Name the store as s3://bucket/prefix, gs://bucket/prefix, /path or file:///path";
  const size_t scheme_end = url.find("://");
  std::string path = url;
  if (scheme_end != std::string::npos) {
    const std::string scheme = url.substr(0, scheme_end);
    if (scheme == "s3") return OpenS3(url, std::move(stopped));
    if (scheme == "gs") return OpenGcs(url, std::move(stopped));
    path = url.substr(scheme_end + 3);
    if (scheme != "file" || !StartsWith(path, "/")) {
      return Status(Code::kInvalid, "'" + Printable(url) + "' is not a store", next);
    }
  }
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Status(Code::kInvalid, "the store has no name", next);
  }
  std::error_code failed;
  std::string absolute = std::filesystem::absolute(path, failed).lexically_normal().string();
  if (failed) return ErrnoStatus("the working directory", failed.value());
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  LocalStore::Options options;
  options.make = missing == NoFolder::kMake;
  STOKER_ASSIGN(auto store, LocalStore::Open(absolute, options));
  return std::unique_ptr<ObjectStore>(std::move(store));
}

}  // namespace stoker
