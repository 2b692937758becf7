// SPDX-License-Identifier: Apache-2.0
// What somebody with a console, a failing disk or another version of stoker leaves in the ledger.
// Records, specs and the like come back after a while, as from the versions that a bucket keeps:
// from then on everything must be as if nothing had been. What is a cache, a copy or has a checksum
// stays as it is.
//
// Facts that checkers may ask for (World::Happened): "damaged <job>", "damaged ledger" (every job),
// "damaged log of <job>", "strange log of <job>" (lines that nobody wrote stand before those that
// somebody did), "hidden <job>" (its line in the index).
#include <algorithm>
#include <functional>

#include "base/text.h"
#include "job/encoding.h"
#include "ledger/log/log_codec.h"
#include "ledger/log/log_segments.h"
#include "ledger/paths.h"
#include "sim/faults/damage.h"
#include "sim/faults/faults.h"
#include "sim/node/host.h"
#include "spec/parse.h"

namespace stoker::sim {
namespace {

using Text = std::shared_ptr<const std::string>;

void Write(World& world, const std::string& key, std::string text) {
  world.Tell("fault", "damages " + key);
  world.bucket().Plant(key, std::make_shared<const std::string>(std::move(text)));
}

// Puts what was there back after `ms`, unless somebody has written there since. Once a key: damage
// on damage would restore damage.
void WriteForAWhile(World& world, const std::string& key, std::string text, int64_t ms) {
  if (!world.Once("spoilt " + key)) return;
  const Text before = world.bucket().Find(key)->data;
  Write(world, key, std::move(text));
  const Text damage = world.bucket().Find(key)->data;
  world.scheduler().In(ms, [&world, key, before, damage] {
    const auto* now = world.bucket().Find(key);
    if (now == nullptr || now->data != damage) return;
    world.Tell("fault", "restores " + key);
    world.bucket().Plant(key, before);
  });
}

// A job of the world that still has its record; "" when there is none.
std::string PickJob(World& world) {
  std::vector<std::string> there;
  for (const auto& [id, job] : world.jobs()) {
    if (world.bucket().Find(paths::Record(id)) != nullptr) there.push_back(id);
  }
  if (there.empty()) return "";
  const uint64_t index = world.rng().Below(there.size());
  return there[index];
}

// One of the objects below `prefix` that `wanted` takes; "" when there is none.
std::string PickKey(World& world, const std::string& prefix,
                    const std::function<bool(const std::string&)>& wanted = nullptr) {
  std::vector<std::string> keys;
  const auto& objects = world.bucket().objects();
  for (auto at = objects.lower_bound(prefix); at != objects.end(); ++at) {
    if (!StartsWith(at->first, prefix)) break;
    if (!wanted || wanted(at->first)) keys.push_back(at->first);
  }
  if (keys.empty()) return "";
  const uint64_t index = world.rng().Below(keys.size());
  return keys[index];
}

// Nothing tells a record with other contents from a true one: what would pass for one is replaced.
std::string Unreadable(World& world, const std::string& key,
                       const std::function<bool(const std::string&)>& passes) {
  std::string spoilt = Spoil(world.rng(), *world.bucket().Find(key)->data);
  return passes(spoilt) ? "{\"format\": \"garbage" : spoilt;
}

void DamageRecord(World& world, const FaultPlan& fault) {
  const std::string job = PickJob(world);
  if (job.empty()) return;
  const std::string key = paths::Record(job);
  world.Once("damaged " + job);
  WriteForAWhile(world, key,
                 Unreadable(world, key,
                            [&](const std::string& text) {
                              const auto read = DecodeJob(key, text);
                              return read.ok() && read->id == job;
                            }),
                 fault.amount);
}

void DamageSpec(World& world, const FaultPlan& fault) {
  const std::string job = PickJob(world);
  if (job.empty()) return;
  const std::string key = paths::Spec(job);
  if (world.bucket().Find(key) == nullptr) return;
  world.Once("damaged " + job);
  WriteForAWhile(
      world, key,
      Unreadable(world, key, [](const std::string& text) { return ParseStoredSpec(text).ok(); }),
      fault.amount);
}

// Its node writes it anew if it is still at work; one that has ended does not.
void DamageReport(World& world, const FaultPlan& fault) {
  const std::string job = PickJob(world);
  const std::string key = job.empty() ? "" : PickKey(world, paths::Reports(job));
  if (key.empty()) return;
  world.Once("damaged " + job);
  WriteForAWhile(
      world, key,
      Unreadable(world, key, [&](const std::string& text) { return DecodeReport(key, text).ok(); }),
      fault.amount);
}

// A claim that is gone could be taken by another machine: nothing but its holder protects it. So it
// is made unreadable, never removed.
void DamageClaim(World& world, const FaultPlan& fault) {
  const std::string job = PickJob(world);
  const std::string key = job.empty() ? "" : PickKey(world, paths::Job(job) + "claims/");
  if (key.empty()) return;
  static constexpr const char* kForms[] = {
      "",
      "garbage",
      "[]",
      "{}",
      "{\"instance_id\":7,\"incarnation\":\"x\"}",
      "{\"instance_id\":\"x\"}",
      "{\"instance_id\":\"x\",\"incarnation\":\"y\"}",
      "{\"instance_id\":\"x\",\"incarnation\":\"y\",\"launch\":\"z\"}"};
  const uint64_t form = world.rng().Below(8);
  world.Once("damaged " + job);
  WriteForAWhile(world, key, kForms[form], fault.amount);
  // Whoever holds it looks at it only when it is started again.
  const bool restart = world.rng().Chance(3, 4);
  if (!restart) return;
  for (const auto& [id, host] : world.hosts()) {
    if (host->up() && host->request.job == job) host->KillAgent(200);
  }
}

// A report that somebody has copied to another name, and changed so that it shows. It speaks of no
// launch that there is.
void StrangeReport(World& world, const FaultPlan&) {
  const std::string job = PickJob(world);
  const std::string key = job.empty() ? "" : PickKey(world, paths::Reports(job));
  if (key.empty()) return;
  auto report = DecodeReport(key, *world.bucket().Find(key)->data);
  if (!report.ok()) return;
  report->launch = 99;
  const bool other = world.rng().Chance(1, 2);
  if (other) report->rank = 9;
  const std::string name =
      other ? paths::Report(job, report->attempt, 9) : paths::Reports(job) + "copy.json";
  Write(world, name, EncodeReport(*report));
}

void DamageLedger(World& world, const FaultPlan& fault) {
  if (world.bucket().Find(paths::LedgerId()) == nullptr) return;
  static constexpr const char* kForms[] = {"",
                                           "garbage",
                                           "[]",
                                           "{\"format\":99,\"id\":\"later\"}",
                                           "{\"format\":1}",
                                           "{\"format\":1,\"id\":\"../x\"}",
                                           "{\"id\":\"l0\"}"};
  const uint64_t form = world.rng().Below(7);
  world.Once("damaged ledger");
  WriteForAWhile(world, paths::LedgerId(), kForms[form], fault.amount);
}

void DamageBlob(World& world, const FaultPlan& fault) {
  const std::string key = PickKey(world, paths::Blobs());
  if (key.empty()) return;
  world.Once("damaged ledger");
  WriteForAWhile(world, key, Spoil(world.rng(), *world.bucket().Find(key)->data), fault.amount);
}

// The jobs of which this segment of the index speaks may be missing from lists from now on.
void Hide(World& world, const std::string& segment) {
  for (const auto& [id, job] : world.jobs()) {
    if (segment.find(id) != std::string::npos) world.Once("hidden " + id);
  }
}

void DamageIndex(World& world, const FaultPlan&) {
  const std::string key = PickKey(world, paths::Index());
  if (key.empty()) return;
  const std::string text = *world.bucket().Find(key)->data;
  Hide(world, text);
  Write(world, key, Spoil(world.rng(), text));
  // Beside the true ones, so that nothing is lost.
  const int64_t more = world.rng().Between(0, 4);
  for (int64_t i = 0; i < more; ++i) {
    const std::string name = world.rng().Base32(16);
    Write(world, paths::IndexSegment(name), HostileSegment(world.rng(), text));
  }
}

// All of it: a rule for old objects that somebody has set for the bucket.
void DropIndex(World& world, const FaultPlan&) {
  std::string key = PickKey(world, paths::Index());
  while (!key.empty()) {
    Hide(world, *world.bucket().Find(key)->data);
    world.bucket().Plant(key, nullptr);
    key = PickKey(world, paths::Index());
  }
}

bool IsLog(const std::string& key) { return EndsWith(key, ".zst"); }

void DamageLog(World& world, const FaultPlan&) {
  const std::string job = PickJob(world);
  const std::string key = job.empty() ? "" : PickKey(world, paths::Logs(job), IsLog);
  if (key.empty()) return;
  world.Once("damaged log of " + job);
  Write(world, key, Spoil(world.rng(), *world.bucket().Find(key)->data));
}

// A segment as no stoker writes one: too large, too many lines, lines that are none.
std::string OddSegment(World& world) {
  const uint64_t form = world.rng().Below(14);
  LogCompressor packer;
  const std::string header = "1763739845123 o ";
  const std::string longest(static_cast<size_t>(kMaxRecordText), 'y');
  if (form == 0) {
    for (int i = 0; i < 1025; ++i) (void)packer.Add(header + longest + "\n");
  } else if (form == 1) {
    return std::string(static_cast<size_t>(kMaxSegmentObject) + 1, 'x');
  } else if (form == 2) {
    (void)packer.Add(header + longest + header + header + header + header + "\n");
  } else if (form == 3) {
    (void)packer.Add(header + longest + longest);  // no end of the line
  } else if (form == 4) {
    for (int i = 0; i < 4'000; ++i) (void)packer.Add(header + "more than its name says\n");
  } else if (form == 5) {
    (void)packer.Add(header + "one line\n" + header + "and half of one");
  } else {
    static constexpr const char* kLines[] = {"",          "x",      "17 ",
                                             "17 z text", "17o xx", "17 o-x",
                                             "-1 o x",    "17 ox",  "99999999999999999999 o text"};
    const uint64_t which = world.rng().Below(std::size(kLines));
    (void)packer.Add(std::string(kLines[which]) + "\n");
  }
  return packer.Finish().value();
}

// Beside what is there, and reaching farther than that: whoever reads tries it first.
void StrangeLog(World& world, const FaultPlan&) {
  const std::string job = PickJob(world);
  const std::string key = job.empty() ? "" : PickKey(world, paths::Logs(job), IsLog);
  const auto segment = key.empty() ? std::nullopt : ParseSegmentKey(job, key);
  if (!segment) return;
  world.Once("strange log of " + job);
  const int64_t lines = world.rng().Between(1, 3'000);
  const bool inside = world.rng().Chance(1, 3);
  const int64_t first = segment->first + (inside ? segment->lines / 2 : 0);
  const std::string name = SegmentKey(job, segment->attempt, segment->rank, first, lines);
  if (world.bucket().Find(name) != nullptr) return;
  Write(world, name, OddSegment(world));
}

// The records of a segment, as lines.
std::vector<std::string> RecordsOf(const Bucket& bucket, const LogSegment& segment) {
  std::vector<std::string> records;
  SegmentDecoder decoder(*bucket.Find(segment.key)->data, segment.lines);
  for (;;) {
    const auto record = decoder.Next();
    if (!record.ok()) return {};
    if (!*record) return records;
    records.emplace_back(decoder.raw());
  }
}

// A part of a segment once more, as a merge that died halfway or a copy leaves it. Every line of it
// is true, and must be shown once.
void DoubleLog(World& world, const FaultPlan&) {
  const std::string job = PickJob(world);
  const std::string key = job.empty() ? "" : PickKey(world, paths::Logs(job), IsLog);
  const auto segment = key.empty() ? std::nullopt : ParseSegmentKey(job, key);
  if (!segment) return;
  const std::vector<std::string> records = RecordsOf(world.bucket(), *segment);
  if (records.empty()) return;
  const uint64_t from = world.rng().Below(records.size());
  const uint64_t count = world.rng().Below(records.size() - from) + 1;
  const std::string name =
      SegmentKey(job, segment->attempt, segment->rank, segment->first + static_cast<int64_t>(from),
                 static_cast<int64_t>(count));
  if (world.bucket().Find(name) != nullptr) return;
  LogCompressor packer;
  for (size_t i = from; i < from + count; ++i) (void)packer.Add(records[i]);
  auto packed = packer.Finish();
  if (!packed.ok()) return;
  world.Tell("fault", "doubles " + name);
  world.bucket().Plant(name, std::make_shared<const std::string>(std::move(*packed)));
}

// Names that nothing of stoker gives, everywhere; and markers of jobs that are not there.
void Stray(World& world, const FaultPlan& fault) {
  const std::string job = PickJob(world);
  const std::string of = job.empty() ? "nobody00" : job;
  const std::string log = paths::Logs(of);
  const std::vector<std::string> keys = {
      "records/README.txt",
      "records/a b.json",
      "records/.json",
      paths::Reports(of) + "copy.json",
      paths::Reports(of) + "1-0.json.bak",
      log + "x-0/000000000001-1.zst",
      log + "0-0/000000000001-1.zst",
      log + "1.0/000000000001-1.zst",
      log + "1-x/000000000001-1.zst",
      log + "1-0.txt",
      log + "1-0/x.zst",
      log + "1-0/000000000000-1.zst",
      log + "1-0/000000000001.zst",
      log + "1-0/000000000001-x.zst",
      log + "1-0/000000000001-1.gz",
      log + "1-0/1-1.zst",
      log + "1-0/99999999999999999999-1.zst",
      log + "1-0/000000000001-9999999999999.zst",
      paths::Checkpoints(of) + "notes.txt",
      paths::Blobs() + "note.txt",
      "blobs/" + std::string(64, 'f') + "x",
      "index/notes.txt",
  };
  const int64_t count = world.rng().Between(1, 6);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t index = world.rng().Below(keys.size());
    Write(world, keys[index], "put here by hand\n");
  }
  // A marker of no job goes by itself after an hour; one that no job can have, by hand again.
  const bool orphan = world.rng().Chance(1, 2);
  const std::string marker = orphan ? "active/gone0000" : "active/no job";
  Write(world, marker, "");
  if (orphan) return;
  world.scheduler().In(fault.amount, [&world, marker] { world.bucket().Plant(marker, nullptr); });
}

}  // namespace

const std::vector<FaultKind>& DamageKinds() {
  static const std::vector<FaultKind> kinds = {
      {"damage-blob", "ms until it is restored", 1'000, 60'000, DamageBlob},
      {"damage-claim", "ms until it is restored", 1'000, 120'000, DamageClaim},
      {"damage-index", "", 0, 0, DamageIndex},
      {"damage-ledger", "ms until it is restored", 1'000, 60'000, DamageLedger},
      {"damage-log", "", 0, 0, DamageLog},
      {"damage-record", "ms until it is restored", 1'000, 120'000, DamageRecord},
      {"damage-report", "ms until it is restored", 1'000, 120'000, DamageReport},
      {"damage-spec", "ms until it is restored", 1'000, 60'000, DamageSpec},
      {"double-log", "", 0, 0, DoubleLog},
      {"drop-index", "", 0, 0, DropIndex},
      {"strange-log", "", 0, 0, StrangeLog},
      {"strange-report", "", 0, 0, StrangeReport},
      {"stray", "ms until its marker is removed", 1'000, 60'000, Stray},
  };
  return kinds;
}

}  // namespace stoker::sim
