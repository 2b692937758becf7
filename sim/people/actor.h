// SPDX-License-Identifier: Apache-2.0
// Users and their processes: submitters, attached command lines, other verbs, daemons and timers.
// Each runs the shipped controller on a machine of its own (a laptop), and can be killed, paused or
// cut off at any moment.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/controller.h"
#include "ledger/ledger.h"
#include "sim/bucket/bucket.h"
#include "sim/cloud/cloud.h"
#include "sim/people/cache.h"
#include "sim/time/clock.h"
#include "sim/time/scheduler.h"
#include "sim/world/world.h"

namespace stoker::sim {

class Actor;

// One process of the command line.
class Session {
 public:
  Session(Actor& actor, std::string name);
  // Opens the ledger, however long the store is away.
  void Open();
  void Sleep(int64_t ms);

  World& world;
  Process process;
  BucketClient store;
  CloudClients clouds;
  Clock& clock;
  SimCache& cache;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<Controller> controller;
};

// One after the other, the sessions that a user or a machine starts.
class Actor {
 public:
  using Body = std::function<void(Session&)>;
  Actor(World& world, std::string name);
  ~Actor();

  // Runs `body` in a new session at `at`. `busy`: the world goes on until it has ended (or was
  // killed for good).
  void Once(int64_t at, Body body, bool busy);
  // Again and again, a session each, until `end` (-1 = for ever).
  void Every(int64_t at, int64_t period, int64_t end, Body body);
  // One session until `end`; started again when it was killed.
  void Daemon(int64_t at, int64_t end, Body body);
  // kill -9 of the session that runs now, if one does. What is started again comes after
  // `back_after` ms.
  void Kill(int64_t back_after);
  void Pause(int64_t ms);
  bool running() const { return session_ != nullptr; }
  const std::string& name() const { return name_; }

  World& world;
  Link link;
  SimClock clock;
  SimCache cache;
  std::function<void()> killed;  // for what a user does when a command of theirs died

 private:
  void Begin(const Body& body);
  void Ended();

  const std::string name_;
  int sessions_ = 0;
  std::unique_ptr<Session> session_;
  std::vector<std::unique_ptr<Session>> dead_;
  Body again_;  // of a daemon
  bool busy_ = false;
};

// Makes the actors of a plan.
void AddActors(World& world);

// ---- what the bodies are made of; verbs.cc ----

// `stoker run`: blobs, spec, marker, record. Returns the job's id.
Result<std::string> SubmitJob(Session& session, int plan_index, const std::string& retry_of);
// Stays with the job until it has ended or `until` (true time; -1 = for ever) has passed.
void Attach(Session& session, const std::string& job, int64_t until);
// `stoker cancel`, which waits for the end.
void CancelJob(Session& session, const std::string& job);
// `stoker move`, number `number` of the job's plan: stays until it is over, for a while.
void MoveJob(Session& session, int plan_index, const std::string& job, int number);
// `stoker ls`, then `stoker show` of each job that goes on.
void Look(Session& session);
// `stoker controller --once`.
void PassOnce(Session& session);
// What `stoker show NAME` takes NAME for; waits for the store. "" = there is no such job.
std::string FindJob(Session& session, const std::string& name);
// One of the rarer verbs, drawn; housekeeper.cc.
void KeepHouse(Session& session);
// Ends the ledger's machines whose time is over; sweeper.cc.
void SweepExpired(Session& session);
// `stoker logs -f` of a job that is drawn, with the body's own memory of what was shown when its
// session was killed; reader.cc.
Actor::Body ReaderBody();

}  // namespace stoker::sim
