// SPDX-License-Identifier: Apache-2.0
// The nouns of the ledger: Job, Request, Launch, Attempt, and what a node reports. Plain data; the
// durable JSON form is in job/encoding.h and docs/ledger.md. docs/terms.md has the words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "job/move.h"
#include "job/notice.h"
#include "job/packed_code.h"
#include "job/request.h"

namespace stoker {

// Of a job's record. It keeps its format for life: the job's nodes run the binary that created it.
// The first had no requests of their own; it was never released, and nothing reads it.
inline constexpr int kRecordFormat = 2;
inline constexpr int kReportFormat = 1;  // of reports and claims

enum class JobState { kPending, kWaiting, kRunning, kStopping, kSucceeded, kFailed, kCancelled };
enum class AttemptState { kProvisioning, kStaging, kRunning, kDraining, kEnded };
enum class EndReason {
  kNone,
  kCompleted,
  kUserError,
  kInterrupted,
  kNodeLost,
  kNodeFault,
  kLaunchRefused,
  kNoProgress,
  kTimedOut,
  kStoppedByRule,
  kCancelled,
  kInternal,
  kMoved,  // its owner wants it at another place
};
// Why nobody waits for the machine of a launch any more.
enum class CloseReason {
  kDone,         // the job ended
  kLost,         // it was there, and is gone, silent or dead
  kInterrupted,  // its platform takes it
  kRefused,      // whoever was asked for it said no for good
  kNeverCame,    // it was asked for, and none was seen in all the time
  kSuperseded,   // what it was meant for is over: says nothing about why
  kMoved,        // the job has left its place
  kKept,         // the job failed, and its machine stays for a while (keep_failed)
};
enum class NodePhase { kWaiting, kStaging, kReady, kRunning, kDraining, kStopping, kEnded };

inline bool IsFinal(JobState s) {
  return s == JobState::kSucceeded || s == JobState::kFailed || s == JobState::kCancelled;
}

// How a program or an attempt ended.
struct Ending {
  EndReason reason = EndReason::kNone;
  int exit_code = 0;  // meaningful for kCompleted and kUserError
  int signal = 0;
  bool out_of_memory = false;
  int rank = -1;    // the node whose end decided; -1 = none in particular
  std::string why;  // one sentence for people
};

// One slot's part in a request: one machine, which is closed by itself.
struct Launch {
  int number = 0;  // from 1, never reused
  int slot = 0;
  int request = 0;          // its number
  int index = 0;            // within the request: the machine carries its token and this
  std::string instance_id;  // "" until the provider answered
  std::string own_id;       // InstanceSeen::own_id, for people; "" also until somebody has seen it
  // Since when its machine is seen to be off, of a job that wants it again; unset once its node has
  // spoken since. How often it was decided to have it come up in all its life, when it may be next,
  // and the newest refusal of that.
  std::optional<WallTime> stopped_since;
  std::optional<int> starts;
  std::optional<WallTime> next_start;
  std::optional<Refusal> start_refusal;
  // Since when its machine is not listed, as far as that counts; void once its node has reported.
  std::optional<WallTime> absent_since;
  bool closed = false;
  std::optional<CloseReason> close_reason;  // set where `closed` is
  std::string close_why;                    // the observations, for people
  std::optional<WallTime> closed_at;
  bool boot_lasts = false;   // closed: its machine could not begin, and the next will not either
  bool boot_outage = false;  // closed: its machine could not begin for an outage
  std::optional<WallTime> kept_until;  // with kKept: its machine is not ended before, and then is
  std::string extra;                   // unknown fields of this entry, as JSON; preserved
};

inline constexpr size_t kMostTrouble = 300;

struct Attempt {
  int number = 0;  // from 1
  AttemptState state = AttemptState::kProvisioning;
  std::vector<int> launches;        // launches[slot] = launch number
  std::string restore;              // checkpoint id; "" = from the beginning
  WallTime opened;                  // store's clock, like all times here
  std::optional<WallTime> running;  // when all nodes ran the program
  std::optional<WallTime> ended;
  std::optional<WallTime> drain_until;  // set with kDraining because of a notice
  std::optional<Ending> ending;         // decided: agents stop the program; final once kEnded
  int64_t run_ms = 0;                   // program time, longest over the nodes
  std::string newest_checkpoint;        // newest committed by this attempt; "" = none
  std::string as_left;                  // what its program left at its end, see policy/restore.h
  int64_t left_newer_ms = 0;            // by how much that is newer than the newest whole one
  bool noticed = false;                 // a notice came while it was the current attempt
  bool not_needed = false;              // ended without having begun: there was no more use for it
  std::vector<std::string> missing_outputs;  // entries of `outputs` that nothing was kept of
  // What its nodes said at their end: what was not kept, and why. At most kMostTrouble bytes.
  std::string trouble;
  // Files that it left and that are in no store, and where they lie on the first of its nodes that
  // has some; "" = they are gone.
  int64_t unkept = 0;
  std::string unkept_in;
  bool unsaved_at_term = false;  // it ended by itself at SIGTERM, and had saved nothing since
  std::string extra;
};

struct CancelRequest {
  WallTime at;
  std::string by;
};

// Requests that nothing ever came of, with their launches, and the attempts that waited for them,
// which are only counted any more: so many are left by a drought of days.
struct Folded {
  int requests = 0;
  int launches = 0;
  int attempts = 0;
  WallTime since;  // when the first was opened
  WallTime until;  // when the last was over
};

// What of the work directory was not packed, and may be missed.
struct LeftOut {
  std::string path;  // relative; a folder with all in it ends with '/'
  std::string by;    // kByGit, kByIgnoreFile, kByRule; what others write there is none of these
  bool operator==(const LeftOut&) const = default;
};
inline constexpr char kByGit[] = "git";                   // git ignores it
inline constexpr char kByIgnoreFile[] = ".stokerignore";  // an ignore file of stoker's own does
inline constexpr char kByRule[] = "never";                // it is made to hold secrets
inline constexpr char kByEnvironment[] = "environment";   // it is a virtual environment
// A record is read and written again and again.
inline constexpr size_t kMostLeftBehind = 50;            // entries
inline constexpr size_t kMostLeftBehindBytes = 3 << 10;  // of their paths

struct Job {
  int format = kRecordFormat;
  int64_t rev = 0;     // +1 a write
  std::string writer;  // random nonce of the last write: contents never repeat
  std::string id;
  std::string name;
  std::string user;       // the name by which its submitter is known there: several may be "ubuntu"
  std::string me;         // the id of the person, `me` of the settings; "" = an older stoker's job
  std::string user_host;  // the name of the computer where it was submitted, for people
  std::string spec_digest;
  std::string code_digest;       // blob of the packed work directory; "" = none
  std::string binary_digest;     // blob of the stoker that its nodes run
  std::string workdir_note;      // "git 1a2b3c4 dirty, 12 files, 34 kB"
  std::string command;           // for people: what it runs, in one line; "" from an older stoker
  std::optional<GitOrigin> git;  // of a folder in a git work tree that has a commit
  std::vector<Pin> pins;         // what requirements.txt names, resolved once for all attempts
  std::vector<LeftOut> left_behind;  // the largest first
  // What all attempts run as container.image, where that was found out when it was submitted:
  // "HOST/NAME@sha256:…", or the id of one that is in this machine's engine alone; "" = its first
  // node does (paths::Image). And what of it a machine has to pull, compressed; 0 = not known.
  std::string image;
  int64_t image_bytes = 0;
  std::string image_blob;  // blob of an archive of it, as `podman save` writes it; "" = none
  // Variables of the submitter's shell that went along; their values are in no ledger.
  std::vector<std::string> shell;
  // Where values of its secrets lie in a cloud's own vault (port/vault.h): by provider, account and
  // region, as VaultPlace has them.
  std::vector<Place> secrets_in;
  // Folders for downloads that git ignores where the code was packed: lines of an ignore file.
  std::string downloads;
  // Of a job that may have local machines, else "": the submitter's PATH for those, and the
  // computer that they are on, which alone can ask for them. See TieToHost.
  std::string path;
  std::string host;
  std::string retry_of;  // job id that it goes on from; "" = none
  // What it was told to begin from, with other code than that job's: "<job>", or
  // "<job>/<checkpoint>". "" = it was told nothing (a retry begins from the newest).
  std::string from;
  // "<job>/<checkpoint>": what its user was told that it begins from. It never begins without one.
  std::string promised;
  WallTime created;
  int num_nodes = 1;
  JobState state = JobState::kPending;
  // How its machines can be had; empty: by its spec's provider, which has one kind.
  std::vector<Offer> offers;
  std::vector<Request> requests;
  std::vector<Launch> launches;
  std::vector<Attempt> attempts;
  std::optional<Folded> folded;
  std::optional<CancelRequest> cancel;
  bool movable = false;                 // the stoker that its nodes run knows of moves
  std::optional<Move> move;             // the newest
  std::vector<std::string> suspects;    // checkpoint ids that are not restored again
  bool booted = false;                  // a node of it has reported: machines come up as it asks
  int error_restarts = 0;               // user errors already retried
  std::optional<WallTime> retry_after;  // back-off: no new attempt before this
  std::optional<WallTime> ended;
  std::optional<Ending> result;
  std::string extra;
};

// The one object that a node's agent writes for (attempt, rank).
struct NodeReport {
  int format = kReportFormat;
  std::string job;
  int attempt = 0;
  int rank = 0;
  int launch = 0;
  std::string instance_id;
  std::string incarnation;  // random per agent process
  int64_t seq = 0;          // +1 a write
  NodePhase phase = NodePhase::kWaiting;
  std::string address;
  int master_port = 0;    // rank 0's offer of a free port
  std::string mechanism;  // how the task's processes are ended
  std::optional<Notice> notice;
  // With phase kEnded. All log lines are in the store then.
  std::optional<Ending> end;  // reason as the node judges it: provisional
  bool stopped = false;       // it ended because it was told to (ending, drain, cancel)
  bool end_checked = false;   // a notice poll after the end was negative, host not shutting down
  std::string stderr_tail;    // the last lines, at most 4 KiB
  std::string restored;       // checkpoint id that was restored
  std::string restore_error;  // why `restored` could not be
  std::string newest_checkpoint;  // newest that this node knows to be committed
  int64_t run_ms = 0;             // program time in this attempt
  int64_t log_lines = 0;
  double cpu_seconds = 0;
  int64_t resident_bytes = 0;
  int64_t peak_resident_bytes = 0;
  int64_t disk_bytes = 0;
  std::string gpu;      // JSON of the latest sample; "" = none present
  std::string trouble;  // upkeep errors that did not stop the program (disk full, no store)
  std::string doing;    // besides running the program: "installing packages"; "" = nothing long
  // With phase kEnded: entries of `outputs` that nothing has been kept of, on this node or before.
  std::vector<std::string> missing_outputs;
  // With phase kEnded: files that are in no store, and the folder of this machine that they were
  // moved to; "" = they go with it.
  int64_t unkept = 0;
  std::string unkept_in;
  // With phase kEnded: by how much what it kept as left is newer than its newest whole checkpoint.
  int64_t left_newer_ms = 0;
  // Of a program that ended by itself at SIGTERM: whether it wrote a checkpoint then; "" = it was
  // not sent it, or did not end by itself.
  std::string at_term;  // "", "saved", "unsaved"
  // Of a cloud's machine, for `stoker ssh`: public keys of its sshd, and the user of its image.
  std::vector<std::string> host_keys;
  std::string ssh_user;
  std::string extra;
};

std::string_view Name(JobState s);
std::string_view Name(AttemptState s);
std::string_view Name(EndReason r);
std::string_view Name(NodePhase p);
std::string_view Name(CloseReason r);
std::string_view Name(RefusalClass r);
std::string_view Name(RefusalScope s);
// The value that Name() calls `name`; for exactly the seven types above, and MoveState.
template <typename E>
std::optional<E> ParseName(std::string_view name);

// Its machine is not to be ended yet, though nobody waits for it: somebody may want to look at it.
bool IsKept(const Launch& launch, WallTime now);
// Until when the last of the job's machines is kept; unset: none is.
std::optional<WallTime> KeptUntil(const Job& job, WallTime now);

// Null when there is none.
const Launch* FindLaunch(const Job& job, int number);
Launch* FindLaunch(Job& job, int number);
const Attempt* FindAttempt(const Job& job, int number);
Attempt* FindAttempt(Job& job, int number);
// The newest that there was a need for; null when there is none.
const Attempt* NewestNeeded(const Job& job);
// A job that has whole checkpoints, and whose program then left something newer.
struct LeftNewer {
  std::string name;  // AsLeftName
  std::string than;  // the newest whole checkpoint
  Duration by;       // 0 = not known
};
// Of the newest attempt that left or saved anything; unset where all that it left is saved.
std::optional<LeftNewer> NewerThanSaved(const Job& job);
// "as-left-2, which is 3m newer than checkpoint 2-5"
std::string LeftText(const LeftNewer& left);
// The attempt that `launch` serves now: the newest that lists it and is not Ended; else null.
const Attempt* CurrentAttempt(const Job& job, int launch);

const Request* FindRequest(const Job& job, int number);
Request* FindRequest(Job& job, int number);
// That of the launch; one that asks for nothing when the record lacks it.
const Request& RequestOf(const Job& job, const Launch& launch);
// How many of the ways to have its machines are local, those of a move among them; `provider`: that
// of its spec, which counts where it has no offers.
enum class Locality { kNone, kSome, kAll };
Locality LocalityOf(const Job& job, const std::string& provider);
// Before it is created: gives `job` the host and the PATH of its local machines, if it may have
// any. All others are everybody's.
void TieToHost(Job& job, const std::string& provider, const std::string& host,
               const std::string& path);

// Appends a request for `slots`, one launch for each, and their numbers; without token.
Request& AppendRequest(Job& job, const std::vector<int>& slots);

// The idempotency token, SHA-256 (hex) over ledger id, job, and all of `request` that the call
// depends on; by the rule of the job's format.
std::string RequestToken(const std::string& ledger_id, const Job& job, const Request& request);

}  // namespace stoker
