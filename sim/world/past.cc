// SPDX-License-Identifier: Apache-2.0
#include "sim/world/past.h"

#include "base/digest.h"
#include "base/text.h"
#include "job/encoding.h"
#include "ledger/blobs.h"
#include "ledger/ledger.h"
#include "ledger/log/log_codec.h"
#include "ledger/paths.h"
#include "ledger/summary.h"

namespace stoker::sim {
namespace {

constexpr int64_t kOneDay = 86'400'000;
// The last is what no terminal should be shown.
constexpr const char* kPastUsers[] = {"ada", "bob", "o\"brien\\\x01"};
constexpr const char* kNames[] = {"tune", "eval", "a \"quoted\" \\name", "tuna"};
// Ids that begin alike.
constexpr const char* kStarts[] = {"past", "pas0", "aaaa"};

std::shared_ptr<const std::string> Shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

std::string LongName() {
  std::string name;
  while (name.size() < 230) name += "\xe6\xbc\xa2";  // three bytes each: cut between, not inside
  return name;
}

// As it was named when it was written.
std::string BlobOfAge(const std::string& digest, int64_t age_ms) {
  return paths::Blob(digest, BlobPeriod({kEpochMs - age_ms}));
}

// One job of the past. Every draw is a statement of its own.
class PastJob {
 public:
  PastJob(World& world, int number) : world_(world), rng_(world.rng()) {
    const uint64_t start = rng_.Below(3);
    const std::string rest = rng_.Base32(4);
    job_.id = kStarts[start] + rest;
    const uint64_t user = rng_.Below(3);
    job_.user = kPastUsers[user];
    const uint64_t name = rng_.Below(5);
    job_.name = name == 4 ? LongName() : kNames[name];
    age_ = rng_.Between(1, 400) * kOneDay;
    // Some were submitted by one script, in the same instant.
    const bool alike = rng_.Chance(1, 4);
    if (alike) age_ = 50 * kOneDay;
    job_.created = {kEpochMs - age_};
    job_.rev = rng_.Between(1, 40);
    job_.writer = rng_.Base32(16);
    job_.code_digest = Sha256Hex("code of the past " + std::to_string(number));
    job_.binary_digest = Sha256Hex("stoker of the past");
    job_.num_nodes = static_cast<int>(rng_.Between(1, 2));
    End();
  }

  void Plant() {
    const std::string spec = "run: python old.py\n";
    job_.spec_digest = Sha256Hex(spec);
    Put(paths::Spec(job_.id), spec);
    Put(paths::Record(job_.id), EncodeJob(job_));
    Put(BlobOfAge(job_.code_digest, age_), "code of the past");
    Put(paths::Checkpoints(job_.id) + "data/x", "what is left of a checkpoint");
    for (const Attempt& attempt : job_.attempts) {
      Report(attempt);
      Log(attempt.number);
    }
    Index();
  }

 private:
  void Put(const std::string& key, std::string text) {
    world_.bucket().Plant(key, Shared(std::move(text)), age_);
  }

  void End() {
    static constexpr EndReason kReasons[] = {EndReason::kCompleted, EndReason::kUserError,
                                             EndReason::kCancelled, EndReason::kNodeFault,
                                             EndReason::kInternal};
    Ending ending;
    ending.reason = kReasons[rng_.Below(5)];
    ending.exit_code = ending.reason == EndReason::kUserError ? 1 : 0;
    ending.out_of_memory = rng_.Chance(1, 4);
    ending.why = "it was long ago";
    job_.state = ending.reason == EndReason::kCompleted   ? JobState::kSucceeded
                 : ending.reason == EndReason::kCancelled ? JobState::kCancelled
                                                          : JobState::kFailed;
    job_.result = ending;
    // One that older versions wrote does not say when it ended.
    const bool known = !rng_.Chance(1, 8);
    if (known) job_.ended = job_.created + Duration::Hours(1);
    const int attempts = static_cast<int>(rng_.Between(0, 2));
    for (int number = 1; number <= attempts; ++number) {
      Request& request = AppendRequest(job_, {0});
      request.opened = job_.created;
      request.token = "token of " + job_.id + std::to_string(number);
      job_.launches.back().closed = true;
      job_.launches.back().close_reason = CloseReason::kDone;
      Attempt attempt;
      attempt.number = number;
      attempt.state = AttemptState::kEnded;
      attempt.launches.assign(static_cast<size_t>(job_.num_nodes), number);
      attempt.opened = job_.created;
      const bool ran = rng_.Chance(1, 2);
      if (ran) attempt.running = job_.created + Duration::Seconds(9);
      attempt.run_ms = ran ? 5'000 : 0;
      if (ran) attempt.newest_checkpoint = std::to_string(number) + "-1";
      const bool told = rng_.Chance(1, 2);
      if (told) attempt.ending = ending;
      job_.attempts.push_back(attempt);
    }
  }

  void Report(const Attempt& attempt) {
    NodeReport report;
    report.job = job_.id;
    report.attempt = attempt.number;
    report.launch = attempt.number;
    report.seq = 3;
    report.phase = NodePhase::kEnded;
    report.end = attempt.ending;
    Put(paths::Report(job_.id, attempt.number, 0), EncodeReport(report));
  }

  void Log(int attempt) {
    LogCompressor packer;
    const WallTime then = job_.created;
    const std::string text = RecordHeader(then, LogStream::kOut, true) + "half a line\n" +
                             RecordHeader(then, LogStream::kErr, false) + "the other half\n";
    if (!packer.Add(text).ok()) return;
    auto packed = packer.Finish();
    if (packed.ok()) Put(SegmentKey(job_.id, attempt, 0, 1, 2), std::move(*packed));
  }

  // Some lines lie twice, also of a revision before.
  void Index() {
    const std::string name = rng_.Base32(16);
    Put(paths::IndexSegment(name), EncodeSegment({SummaryOf(job_)}));
    const bool twice = rng_.Chance(1, 4);
    if (!twice) return;
    Summary older = SummaryOf(job_);
    older.rev = std::max<int64_t>(0, older.rev - 1);
    const std::string other = rng_.Base32(16);
    Put(paths::IndexSegment(other), EncodeSegment({older}));
  }

  World& world_;
  Prng& rng_;
  Job job_;
  int64_t age_ = 0;
};

// What the jobs of the plan will want is there already, of many ages: a blob that is used again is
// written again before it is old enough to be collected.
void PlantBlobs(World& world) {
  const auto put = [&](const std::string& content) {
    const int64_t age = world.rng().Between(1, 60) * kOneDay;
    const bool other = world.rng().Chance(1, 6);
    const bool beside = world.rng().Chance(1, 4);
    // A name that begins with the one that is looked for.
    const std::string key = BlobOfAge(Sha256Hex(content), age) + (beside ? "-copy" : "");
    world.bucket().Plant(key, Shared(other ? "cut of" : content), age);
    // And one that was written when this one was no longer young.
    const int64_t later = world.rng().Between(0, 40) * kOneDay;
    if (later >= age) return;
    world.bucket().Plant(BlobOfAge(Sha256Hex(content), later), Shared(content), later);
  };
  for (size_t i = 0; i < world.plan().jobs.size(); ++i) put("code of j" + std::to_string(i));
  put("stoker");
  put("stoker of the past");
  put("nobody's");
  // Old, and so are names beside it that begin alike, or like none of ours.
  const std::string digest = Sha256Hex("nobody's either");
  const std::string old = BlobOfAge(digest, 40 * kOneDay);
  world.bucket().Plant(old, Shared("old"), 40 * kOneDay);
  for (const char* rest : {"", "-7", "-x", "x00001", "--0001", "-00001x", "-123456"}) {
    world.bucket().Plant(paths::Blobs() + digest + rest, Shared("old"), 40 * kOneDay);
  }
  world.bucket().Plant(old + "-copy", Shared("old"), 40 * kOneDay);
  // Of the future: it hides nothing.
  world.bucket().Plant(BlobOfAge(Sha256Hex("stoker"), -99 * kOneDay), Shared("later"), kOneDay);
}

}  // namespace

void PlantPast(World& world) {
  if (world.plan().past == 0) return;
  BucketClient client(world.bucket(), world.scheduler(), world.rng(), "", nullptr);
  SimClock clock(world.scheduler());
  const uint64_t seed = world.rng().Next();
  (void)Ledger::Open(client, clock, seed, NewLedger::kProbe);
  for (int number = 0; number < world.plan().past; ++number) PastJob(world, number).Plant();
  PlantBlobs(world);
}

std::vector<std::string> PastWords() {
  return {"-",    "tune", "eval", "tuna",  "tun",       "past",       "pas", "aaaa",
          "aaa0", "p",    "zzz",  "a b/c", "../secret", "a \"quoted", ""};
}

}  // namespace stoker::sim
