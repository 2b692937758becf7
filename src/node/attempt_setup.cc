// SPDX-License-Identifier: Apache-2.0
// The part of an attempt that is around its setup: its code, whose packages are imported, why it
// failed.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "checkpoint/blob_transfer.h"
#include "ledger/blobs.h"
#include "ledger/records.h"
#include "node/attempt_run.h"
#include "node/env/editable.h"
#include "node/env/pip_words.h"
#include "pack/extract.h"
#include "spec/text/repository.h"
#include "sys/file.h"
#include "sys/watch/checkpoint_files.h"

namespace stoker::node {
namespace {

constexpr int64_t kCodeInMemory = 4 << 20;
constexpr Duration kForPlace = Duration::Seconds(15);
constexpr auto kBetweenTakes = std::chrono::milliseconds(50);

}  // namespace

// As a rule it is small, and needs no file.
Status AttemptRun::FetchCode() {
  std::string held;
  const auto hold = [&](std::string_view piece) {
    held += piece;
    return Status::Ok();
  };
  const Status fetched = FetchBlob(ledger_, config_.job.code_digest, hold, kCodeInMemory);
  if (fetched.ok()) return pack::ExtractText(held, WorkDir());
  // What came damaged may be whole in the store: that is for who asks again.
  const bool large = fetched.Is(Code::kInvalid);
  if (!large && !fetched.Is(Code::kCorrupt)) return fetched;
  const std::string archive = config_.dir + "/code.tar.zst";
  STOKER_ASSIGN(const auto writer, OpenDirectoryWriter(config_.dir));
  STOKER_TRY(FetchBlobFile(ledger_, movers_, config_.job.code_digest, "code.tar.zst", *writer));
  STOKER_TRY(pack::ExtractFile(archive, WorkDir()));
  return sys::RemoveTree(archive);
}

// Who had it before has ended, as the record says; what it started may take a moment longer, at
// most as long as its notice.
Duration AttemptRun::ForPlace() {
  Duration wait = kForPlace;
  const auto read = ReadJob(ledger_, config_.job.id);
  if (!read.ok()) return wait;
  for (const Attempt& attempt : read->job.attempts) {
    if (attempt.drain_until) wait = std::max(wait, *attempt.drain_until - clock_.Wall());
  }
  return wait;
}

// All attempts of a job have one absolute path here, one after the other: programs write it into
// their checkpoints.
void AttemptRun::TakePlace() {
  if (place_ || no_place_ || config_.work_dir.empty()) return;
  const std::string path =
      config_.work_dir + "/" + config_.job.id + "-" + std::to_string(config_.rank);
  std::optional<MonoTime> until;
  while (!step_.cancelled()) {
    auto place = sys::WorkPlace::Take(path, config_.dir);
    if (place.ok()) {
      place_ = std::move(*place);
      return;
    }
    const bool busy = place.status().Is(Code::kBusy);
    if (!until) until = clock_.Mono() + ForPlace();
    if (!busy || clock_.Mono() >= *until) {
      no_place_ = true;
      return Say("stoker: this attempt runs in " + WorkDir() + ", not in " + path +
                 ": absolute paths in its checkpoints may lead nowhere. " +
                 place.status().ToString());
    }
    Does("waiting for the attempt before it to leave " + path);
    std::this_thread::sleep_for(kBetweenTakes);
  }
}

// What is installed for editing out of the folder that was packed is imported from the job's copy.
void AttemptRun::TakeCopyFirst(const contract::Environment& env) {
  guard_.clear();
  const JobSpec& spec = config_.spec;
  if (config_.job.code_digest.empty() || RepositoryOf(spec.workdir)) return;
  const std::string command = Join(spec.argv, " ") + "\n" + spec.run + "\n" + spec.setup;
  const EditablePlan plan = PlanEditable({spec.workdir, WorkDir(), env, venv_.folder, command});
  for (const std::string& line : plan.lines) Say(line);
  if (!plan.any) return;
  const Status written = WriteEditableGuard(plan, config_.dir + "/editable");
  if (!written.ok()) return Say("stoker: " + written.ToString());
  guard_ = config_.dir + "/editable";
}

Status AttemptRun::WhySetupFailed(const TaskExit& exit, const std::string& output) {
  std::string what = "setup ended with exit code " + std::to_string(exit.ShellCode());
  const int64_t limit = config_.limiter != nullptr ? config_.limiter->exceeded() : 0;
  if (exit.out_of_memory && limit > 0) {
    what += ": over its limit of memory, " + HumanSize(limit) + " (resources.memory)";
  }
  if (const std::string words = PackageErrors(output); !words.empty()) what += ": " + words;
  std::string next = "Its output is in the log (stoker logs --stream system)";
  if (const std::string git = GitAdvice(output); !git.empty()) next = git;
  for (const char* name : {"STOKER_CHECKPOINT_DIR", "STOKER_OUTPUT_DIR", "STOKER_MODEL_DIR"}) {
    if (config_.spec.setup.find(name) == std::string::npos) continue;
    next += ". The folder of $" + std::string(name) +
            " is made once setup has run: 'mkdir -p' it there if it is needed";
    break;
  }
  return Status(Code::kInvalid, what, next);
}

}  // namespace stoker::node
