// SPDX-License-Identifier: Apache-2.0
#include "transfer/transfer.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "port/checksummed.h"
#include "transfer/transfer_queue.h"

namespace stoker {
namespace {

// What was written so far is of no use to another try.
bool Spoilt(const Status& failure) {
  return failure.Is(Code::kConflict) || failure.Is(Code::kCorrupt) || failure.Is(Code::kInvalid) ||
         failure.Is(Code::kExists) || failure.Is(Code::kNotFound);
}

class Memory {
 public:
  Memory(TransferQueue& queue, int64_t bytes) : queue_(queue), bytes_(bytes) {
    queue_.TakeMemory(bytes_);
  }
  ~Memory() { queue_.GiveMemory(bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

 private:
  TransferQueue& queue_;
  const int64_t bytes_;
};

class Run {
 public:
  Run(TransferSource& source, TransferTarget& target, TransferMemory& memory, const Movers& movers,
      const std::vector<ObjectInfo>& files,
      const std::function<void(const TransferProgress&)>& progress)
      : source_(source),
        target_(target),
        memory_(memory),
        all_or_nothing_(movers.options.all_or_nothing),
        progress_(progress),
        queue_(files, target.whole_bytes(), movers.options, movers.clock) {}

  void Hand(int worker) {
    while (true) {
      Unit unit = queue_.Next(worker);
      switch (unit.kind) {
        case Unit::Kind::kNone:
          return;
        case Unit::Kind::kWhole:
          MoveWhole(*unit.file);
          break;
        case Unit::Kind::kOpen:
          Open(*unit.file);
          break;
        case Unit::Kind::kPart:
          MovePart(*unit.big, unit.part);
          break;
      }
      queue_.Slowed(source_.throttled() + target_.throttled());
      Show();
    }
  }

  TransferReport report() {
    std::sort(report_.failed.begin(), report_.failed.end(),
              [](const OddKey& a, const OddKey& b) { return a.key < b.key; });
    return std::move(report_);
  }

 private:
  void MoveWhole(const ObjectInfo& file) {
    const Status status = [&]() -> Status {
      STOKER_ASSIGN(const auto reader, source_.OpenReader(file));
      const Memory memory(queue_, target_.memory(*reader));
      auto put = target_.PutFrom(file.key, *reader);
      if (!put.ok()) return Blame(*reader, put.status());
      return memory_.NoteSame(file.key, file.version, put->version);
    }();
    End(file, status, file.size);
    queue_.Done(1, file.size);
  }

  // A file that changes while it is sent makes the other side refuse it in many ways.
  static Status Blame(ObjectReader& reader, const Status& failure) {
    if (reader.fd() < 0) return failure;
    const Status changed = reader.Confirm({});
    return changed.ok() ? failure : changed;
  }

  void Open(const ObjectInfo& file) {
    auto big = std::make_shared<BigFile>();
    big->info = file;
    const Status status = Begin(*big);
    if (!status.ok()) {
      End(file, status, 0);
      queue_.Opened(nullptr);
      queue_.Done(1, file.size);
      return;
    }
    const bool together = big->reader->ranged() && big->upload->parallel();
    if (together && !big->to_do.empty()) {
      if (!queue_.Opened(big)) Finish(*big);
      return;
    }
    queue_.Opened(nullptr);
    OneAfterTheOther(*big);
  }

  Status Begin(BigFile& big) {
    STOKER_ASSIGN(big.reader, source_.OpenReader(big.info));
    STOKER_ASSIGN(big.info.executable, big.reader->Executable());
    const std::string begun = memory_.Begun(big.info.key, big.info.version);
    STOKER_ASSIGN(big.upload, target_.BeginParts(big.info.key, big.info, begun));
    if (big.upload->id() != begun) {
      STOKER_TRY(memory_.NoteBegun(big.info.key, big.info.version, big.upload->id()));
    }
    big.sums = big.upload->done();
    int64_t kept = 0;
    for (const auto& [n, sum] : big.sums) kept += sum.size;
    const int64_t size = big.upload->part_size();
    const auto count = static_cast<int>((big.info.size + size - 1) / size);
    for (int n = count - 1; n >= 0; --n) {
      if (big.sums.count(n) == 0) big.to_do.push_back(n);
    }
    queue_.Done(0, kept);
    const std::lock_guard lock(mutex_);
    report_.kept_bytes += kept;
    return Status::Ok();
  }

  void OneAfterTheOther(BigFile& big) {
    Status status;
    while (!big.to_do.empty() && status.ok()) {
      if (queue_.gave_up()) {
        status = GivenUp();
        break;
      }
      const int n = big.to_do.back();
      big.to_do.pop_back();
      const Memory memory(queue_, big.upload->memory(*big.reader));
      const auto moved = big.upload->WritePart(n, *big.reader);
      if (moved.ok()) {
        big.sums[n] = *moved;
        queue_.Done(0, moved->size);
      }
      status = moved.status();
    }
    big.failed = status;
    Finish(big);
  }

  void MovePart(BigFile& big, int n) {
    const auto moved = [&] {
      const Memory memory(queue_, big.upload->memory(*big.reader));
      return big.upload->WritePart(n, *big.reader);
    }();
    if (queue_.PartDone(big, n, moved)) Finish(big);
  }

  void Finish(BigFile& big) {
    Status status = big.failed;
    if (!status.ok()) {
      status = Blame(*big.reader, status);
    } else {
      std::vector<PartSum> sums;
      for (const auto& [n, sum] : big.sums) sums.push_back(sum);
      status = big.reader->Confirm(sums);
    }
    if (status.ok()) {
      const auto done = big.upload->Commit();
      status = done.ok() ? memory_.NoteSame(big.info.key, big.info.version, done->version)
                         : done.status();
    }
    if (Spoilt(status) || (!status.ok() && !memory_.lasts())) big.upload->Abort();
    int64_t kept = 0;
    for (const auto& [n, sum] : big.upload->done()) kept += sum.size;
    End(big.info, status, big.info.size - kept);
    big.reader.reset();
    big.upload.reset();
    queue_.Done(1, 0);
  }

  void End(const ObjectInfo& file, const Status& status, int64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      if (status.ok()) {
        ++report_.files;
        report_.bytes += bytes;
        return;
      }
      // Given up for another one; a side may say the same of itself, and then it is the failure.
      if (all_or_nothing_ && !report_.failed.empty() && status.Is(Code::kCancelled)) return;
      report_.failed.push_back({file.key, status});
    }
    if (!all_or_nothing_) return;
    for (const auto& big : queue_.GiveUp()) Finish(*big);
  }

  void Show() {
    if (!progress_) return;
    const TransferProgress now = queue_.progress();
    const std::lock_guard lock(mutex_);
    progress_(now);
  }

  TransferSource& source_;
  TransferTarget& target_;
  TransferMemory& memory_;
  const bool all_or_nothing_;
  const std::function<void(const TransferProgress&)>& progress_;
  TransferQueue queue_;
  std::mutex mutex_;
  TransferReport report_;
};

constexpr size_t kRemovedAtOnce = 1000;

void RemoveOld(TransferSide& target, const std::vector<std::string>& keys, TransferReport* report) {
  for (size_t at = 0; at < keys.size(); at += kRemovedAtOnce) {
    const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end =
        keys.begin() + static_cast<std::ptrdiff_t>(std::min(at + kRemovedAtOnce, keys.size()));
    const std::vector<std::string> some(begin, end);
    std::vector<OddKey> failed = target.DeleteAll(some);
    std::sort(failed.begin(), failed.end(),
              [](const OddKey& a, const OddKey& b) { return a.key < b.key; });
    for (const OddKey& each : failed) {
      report->failed.push_back({each.key, each.why.WithContext("removing")});
    }
    report->removed += static_cast<int64_t>(some.size() - failed.size());
    if (failed.size() == some.size()) return;  // nor would the rest go
  }
}

bool AtOrBelow(const std::string& path, const std::string& key) {
  return path == key || StartsWith(path, key + "/");
}

void EndReplacing(TransferSide& target, const SyncPlan& plan, TransferReport* report) {
  const std::vector<OddKey> uncopied = report->failed;
  const auto copied = [&uncopied](const std::string& key) {
    return std::none_of(uncopied.begin(), uncopied.end(),
                        [&key](const OddKey& each) { return AtOrBelow(each.key, key); });
  };
  std::vector<std::string> gone;
  for (OddKey& each : target.EndReplacing(copied, &gone)) report->failed.push_back(std::move(each));
  // Those that the plan removes are counted with it.
  for (const std::string& key : gone) {
    const auto first = std::lower_bound(plan.remove.begin(), plan.remove.end(), key);
    const auto below = std::lower_bound(first, plan.remove.end(), key + "/");
    const bool planned = (first != plan.remove.end() && *first == key) ||
                         (below != plan.remove.end() && StartsWith(*below, key + "/"));
    if (!planned) ++report->removed;
  }
}

Result<std::optional<uint32_t>> ChecksumOf(TransferSide& side, const ObjectInfo& info) {
  STOKER_ASSIGN(const auto reader, side.OpenReader(info));
  auto* const knows = dynamic_cast<Checksummed*>(reader.get());
  if (knows == nullptr) return std::optional<uint32_t>();
  return knows->Checksum();
}

Result<SideListing> ListSide(TransferSide& side) {
  SideListing listing;
  WallTime now;
  STOKER_TRY(side.List([&](ObjectInfo info) { listing.objects.push_back(std::move(info)); },
                       [&](const std::string& key, const Status& why) {
                         listing.odd.push_back({key, why});
                       },
                       &now));
  return listing;
}

}  // namespace

Result<TransferLists> ListSides(TransferSide& source, TransferSide& target) {
  TransferLists lists;
  STOKER_ASSIGN(lists.source, ListSide(source));
  STOKER_ASSIGN(lists.target, ListSide(target));
  return lists;
}

PlanRules RulesFor(const TransferSide& source, const TransferSide& target) {
  // "Object key naming guidelines" of S3 and "Object naming requirements" of Google: 1,024 bytes of
  // UTF-8. What else one of them does not take, it says itself, file by file.
  constexpr size_t kMostKey = 1024;
  constexpr size_t kMostPart = 255;  // NAME_MAX
  PlanRules rules;
  rules.target_keeps_times = target.keeps_times();
  rules.modes = rules.any_bytes = source.keeps_times() && target.keeps_times();
  if (target.keeps_times()) {
    rules.most_part = kMostPart;
    rules.folders = !rules.any_bytes;
  } else {
    const std::string url = target.url();
    const size_t bucket = url.find("://");
    const size_t slash = bucket == std::string::npos ? bucket : url.find('/', bucket + 3);
    rules.most_key = kMostKey - (slash == std::string::npos ? 0 : url.size() - slash);
  }
  return rules;
}

Status WorkThrough(const Movers& movers, size_t count,
                   const std::function<Status(size_t index)>& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  Status failed;
  const auto worker = [&](int) {
    for (size_t i = next++; i < count; i = next++) {
      const Status status = work(i);
      if (status.ok()) continue;
      next = count;
      const std::lock_guard lock(mutex);
      if (failed.ok()) failed = status;
    }
  };
  Alone alone;
  Crew& crew = movers.crew == nullptr ? alone : *movers.crew;
  const auto workers = static_cast<int>(
      std::min<size_t>(count, static_cast<size_t>(std::max(movers.options.workers, 1))));
  if (workers > 0) crew.Work(workers, worker);
  return failed;
}

void SortLargeFirst(std::vector<ObjectInfo>* files) {
  std::sort(files->begin(), files->end(), [](const ObjectInfo& a, const ObjectInfo& b) {
    return a.size != b.size ? a.size > b.size : a.key < b.key;
  });
}

TransferReport MoveFiles(TransferSource& source, TransferTarget& target, TransferMemory& memory,
                         const Movers& movers, const std::vector<ObjectInfo>& files,
                         const std::function<void(const TransferProgress&)>& progress) {
  Run run(source, target, memory, movers, files, progress);
  // More workers than files are of use only where files have parts.
  const bool large = !files.empty() && files.front().size > target.whole_bytes();
  const auto count = static_cast<int>(std::min<size_t>(files.size(), 1 << 16));
  const int workers = large ? movers.options.workers : std::min(movers.options.workers, count);
  Alone alone;
  Crew& crew = movers.crew == nullptr ? alone : *movers.crew;
  if (workers > 0) crew.Work(workers, [&](int worker) { run.Hand(worker); });
  return run.report();
}

void SettleUnsure(const TransferParts& parts, const TransferOptions& options, bool note,
                  SyncPlan* plan) {
  const auto equal = [&](const UnsurePair& pair) -> Result<bool> {
    STOKER_ASSIGN(const auto theirs, ChecksumOf(parts.target, pair.target));
    if (!theirs) return false;
    STOKER_ASSIGN(const auto ours, ChecksumOf(parts.source, pair.source));
    return ours == theirs;
  };
  std::vector<char> same(plan->unsure.size());
  (void)WorkThrough({&parts.crew, &parts.clock, options}, same.size(), [&](size_t i) {
    const UnsurePair& pair = plan->unsure[i];
    // What fails here fails again when it is copied, and is named then.
    same[i] = equal(pair).value_or(false) ? 1 : 0;
    if (same[i] == 0 || !note) return Status::Ok();
    return parts.memory.NoteSame(pair.source.key, pair.source.version, pair.target.version);
  });
  for (size_t i = 0; i < same.size(); ++i) {
    const ObjectInfo& file = plan->unsure[i].source;
    plan->same += same[i];
    plan->same_bytes += same[i] != 0 ? file.size : 0;
    plan->copy_bytes += same[i] != 0 ? 0 : file.size;
    if (same[i] == 0) plan->copy.push_back(file);
  }
  plan->unsure.clear();
  SortLargeFirst(&plan->copy);
}

void SetModes(TransferTarget& target, const SyncPlan& plan, TransferReport* report) {
  for (const ObjectInfo& file : plan.modes) {
    const auto changed = target.SetExecutable(file.key, file.executable);
    if (!changed.ok()) report->failed.push_back({file.key, changed.status()});
    if (changed.value_or(false)) ++report->modes;
  }
}

TransferReport RunTransfer(const TransferParts& parts, const SyncPlan& plan,
                           const TransferOptions& options,
                           const std::function<void(const TransferProgress&)>& progress) {
  if (plan.replaces) {
    parts.target.LetReplace([&plan](const std::string& key) { return MayReplace(plan, key); });
  }
  TransferReport report = MoveFiles(parts.source, parts.target, parts.memory,
                                    {&parts.crew, &parts.clock, options}, plan.copy, progress);
  if (plan.replaces) EndReplacing(parts.target, plan, &report);
  SetModes(parts.target, plan, &report);
  report.remove_skipped = !plan.remove.empty() && !report.failed.empty();
  if (!report.remove_skipped) RemoveOld(parts.target, plan.remove, &report);
  return report;
}

}  // namespace stoker
