// SPDX-License-Identifier: Apache-2.0
// Keeps one node's checkpoints of one attempt in the store. Owned by the agent.
//
// The keeper itself starts no thread: Step decides and copies (short), RunUpload hashes and uploads
// (long). KeeperThreads (checkpoint/keeper_threads.h) runs both; the simulator calls them itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/status.h"
#include "checkpoint/moment.h"
#include "checkpoint/rounds.h"
#include "checkpoint/rule/checkpoint_plan.h"
#include "port/checkpoint_files.h"
#include "port/clock.h"
#include "port/object_store.h"
#include "port/process_runner.h"

namespace stoker {

struct KeeperConfig {
  std::string job;
  int attempt = 1;
  int rank = 0;
  int num_nodes = 1;
  Duration quiet = Duration::Seconds(2);
  int keep = 3;                   // newest N stay; 0 = all
  std::string restored;           // checkpoint id that lies in the directory now; "" = none
  std::set<std::string> protect;  // ids that are never cleared away
  uint64_t nonce_seed = 0;        // random
  Movers movers;                  // who uploads, besides the thread in RunUpload
  Duration round_patience = Duration::Minutes(2);  // how long rank 0 waits for the others' parts
  // Asked right before a manifest is written; false: this attempt must not commit any more. A
  // failure: it cannot be told now, and is asked again later.
  std::function<Result<bool>()> may_commit;
  // True: the node of `rank` answers nothing more in this attempt than what it has left in the
  // store by now. Unset: never. Asked while rank 0 waits for an answer.
  std::function<bool(int rank)> silent_for_good;
  // Told, once for each reason, that nothing could be saved for long, and why; and that it is over.
  // Called from Step. Unset: nobody.
  std::function<void(const std::string& line)> say;
};

// At most one thread in Begin and Step, and one in RunUpload. Everything given must outlive it.
class CheckpointKeeper {
 public:
  CheckpointKeeper(KeeperConfig config, ObjectStore& store, Clock& clock, CheckpointFiles& files);
  ~CheckpointKeeper();

  // After restore and before the program starts: what lies there is what was restored.
  Status Begin();
  // One pass: reads hints, looks, copies and commits what is due. Never fails: see trouble().
  void Step();
  // When Step should be called again at the latest; earlier when CheckpointFiles::Wait returns.
  MonoTime NextStep() const { return next_step_; }
  // Hashes and uploads one moment, for as long as that takes; false: there was none.
  bool RunUpload();
  bool UploadWaiting() const;

  // A notice came, or the program is about to be signalled: old checkpoints are cleared away only
  // when twice as many are there as are kept, and at a clean end; else by the next attempt. Any
  // thread.
  void Hurry();
  // The program's main process ended. Best called before Task::End, so that it sees what is still
  // being written. `signalled`: stoker had told it to end. Any thread; counts from the next Step.
  void ProgramEnded(const TaskExit& exit, bool signalled);
  // After ProgramEnded: everything that can be committed has been. Any thread.
  bool Finished() const;

  // Id of the newest checkpoint that this node knows to be committed in this attempt, else what was
  // restored, else "". Any thread.
  std::string newest() const;
  // Committed in this attempt, as far as this node knows. Any thread.
  int64_t commits() const;
  // As of the last Step: whether the program has written here in this attempt, and whether any of
  // it is in no moment that was taken. Any thread.
  struct Written {
    bool any = false;
    bool unkept = false;
  };
  Written written() const;
  // What does not work at present, in words; "" = nothing. Any thread.
  std::string trouble() const;

 private:
  struct Ended {
    bool clean = false;     // with exit code 0, by itself
    bool graceful = false;  // with exit code 0, after it was told to
  };
  enum class Phase { kIdle, kUpload, kUploading, kUploaded, kCollect, kCommit };

  // keeper.cc: seeing and copying
  void Observe(MonoTime now);
  void Learn(const DirectoryScan& scan, MonoTime now);
  void Capture(MonoTime now);
  bool Take(Candidate candidate, MonoTime now);
  std::set<std::string> Broken(const Candidate& candidate, Snapshot& copy) const;
  bool Dangles(const Candidate& candidate, Snapshot& copy) const;
  void Adopt(const Candidate& candidate, std::unique_ptr<Snapshot> copy);
  void Plan(MonoTime now);
  void SetTrouble(const std::string& what);
  void TellSkipped(const DirectoryScan& scan);
  void NoteSaved(MonoTime now);
  void TellUnsaved(MonoTime now);
  CheckpointPlan::Obstacle WhyUnsaved(MonoTime now) const;
  void OriginalsChanged(const Status& status, MonoTime now);
  Duration Poll() const;
  Phase phase() const;
  void SetPhase(Phase phase);

  // keeper_commit.cc: from a copied moment to a manifest
  void Advance(MonoTime now);
  void Failed(const Status& status, MonoTime now);
  void StartUpload(int64_t seq);
  void LeadIdle(MonoTime now);
  void OpenRound(MonoTime now);
  void Collect(MonoTime now);
  void GiveUpRound();
  // `moment` is of what lies there now, and has lain there for long.
  bool StillForLong(const Moment& moment, MonoTime now) const;
  std::vector<int> Silent(std::vector<int> ranks) const;
  void CommitManifest(MonoTime now);
  Manifest MakeManifest() const;
  Status ShowNumber();
  Status PutManifest();
  void ClearAway();
  void ClearNow();
  void Follow(MonoTime now);
  void AnswerRound(const Round& round);
  void EndFollowing();
  void NoteCommitted(const CheckpointId& id);

  const KeeperConfig config_;
  ObjectStore& store_;
  Clock& clock_;
  CheckpointFiles& files_;
  CheckpointPlan plan_;
  std::string nonce_;
  std::unique_ptr<RoundLeader> leader_;      // rank 0 of several
  std::unique_ptr<RoundFollower> follower_;  // every other rank

  // Step's own.
  MonoTime scanned_;
  bool dirty_ = true;  // an event came after the last scan
  MonoTime next_step_;
  MonoTime take_after_;
  Duration look_cost_;                 // of the last scan
  bool mark_owed_ = false;             // kDoneMark goes when the moment is in the store
  Status take_failed_;                 // the last try of a copy
  std::optional<MonoTime> behind_;     // since when something lies there that is not committed
  Duration slowest_;                   // from such a change to its commit
  std::set<std::string> told_;         // kinds of reasons, since the last commit
  std::vector<SkippedEntry> skipped_;  // of the last scan, as far as it was told
  StagedFiles staged_;                 // of the last moment taken
  int64_t taken_cycle_ = 0;
  bool closed_ = false;  // one of them ended a write
  std::optional<MonoTime> ended_news_;
  bool ended_seen_ = false;
  MonoTime ended_at_;
  bool nothing_left_ = false;                     // after the end: no moment is to come any more
  std::vector<std::shared_ptr<Moment>> waiting_;  // copied; rank 0 keeps the newest, others two
  std::map<std::string, std::string> known_;      // sha256 -> object, of the last commit
  int64_t seq_ = 0;
  std::string folder_;             // of the upload under way
  int64_t highest_seq_ = 0;        // that an upload began under
  int again_ = 0;                  // uploads that began under a number that had been used
  std::set<CheckpointId> unsure_;  // whose manifest may have been sent more than once
  Manifest manifest_;              // under way
  std::string committed_;          // ContentOf the last one, or of what was restored
  MonoTime not_before_;            // back-off of the store
  Duration back_off_;
  MonoTime next_poll_;
  MonoTime round_since_;
  int late_rounds_ = 0;
  std::shared_ptr<Moment> late_moment_;  // the others were ahead of it
  MonoTime late_again_;
  std::optional<Round> answering_;
  std::shared_ptr<Moment> last_answer_;
  int64_t wished_cycle_ = 0;
  bool ending_for_good_ = false;
  int uncleared_ = 0;  // commits since old checkpoints were cleared away
  bool full_ = false;  // trouble_ says that the store is

  mutable std::mutex mutex_;  // guards what follows
  Phase phase_ = Phase::kIdle;
  std::shared_ptr<Moment> moment_;  // under way
  Status uploaded_;
  std::string newest_;
  int64_t commits_ = 0;
  std::string trouble_;
  std::string unsaved_;             // what TellUnsaved says now
  std::string left_out_;            // what TellSkipped says now
  bool originals_changed_ = false;  // during the upload
  bool hurry_ = false;
  Written written_;
  std::optional<Ended> ended_;
  bool finished_ = false;
};

}  // namespace stoker
