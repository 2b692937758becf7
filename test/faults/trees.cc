// SPDX-License-Identifier: Apache-2.0
#include "test/faults/trees.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/prng.h"
#include "base/text.h"
#include "store/local/folder_side.h"
#include "sys/journal_file.h"
#include "sys/real_clock.h"
#include "sys/thread_crew.h"
#include "transfer/store_side.h"
#include "transfer/transfer.h"

namespace stoker::faults {
namespace {

constexpr int64_t kLarge = (17 << 20) + 4321;  // parts in a bucket, and in a folder
constexpr int kSmall = 6;
constexpr int kTries = 4;
constexpr char kDown[] = "down/";

// The same command, a few times. Returns what did not arrive.
std::vector<OddKey> Move(TransferSide& source, TransferSide& target, const std::string& journal,
                         std::vector<ObjectInfo> files) {
  RealClock clock;
  ThreadCrew crew;
  TransferOptions options;
  options.workers = 4;
  SortLargeFirst(&files);
  std::vector<OddKey> failed;
  for (int i = 0; i < kTries && !files.empty(); ++i) {
    const auto lines = OpenJournalFile(journal);
    SyncMemory memory(*lines, sys::BootId());
    if (const Status loaded = memory.Load(); !loaded.ok()) return {{journal, loaded}};
    failed = MoveFiles(source, target, memory, {&crew, &clock, options}, files).failed;
    std::set<std::string> again;
    for (const OddKey& each : failed) again.insert(each.key);
    std::erase_if(files, [&](const ObjectInfo& file) { return again.count(file.key) == 0; });
  }
  return failed;
}

bool Failed(const std::vector<OddKey>& failed, const std::string& key) {
  return std::any_of(failed.begin(), failed.end(),
                     [&](const OddKey& each) { return each.key == key; });
}

bool PartLeft(const std::string& folder) {
  const auto entries = sys::ListDir(folder);
  return entries.ok() && std::any_of(entries->begin(), entries->end(), [](const auto& entry) {
           return EndsWith(entry.name, ".stoker-part");
         });
}

}  // namespace

Status Trees::Prepare(uint64_t seed) {
  STOKER_ASSIGN(sys::TempDir dir, sys::TempDir::Make("stoker-trees"));
  dir_.emplace(std::move(dir));
  STOKER_TRY(sys::MakeDirs(dir_->path() + "/from"));
  Prng prng(seed);
  for (int i = 0; i <= kSmall; ++i) {
    std::string bytes(static_cast<size_t>(i == 0 ? kLarge : prng.Between(0, 200'000)), '\0');
    for (char& byte : bytes) byte = static_cast<char>(prng.Next());
    const std::string name = i == 0 ? "large" : "small-" + std::to_string(i);
    STOKER_TRY(sys::WriteFileAtomic(dir_->path() + "/from/" + name, bytes, 0644, false));
    STOKER_TRY(direct_.Put(kDown + name, bytes).status());
    tree_[name] = std::move(bytes);
  }
  STOKER_ASSIGN(Listing listing, direct_.List(kDown));
  standing_ = std::move(listing.objects);
  return Status::Ok();
}

// One that failed may be there all the same: an answer can get lost. Half of one never.
void Trees::Check(const std::string& what, const std::string& name, bool arrived,
                  const Result<std::string>& there) {
  if (there.ok() && *there != tree_.at(name)) tally_.Wrong(what + " holds something else");
  if (there.ok()) return;
  if (!there.status().Is(Code::kNotFound)) tally_.Wrong(what + ": " + there.status().ToString());
  if (arrived) tally_.Wrong(what + " was said to have arrived");
}

Status Trees::Up(int number) {
  const std::string folder = "up-" + std::to_string(number) + "/";
  STOKER_TRY(sys::MakeDirs(dir_->path() + "/" + folder));
  for (const auto& [name, bytes] : tree_) {
    const std::string from = dir_->path() + "/from/" + name;
    const std::string to = dir_->path() + "/" + folder + name;
    if (link(from.c_str(), to.c_str()) != 0) return ErrnoStatus("linking " + to, errno);
  }
  STOKER_ASSIGN(const auto there, FolderSide::Open(dir_->path() + "/" + folder, true));
  std::vector<ObjectInfo> files;
  WallTime now;
  STOKER_TRY(there->List(
      [&](ObjectInfo info) {
        info.key = folder + info.key;
        files.push_back(std::move(info));
      },
      [](const std::string&, const Status&) {}, &now));
  STOKER_ASSIGN(const auto source, FolderSide::Open(dir_->path(), true));
  StoreSide target(harmed_);
  const auto failed =
      Move(*source, target, dir_->path() + "/journal-" + std::to_string(number), files);
  std::vector<std::string> keys;
  for (const auto& [name, bytes] : tree_) {
    const std::string& key = keys.emplace_back(folder + name);
    auto object = direct_.Get(key);
    Check("tree up: " + key, name, !Failed(failed, key),
          object.ok() ? Result<std::string>(std::move(object->data)) : object.status());
  }
  for (const OddKey& left : direct_.DeleteAll(keys)) return left.why;
  STOKER_TRY(sys::RemoveTree(dir_->path() + "/" + folder));
  return failed.empty() ? Status::Ok() : failed[0].why.WithContext(failed[0].key);
}

Status Trees::Down(int number) {
  const std::string into = dir_->path() + "/into-" + std::to_string(number);
  StoreSide source(harmed_);
  STOKER_ASSIGN(const auto target, FolderSide::Open(into, false));
  const auto failed = Move(source, *target, into + "-journal", standing_);
  for (const auto& [name, bytes] : tree_) {
    const std::string key = kDown + name;
    const std::string path = into + "/" + key;
    Check("tree down: " + path, name, !Failed(failed, key), sys::ReadFile(path, 2 * kLarge));
  }
  if (failed.empty() && PartLeft(into + "/" + kDown)) {
    tally_.Wrong("tree down: a part file is left in " + into);
  }
  STOKER_TRY(sys::RemoveTree(into));
  return failed.empty() ? Status::Ok() : failed[0].why.WithContext(failed[0].key);
}

}  // namespace stoker::faults
