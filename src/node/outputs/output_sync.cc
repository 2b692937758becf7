// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/output_sync.h"

#include <algorithm>

#include "base/text.h"
#include "sys/watch/checkpoint_files.h"

namespace stoker::node {
namespace {

constexpr int64_t kLookEvery = 1000;
// A pattern may mean a walk through a large tree: it is taken the slower the longer it is.
constexpr int64_t kRestAfter = 20;
// What nobody declared is looked for so long, where no deadline allows for more.
constexpr Duration kLookForMade = Duration::Minutes(1);

}  // namespace

OutputSync::OutputSync(OutputSyncConfig config, ObjectStore& store, Clock& clock)
    : config_(std::move(config)), store_(store), clock_(clock) {
  OutputsConfig outputs;
  outputs.job = config_.job;
  outputs.attempt = config_.attempt;
  outputs.rank = config_.rank;
  outputs.movers = config_.movers;
  outputs.leave_out = config_.plan.Apart();
  keeper_ = std::make_unique<OutputKeeper>(outputs, store, clock, std::vector<OutputSource>());
  for (const OutputPlace& place : config_.plan.WhileRunning()) AddSource(place);
  thread_ = std::thread([this] { Run(); });
}

void OutputSync::AddSource(const OutputPlace& place) {
  CheckpointFilesOptions options;
  options.directory = config_.workdir + (place.folder.empty() ? "" : "/" + place.folder);
  options.only = place.only;
  options.filter = place.filter;
  options.staging = config_.staging;
  options.watch = false;  // it looks once a second
  options.reserve = 0;    // what is there of the disk is the job's, and a copy is soon gone
  files_.push_back(OpenCheckpointFiles(options, clock_));
  keeper_->Add({place.folder, files_.back().get()});
}

OutputSync::~OutputSync() { Stop(); }

void OutputSync::Stop() {
  stop_ = true;
  bell_.Ring();
  if (thread_.joinable()) thread_.join();
}

void OutputSync::Run() {
  Duration spent;
  while (!stop_) {
    bell_.Wait(std::max(kLookEvery, kRestAfter * spent.ms));
    if (stop_) return;
    const MonoTime begun = clock_.Mono();
    const Status status = keeper_->Step();
    if (config_.beside) config_.beside();
    spent = clock_.Mono() - begun;
    Look(status);
  }
}

// What a look, or the last one, has come to.
void OutputSync::Look(const Status& status) {
  uploaded_ = keeper_->uploaded_files();
  std::map<std::string, std::string> now;
  for (const auto& [path, why] : keeper_->left_out()) {
    now[path] = "output '" + Printable(path) + "' is not kept: " + Printable(why);
  }
  std::map<std::string, std::string> before;
  {
    const std::lock_guard lock(mutex_);
    trouble_ = status.ok() ? "" : status.ToString();
    before.swap(left_out_);
    left_out_ = now;
  }
  // Without the lock: who writes the report asks for the trouble, and holds what `say` needs.
  for (const auto& [path, line] : now) {
    const auto said = before.find(path);
    if (config_.say && (said == before.end() || said->second != line))
      config_.say("stoker: " + line);
  }
}

// Once: a second look would take as long, and the tree does not change any more.
void OutputSync::AddMade(MonoTime deadline) {
  if (made_added_) return;
  made_added_ = true;
  const MonoTime until = std::max(deadline, clock_.Mono() + kLookForMade);
  const auto place = config_.plan.AtEnd([&] { return clock_.Mono() >= until; });
  if (place) AddSource(*place);
  for (const std::string& line : config_.plan.left_out()) config_.say("stoker: " + line);
  const std::lock_guard lock(mutex_);
  not_chosen_ = config_.plan.left_out();
}

Status OutputSync::LookForMissing() {
  std::vector<OutputInfo> all;  // read only when it matters
  bool read = false;
  Status status;
  const auto matches = [](const OutputPattern& pattern, const std::vector<OutputInfo>& outputs) {
    return std::any_of(outputs.begin(), outputs.end(), [&](const OutputInfo& output) {
      return pattern.Matches(output.file_path());
    });
  };
  const std::vector<std::string> missing = config_.plan.Missing([&](const OutputPattern& pattern) {
    const auto means = [&](const std::string& path) { return pattern.Matches(path); };
    if (keeper_->Kept(means)) return true;
    const std::set<std::string>& unsaved = keeper_->unsaved();
    const bool came = std::any_of(unsaved.begin(), unsaved.end(), means);
    if (came && !pattern.required()) return true;  // that it is not kept is said of its files
    if (!read) {
      auto listed = ListOutputs(store_, config_.job);
      if (listed.ok()) all = std::move(*listed);
      status = listed.status();
      read = true;
    }
    return matches(pattern, all);
  });
  STOKER_TRY(status);
  const std::lock_guard lock(mutex_);
  missing_ = missing;
  return Status::Ok();
}

Status OutputSync::Finish(MonoTime deadline) {
  Stop();
  AddMade(deadline);
  const Status status = keeper_->Finish(deadline);
  Look(status);
  return status.ok() ? LookForMissing() : status;
}

void OutputSync::GiveUp() {
  Stop();
  keeper_->GiveUp();
  Look(Status::Ok());
  (void)LookForMissing();
}

std::vector<std::string> OutputSync::unsaved() const {
  return {keeper_->unsaved().begin(), keeper_->unsaved().end()};
}

std::vector<std::string> OutputSync::left_out() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines = not_chosen_;
  for (const auto& [path, line] : left_out_) lines.push_back(line);
  return lines;
}

std::vector<std::string> OutputSync::missing() {
  const std::lock_guard lock(mutex_);
  return missing_;
}

std::string OutputSync::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace stoker::node
