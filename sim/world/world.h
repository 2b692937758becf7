// SPDX-License-Identifier: Apache-2.0
// A cloud in a box: one bucket, one provider with its machines, users and their processes, and what
// goes wrong between them. One thread, one seed, one order of events. There may be a second ledger
// in the same account: a world of its own, with its own bucket and people, that shares the cloud.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/prng.h"
#include "job/job.h"
#include "sim/bucket/bucket.h"
#include "sim/cloud/cloud.h"
#include "sim/node/gang.h"
#include "sim/time/scheduler.h"
#include "sim/world/observer.h"
#include "sim/world/plan.h"

namespace stoker::sim {

class Host;
class Actor;

// A rule that did not hold: the first one ends the world.
struct BreachFound {
  std::string rule;  // its name in docs/guarantees.md
  std::string what;
  std::string job;  // "" = none in particular
  int64_t at = 0;
};

class World {
 public:
  explicit World(Plan plan);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Observers are called in the order in which they were added; they outlive the world.
  void Watch(Observer* observer) { observers_.push_back(observer); }
  // Until everything is done, a rule is broken, or the limit is reached.
  void Run();
  const std::optional<BreachFound>& breach() const { return breach_; }
  // The same on every machine and compiler for the same seed and plan.
  uint64_t hash() const { return hash_; }
  // Lines "<seconds> <who> <what>" for people; empty unless `tell` was set before Run. Whether it
  // was changes nothing else.
  const std::vector<std::string>& story() const { return story_; }
  bool tell = false;
  std::function<void(const std::string&)> live;  // gets every line of the story at once

  // ---- for the world's parts, and for observers to look at ----
  const Plan& plan() const { return plan_; }
  Scheduler& scheduler() { return scheduler_; }
  Prng& rng() { return rng_; }
  Bucket& bucket() { return bucket_; }
  Cloud& cloud() { return cloud_; }
  const Cloud& cloud() const { return cloud_; }
  // Of its ledger in the account: 0, or 1 of the neighbour.
  int number() const { return landlord_ == nullptr ? 0 : 1; }
  World* neighbour() { return neighbour_.get(); }
  // Ids of jobs are drawn, so that two ledgers may have the same one: that of the landlord's job
  // out of this line of the plan; once. "" = there is none, or it is taken already.
  std::string IdNextDoor(int plan_index);
  std::map<std::string, std::unique_ptr<Host>>& hosts() { return hosts_; }
  std::vector<std::unique_ptr<Actor>>& actors() { return actors_; }
  // By id: every job whose record was ever written, as it stands.
  const std::map<std::string, Job>& jobs() const { return jobs_; }
  // The plan that a job was submitted from (its name says which). The job must be in jobs().
  const JobPlan* PlanOf(const std::string& job) const;
  int PlanIndexOf(const std::string& job) const;
  Gang& GangOf(const std::string& job, int attempt);
  // Facts about a plan's program over all its attempts ("crashed once", "poisoned step 5").
  bool Once(const std::string& fact) { return once_.insert(fact).second; }
  bool Happened(const std::string& fact) const { return once_.count(fact) > 0; }
  int64_t now() const { return scheduler_.now(); }
  bool calm() const { return calm_; }
  // Actors and users that still have something to do keep the world going.
  void Busy(int change) { busy_ += change; }
  bool finished() const { return finished_; }

  // Of each kind of fault: how often it found something to strike, also next door.
  std::map<std::string, int64_t>& strikes() { return shared_.strikes; }
  const std::map<std::string, int64_t>& strikes() const { return shared_.strikes; }
  // By zone ("" = all): until when a fault lets nothing be had there.
  std::map<std::string, int64_t>& nothing_until() { return shared_.nothing_until; }

  void Tell(const std::string& who, const std::string& what);
  // Into the hash only.
  void Mix(std::string_view text);
  void Mix(uint64_t number);
  void Breach(const std::string& rule, const std::string& what, const std::string& job = "");
  void Each(const std::function<void(Observer&)>& call);
  // Watches, and lives as long as the world.
  void Employ(std::unique_ptr<Observer> observer);

  int64_t lives = 0;  // jobs that were created
  // Until when no machine's disk is copied from, and each one's is full; true time.
  int64_t no_copies_until = 0;
  int64_t full_disks_until = 0;

 private:
  World(Plan plan, World* landlord);
  void Prepare();
  void PrepareCloud();
  void ListenToCloud();
  // The world of that ledger's number; null: nobody's of ours.
  World* Owner(int number);
  void Booted(CloudMachine& machine);
  void Stopped(CloudMachine& machine);
  void Ended(CloudMachine& machine);
  void Emptied(CloudMachine& machine);
  void Elsewhere(const CloudMachine& machine);
  void Note(const std::string& who, const std::string& what);
  void Changed(const BucketChange& change);
  void EndNoise();
  bool Done() const;
  void Finish();

  // What a landlord has and a neighbour uses.
  struct Shared {
    explicit Shared(Prng& rng) : cloud(scheduler, rng) {}
    Scheduler scheduler;
    Cloud cloud;
    std::map<std::string, int64_t> strikes;
    std::map<std::string, int64_t> nothing_until;
  };

  Plan plan_;
  World* const landlord_;
  Prng rng_;
  const std::unique_ptr<Shared> own_;
  Shared& shared_;
  Scheduler& scheduler_;
  Bucket bucket_;
  Cloud& cloud_;
  std::map<std::string, Job> jobs_;
  std::map<std::pair<std::string, int>, std::unique_ptr<Gang>> gangs_;
  std::set<std::string> once_;
  std::vector<Observer*> observers_;
  std::unique_ptr<Observer> triggers_;
  std::vector<std::unique_ptr<Observer>> employed_;
  std::optional<BreachFound> breach_;
  uint64_t hash_ = 14695981039346656037ULL;
  std::vector<std::string> story_;
  bool calm_ = false;
  bool finished_ = false;
  int busy_ = 0;
  std::map<std::string, std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::unique_ptr<World> neighbour_;
};

}  // namespace stoker::sim
