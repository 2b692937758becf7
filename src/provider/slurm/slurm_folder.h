// SPDX-License-Identifier: Apache-2.0
// The folder of each request, on a disk that whoever asks and all nodes see:
//
//   STATE/slurm/requests/LEDGER-JOB.TOKEN/
//     request.json   what was asked for; the folder appears by rename, with this in it
//     sending-RANDOM somebody waits for sbatch's answer, or died over it
//     job            the number of the job that Slurm made of it
//     started        that number, written by the batch script before all else: it begins once
//     begun          when it began, as Slurm says
//     node-INDEX     a node's address, and until when it lives unless that is moved
//     notice         a fire drill's
//     end            who ended it, and why; from then on nothing of it begins
//     again          Slurm had given that number to another request before, and forgotten it
//     left           the batch script has ended after it was told to: what follows is no word of
//     why signalled-INDEX  a node has been sent SIGTERM
//   STATE/slurm/over/LEDGER-JOB.TOKEN
//     what is left of it for a month, with its number: nothing is sent again by this token
//
// Slurm forgets a job minutes after its end; this does not. All files appear whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "job/notice.h"
#include "port/provider.h"

namespace stoker {

// True for 1-128 of [A-Za-z0-9_-].
bool IsSlurmToken(std::string_view token);

enum class SlurmEnder { kSelf, kOwner, kPlatform };

struct SlurmEnd {
  SlurmEnder by = SlurmEnder::kSelf;  // kSelf: stoker, by Terminate or from within
  std::string why;
};

// What Slurm does not tell of a job.
struct SlurmTraces {
  WallTime begun;     // when Slurm said first that it began; 0 = nobody has asked by then
  bool left = false;  // its batch script was told to end, and has
  bool again = false;
};

struct SlurmNodeFile {
  std::string address;
  WallTime expires;
};

// One request's. Any number of processes may use it.
class SlurmFolder {
 public:
  explicit SlurmFolder(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  // STATE; the path itself where it is in none.
  std::string state() const { return path_.substr(0, path_.rfind("/slurm/requests/")); }
  bool Exists() const;

  Result<LaunchRequest> Request() const;
  // 0 = not known (yet). SlurmState keeps it.
  int64_t Job() const;
  // By which job of Slurm; 0 = none.
  int64_t Started() const;
  SlurmTraces Traces() const;
  // The first time stays: a job that Slurm says began later was lost, and begun anew.
  void KeepBegun(WallTime begun) const;
  // When it last learnt of a job, or that one has begun; by the file server's clock.
  WallTime LearntAt() const;
  // From when to when somebody waits for an answer.
  Result<std::string> BeginSending() const;
  void EndSending(const std::string& name) const;
  // Somebody began to wait since then, and has not been answered.
  bool IsSending(WallTime since) const;
  std::optional<SlurmEnd> End() const;
  // The first one stays.
  Status KeepEnd(const SlurmEnd& end) const;
  std::optional<SlurmNodeFile> Node(int index) const;
  Status KeepNode(int index, const SlurmNodeFile& node) const;
  Result<std::optional<Notice>> ReadNotice() const;
  Status GiveNotice(const Notice& notice) const;
  // A node has been sent a signal: what was read of the queue before is old.
  void Signalled(int index) const;
  bool SignalledSince(WallTime when) const;
  // The last lines of the batch script's output; "" = none.
  std::string LastWords(int64_t job) const;

 private:
  Status LinkFirst(const std::string& name, const std::string& text) const;

  std::string path_;
};

// All of them.
class SlurmState {
 public:
  explicit SlurmState(std::string state) : root_(std::move(state) + "/slurm") {}
  std::string PathOf(const LaunchRequest& request) const;
  SlurmFolder Of(const LaunchRequest& request) const { return SlurmFolder(PathOf(request)); }
  Status Make(const LaunchRequest& request) const;
  // The number that Slurm has given to it.
  Status KeepJob(const LaunchRequest& request, int64_t job) const;
  bool IsOver(const LaunchRequest& request) const;
  // The same, and it was so at that time.
  bool WasOver(const LaunchRequest& request, WallTime at) const;
  // Leaves a mark in its place, then removes it.
  Status Remove(const LaunchRequest& request) const;
  // Takes away what Slurm refused, and nobody will send again, when it is a day old.
  void ClearUnsent(WallTime now) const;
  // Of that ledger, and of that job unless it is "".
  std::vector<SlurmFolder> List(const std::string& ledger, const std::string& job) const;
  // All ledgers' folders.
  std::vector<SlurmFolder> ListAll() const;
  // Something was asked for the job from here, were it over by now.
  bool Knows(const std::string& ledger, const std::string& job) const;

 private:
  bool WasOfAnother(const std::string& name, int64_t job) const;

  std::string root_;
};

}  // namespace stoker
