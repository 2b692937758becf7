// SPDX-License-Identifier: Apache-2.0
// The heart of stoker: what to do next for one job, out of its record and of what was observed.
// Pure: same inputs, same decision; reads no clock, does no I/O. Anyone may run it at any time,
// several at once: what it decides is proposed by compare-and-swap on the revision that it saw, and
// machines are asked for or ended only after that, out of entries in the record.
//
// The life of an attempt, as the record tells it:
//   Provisioning  its launches are in the record; machines may come; nothing is claimed
//   Staging       `restore` is chosen for good; nodes claim, restore, set up, wait for each other
//   Running       every node has reported that the program runs
//   Draining      a notice came (drain_until); the next attempt is open and its machines boot
//   Ended         `ending` says how. A set `ending` before that tells the nodes to stop; the
//                 attempt is Ended when each of them has reported its end or is gone
// Two attempts are open at most: one that drains or ends, and the next, still Provisioning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/boot_failure.h"
#include "job/ended_by.h"
#include "job/job.h"
#include "policy/restore.h"
#include "spec/job_spec.h"

namespace stoker {

// Stopped: nothing runs on it, but it costs, and may come up again at any time.
enum class MachineState { kQueued, kStarting, kRunning, kStopped, kGone };

// A machine as the provider sees it, matched to the launch whose token and index it carries.
struct MachineSeen {
  std::string instance_id;
  int launch = 0;
  MachineState state = MachineState::kStarting;
  std::string why;
  bool freed = false;                // gone, and ending it once more would do nothing
  std::optional<Duration> up_for{};  // as InstanceSeen::up_for
  std::optional<Refusal> refusal{};  // as InstanceSeen::refusal
  EndedBy ended_by = EndedBy::kUnknown;
  std::optional<BootFailure> boot{};  // it is over, and has said why it never began
  std::string own_id{};               // as InstanceSeen::own_id
};

struct ReportSeen {
  NodeReport report;
  Duration age;  // Observed::now minus Last-Modified, at least 0
  // How long this observer has seen the same sequence number (its own clock), looking at it all the
  // time: a node cannot be called silent by who did not listen.
  Duration unchanged;
};

// What one provider could tell of its machines. Not knowing one of them says nothing of the others;
// nor does a part of one that did not answer, which has an entry of its own beside that of the
// whole.
struct PlaceSeen {
  std::string provider;
  bool known = false;              // it answered; else no machine of it in `machines` means nothing
  bool absent_means_gone = false;  // ProviderTraits::describe_is_immediate
  bool takes_gangs = false;        // as in ProviderTraits; of a place whose provider is not known
  bool ends_one_alone = true;      // here, it is taken for the plain kind
  Duration appear_within = {};     // ProviderTraits::appear_within
  bool may_stop = false;           // ProviderTraits::may_stop
  bool can_start = false;          // ProviderTraits::can_start
  bool tells_ender = false;        // ProviderTraits::tells_ender
  bool may_ask = true;             // this observer may ask for machines there
  bool elsewhere = false;          // another computer's own machines: this observer never sees them
  std::string account = "";        // of a part that is not known, as in Unheard; else all three are
  std::string region = "";         // "": the provider as a whole
  std::string zone = "";
};

// What was asked for at `place` may be in that part of it (or is, where it is the whole).
bool MayBeIn(const Place& place, const PlaceSeen& part);

// A machine to be ended or started, and by whom.
struct MachineAt {
  std::string provider;
  std::string instance_id;
  bool operator==(const MachineAt&) const = default;
};

// Read in this order: the record, `now` and the reports, the machines, the checkpoints. A report
// proves that its machine existed when the machines were listed; a machine that is gone writes no
// report and no checkpoint that a later reading would miss.
struct Observed {
  WallTime now;  // the store's clock
  std::string ledger_id;
  std::string store_url;
  std::vector<PlaceSeen> places;
  std::vector<MachineSeen> machines;
  std::vector<ReportSeen> reports;
  // What the job and those that it goes on from have in the store; unset = not read. The job's own
  // comes first.
  std::optional<Restorable> checkpoints;
};

struct Decision {
  bool changed = false;  // `job` differs from the input: propose it, then do the rest
  Job job;
  std::vector<int> send;             // requests to be sent (repeatable by token)
  std::vector<MachineAt> terminate;  // instances to end (repeatable)
  std::vector<MachineAt> start;      // stopped ones that are to come up again (repeatable)
  bool want_checkpoints = false;     // decide again with Observed::checkpoints filled in
  bool retire = false;  // ended, and its machines are gone: summary to index, leave active/
  std::vector<std::string> notes;  // what was decided and why, for people
};

// `job` and `spec` belong together (spec_digest).
Decision Reconcile(const Job& job, const JobSpec& spec, const Observed& seen);

// Times that reconcile goes by; all by the store's clock.
inline constexpr Duration kSendWithin = Duration::Minutes(10);     // a launch's not_after
inline constexpr Duration kAppearWithin = Duration::Minutes(1);    // not_after to being listed
inline constexpr Duration kReportWithin = Duration::Minutes(10);   // that or power to first report
inline constexpr Duration kEnderWithin = Duration::Seconds(60);    // waited for who ended it
inline constexpr Duration kStartPause = Duration::Minutes(1);      // between two Starts
inline constexpr Duration kRestartWithin = Duration::Minutes(20);  // seen off to heard of again
inline constexpr Duration kStopSlack = Duration::Minutes(5);       // a notice's end to being off
// Of a cancelled job whose machine only another computer sees: so long for its first report.
inline constexpr Duration kUnheardAfterCancel = Duration::Seconds(30);
inline constexpr Duration kSilentAfter = Duration::Seconds(90);      // no new report
inline constexpr Duration kSecondLookAfter = Duration::Seconds(30);  // at what is not listed
inline constexpr Duration kTwinMayBegin = Duration::Seconds(60);     // on a record that it has read
inline constexpr Duration kLingerAfterClose = Duration::Seconds(60);  // to upload and power off
inline constexpr Duration kDefaultLease = Duration::Hours(24);

}  // namespace stoker
