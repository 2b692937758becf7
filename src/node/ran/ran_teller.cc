// SPDX-License-Identifier: Apache-2.0
#include "node/ran/ran_teller.h"

#include <chrono>
#include <utility>

#include "base/digest.h"
#include "ledger/paths.h"
#include "node/ran/machine_facts.h"
#include "node/ran/packages.h"
#include "node/ran/python_seen.h"

namespace stoker::node {
namespace {

constexpr Duration kFirstLook = Duration::Seconds(1);
constexpr int kLooks = 5;  // each twice as late as the one before: for half a minute
constexpr int kTries = 6;  // of the store, which may be away

}  // namespace

RanTeller::RanTeller(ObjectStore& store, RanInput input)
    : store_(store), input_(std::move(input)), thread_([this] { Run(); }) {}

RanTeller::~RanTeller() {
  Finish({});
  thread_.join();
}

void RanTeller::ProgramEnded() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void RanTeller::Finish(Duration within) {
  std::unique_lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, std::chrono::milliseconds(within.ms), [this] { return done_; });
  dropped_ = true;
  changed_.notify_all();
}

bool RanTeller::WaitForEnd(Duration within) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(within.ms), [this] { return ended_; });
}

void RanTeller::Run() {
  (void)WaitForEnd(kFirstLook);
  AddMachineFacts(input_.facts);
  // Paths of a container's processes are the image's, where another program or none lies on the
  // machine: none of them is run, and no folder that they name is read.
  if (input_.facts.image.empty()) LearnPython();
  Status kept;
  for (int tries = 0; tries < kTries; ++tries) {
    kept = Keep();
    if (kept.ok() || !kept.transient()) break;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::seconds(1 << tries), [this] { return dropped_; })) {
      break;
    }
  }
  if (!kept.ok()) input_.say("stoker: what the program ran with is not kept: " + kept.ToString());
  const std::lock_guard lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

void RanTeller::LearnPython() {
  std::optional<PythonSeen> python = SeePython(input_.task->Processes());
  Duration wait = kFirstLook;
  for (int looks = 0; looks < kLooks && !python && !WaitForEnd(wait); ++looks) {
    wait = wait * 2;
    python = SeePython(input_.task->Processes());
  }
  RunFacts& facts = input_.facts;
  if (!python && input_.names_python) {
    python = AssumePython(input_.words, input_.env, input_.cwd);
    facts.python_assumed = python.has_value();
  }
  if (!python) return;
  facts.python = python->path;
  {
    const std::lock_guard lock(mutex_);
    if (dropped_) return;
  }
  const auto said = AskSeen(*python);
  if (!said.ok()) {
    facts.python_trouble = said.status().ToString();
    return;
  }
  facts.python_version = said->version;
  packages_ = ReadPackages(said->path);
  facts.package_count = static_cast<int>(packages_.size());
}

Status RanTeller::Keep() {
  RunFacts& facts = input_.facts;
  if (!packages_.empty()) {
    const std::string list = EncodePackages(packages_);
    facts.packages = Sha256Hex(list);
    const auto put =
        store_.Put(paths::RanPackages(input_.job, facts.packages), list, Condition::Absent());
    if (!put.ok() && !put.status().Is(Code::kExists)) return put.status();
  }
  return store_.Put(paths::Ran(input_.job, facts.attempt, facts.rank), EncodeRunFacts(facts))
      .status();
}

}  // namespace stoker::node
