// SPDX-License-Identifier: Apache-2.0
#include "sys/container/give_tree.h"

#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/text.h"

namespace stoker::sys {
namespace {

Status GiveOne(const FTSENT& entry, uid_t uid, gid_t gid) {
  const struct stat& info = *entry.fts_statp;
  if (info.st_uid == uid && info.st_gid == gid) return Status::Ok();
  if (!S_ISDIR(info.st_mode) && info.st_nlink > 1) return Status::Ok();
  // By the name in its folder, where the walk stands.
  if (lchown(entry.fts_accpath, uid, gid) == 0 || errno == ENOENT) return Status::Ok();
  return ErrnoStatus("giving '" + Printable(entry.fts_path) + "' away", errno);
}

}  // namespace

Status GiveTree(const std::string& path, uid_t uid, gid_t gid) {
  std::string root = path;
  char* const roots[] = {root.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> walk(
      fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, nullptr), fts_close);
  if (!walk) return ErrnoStatus("reading '" + Printable(path) + "'", errno);
  while (const FTSENT* entry = fts_read(walk.get())) {
    switch (entry->fts_info) {
      case FTS_DP:  // it was given on the way in
        continue;
      case FTS_DNR:
      case FTS_ERR:
      case FTS_NS:
        if (entry->fts_errno == ENOENT) continue;
        return ErrnoStatus("reading '" + Printable(entry->fts_path) + "'", entry->fts_errno);
      default:
        STOKER_TRY(GiveOne(*entry, uid, gid));
    }
  }
  return Status::Ok();
}

}  // namespace stoker::sys
