// SPDX-License-Identifier: Apache-2.0
#include "node/output_sync.h"

#include "base/text.h"
#include "sys/checkpoint_files.h"

namespace stoker::node {
namespace {

constexpr int64_t kLookEvery = 1000;

}  // namespace

OutputSync::OutputSync(OutputSyncConfig config, ObjectStore& store, Clock& clock)
    : say_(std::move(config.say)) {
  OutputsConfig outputs;
  outputs.job = config.job;
  outputs.attempt = config.attempt;
  outputs.rank = config.rank;
  outputs.movers = config.movers;
  outputs.leave_out = {config.spec.checkpoints.path};
  std::vector<OutputSource> sources;
  for (const std::string& path : config.spec.outputs) {
    const size_t slash = path.rfind('/');
    OutputSource source;
    source.prefix = slash == std::string::npos ? "" : path.substr(0, slash);
    CheckpointFilesOptions options;
    options.directory = config.workdir + (source.prefix.empty() ? "" : "/" + source.prefix);
    options.only = slash == std::string::npos ? path : path.substr(slash + 1);
    options.staging = config.staging;
    options.watch = false;  // it looks once a second
    options.reserve = 0;    // what is there of the disk is the job's, and a copy is soon gone
    files_.push_back(OpenCheckpointFiles(options, clock));
    source.files = files_.back().get();
    sources.push_back(source);
  }
  keeper_ = std::make_unique<OutputKeeper>(outputs, store, clock, sources);
  thread_ = std::thread([this] { Run(); });
}

OutputSync::~OutputSync() { Stop(); }

void OutputSync::Stop() {
  stop_ = true;
  bell_.Ring();
  if (thread_.joinable()) thread_.join();
}

void OutputSync::Run() {
  while (!stop_) {
    bell_.Wait(kLookEvery);
    if (stop_) return;
    Look(keeper_->Step());
  }
}

// What a look, or the last one, has come to.
void OutputSync::Look(const Status& status) {
  uploaded_ = keeper_->uploaded_files();
  const std::lock_guard lock(mutex_);
  trouble_ = status.ok() ? "" : status.ToString();
  std::map<std::string, std::string> before;
  before.swap(left_out_);
  for (const auto& [path, why] : keeper_->left_out()) {
    std::string line = "output '" + Printable(path) + "' is not kept: " + Printable(why);
    const auto said = before.find(path);
    if (say_ && (said == before.end() || said->second != line)) say_("stoker: " + line);
    left_out_[path] = std::move(line);
  }
}

Status OutputSync::Finish(MonoTime deadline) {
  Stop();
  Status status = keeper_->Finish(deadline);
  Look(status);
  return status;
}

void OutputSync::GiveUp() {
  Stop();
  keeper_->GiveUp();
  Look(Status::Ok());
}

std::vector<std::string> OutputSync::left_out() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [path, line] : left_out_) lines.push_back(line);
  return lines;
}

std::string OutputSync::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace stoker::node
