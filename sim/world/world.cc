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
#include "sim/play/swarm.h"
#include "sim/world/past.h"

namespace stoker::sim {
namespace {

constexpr size_t kMostStory = 200'000;
constexpr int64_t kLongestLate = 60'000;  // more than BucketFaults::late_ms

}  // namespace

World::World(Plan plan) : World(std::move(plan), nullptr) {
  if (plan_.neighbour <= 0) return;
  neighbour_.reset(new World(NeighbourOf(plan_), this));
  if (plan_.most_events > 0)
    plan_.most_events += std::max<int64_t>(0, neighbour_->plan_.most_events);
}

World::World(Plan plan, World* landlord)
    : plan_(std::move(plan)),
      landlord_(landlord),
      rng_(plan_.seed),
      own_(landlord == nullptr ? std::make_unique<Shared>(rng_) : nullptr),
      shared_(landlord == nullptr ? *own_ : landlord->shared_),
      scheduler_(shared_.scheduler),
      bucket_(scheduler_, rng_),
      cloud_(shared_.cloud) {}

World::~World() {
  finished_ = true;
  neighbour_.reset();
  for (auto& actor : actors_) actor->Kill(0);
  actors_.clear();
  hosts_.clear();
  gangs_.clear();
}

std::string World::IdNextDoor(int plan_index) {
  if (landlord_ == nullptr || !Once("next door " + std::to_string(plan_index))) return "";
  for (const auto& [id, job] : landlord_->jobs_) {
    if (landlord_->PlanIndexOf(id) == plan_index && jobs_.count(id) == 0) return id;
  }
  return "";
}

World* World::Owner(int number) {
  if (number == 0) return this;
  return number == 1 ? neighbour_.get() : nullptr;
}

void World::Booted(CloudMachine& machine) {
  auto& host = hosts_[machine.id];
  if (!host) host = std::make_unique<Host>(*this, machine);
  Each([&](Observer& o) { o.OnBooted(machine); });
  host->Boot();
}

void World::Stopped(CloudMachine& machine) {
  const auto found = hosts_.find(machine.id);
  Tell(machine.id, "is stopped");
  Each([&](Observer& o) { o.OnMachineStopped(machine); });
  if (found != hosts_.end()) found->second->PowerOff();
}

void World::Ended(CloudMachine& machine) {
  Tell(machine.id, "ends: " + machine.why);
  Each([&](Observer& o) { o.OnMachineEnded(machine); });
  Emptied(machine);
}

void World::Emptied(CloudMachine& machine) {
  const auto found = hosts_.find(machine.id);
  if (found == hosts_.end()) return;
  scheduler_.In(1, [this, id = machine.id] { hosts_.erase(id); });
  found->second->PowerOff();
}

void World::Elsewhere(const CloudMachine& machine) {
  for (World* const world : {this, neighbour_.get()}) {
    if (world == nullptr || machine.owner == world->number()) continue;
    world->Each([&](Observer& o) { o.OnElsewhere(machine); });
  }
}

// What becomes of a machine concerns whose it is; what is asked for, who asks.
void World::ListenToCloud() {
  using Hears = void (World::*)(CloudMachine&);
  const auto told = [this](Hears hears) {
    return [this, hears](CloudMachine& machine) {
      if (World* const owner = Owner(machine.owner)) (owner->*hears)(machine);
      Elsewhere(machine);
    };
  };
  cloud_.booted = told(&World::Booted);
  cloud_.stopped = told(&World::Stopped);
  cloud_.ended = told(&World::Ended);
  cloud_.emptied = [this](CloudMachine& machine) {
    World* const owner = Owner(machine.owner);
    if (owner == nullptr) return;
    owner->Tell(machine.id, "is requeued");
    owner->Emptied(machine);
  };
  cloud_.noticed = [this](const CloudMachine& machine) {
    if (World* const owner = Owner(machine.owner)) {
      owner->Each([&](Observer& o) { o.OnNoticed(machine); });
    }
  };
  cloud_.requested = [this](const LaunchRequest& request, const std::string& process) {
    World& asks = *Owner(cloud_.asking());
    asks.Tell(process, "asks for " + WhatIsAsked(request) + " of " + request.job);
    asks.Each([&](Observer& o) { o.OnRequested(request, process); });
  };
  cloud_.terminating = [this](const CloudMachine& machine, const std::string& process) {
    World& asks = *Owner(cloud_.asking());
    asks.Tell(process, "ends " + machine.id);
    asks.Each([&](Observer& o) { o.OnTerminating(machine, process); });
  };
  cloud_.starting = [this](const CloudMachine& machine, const std::string& process) {
    World& asks = *Owner(cloud_.asking());
    asks.Tell(process, "has " + machine.id + " come up again");
    asks.Each([&](Observer& o) { o.OnStarting(machine, process); });
  };
}

void World::PrepareCloud() {
  cloud_.faults = plan_.cloud;
  cloud_.zones = plan_.zones;
  cloud_.quota = plan_.quota;
  cloud_.stale_ms = plan_.stale_ms;
  cloud_.token_memory_ms = plan_.token_memory_ms;
  cloud_.boot_low = plan_.boot_low;
  cloud_.boot_high = plan_.boot_high;
  cloud_.limit_needs_boot = plan_.limit_needs_boot;
  cloud_.lists_all = plan_.lists_all;
  cloud_.traits.name = "local";
  cloud_.traits.describe_is_immediate = plan_.describe_is_immediate;
  cloud_.traits.takes_gangs = plan_.takes_gangs;
  cloud_.traits.ends_one_alone = plan_.ends_one_alone;
  cloud_.traits.may_stop = true;
  cloud_.traits.tells_ender = true;
  cloud_.traits.can_start = plan_.can_start;
  cloud_.stops_taken = plan_.restarts;
  cloud_.traits.appear_within = Duration::Minutes(2);
  ListenToCloud();
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
  if (landlord_ == nullptr) PrepareCloud();
  PlantPast(*this);
  AddActors(*this);
  ScheduleFaults(*this);
  triggers_ = WatchTriggers(*this);
  if (triggers_) Watch(triggers_.get());
  scheduler_.At(plan_.calm, [this] { EndNoise(); });
  if (neighbour_) neighbour_->Prepare();
}

void World::EndNoise() {
  calm_ = true;
  bucket_.faults = {};
  if (landlord_ == nullptr) cloud_.faults = {};
  Tell("world", "is calm from now on");
  Each([](Observer& o) { o.OnCalm(); });
}

bool World::Done() const {
  if (busy_ > 0 || cloud_.RunningOf(number()) > 0 || cloud_.on_their_way() > 0) return false;
  if (neighbour_ && !neighbour_->Done()) return false;
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
  Finish();
}

void World::Finish() {
  if (neighbour_) neighbour_->Finish();
  const bool broken = (landlord_ == nullptr ? *this : *landlord_).breach_.has_value();
  if (!broken) Each([](Observer& o) { o.OnEnd(); });
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
  if (known.rev == 0) ++(landlord_ == nullptr ? *this : *landlord_).lives;
  const Job before = std::move(known);
  known = std::move(*decoded);
  if (landlord_ == nullptr ? tell : landlord_->tell) {
    Note(change.writer, "writes " + known.id + " rev " + std::to_string(known.rev) + ": " +
                            std::string(Name(known.state)));
  }
  Each([&](Observer& o) { o.OnRecord(before, known, change.writer); });
}

void World::Each(const std::function<void(Observer&)>& call) {
  if (finished_) return;
  for (Observer* observer : observers_) call(*observer);
}

void World::Employ(std::unique_ptr<Observer> observer) {
  Watch(observer.get());
  employed_.push_back(std::move(observer));
}

void World::Mix(std::string_view text) {
  if (landlord_ != nullptr) return landlord_->Mix(text);
  for (const char c : text) {
    hash_ ^= static_cast<unsigned char>(c);
    hash_ *= 1099511628211ULL;
  }
}

void World::Mix(uint64_t number) {
  if (landlord_ != nullptr) return landlord_->Mix(number);
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
  if (landlord_ != nullptr) return landlord_->Note("next door: " + who, what);
  if (!tell || story_.size() >= kMostStory) return;
  char time[32];
  std::snprintf(time, sizeof time, "%lld.%03lld", static_cast<long long>(now() / 1000),
                static_cast<long long>(now() % 1000));
  story_.push_back(std::string(time) + " " + who + " " + what);
  if (live) live(story_.back());
}

void World::Breach(const std::string& rule, const std::string& what, const std::string& job) {
  if (landlord_ != nullptr) return landlord_->Breach(rule, "next door: " + job + " " + what);
  if (breach_ || finished_) return;
  Tell("RULE", rule + ": " + what);
  breach_ = BreachFound{rule, what, job, now()};
}

}  // namespace stoker::sim
