// SPDX-License-Identifier: Apache-2.0
// How the nodes of one attempt agree on a checkpoint, through the store alone.
//
// Rank 0 asks (a round), every other node answers with the part it has of that moment, with "none
// of mine", or with "late". Nodes that want to commit while rank 0 writes nothing leave a wish. A
// node whose program has ended leaves a final part, which answers every later round.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest.h"
#include "port/clock.h"
#include "port/object_store.h"

namespace stoker {

// Rank 0's side. Not thread-safe.
class RoundLeader {
 public:
  // `rest`: how long a node's last word must have been there to be of what rests.
  RoundLeader(ObjectStore& store, Clock& clock, std::string job, int attempt, int num_nodes,
              Duration rest)
      : store_(store),
        clock_(clock),
        job_(std::move(job)),
        attempt_(attempt),
        num_nodes_(num_nodes),
        rest_(rest) {}

  enum class State { kWaiting, kComplete, kLate };
  Status Open(Round round);
  // The newest that was opened.
  const Round& round() const { return round_; }
  // Looks for answers that have not come yet. `silent`: who answers nothing more.
  Result<State> Poll(const std::vector<int>& silent);
  // The answers of the others, ordered by rank.
  std::vector<Part> parts() const;
  // Those that have not answered, as of the last Poll.
  std::vector<int> Missing() const;
  // The newest wish of another node that was not granted yet. Granted: it and those before it.
  Result<std::optional<Round>> Wished();
  void Granted(const Round& wish);
  // The nodes whose programs have not ended, or not said so.
  Result<std::vector<int>> NotFinal();

 private:
  struct Answer {
    Part part;
    bool final = false;
  };
  Result<std::optional<Part>> PartAt(const std::string& key);
  Result<std::optional<Answer>> AnswerOf(int rank);
  bool MayAnswerStill(const Answer& answer) const;

  ObjectStore& store_;
  Clock& clock_;
  const std::string job_;
  const int attempt_;
  const int num_nodes_;
  const Duration rest_;
  std::map<int, MonoTime> ended_at_;  // when a last word was first seen, by rank
  Round round_;
  std::map<int, Part> parts_;
  MonoTime opened_at_;
  std::map<int, Part> served_;      // what it gave for the last wish that was granted, by rank
  std::map<int, Round> wishes_;     // as last read, by rank
  std::map<int, int64_t> granted_;  // the number of the newest, by rank
};

// The side of a node other than rank 0. Not thread-safe.
class RoundFollower {
 public:
  RoundFollower(ObjectStore& store, Clock& clock, std::string job, int attempt, int rank)
      : store_(store), clock_(clock), job_(std::move(job)), attempt_(attempt), rank_(rank) {}

  // The newest round that has not been answered; older ones are passed over.
  Result<std::optional<Round>> Next();
  Status Answer(const Round& round, Part part);
  Status AnswerForGood(Part part);
  // `number` tells this wish from every other one of this node.
  Status Wish(const Part& part, int64_t number);
  // The newest checkpoint that this node answered for and that is committed by now.
  Result<std::optional<CheckpointId>> Committed();
  // The number of this node's newest wish; 0 = it had none.
  int64_t wish() const { return wish_; }
  // A number above every round seen so far.
  int64_t free_seq() const { return last_seen_ + 1; }

 private:
  ObjectStore& store_;
  Clock& clock_;
  const std::string job_;
  const int attempt_;
  const int rank_;
  int64_t last_seen_ = 0;
  int64_t answered_ = 0;
  int64_t wish_ = 0;
  int64_t looked_for_ = 0;  // answered, and not known to be committed yet
  std::optional<Round> open_;
};

}  // namespace stoker
