// SPDX-License-Identifier: Apache-2.0
// A user of the rarer verbs: `ls --all`, `gc`, `doctor`, `show` and `get` of old jobs, and words
// that mean no job. ls-complete: whatever else goes on, a list shows every job, as new as it was
// when the list was asked for.
#include <algorithm>
#include <map>

#include "base/digest.h"
#include "base/text.h"
#include "ledger/blobs.h"
#include "ledger/collect/collect.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/probe.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "ledger/resolve.h"
#include "sim/check/checks.h"
#include "sim/people/actor.h"
#include "sim/world/past.h"

namespace stoker::sim {
namespace {

constexpr const char* kUsers[] = {"ada", "bob", "eve"};

// Jobs of the world whose record can be read, with the line that it makes.
std::map<std::string, Summary> Readable(World& world) {
  std::map<std::string, Summary> jobs;
  for (const auto& [id, job] : world.jobs()) {
    const bool damaged = world.Happened("damaged " + id) || world.Happened("hidden " + id);
    const auto indexed = DecodeSummary(EncodeSummary(SummaryOf(job)));
    if (!damaged && indexed) jobs[id] = *indexed;
  }
  return jobs;
}

// The record of an ended job is written also to remember which machines were not seen any more,
// while another may have put its line into the index already: that says nothing else.
bool SaysNoMore(Summary newer, const Summary& shown) {
  newer.rev = shown.rev;
  return newer == shown;
}

void List(Session& session) {
  if (session.world.rng().Chance(1, 4)) session.cache.Damage();
  const auto before = Readable(session.world);
  const auto list = ListJobs(*session.ledger);
  if (!list.ok()) return;
  for (const auto& [id, known] : before) {
    const bool damaged =
        session.world.Happened("damaged " + id) || session.world.Happened("hidden " + id);
    const auto found = std::find_if(list->jobs.begin(), list->jobs.end(),
                                    [&id = id](const Summary& line) { return line.id == id; });
    if (damaged) continue;
    // What it was not let read, it says.
    const bool refused = session.world.plan().bucket.denied > 0 && !list->warnings.empty();
    if (found == list->jobs.end() && !refused) {
      session.world.Breach("ls-complete", "a list leaves it out", id);
    } else if (found != list->jobs.end() && found->rev < known.rev && !SaysNoMore(known, *found)) {
      session.world.Breach("ls-complete",
                           "a list shows revision " + std::to_string(found->rev) + " after " +
                               std::to_string(known.rev),
                           id);
    }
  }
}

std::string DrawWord(World& world) {
  const uint64_t kind = world.rng().Below(4);
  if (kind == 0) return "j" + std::to_string(world.rng().Below(world.plan().jobs.size()));
  if (kind == 1) {
    const auto words = PastWords();
    return words[world.rng().Below(words.size())];
  }
  // The beginning of an id that is there.
  std::vector<std::string> ids;
  const auto& objects = world.bucket().objects();
  for (auto at = objects.lower_bound(paths::Records()); at != objects.end(); ++at) {
    if (!StartsWith(at->first, paths::Records())) break;
    ids.push_back(at->first.substr(paths::Records().size()));
  }
  if (ids.empty()) return "none";
  const uint64_t which = world.rng().Below(ids.size());
  const uint64_t length = kind == 2 ? 8 : world.rng().Between(1, 7);
  return ids[which].substr(0, length);
}

// A service that takes every write, or that refuses those on one kind of condition.
class Careless : public BucketClient {
 public:
  explicit Careless(Session& session)
      : BucketClient(session.world.bucket(), session.world.scheduler(), session.world.rng(),
                     session.process.name(), nullptr) {
    Prng& rng = session.world.rng();
    ignored_ = rng.Chance(1, 2) ? Condition::Kind::kAbsent : Condition::Kind::kMatch;
    refuses_ = rng.Chance(1, 2);
  }
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition) override {
    if (condition.kind != ignored_) return BucketClient::Put(key, data, condition);
    if (refuses_) return Status(Code::kInvalid, "sim: 501 Not Implemented");
    return BucketClient::Put(key, data);
  }

 private:
  Condition::Kind ignored_;
  bool refuses_;
};

void Probe(Session& session) {
  const auto fresh = [&session] { return "probe/" + session.ledger->Nonce(); };
  (void)ProbeConditions(session.ledger->store(), fresh());
  // A store that refuses every write, as one that is not there does: this key is refused as such.
  (void)ProbeConditions(session.ledger->store(), "probe/../x");
  Careless careless(session);
  (void)ProbeConditions(careless, fresh());
}

void Collect(Session& session) {
  Prng& rng = session.world.rng();
  CollectRequest request;
  const uint64_t age = rng.Below(3);
  // Never so young that a job of this world could go.
  if (age == 1) request.jobs_older_than = Duration::Hours(24 * 20);
  if (age == 2) request.jobs_older_than = Duration::Hours(24 * 100);
  request.dry_run = rng.Chance(1, 3);
  // Somebody looks at an old job before, and once more after it is gone.
  ReportReader reader(*session.ledger);
  const std::string id = DrawWord(session.world);
  std::string trouble;
  (void)reader.Read(id, &trouble);
  const bool told = rng.Chance(1, 2);
  if (told) request.progress = [](const std::string&) {};
  (void)CollectGarbage(*session.ledger, request);
  Probe(session);
  (void)reader.Read(id, &trouble);
}

void Resolve(Session& session) {
  const std::string word = DrawWord(session.world);
  const uint64_t user = session.world.rng().Below(3);
  const auto found = ResolveJob(*session.ledger, word, {"", kUsers[user], ""});
  if (!found.ok() || word == "-" || StartsWith(found->id, word)) return;
  const auto read = ReadJob(*session.ledger, found->id);
  if (read.ok() && read->job.name != word) {
    session.world.Breach("ls-complete", "'" + word + "' was taken for " + found->id, found->id);
  }
}

// `stoker show` and `stoker get` of whatever the word means, also when that is nothing.
void Show(Session& session) {
  const std::string word = DrawWord(session.world);
  const uint64_t user = session.world.rng().Below(3);
  const auto found = ResolveJob(*session.ledger, word, {"", kUsers[user], ""});
  const std::string id = found.ok() ? found->id : word;
  (void)session.controller->Pass(id);
  (void)ReadReport(*session.ledger, id, 1, 0);
  const auto read = ReadJob(*session.ledger, id);
  if (read.ok()) (void)ReadSpec(*session.ledger, read->job);
  if (!read.ok()) {
    (void)RemoveActive(*session.ledger, word + "/");
    const std::string digest = word + std::string(64 - std::min<size_t>(word.size(), 64), 'z');
    (void)FetchBlob(*session.ledger, word, [](std::string_view) { return Status::Ok(); });
    (void)FetchBlob(*session.ledger, digest, [](std::string_view) { return Status::Ok(); });
    (void)FetchBlob(*session.ledger, Sha256Hex("never put"),
                    [](std::string_view) { return Status::Ok(); });
    (void)PutBlobText(*session.ledger, word, "content");
    Job job;
    job.id = word + "/";
    (void)CreateJob(*session.ledger, job, "run: x\n");
    return;
  }
  // What may not be done to a job that has ended is refused, with its record as it was.
  (void)MutateJob(*session.ledger, id, [](Job& job) -> Result<bool> {
    if (IsFinal(job.state)) return Status(Code::kInvalid, "it has ended");
    return false;
  });
  const bool full = session.world.rng().Chance(1, 3);  // the user's disk
  (void)FetchBlob(*session.ledger, read->job.code_digest, [&](std::string_view) {
    return full ? Status(Code::kNoSpace, "no space left") : Status::Ok();
  });
}

}  // namespace

void KeepHouse(Session& session) {
  const uint64_t verb = session.world.rng().Below(8);
  switch (verb) {
    case 0:
      return Collect(session);
    case 1:
      (void)RebuildIndex(*session.ledger);
      return;
    case 2:
      (void)MergeIndex(*session.ledger, 2);
      return;
    case 3:
      (void)ReadIndex(*session.ledger);
      return;
    case 4:
      return Show(session);
    case 5:
      return Resolve(session);
    default:
      return List(session);
  }
}

}  // namespace stoker::sim
