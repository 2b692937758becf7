// SPDX-License-Identifier: Apache-2.0
#include "page/refresher.h"

#include <algorithm>
#include <chrono>

#include "agent/flush_policy.h"
#include "base/json.h"
#include "ledger/paths.h"
#include "ledger/records.h"

namespace stoker::page {
namespace {

constexpr Duration kInterest = Duration::Minutes(1);
constexpr Duration kPassBudget = Duration::Ms(300);
// Job files that are read in one look for their hyperparameters.
constexpr size_t kSpecsALook = 300;
constexpr size_t kSpecsOfAFolder = 5000;
constexpr size_t kMostLookedAt = 32;

}  // namespace

Refresher::Refresher(JobReader& jobs, JobsBook& book, Events& events)
    : jobs_(jobs), book_(book), events_(events), thread_([this] { Loop(); }) {}

Refresher::~Refresher() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Refresher::Interest(const std::string& job) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (asked_.size() >= kMostLookedAt && asked_.count(job) == 0) return;
  asked_[job] = jobs_.ledger().clock().Mono();
}

void Refresher::Hurry() {
  std::lock_guard<std::mutex> lock(mutex_);
  hurry_ = true;
  wake_.notify_all();
}

void Refresher::Loop() {
  const StoreTraits& traits = jobs_.ledger().store().traits();
  const Duration pause = std::max(Duration::Ms(400), traits.follow);
  for (;;) {
    const MonoTime begun = jobs_.ledger().clock().Mono();
    if (events_.listeners() > 0) Look(begun);
    // A look that takes long does not become all that there is.
    const Duration spent = jobs_.ledger().clock().Mono() - begun;
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait_for(lock, std::chrono::milliseconds(std::max(pause, spent).ms),
                   [&] { return ending_ || hurry_; });
    if (ending_) return;
    if (hurry_) listed_ = passed_ = MonoTime{};
    hurry_ = false;
  }
}

void Refresher::Look(MonoTime now) {
  const StoreTraits& traits = jobs_.ledger().store().traits();
  std::map<std::string, MonoTime> asked;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(asked_, [&](const auto& each) { return now - each.second > kInterest; });
    asked = asked_;
  }
  std::erase_if(seen_, [&](const auto& each) { return asked.count(each.first) == 0; });
  for (const auto& [job, at] : asked) LookAt(job, &seen_[job], now);
  if (listed_ == MonoTime{} || now - listed_ >= std::max(traits.poll, Duration::Seconds(1))) {
    listed_ = now;
    const auto changed = book_.Refresh(traits.requests_are_free ? kSpecsOfAFolder : kSpecsALook);
    if (changed.ok() && *changed) events_.Tell(R"({"jobs":1})");
  }
  if (passed_ == MonoTime{} || now - passed_ >= std::max(traits.look / 3, Duration::Seconds(2))) {
    passed_ = now;
    jobs_.LookAfterAll(kPassBudget);
  }
}

void Refresher::LookAt(const std::string& job, Seen* seen, MonoTime now) {
  ObjectStore& store = jobs_.ledger().store();
  if (seen->final) return;
  const auto read = ReadJob(jobs_.ledger(), job);
  if (!read.ok()) return;
  nlohmann::json news = nlohmann::json::object();
  const auto compare = [&](const char* what, std::string* known, const std::string& is) {
    // Marked, so that nothing seen yet differs from seen and empty.
    const std::string marked = "=" + is;
    if (!known->empty() && *known != marked) news[what] = 1;
    *known = marked;
  };
  const std::string record = std::to_string(read->job.rev);
  compare("record", &seen->record, record);
  if (const auto log = LogSignature(store, job); log.ok()) compare("log", &seen->log, *log);
  if (const auto metrics = MetricsSignature(store, job, -1); metrics.ok()) {
    compare("metrics", &seen->metrics, *metrics);
  }
  seen->final = IsFinal(read->job.state);
  if (!seen->final && (seen->marked == MonoTime{} || now - seen->marked >= kFollowMark)) {
    seen->marked = now;
    (void)store.Put(paths::Follow(job), "");  // its nodes then send lines at once
  }
  if (news.empty()) return;
  news["job"] = job;
  events_.Tell(news.dump());
}

}  // namespace stoker::page
