// SPDX-License-Identifier: Apache-2.0
#include "agent/log_shipper.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

// Per step, so that the caller stays responsive under a flood.
constexpr int kPutsPerStep = 8;
// A merge needs this many new segments; planning is cheap, this only makes it rare.
constexpr size_t kPlanEvery = 4;
constexpr Duration kUpkeepRetry = Duration::Seconds(30);
constexpr Duration kEndingRetry = Duration::Seconds(1);

std::optional<MonoTime> Earlier(std::optional<MonoTime> a, std::optional<MonoTime> b) {
  if (!a) return b;
  return b ? std::min(*a, *b) : a;
}

// The same records, however they were packed.
bool SameRecords(const std::string& a, const std::string& b, int64_t lines) {
  if (a == b) return true;
  SegmentDecoder one(a, lines);
  SegmentDecoder two(b, lines);
  while (true) {
    Result<std::optional<RecordView>> x = one.Next();
    Result<std::optional<RecordView>> y = two.Next();
    if (!x.ok() || !y.ok() || x->has_value() != y->has_value()) return false;
    if (!x->has_value()) return true;
    if (one.raw() != two.raw()) return false;
  }
}

}  // namespace

LogShipper::LogShipper(ObjectStore& store, Clock& clock, LogSpool& spool, LogPlace place)
    : store_(store),
      clock_(clock),
      spool_(spool),
      place_(std::move(place)),
      prng_(std::hash<std::string>()(place_.job) + static_cast<uint64_t>(place_.rank)) {}

void LogShipper::SetBegun() { first_ = spool_.counters().records + 1; }

std::optional<MonoTime> LogShipper::Step() {
  std::optional<MonoTime> tick = spool_.Tick();
  MonoTime now = clock_.Mono();
  if (ending_ && !ending_seen_) {
    ending_seen_ = true;  // there may be seconds left: try now, whatever the back-off was
    retry_at_.reset();
    failures_ = 0;
  }
  if (retry_at_ && now < *retry_at_) return Earlier(tick, retry_at_);
  Result<std::optional<MonoTime>> next = Work(now);
  if (!next.ok()) {
    Failed(next.status());
    return Earlier(tick, retry_at_);
  }
  failures_ = 0;
  retry_at_.reset();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    trouble_.clear();
  }
  return Earlier(tick, *next);
}

void LogShipper::Failed(const Status& status) {
  ++failures_;
  Duration delay = RetryDelay(failures_, prng_);
  if (ending_) delay = std::min(delay, kEndingRetry);
  retry_at_ = clock_.Mono() + delay;
  std::lock_guard<std::mutex> lock(mutex_);
  trouble_ = "log lines do not reach the store: " + status.ToString() + " (" +
             std::to_string(failures_) + (failures_ == 1 ? " try" : " tries") +
             "; they wait on this machine's disk)";
}

Status LogShipper::Begin() {
  STOKER_ASSIGN(LogMap map, ListLogSegments(store_, place_.job, place_.attempt, place_.rank));
  segments_ = std::move(map[{place_.attempt, place_.rank}]);
  doubled_ = segments_.Covered();
  int64_t end = segments_.end();
  // More in the store than here: the machine died and its disk forgot the newest. Go on behind.
  spool_.SkipTo(end);
  begun_ = true;
  std::lock_guard<std::mutex> lock(mutex_);
  shipped_end_ = end;
  known_ = true;
  return Status::Ok();
}

// Whether somebody follows this log, asked now and then and only where it matters.
bool LogShipper::Followed(MonoTime now) {
  const StoreTraits& traits = store_.traits();
  if (traits.flush <= traits.follow_flush) return false;
  if (follow_check_ && now < *follow_check_) return followed_;
  if (!followed_at_) followed_at_ = now;  // whoever has just begun the job may well look
  Result<Object> mark = store_.Get(paths::Follow(place_.job));
  if (mark.ok()) followed_ = mark->store_now - mark->info.last_modified < kFollowFresh;
  // When the store does not answer, putting the segment will say so; until then nothing changes.
  if (mark.code() == Code::kNotFound && !mark.ok()) followed_ = false;
  if (followed_) followed_at_ = now;
  follow_check_ = now + (traits.requests_are_free ? Duration::Seconds(1)
                                                  : FollowCheck(followed_, now - *followed_at_));
  return followed_;
}

Result<std::optional<MonoTime>> LogShipper::Work(MonoTime now) {
  if (!begun_) STOKER_TRY(Begin());
  std::optional<MonoTime> next;
  for (int puts = 0;; ++puts) {
    LogSpool::Waiting waiting = spool_.WaitingFrom(shipped_end());
    if (waiting.lines == 0) {
      spool_.WakeAt(waiting.appended + 1);
      break;
    }
    if (puts == kPutsPerStep) {
      next = now;
      break;
    }
    const int64_t first = first_;
    const bool begins = first > 0 && waiting.first + waiting.lines > first;
    const bool leaving = leaving_;
    bool followed =
        !ending_ && !leaving && waiting.bytes < kSegmentBytes && last_put_ && Followed(now);
    if (awaits_ && !since_) since_ = now;
    const StoreTraits& traits = store_.traits();
    const Duration soon = std::min(traits.flush, traits.follow_flush);
    FlushChoice choice = DecideFlush({clock_.Mono(), std::max<int64_t>(waiting.bytes, 1), last_put_,
                                      followed || leaving ? soon : traits.flush,
                                      ending_ || pending_ || begins, since_});
    if (!choice.flush) {
      const int64_t more = first > 0 ? 1 : kSegmentBytes - waiting.bytes;
      spool_.WakeAt(waiting.appended + std::max<int64_t>(1, more));
      next = leaving ? choice.wake : Earlier(choice.wake, follow_check_);
      break;
    }
    STOKER_TRY(ShipOne());
  }
  if (!ending_ && now >= upkeep_at_) Upkeep(now);
  return next;
}

Status LogShipper::ShipOne() {
  if (!pending_) {
    STOKER_ASSIGN(LogSpool::Chunk chunk, spool_.Read(shipped_end(), kSegmentBytes));
    if (chunk.lines == 0) return Status::Ok();
    Pending made;
    made.raw = static_cast<int64_t>(chunk.text.size());
    STOKER_TRY(compressor_.Add(chunk.text));
    STOKER_ASSIGN(made.data, compressor_.Finish());
    made.segment = {SegmentKey(place_.job, place_.attempt, place_.rank, chunk.first, chunk.lines),
                    place_.attempt,
                    place_.rank,
                    chunk.first,
                    chunk.lines,
                    static_cast<int64_t>(made.data.size()),
                    {}};
    pending_ = std::move(made);
  }
  if (BugIsOn("lines-done-before-put")) shipped_end_ = pending_->segment.end();
  const bool skips = BugIsOn("segment-skipped") && pending_->segment.first > 1;
  Result<Version> put =
      skips ? Result<Version>("")
            : store_.Put(pending_->segment.key, pending_->data, Condition::Absent());
  if (!put.ok() && put.code() == Code::kExists) {
    STOKER_TRY(Resolve(*pending_));
  } else if (!put.ok()) {
    return put.status();
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    shipped_end_ = pending_->segment.end();
  }
  if (int64_t first = first_; first > 0 && pending_->segment.end() > first) {
    first_.compare_exchange_strong(first, 0);
  }
  spool_.Trim(pending_->segment.end());
  raw_[pending_->segment.key] = pending_->raw;
  segments_.Add(std::move(pending_->segment));
  pending_.reset();
  last_put_ = clock_.Mono();
  failures_ = 0;
  return Status::Ok();
}

// The key is taken: by our own try whose answer was lost, or else by somebody with the same place.
Status LogShipper::Resolve(const Pending& pending) {
  Result<Object> there = store_.Get(pending.segment.key);
  if (!there.ok()) return there.status();
  if (SameRecords(there->data, pending.data, pending.segment.lines)) return Status::Ok();
  Status conflict(Code::kConflict, "another agent wrote other lines as " + pending.segment.key +
                                       "; going on behind");
  pending_.reset();
  begun_ = false;
  return conflict;
}

// Merging may fail without harm: it must not hold up lines.
void LogShipper::Upkeep(MonoTime now) {
  Status done = CleanUp();
  if (done.ok()) done = Merge();
  if (done.ok()) return;
  upkeep_at_ = now + kUpkeepRetry;
  // A part that is gone was merged by somebody else: see what there is now.
  if (done.Is(Code::kNotFound)) begun_ = false;
}

Status LogShipper::Merge() {
  if (segments_.segments().size() < planned_at_ + kPlanEvery) return Status::Ok();
  std::vector<LogSegment> candidates;
  for (const LogSegment& segment : segments_.segments()) {
    if (unmergeable_.count(segment.key) == 0) candidates.push_back(segment);
  }
  std::optional<MergeRange> range = PlanMerge(candidates, raw_);
  if (!range) {
    planned_at_ = segments_.segments().size();
    return Status::Ok();
  }
  std::vector<LogSegment> parts(
      candidates.begin() + static_cast<ptrdiff_t>(range->begin),
      candidates.begin() + static_cast<ptrdiff_t>(range->begin + range->count));
  STOKER_ASSIGN(MergeOutcome outcome, MergeSegments(store_, place_.job, parts));
  for (const auto& [key, raw] : outcome.raw) raw_[key] = raw;
  if (!outcome.bad.empty()) unmergeable_.insert(outcome.bad);
  for (const LogSegment& part : outcome.parts) {
    segments_.Remove(part.key);
    raw_.erase(part.key);
    spent_.push_back(part.key);
  }
  if (outcome.merged) segments_.Add(*outcome.merged);
  planned_at_ = 0;
  return CleanUp();
}

// Deletes what larger segments hold. What a former process left is deleted only after the larger
// one has been read and found whole.
Status LogShipper::CleanUp() {
  while (!doubled_.empty()) {
    const LogSegment small = doubled_.back();
    std::set<std::string> skip = unmergeable_;
    skip.insert(small.key);
    const LogSegment* large = segments_.Covering(small.first, skip);
    if (large != nullptr && large->end() >= small.end()) {
      Status whole = raw_.count(large->key) != 0 ? Status::Ok() : VerifySegment(store_, *large);
      if (whole.Is(Code::kCorrupt)) {
        unmergeable_.insert(large->key);
        continue;
      }
      STOKER_TRY(whole);
      raw_[large->key];  // verified; its size is not worth keeping
      segments_.Remove(small.key);
      spent_.push_back(small.key);
    }
    doubled_.pop_back();
  }
  while (!spent_.empty()) {
    STOKER_TRY(store_.Delete(spent_.back()).WithContext("delete a merged log segment"));
    spent_.pop_back();
  }
  return Status::Ok();
}

bool LogShipper::AllShipped() const {
  int64_t end = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!known_) return false;
    end = shipped_end_;
  }
  return spool_.WaitingFrom(end).lines == 0;
}

int64_t LogShipper::shipped_end() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return shipped_end_;
}

std::string LogShipper::trouble() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return trouble_;
}

}  // namespace stoker
