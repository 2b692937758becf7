// SPDX-License-Identifier: Apache-2.0
#include "client/open/full_store.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>

#include "base/text.h"

namespace stoker::client {
namespace {

// A report takes a block for itself and perhaps one for its name; no block is larger.
constexpr int64_t kTooLittle = 16 << 10;

// "" where there is room.
std::string FullStoreText(const ObjectStore& store) {
  const std::string folder = store.url();
  struct statvfs info {};
  if (!StartsWith(folder, "/") || ::statvfs(folder.c_str(), &info) != 0) return "";
  if (info.f_blocks == 0) return "";  // it does not say how large it is
  // Some file systems keep a part for root, which the others cannot use.
  const bool root = ::geteuid() == 0;
  const auto left = root ? info.f_bfree : info.f_bavail;
  const int64_t bytes = static_cast<int64_t>(left) * static_cast<int64_t>(info.f_frsize);
  // Where inodes are not counted there is no limit of them.
  const bool nameless = info.f_files > 0 && (root ? info.f_ffree : info.f_favail) == 0;
  if (bytes >= kTooLittle && !nameless) return "";
  return "the store is full (" + (nameless ? "no inode is" : HumanSize(bytes) + " are") +
         " free in " + Printable(folder) +
         "): its nodes cannot report, so what is shown of them may be old. Free some space there";
}

}  // namespace

void FullStoreTeller::Tell(Client& client, const ObjectStore& store) {
  const std::string full = FullStoreText(store);
  if (!full.empty() && !told_) client.Say(full);
  told_ = !full.empty();
}

}  // namespace stoker::client
