// SPDX-License-Identifier: Apache-2.0
// Who of a transfer's workers does what next. Inside transfer/ only.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "port/clock.h"
#include "transfer/pace.h"
#include "transfer/transfer.h"

namespace stoker {

// A file that is moved in parts.
struct BigFile {
  ObjectInfo info;
  std::unique_ptr<ObjectReader> reader;
  std::unique_ptr<PartsUpload> upload;
  // ---- guarded by the queue's mutex ----
  std::vector<int> to_do;  // parts that nobody has taken; the last is the next
  int under_way = 0;
  std::map<int, PartSum> sums;
  Status failed;  // the first failure; no further part is begun then
};

// What becomes of a file that was not ended as another one failed: kCancelled.
Status GivenUp();

struct Unit {
  enum class Kind {
    kNone,   // nothing is left
    kWhole,  // move `file` at once
    kOpen,   // open `file`: then give it to Opened, or tell Done
    kPart,   // move part `part` of `big`
  } kind = Kind::kNone;
  const ObjectInfo* file = nullptr;
  std::shared_ptr<BigFile> big;
  int part = 0;
};

// Large files first, so that the wire is full to the end; every other worker prefers small ones,
// whose time goes into waiting. A large file is opened when no part of those open is left.
// Thread-safe.
class TransferQueue {
 public:
  // `files`: large ones first; outlive it. `clock` may be null: then all workers work.
  TransferQueue(const std::vector<ObjectInfo>& files, int64_t whole_bytes,
                const TransferOptions& options, Clock* clock);

  // Blocks while there are enough workers at work, or while a file is being opened.
  Unit Next(int worker);
  // Null: it was not opened, or has no parts for others. False: all was given up meanwhile, and
  // `big` is the caller's to end.
  bool Opened(const std::shared_ptr<BigFile>& big);
  // Part `n` was moved, or was not. True: it was the last one under way of `big`, which is the
  // caller's to end; it ends with Done.
  bool PartDone(BigFile& big, int n, const Result<PartSum>& moved);
  // A file is over. `bytes`: those that PartDone has not been told of. `slow_downs`: so far.
  void Done(int64_t files, int64_t bytes);
  // Nothing more is begun. Returns files that were open and that nobody works on: they are the
  // caller's to end.
  std::vector<std::shared_ptr<BigFile>> GiveUp();
  bool gave_up() const;
  // How often the sides have asked to slow down so far.
  void Slowed(int64_t times);

  // Waits until `bytes` of the memory are free.
  void TakeMemory(int64_t bytes);
  void GiveMemory(int64_t bytes);
  TransferProgress progress() const;

 private:
  bool PickPart(Unit* unit);
  bool PickSmall(Unit* unit);
  bool Pick(int worker, Unit* unit);
  void Note(int64_t files, int64_t bytes);

  mutable std::mutex mutex_;
  std::condition_variable allowed_;  // more workers may work, or nothing is left
  std::condition_variable work_;     // there is something to do, or nothing is left
  std::condition_variable memory_;
  const std::vector<ObjectInfo>& files_;
  size_t big_ = 0;    // the next of the large ones
  size_t small_ = 0;  // the next of the others
  size_t first_small_ = 0;
  int opening_ = 0;
  std::vector<std::shared_ptr<BigFile>> open_;  // with parts to do
  int64_t free_;
  const int64_t all_;

  bool gave_up_ = false;

  Clock* const clock_;
  Pace pace_;
  TransferProgress progress_;
  MonoTime since_;
  int64_t moved_ = 0, ended_ = 0, units_ = 0, slowed_ = 0, slowed_before_ = 0;
};

}  // namespace stoker
