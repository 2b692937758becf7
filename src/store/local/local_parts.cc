// SPDX-License-Identifier: Apache-2.0
// Objects of a local store that are read in ranges and written in parts.
#include <unistd.h>

#include <utility>

#include "store/local/folder_files.h"
#include "store/local/folder_part.h"
#include "store/local/local_store.h"

namespace stoker {
namespace {

// "<process>-<random>:<the file's own>", of which the first is a name in .tmp.
std::string NameIn(const std::string& id) {
  const std::string name = id.substr(0, id.find(':'));
  const bool odd = name.empty() || name.size() > 64 ||
                   name.find_first_not_of("0123456789abcdef-") != std::string::npos;
  return odd ? "" : name;
}

}  // namespace

Result<std::unique_ptr<ObjectReader>> LocalStore::OpenReader(const ObjectInfo& info) {
  auto found = Find(info.key, true);
  const bool gone = found.status().Is(Code::kNotFound);
  if (!gone && !found.ok()) return found.status();
  if (gone || found->info.version != info.version) {
    return Status(Code::kConflict, folder_.Path(info.key) + ": was replaced or deleted");
  }
  return folder::MakeReaderAsItIs(std::move(found->fd), std::move(found->info),
                                  folder_.Path(info.key));
}

Result<std::unique_ptr<PartsUpload>> LocalStore::BeginParts(const std::string& key, int64_t size,
                                                            const Condition& condition,
                                                            const std::string& resume,
                                                            bool /*executable*/) {
  STOKER_TRY(local::ValidateKey(key));
  STOKER_ASSIGN(const std::string fresh, folder_.TempName());
  const std::string tmp(local::kTmp);
  std::string name = NameIn(resume);
  const std::string known = name.empty() ? "" : resume.substr(resume.find(':') + 1);
  if (name.empty()) name = fresh.substr(tmp.size() + 1);
  folder::Place place{{}, name, key, folder_.root()};  // as store/local/local_staged.cc names it
  STOKER_ASSIGN(place.folder, folder_.OpenDir(tmp));
  if (!place.folder.valid()) {
    return Status(Code::kBusy, folder_.Path(tmp) + ": was removed just now", "Try again");
  }
  STOKER_ASSIGN(auto file, folder::PartFile::Open(std::move(place), size,
                                                  folder::PartBytes(size, part_bytes_), known));
  const std::string id = name + ":" + file->id();
  const ObjectInfo info{key, size, "", {}};
  return folder::PartsInto(
      std::move(file), info, id,
      [this, tmp, info, condition](folder::PartFile& whole) -> Result<ObjectInfo> {
        STOKER_ASSIGN(auto released, whole.Release());
        local::Staged staged = local::Staged::Adopt(folder_, tmp + "/" + released.name,
                                                    std::move(released.fd), info.size);
        STOKER_TRY(staged.Seal());
        const WallTime modified = local::ModifiedAt(staged.info());
        STOKER_ASSIGN(Version version, Commit(std::move(staged), info.key, condition));
        return ObjectInfo{info.key, info.size, std::move(version), modified};
      });
}

}  // namespace stoker
