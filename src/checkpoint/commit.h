// SPDX-License-Identifier: Apache-2.0
// The half of a CheckpointKeeper that brings copied moments into the store: upload, agreement with
// the other nodes, manifest, clearing away. checkpoint/capture.h makes the moments.
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

#include "base/status.h"
#include "checkpoint/capture.h"
#include "checkpoint/keeper_troubles.h"
#include "checkpoint/moment.h"
#include "checkpoint/rounds.h"
#include "port/clock.h"
#include "port/object_store.h"

namespace stoker {

struct KeeperConfig {
  std::string job;
  int attempt = 1;
  int rank = 0;
  int num_nodes = 1;
  Duration quiet = Duration::Seconds(2);
  std::string complete;            // the file that each save's folder ends with; "" = none is said
  std::vector<std::string> names;  // of the directory, in what the program tells: ToldSaves
  int keep = 3;                    // newest N stay; 0 = all
  std::string restored;            // checkpoint id that lies in the directory now; "" = none
  BeganFrom began_from;            // the same, or what else lies there and was restored
  std::set<std::string> protect;   // ids that are never cleared away
  uint64_t nonce_seed = 0;         // random
  Movers movers;                   // who uploads, besides the thread in RunUpload
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

// At most one thread in Begin, Add, Advance and NextStep, and one in RunUpload. Everything given
// must outlive it.
class MomentCommit {
 public:
  MomentCommit(KeeperConfig config, ObjectStore& store, Clock& clock, MomentCapture& capture,
               KeeperTroubles& troubles);
  ~MomentCommit();

  // Before the program starts: what lies in the directory, as `scan` saw it, of the checkpoint that
  // was restored there.
  Result<StagedFiles> Begin(const DirectoryScan& scan);

  // ---- the steps ----
  // A moment to commit; of those that wait, rank 0 keeps the newest, others the newest two.
  void Add(std::shared_ptr<Moment> moment);
  void Advance(MonoTime now);
  // When Advance wants to be called again at the latest, which is no later than `latest`.
  MonoTime NextStep(MonoTime now, MonoTime latest) const;
  bool busy() const { return phase() != Phase::kIdle; }
  bool waits() const { return !waiting_.empty(); }

  // See CheckpointKeeper.
  bool RunUpload();
  bool UploadWaiting() const;
  void Hurry();
  void ProgramEnded(bool clean, bool signalled);
  bool Finished() const;
  std::string newest() const;
  int64_t commits() const;
  // From the beginning of the newest commit's upload to its manifest; unset: there was none.
  std::optional<Duration> upload_took() const;

 private:
  enum class Phase { kIdle, kUpload, kUploading, kUploaded, kCollect, kCommit };
  // Under which number and in which folder an upload goes. No folder is used twice.
  struct Numbers {
    int64_t seq = 0;
    int64_t highest = 0;  // that an upload began under
    int again = 0;        // uploads that began under a number that had been used
    std::string folder;   // of the upload under way
  };
  // Of rank 0: rounds that failed because another node has something else.
  struct LateRounds {
    int in_a_row = 0;
    MonoTime since;       // the first of them
    bool untold = false;  // nothing tells which saves of the nodes belong together
    std::shared_ptr<Moment> moment;
    MonoTime again;
  };
  // Of every other rank.
  struct Answers {
    std::optional<Round> to;  // whose upload is under way
    std::shared_ptr<Moment> last;
    std::shared_ptr<Moment> wished;
    bool for_good = false;  // the one under way is this node's last word
    // In the store by uploads that failed, so that no part names them. See ForgetNotGiven.
    std::vector<std::weak_ptr<StagedFile>> not_given;
  };

  Phase phase() const;
  void SetPhase(Phase phase);
  Duration Poll() const;
  void Failed(const Status& status, MonoTime now);
  void Finish();

  void StartUpload(std::shared_ptr<Moment> moment, int64_t seq);
  void Uploaded(MonoTime now);
  void OriginalsChanged(const Status& status, MonoTime now);
  void ComesToNothing();
  bool Silent() const;
  Result<bool> GrantWish();
  bool WritesFirst(MonoTime now);
  bool OthersAreDone(bool polls, MonoTime now);
  void LeadIdle(MonoTime now);
  bool LiesThereStill(MonoTime now) const;
  bool WaitsForRest(const Moment& moment, MonoTime now) const;
  bool MovedOn();
  void OpenRound(MonoTime now);
  void Collect(MonoTime now);
  void CountsAsLate(MonoTime now);
  void AskAgain();
  std::vector<int> SilentOf(std::vector<int> ranks) const;

  void CommitManifest(MonoTime now);
  Manifest MakeManifest() const;
  Status ShowNumber(const Manifest& manifest);
  Status PutManifest(const Manifest& manifest);
  void NoteCommitted(const CheckpointId& id);
  void ClearAway();
  void ClearNow();

  void Follow(MonoTime now);
  void AnswerWithUploaded(MonoTime now);
  void NotGiven(const Moment& moment);
  void ForgetNotGiven();
  Status Wish(const std::shared_ptr<Moment>& moment);
  void AnswerRound(const Round& round);
  Part AnswerOf(const Moment& moment, MonoTime now) const;
  void EndFollowing();

  const KeeperConfig config_;
  ObjectStore& store_;
  Clock& clock_;
  MomentCapture& capture_;
  KeeperTroubles& troubles_;
  const std::string nonce_;
  std::unique_ptr<RoundLeader> leader_;      // rank 0 of several
  std::unique_ptr<RoundFollower> follower_;  // every other rank

  std::vector<std::shared_ptr<Moment>> waiting_;  // copied
  std::map<std::string, std::string> known_;      // sha256 -> object, of the last commit
  std::string committed_;                         // ContentOf the last one, or of what was restored
  std::set<CheckpointId> unsure_;  // whose manifest may have been sent more than once
  int uncleared_ = 0;              // commits since old checkpoints were cleared away
  Numbers numbers_;
  LateRounds late_;
  std::optional<MonoTime> put_off_since_;  // what others have, for this node's first
  Answers answers_;
  MonoTime not_before_;  // back-off of the store
  Duration back_off_;
  MonoTime next_poll_;
  MonoTime round_since_;

  mutable std::mutex mutex_;  // guards what follows
  Phase phase_ = Phase::kIdle;
  std::shared_ptr<Moment> moment_;  // under way
  Status uploaded_;
  bool originals_changed_ = false;  // during the upload
  std::string newest_;
  int64_t commits_ = 0;
  MonoTime upload_began_;
  std::optional<Duration> upload_took_;  // guarded by mutex_
  bool hurry_ = false;
  bool ended_ = false;  // the program has
  bool clean_ = false;  // with exit code 0, by itself
  bool finished_ = false;
};

}  // namespace stoker
