// SPDX-License-Identifier: Apache-2.0
#include "sim/world/world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "job/encoding.h"
#include "ledger/paths.h"
#include "sim/faults/faults.h"
#include "sim/faults/triggers.h"
#include "sim/node/host.h"
#include "sim/people/actor.h"
#include "sim/world/past.h"

namespace stoker::sim {
namespace {

constexpr size_t kMostStory = 200'000;
constexpr int64_t kLongestLate = 60'000;  // more than BucketFaults::late_ms

}  // namespace

World::World(Plan plan)
    : plan_(std::move(plan)),
      rng_(plan_.seed),
      bucket_(scheduler_, rng_),
      cloud_(scheduler_, rng_) {}

World::~World() {
  finished_ = true;
  for (auto& actor : actors_) actor->Kill(0);
  actors_.clear();
  hosts_.clear();
  gangs_.clear();
}

void World::Prepare() {
  bucket_.faults = plan_.bucket;
  bucket_.latency_high = plan_.latency_high;
  bucket_.page = plan_.page;
  bucket_.traits.poll = plan_.poll;
  // In the proportions of the product's, and no more seldom than there.
  bucket_.traits.glance = std::min(bucket_.traits.glance, plan_.poll * 4);
  bucket_.traits.look = std::min(bucket_.traits.look, plan_.poll * 15);
  bucket_.traits.flush = plan_.flush;
  bucket_.traits.report = plan_.report;
  bucket_.changed = [this](const BucketChange& change) { Changed(change); };
  cloud_.faults = plan_.cloud;
  cloud_.zones = plan_.zones;
  cloud_.quota = plan_.quota;
  cloud_.stale_ms = plan_.stale_ms;
  cloud_.token_memory_ms = plan_.token_memory_ms;
  cloud_.boot_low = plan_.boot_low;
  cloud_.boot_high = plan_.boot_high;
  cloud_.traits.name = "local";
  cloud_.traits.describe_is_immediate = plan_.describe_is_immediate;
  cloud_.traits.takes_gangs = plan_.takes_gangs;
  cloud_.traits.ends_one_alone = plan_.ends_one_alone;
  cloud_.traits.can_start = plan_.can_start;
  cloud_.traits.appear_within = Duration::Minutes(2);
  cloud_.booted = [this](CloudMachine& machine) {
    auto& host = hosts_[machine.id];
    if (!host) host = std::make_unique<Host>(*this, machine);
    Each([&](Observer& o) { o.OnBooted(machine); });
    host->Boot();
  };
  cloud_.stopped = [this](CloudMachine& machine) {
    const auto found = hosts_.find(machine.id);
    Tell(machine.id, "is stopped");
    if (found != hosts_.end()) found->second->PowerOff();
  };
  cloud_.ended = [this](CloudMachine& machine) {
    Tell(machine.id, "ends: " + machine.why);
    Each([&](Observer& o) { o.OnMachineEnded(machine); });
    const auto found = hosts_.find(machine.id);
    if (found == hosts_.end()) return;
    scheduler_.In(1, [this, id = machine.id] { hosts_.erase(id); });
    found->second->PowerOff();
  };
  cloud_.requested = [this](const LaunchRequest& request, const std::string& process) {
    Tell(process, "asks for " + WhatIsAsked(request) + " of " + request.job);
    Each([&](Observer& o) { o.OnRequested(request, process); });
  };
  cloud_.terminating = [this](const CloudMachine& machine, const std::string& process) {
    Tell(process, "ends " + machine.id);
    Each([&](Observer& o) { o.OnTerminating(machine, process); });
  };
  cloud_.starting = [this](const CloudMachine& machine, const std::string& process) {
    Tell(process, "has " + machine.id + " come up again");
    Each([&](Observer& o) { o.OnStarting(machine, process); });
  };
  PlantPast(*this);
  AddActors(*this);
  ScheduleFaults(*this);
  triggers_ = WatchTriggers(*this);
  if (triggers_) Watch(triggers_.get());
  scheduler_.At(plan_.calm, [this] { EndNoise(); });
}

void World::EndNoise() {
  calm_ = true;
  bucket_.faults = {};
  cloud_.faults = {};
  Tell("world", "is calm from now on");
  Each([](Observer& o) { o.OnCalm(); });
}

bool World::Done() const {
  if (busy_ > 0 || cloud_.Running() > 0) return false;
  // All who would submit a job are gone; what they had sent may still arrive.
  if (jobs_.empty() && now() < plan_.calm + kLongestLate) return false;
  const auto active = bucket_.objects().lower_bound("active/");
  return active == bucket_.objects().end() || !StartsWith(active->first, "active/");
}

void World::Run() {
  Prepare();
  while (!breach_ && scheduler_.now() < plan_.limit && !Done()) {
    if (!scheduler_.RunOne()) break;
    if (scheduler_.events() == plan_.most_events) {
      Breach("everything-ends",
             "there is no end after " + std::to_string(plan_.most_events) + " events");
    }
  }
  Mix(static_cast<uint64_t>(scheduler_.now()));
  Mix(static_cast<uint64_t>(scheduler_.events()));
  if (!breach_) Each([](Observer& o) { o.OnEnd(); });
  finished_ = true;
}

const JobPlan* World::PlanOf(const std::string& job) const {
  return &plan_.jobs[static_cast<size_t>(PlanIndexOf(job))];
}

int World::PlanIndexOf(const std::string& job) const {
  return std::atoi(jobs_.at(job).name.c_str() + 1);
}

Gang& World::GangOf(const std::string& job, int attempt) {
  auto& gang = gangs_[{job, attempt}];
  if (!gang) gang = std::make_unique<Gang>(scheduler_);
  return *gang;
}

void World::Changed(const BucketChange& change) {
  Mix(change.key);
  Mix(change.after ? std::string_view(*change.after) : std::string_view());
  Each([&](Observer& o) { o.OnChange(change); });
  if (!StartsWith(change.key, paths::Records()) || !change.after) return;
  if (change.writer.empty()) return;  // by hand: damage, what was there before it, or the past
  auto decoded = DecodeJob(change.key, *change.after);
  if (!decoded.ok()) return;
  Job& known = jobs_[decoded->id];
  if (known.rev == 0) ++lives;
  const Job before = std::move(known);
  known = std::move(*decoded);
  if (tell) {
    Note(change.writer, "writes " + known.id + " rev " + std::to_string(known.rev) + ": " +
                            std::string(Name(known.state)));
  }
  Each([&](Observer& o) { o.OnRecord(before, known, change.writer); });
}

void World::Each(const std::function<void(Observer&)>& call) {
  if (finished_) return;
  for (Observer* observer : observers_) call(*observer);
}

void World::Mix(std::string_view text) {
  for (const char c : text) {
    hash_ ^= static_cast<unsigned char>(c);
    hash_ *= 1099511628211ULL;
  }
}

void World::Mix(uint64_t number) {
  for (int i = 0; i < 8; ++i) {
    hash_ ^= (number >> (8 * i)) & 0xff;
    hash_ *= 1099511628211ULL;
  }
}

void World::Tell(const std::string& who, const std::string& what) {
  if (finished_) return;
  Mix(static_cast<uint64_t>(scheduler_.now()));
  Mix(who);
  Mix(what);
  Each([&](Observer& o) { o.OnTold(who, what); });
  Note(who, what);
}

void World::Note(const std::string& who, const std::string& what) {
  if (!tell || story_.size() >= kMostStory) return;
  char time[32];
  std::snprintf(time, sizeof time, "%lld.%03lld", static_cast<long long>(now() / 1000),
                static_cast<long long>(now() % 1000));
  story_.push_back(std::string(time) + " " + who + " " + what);
  if (live) live(story_.back());
}

void World::Breach(const std::string& rule, const std::string& what, const std::string& job) {
  if (breach_ || finished_) return;
  Tell("RULE", rule + ": " + what);
  breach_ = BreachFound{rule, what, job, now()};
}

}  // namespace stoker::sim
