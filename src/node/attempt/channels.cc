// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/channels.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "node/attempt/stoppable.h"
#include "store/open_side.h"
#include "sys/file.h"
#include "sys/journal_file.h"
#include "sys/thread_crew.h"
#include "transfer/store_side.h"
#include "transfer/transfer.h"

namespace stoker::node {
namespace {

constexpr int kPasses = 3;  // over a source that changes while it is copied
constexpr int kHands = 64;
constexpr int64_t kMemory = int64_t{128} << 20;
constexpr Duration kTellEvery = Duration::Seconds(10);
constexpr size_t kMostNamed = 100;

std::string Files(int64_t count, int64_t bytes) {
  return std::to_string(count) + (count == 1 ? " file, " : " files, ") + HumanSize(bytes);
}

// What the source was found to hold, and what it can be read from.
struct Source {
  std::unique_ptr<ObjectStore> store;  // behind `stoppable`, where it is a bucket
  std::unique_ptr<ObjectStore> stoppable;
  std::unique_ptr<TransferSide> side;
  FolderSide* folder = nullptr;  // `side`, where it is one
};

Result<Source> OpenSource(const std::string& url, const Stopped& stopped) {
  Source source;
  if (NamesBucket(url)) {
    STOKER_ASSIGN(source.store, OpenStore(url, stopped));
    source.stoppable = std::make_unique<StoppableStore>(*source.store, stopped);
    source.side = std::make_unique<StoreSide>(*source.stoppable);
  } else {
    STOKER_ASSIGN(auto folder, OpenFolder(url, true));
    source.folder = folder.get();
    source.side = std::move(folder);
  }
  return source;
}

// One channel on its way.
class Channel {
 public:
  Channel(const InputSpec& input, const ChannelsConfig& config)
      : input_(input),
        config_(config),
        folder_(config.dir + "/" + input.name),
        journal_(OpenJournalFile(config.journal + "/" + input.name)),
        memory_(*journal_, sys::BootId()),
        begun_(config.clock.Mono()) {}

  Status Bring() {
    STOKER_TRY(sys::MakeDirs(config_.dir));
    STOKER_TRY(CheckApart());
    for (int pass = 1;; ++pass) {
      const Status status = Pass();
      if (config_.stopped()) return StoppedStatus();
      if (status.ok()) break;
      if (status.Is(Code::kExists) && pass == 1) {
        // A program has made a folder where a file is to be, or the other way round.
        STOKER_TRY(sys::RemoveTree(folder_));
        continue;
      }
      const bool moves = status.Is(Code::kConflict) || status.Is(Code::kCorrupt) || vanished_;
      if (!moves || pass == kPasses) return status;
      Say("changes while it is copied: " + status.ToString() + "; looking at it again");
    }
    Tell();
    return Status::Ok();
  }

 private:
  void Say(const std::string& text) { config_.say("stoker: input " + input_.name + ": " + text); }

  // A home directory as source would be copied into itself. KeepApart looks closer; this says it in
  // better words.
  Status CheckApart() const {
    if (NamesBucket(input_.source)) return Status::Ok();
    const auto from = sys::RealPath(input_.source);
    const auto to = sys::RealPath(config_.dir);
    if (!from.ok() || !to.ok()) return Status::Ok();  // told when it is read, or written
    if (!StartsWith(*to + "/", *from + "/") && !StartsWith(*from + "/", *to + "/")) {
      return Status::Ok();
    }
    return Status(Code::kInvalid, "the source holds stoker's own folder " + *to,
                  "Name a folder that has the data alone");
  }

  Status Pass() {
    vanished_ = false;
    // What is not remembered is compared by size and time.
    const Status loaded = memory_.Load();
    if (!loaded.ok()) Say("what was copied before is not known: " + loaded.ToString());
    STOKER_ASSIGN(Source source, OpenSource(input_.source, config_.stopped));
    STOKER_ASSIGN(std::unique_ptr<FolderSide> target, OpenTarget());
    if (source.folder != nullptr) STOKER_TRY(Apart(target->CheckApart(*source.folder)));
    auto lists = ListSides(*source.side, *target);
    if (!lists.ok()) return Located(lists.status());
    if (source.folder != nullptr) STOKER_TRY(Apart(target->KeepApart(*source.folder)));
    if (!lists->target.odd.empty()) {
      // Links and the like, which a program has made there.
      STOKER_TRY(sys::RemoveTree(folder_));
      STOKER_ASSIGN(target, OpenTarget());
      lists->target = {};
    }
    if (lists->source.objects.empty()) STOKER_TRY(LookForObject(&source, &lists->source));
    PlanRules rules = RulesFor(*source.side, *target);
    rules.remove = true;
    if (memory_.in_doubt()) rules.doubt_up_to = target->whole_bytes();
    SyncPlan plan = PlanSync(lists->source, lists->target, memory_.known(), rules);
    STOKER_TRY(CheckPlan(&plan));
    // First, so that a file can take the place of a folder, and as room is made.
    const std::vector<OddKey> stuck = target->DeleteAll(plan.remove);
    if (!stuck.empty()) return stuck.front().why;
    removed_ += static_cast<int64_t>(plan.remove.size());
    STOKER_TRY(Move(*source.side, *target, plan));
    TransferReport modes;
    SetModes(*target, plan, &modes);
    if (!modes.failed.empty()) return modes.failed[0].why.WithContext(modes.failed[0].key);
    STOKER_TRY(memory_.EndWriting(*target, true));
    return memory_.Compact(lists->source.objects);
  }

  // What a command line is told is here the job file's fault.
  static Status Apart(const Status& found) {
    return found.ok() ? found : Status(Code::kInvalid, found.message(), found.next());
  }

  Result<std::unique_ptr<FolderSide>> OpenTarget() const {
    struct stat info {};
    if (::lstat(folder_.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
      STOKER_TRY(sys::RemoveTree(folder_));
    }
    STOKER_TRY(sys::MakeDirs(folder_));
    return OpenFolder(folder_, false);
  }

  static Status Located(const Status& failure) {
    if (!failure.Is(Code::kInvalid) && !failure.Is(Code::kNotFound)) return failure;
    return failure.WithNext("Look at the address, and whether there is such a bucket or folder");
  }

  // The address may be that of one object.
  Status LookForObject(Source* source, SideListing* list) {
    if (const auto object = ObjectAddressOf(input_.source)) {
      STOKER_ASSIGN(Source around, OpenSource(object->around, config_.stopped));
      const auto head = around.store->Head(object->key);
      if (head.ok()) {
        *source = std::move(around);
        list->objects.push_back(*head);
        return Status::Ok();
      }
      if (!head.status().Is(Code::kNotFound)) return Located(head.status());
    }
    const std::string odd = list->odd.empty() ? ""
                                              : ": " + Printable(list->odd[0].key) + " is " +
                                                    list->odd[0].why.message();
    return Status(Code::kNotFound, "there is no file" + odd, "Look at the address");
  }

  // What could not be looked at ends it. What cannot be held here for its name never will be: it is
  // named and left out, and the job goes on with the rest.
  Status CheckPlan(SyncPlan* plan) {
    for (const OddKey& odd : plan->refused) {
      if (!odd.why.Is(Code::kInvalid)) return odd.why.WithContext(Spelled(odd.key));
    }
    unheld_ = static_cast<int64_t>(plan->refused.size());
    if (!told_skipped_) {
      NameAll("cannot be held here, and is left out: ", plan->refused);
      NameAll("left out ", plan->skipped);
    }
    told_skipped_ = true;
    files_ = plan->same + static_cast<int64_t>(plan->copy.size());
    bytes_ = plan->same_bytes + plan->copy_bytes;
    if (files_ > 0 || plan->refused.empty()) return Status::Ok();
    return Status(Code::kInvalid, "none of its files can be held here, for their names",
                  "Rename them at the source");
  }

  void NameAll(const std::string& what, const std::vector<OddKey>& odd) {
    for (size_t i = 0; i < std::min(odd.size(), kMostNamed); ++i) {
      Say(what + Spelled(odd[i].key) + ": " + odd[i].why.message());
    }
    if (odd.size() > kMostNamed) {
      Say(what + std::to_string(odd.size() - kMostNamed) + " more");
    }
  }

  Status Move(TransferSide& from, TransferSide& target, const SyncPlan& plan) {
    if (plan.copy.empty()) return Status::Ok();
    Say("copying " + Files(static_cast<int64_t>(plan.copy.size()), plan.copy_bytes) + ", from " +
        Printable(input_.source));
    StoppableSource source(from, config_.stopped);
    ThreadCrew crew;
    TransferOptions options;
    options.workers = kHands;
    options.first_workers = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
    options.memory = kMemory;
    options.all_or_nothing = true;
    STOKER_TRY(memory_.BeginWriting(target));
    const MonoTime begun = config_.clock.Mono();
    MonoTime told = begun;
    const TransferReport report =
        MoveFiles(source, target, memory_, {&crew, &config_.clock, options}, plan.copy,
                  [&](const TransferProgress& now) {
                    const MonoTime at = config_.clock.Mono();
                    if (at - told < kTellEvery) return;
                    told = at;
                    Say(HumanSize(now.bytes) + " of " + HumanSize(plan.copy_bytes) + " (" +
                        HumanRate(now.bytes, at - begun) + ")");
                  });
    copied_ += report.files;
    copied_bytes_ += report.bytes;
    if (report.failed.empty()) return Status::Ok();
    const OddKey& failed = report.failed[0];
    vanished_ = failed.why.Is(Code::kNotFound);
    const Status named = failed.why.WithContext(Spelled(failed.key));
    if (named.Is(Code::kExists)) {
      return named.WithNext("The source has a file and a folder of one name: rename one of them");
    }
    if (!named.Is(Code::kNoSpace)) return named;
    return named.WithNext("The copy needs " + HumanSize(plan.copy_bytes) + " more on the disk of " +
                          config_.dir);
  }

  void Tell() {
    const Duration spent = config_.clock.Mono() - begun_;
    std::string text;
    if (copied_ > 0) {
      text = Files(copied_, copied_bytes_) + " in " + HumanDuration(spent) + " (" +
             HumanRate(copied_bytes_, spent) + ")";
    }
    const int64_t there = std::max<int64_t>(0, files_ - copied_);
    const int64_t there_bytes = std::max<int64_t>(0, bytes_ - copied_bytes_);
    if (copied_ == 0 || there > 0) {
      text += (text.empty() ? "" : "; ") + Files(there, there_bytes) + " were there already";
    } else if (there_bytes > 0) {
      text += "; " + HumanSize(there_bytes) + " were there already";
    }
    if (removed_ > 0) text += "; removed " + std::to_string(removed_);
    if (unheld_ > 0) text += "; NOT ALL: " + std::to_string(unheld_) + " cannot be held, see above";
    Say(text);
  }

  const InputSpec& input_;
  const ChannelsConfig& config_;
  const std::string folder_;
  const std::unique_ptr<Journal> journal_;
  SyncMemory memory_;
  const MonoTime begun_;
  bool told_skipped_ = false;
  bool vanished_ = false;  // a file was there when it was listed, and then was not
  // What the source holds, as it was last seen, and what of it was copied by this call.
  int64_t files_ = 0, bytes_ = 0, copied_ = 0, copied_bytes_ = 0, removed_ = 0;
  int64_t unheld_ = 0;  // for their names
};

}  // namespace

Status BringChannels(const std::vector<InputSpec>& inputs, const ChannelsConfig& config) {
  for (const InputSpec& input : inputs) {
    if (config.stopped()) return StoppedStatus();
    STOKER_TRY(Channel(input, config)
                   .Bring()
                   .WithContext("input " + input.name + " from " + Printable(input.source)));
  }
  return Status::Ok();
}

bool BlamesInputs(const Status& failure) {
  switch (failure.code()) {
    case Code::kInvalid:
    case Code::kNotFound:
    case Code::kDenied:
    case Code::kExists:
    case Code::kConflict:
    case Code::kCorrupt:
      return true;
    default:
      return false;
  }
}

}  // namespace stoker::node
