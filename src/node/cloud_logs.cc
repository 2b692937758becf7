// SPDX-License-Identifier: Apache-2.0
#include "node/cloud_logs.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr char kPrefix[] = "cloud-log-";
constexpr Duration kEvery = Duration::Seconds(1);
constexpr int64_t kMostFile = 1 << 10;

}  // namespace

struct CloudLogs::One {
  int attempt = 0, rank = 0;
  std::string file;
  std::shared_ptr<const std::atomic<int64_t>> end;  // null: all that the store has
  std::unique_ptr<CloudLog> to;
  std::unique_ptr<LogMirror> mirror;
};

CloudLogs::CloudLogs(ObjectStore& store, Clock& clock, CloudLogsConfig config)
    : store_(store), clock_(clock), config_(std::move(config)) {
  thread_ = std::thread([this] { Run(); });
}

CloudLogs::~CloudLogs() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  bell_.notify_all();
  thread_.join();
}

void CloudLogs::Follow(int attempt, int rank, std::shared_ptr<const std::atomic<int64_t>> end) {
  {
    const std::lock_guard lock(mutex_);
    auto& one = all_[{attempt, rank}];
    if (!one) one = std::make_shared<One>();
    one->attempt = attempt;
    one->rank = rank;
    one->file = config_.dir + "/" + kPrefix + std::to_string(attempt) + "-" + std::to_string(rank);
    one->end = std::move(end);
    // By it an agent that is started again knows of the log, though none of it was sent.
    if (!sys::FileExists(one->file)) {
      (void)sys::WriteFileAtomic(one->file, PrintMirrorPosition({}), 0600);
    }
    AddLeft();
    idle_ = false;
    rung_ = true;
  }
  bell_.notify_all();
}

// Of an agent that died between two attempts.
void CloudLogs::AddLeft() {
  if (left_added_) return;
  left_added_ = true;
  const auto entries = sys::ListDir(config_.dir);
  if (!entries.ok()) return;
  for (const sys::DirEntry& entry : *entries) {
    const std::string& name = entry.name;
    if (!StartsWith(name, kPrefix)) continue;
    const std::vector<std::string> numbers = Split(name.substr(sizeof kPrefix - 1), '-');
    if (numbers.size() != 2) continue;
    const auto attempt = WholeNumber(numbers[0], 1, INT32_MAX);
    const auto rank = WholeNumber(numbers[1], 0, INT32_MAX);
    if (!attempt || !rank) continue;
    auto& one = all_[{static_cast<int>(*attempt), static_cast<int>(*rank)}];
    if (one) continue;
    one = std::make_shared<One>();
    one->attempt = static_cast<int>(*attempt);
    one->rank = static_cast<int>(*rank);
    one->file = config_.dir + "/" + name;
  }
}

// Whether all of it is there.
bool CloudLogs::Look(One& one) {
  std::shared_ptr<const std::atomic<int64_t>> shipped;
  {
    const std::lock_guard lock(mutex_);
    shipped = one.end;
  }
  const int64_t end = shipped ? shipped->load() : INT64_MAX;
  if (one.mirror && one.mirror->next() >= end) return true;
  if (!one.mirror && end <= 1) return true;
  if (!one.mirror) {
    auto to = config_.open(one.attempt, one.rank);
    if (!to.ok()) {
      const std::string why = "the cloud's own log is not reached: " + to.status().ToString();
      if (!std::exchange(said_, true)) config_.say("stoker: " + why + "; it is tried again");
      const std::lock_guard lock(mutex_);
      trouble_ = why;
      return false;
    }
    one.to = std::move(*to);
    MirrorMemory memory;
    memory.read = [file = one.file] { return sys::ReadFile(file, kMostFile); };
    memory.write = [file = one.file](const std::string& text) {
      return sys::WriteFileAtomic(file, text, 0600);
    };
    one.mirror =
        std::make_unique<LogMirror>(store_, clock_, LogPlace{config_.job, one.attempt, one.rank},
                                    *one.to, std::move(memory), config_.say);
  }
  const auto next = one.mirror->Step(end);
  const std::lock_guard lock(mutex_);
  trouble_ = one.mirror->trouble();
  return !next;
}

void CloudLogs::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    rung_ = false;
    const bool hurry = std::exchange(hurry_, false);
    std::vector<std::shared_ptr<One>> all;
    for (const auto& [id, one] : all_) all.push_back(one);
    lock.unlock();
    bool idle = true;
    std::vector<Id> over;
    for (const auto& one : all) {
      if (hurry && one->mirror) one->mirror->Hurry();
      if (Look(*one)) {
        if (one->mirror) over.emplace_back(one->attempt, one->rank);
        continue;
      }
      idle = false;
      break;  // in order: what an earlier attempt said comes first
    }
    lock.lock();
    for (const Id& id : over) {
      if (all_[id]->end) continue;  // it has begun again meanwhile
      (void)sys::RemoveTree(all_[id]->file);
      all_.erase(id);
    }
    idle_ = idle && !rung_;
    bell_.notify_all();
    const bool more = !idle && trouble_.empty();
    if (!more) {
      bell_.wait_for(lock, std::chrono::milliseconds(kEvery.ms), [this] { return rung_ || stop_; });
    }
  }
}

bool CloudLogs::Finish(Duration within) {
  std::unique_lock lock(mutex_);
  AddLeft();
  rung_ = hurry_ = true;
  idle_ = false;
  bell_.notify_all();
  const auto all = [this] { return idle_ && !rung_; };
  if (bell_.wait_for(lock, std::chrono::milliseconds(within.ms), all)) return true;
  if (trouble_.empty()) {
    trouble_ = "the last log lines had not all reached the cloud's own log when this node ended";
    trouble_ += "; 'stoker logs' has them";
  }
  return false;
}

std::string CloudLogs::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace stoker::node
