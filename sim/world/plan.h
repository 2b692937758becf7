// SPDX-License-Identifier: Apache-2.0
// Everything that a world is made from: plain data, drawn from a seed (swarm.h), read from a
// scenario (scenario.h), or both. Times are milliseconds of true time from the world's beginning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "job/job.h"
#include "sim/bucket/bucket.h"
#include "sim/cloud/cloud.h"

namespace stoker::sim {

enum class WriteStyle { kInPlace, kRename, kFolders, kTwoFiles };
// Starting it fails: no such program, no right to, or the machine's own fault.
enum class StartFails { kNever, kNotFound, kDenied, kInvalid, kMachine };
// kPassesOn: a launcher gets it and hands it on to its trainer, which saves; both fail.
// kLeavesUnsaved: it ends well, and saves nothing.
enum class OnTerm { kDies, kIgnores, kSavesAndSucceeds, kSavesAndFails, kPassesOn, kLeavesUnsaved };

// What the user's program does, on every node alike.
struct ProgramPlan {
  int steps = 60;
  int64_t step_ms = 1000;
  int64_t start_ms = 500;
  int checkpoint_every = 5;  // steps; 0 = never
  WriteStyle style = WriteStyle::kInPlace;
  int64_t write_ms = 200;        // from opening to closing one file
  int64_t pause_ms = 0;          // between two files of one checkpoint: shorter than `quiet`
  int bytes = 600;               // of one file, at least
  bool every_rank_saves = true;  // else only rank 0, as with DistributedDataParallel
  int lines_per_step = 1;
  int line_bytes = 0;  // each is as long at least, and does not pack well
  OnTerm on_term = OnTerm::kDies;
  int crash_at = -1;  // fails from this step on; -1 = never
  int crash_code = 3;
  bool out_of_memory = false;  // it is the kernel that ends it, at crash_at
  bool crash_once = false;     // only the first time
  bool crash_one_rank = true;  // only rank 0 (the others follow); else all at once
  int hang_at = -1;            // neither steps nor lines from this step on; -1 = never
  bool hang_once = true;
  int poisoned_step = -1;     // the first checkpoint of this step makes whoever loads it fail
  bool resume_fails = false;  // whatever it loads: its loading code is broken
  StartFails start_fails = StartFails::kNever;
  int64_t spawn_ms = 0;  // up to so long passes until its agent knows that it has begun
  bool setup_fails = false;
  int64_t setup_ms = 200;
  int alone = 0;  // so many saves of `alone_rank` before any node makes a step
  int alone_rank = 0;
  int flat_from = -1;  // its loss falls up to this step, and no further; -1 = to the end
};

struct JobPlan {
  ProgramPlan program;
  int nodes = 1;
  int64_t submit_at = 0;
  bool attached = true;            // the submitter stays until the end, or until `leaves_after`
  int64_t leaves_after = -1;       // -1 = stays
  int64_t submit_dies_at = -1;     // the submitting process is killed so long after its start; the
                                   // user looks after a while and submits again if there is no job
  std::vector<int64_t> cancel_at;  // by users who do not know of each other
  std::vector<int64_t> move_at;    // to one place after the other, of which some refuse; when the
                                   // world is calm, to any
  std::vector<int64_t> retry_at;   // tried until the job has ended, then once
  int max_restarts_on_errors = 0;
  std::vector<int> recover_on_exit_codes;
  std::optional<Duration> max_duration;
  std::optional<Duration> stall;
  std::optional<Duration> keep_failed;
  int stale_points = 0;  // stop_when: its loss does not fall for so many points; 0 = no rule
  Duration stop_grace = Duration::Seconds(30);
  Duration quiet = Duration::Seconds(2);
  int keep = 3;
  // Its machines may be asked for in every zone, in the order of the platform's zones beginning
  // with the one of this number (from 1); 0 = the provider chooses.
  int any_zone = 0;
  bool in_order = false;  // of these, one is asked after the other, whatever they cost
  int64_t ceiling = 0;    // the price of a machine, in millionths an hour; 0 = any
  bool large = false;     // its machines are of a type that no function may ask for
};

// kVerb: a user looks (`stoker ls`, then `stoker show` of each job that goes on). kHousekeeper: a
// user who also types the rarer verbs: gc, doctor, get, words that are no job's. kReader: one who
// follows a log (`stoker logs -f`). kSweeper: not stoker at all, but what an account has to end
// machines of a ledger whose time is over, by what is written on them. kAway: a function of the
// cloud that looks after jobs while nobody does (people/away.h).
enum class ControllerKind { kDaemon, kTimer, kVerb, kHousekeeper, kReader, kSweeper, kAway };

struct ControllerPlan {
  ControllerKind kind = ControllerKind::kDaemon;
  int64_t begin = 0;
  int64_t end = -1;  // -1 = until the world ends
  int64_t period = 5'000;
  // Of kAway alone. How its clock and events are, until the calm; in a thousand ticks or events.
  int64_t late = 0;  // a tick comes up to so much later
  int missing = 0;   // ticks that never come
  int doubled = 0;   // calls that come twice
  int lost = 0;      // events that never come
  int at_once = 1;   // so many calls may be served at the same time
  // What it is bound to when it is installed: machines of the usual type alone.
  int machines = 1'000'000;
  int64_t price = 0;  // of one, in millionths an hour; 0 = any
};

// One thing that goes wrong: a component by its name (faults.h), when, and its parameters.
struct FaultPlan {
  std::string kind;
  int64_t at = 0;       // its time; of a fault that waits for something: not before
  int64_t amount = 0;   // what it means is the component's: a lead, a length, a count
  int64_t target = -1;  // which machine or actor, counted among those there are; -1 = drawn
  std::string zone = "";
  // The actor or machine of that name, or "cause": whose doing it was that the fault waited for.
  // "" = by `target`.
  std::string who = "";
  std::string on = "";   // what it waits for (triggers.h); "" = its time alone
  int number = 0;        // the attempt, launch or revision that it waits for; 0 = any
  int64_t after_ms = 0;  // from that moment until it strikes
  int count = 1;         // strikes so often: each time that `on` happens, or
  int64_t every = 0;     // if > 0, so many ms apart once it has begun
  // Of the blow alone: whose machines it means, out of what it waited for.
  std::string job = "";
  int attempt = 0;
};

// Who reconciles (architecture §8). Every verb does in any case.
enum class Tier { kAll, kVerbs, kAgents, kDeparting, kTimer };

struct Plan {
  uint64_t seed = 1;
  std::string name = "swarm";
  std::vector<JobPlan> jobs;
  std::vector<ControllerPlan> controllers;
  std::vector<FaultPlan> faults;
  // Noise in every request until `calm`; none afterwards.
  BucketFaults bucket;
  CloudFaults cloud;
  int64_t calm = 400'000;
  int64_t limit = 72LL * 3'600'000;  // a world that is not done by then never will be
  int64_t most_events = -1;          // more of them break everything-ends; -1 = no limit
  Tier tier = Tier::kAll;
  bool logs = true;  // output is spooled and shipped
  bool garbage_collected = false;
  int page = 1000;  // objects in one answer to a listing
  int past = 0;     // jobs of three users that ended days or months before the world begins
  // The platform.
  std::vector<Zone> zones = {{"zone-a"}};
  bool nodes_ask_own = false;  // a node may ask for machines of its own provider alone
  int quota = 1'000'000;
  bool describe_is_immediate = false;
  bool takes_gangs = false;
  bool ends_one_alone = true;
  bool can_start = false;
  bool restarts = false;  // the platform stops what it takes, and jobs want their machines again
  bool limit_needs_boot = false;  // a machine that is not up does not end itself, nor is it ended
  bool lists_all = false;         // lists show machines of everybody in the account
  int64_t neighbour = 0;          // if > 0, the seed of what another ledger does in the account
  int64_t stale_ms = 0;
  int64_t token_memory_ms = 86'400'000;  // after a machine's end its token means nothing any more
  int64_t boot_low = 500;
  int64_t boot_high = 60'000;
  int64_t skew_ms = 2'000;  // machines' clocks are off by up to so much, either way
  Duration notice_poll = Duration::Seconds(5);
  // What the store says of itself.
  Duration poll = Duration::Seconds(2);
  Duration flush = Duration::Seconds(30);
  Duration report = Duration::Seconds(15);
  int64_t latency_high = 60;
};

}  // namespace stoker::sim
