// SPDX-License-Identifier: Apache-2.0
#include "node/output_sync.h"

#include "sys/checkpoint_files.h"

namespace stoker::node {
namespace {

constexpr int64_t kLookEvery = 1000;

}  // namespace

OutputSync::OutputSync(OutputSyncConfig config, ObjectStore& store, Clock& clock) {
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
    const Status status = keeper_->Step();
    const std::lock_guard lock(mutex_);
    trouble_ = status.ok() ? "" : status.ToString();
  }
}

Status OutputSync::Finish(MonoTime deadline) {
  Stop();
  return keeper_->Finish(deadline);
}

std::string OutputSync::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace stoker::node
