// SPDX-License-Identifier: Apache-2.0
#include "node/env/engine/patience.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace stoker::node {
namespace {

constexpr int64_t kHearsCancelMs = 100;

Status WasCancelled() { return Status(Code::kCancelled, "stopped while the node was set up"); }

}  // namespace

const PatienceRule kEnginePatience = {Duration::Minutes(1), Duration::Ms(200), Duration::Seconds(5),
                                      [](const Status& answer) { return answer.transient(); }};
const PatienceRule kRegistryPatience = {
    Duration::Minutes(10), Duration::Seconds(2), Duration::Minutes(1),
    [](const Status& answer) { return answer.Is(Code::kBusy); }};

Status Patience::Await(ShellStep& step, const std::function<void(const std::string&)>& say,
                       const std::function<Status()>& ask) {
  for (Duration pause = rule_.pause;; pause = std::min(pause * 2, rule_.longest)) {
    if (step.cancelled()) return WasCancelled();
    const MonoTime asked = clock_.Mono();
    const Status answer = ask();
    if (answer.ok()) since_.reset();
    if (answer.ok() || !rule_.passes(answer)) return answer;
    MonoTime now = clock_.Mono();
    if (!since_) since_ = answer.Is(Code::kTimeout) ? asked : now;
    const MonoTime end = *since_ + rule_.most;
    if (now >= end) {
      const Duration lasted = now - *since_;
      return Status(Code::kInvalid, answer.message() + "; so for " + HumanDuration(lasted),
                    answer.next());
    }
    if (answer.message() != said_) {
      said_ = answer.message();
      say(said_ + "; asked again, for " + FormatDuration(rule_.most) + " at most");
    }
    for (const MonoTime until = std::min(now + pause, end); now < until; now = clock_.Mono()) {
      if (step.cancelled()) return WasCancelled();
      const int64_t left = std::min((until - now).ms, kHearsCancelMs);
      std::this_thread::sleep_for(std::chrono::milliseconds(left));
    }
  }
}

}  // namespace stoker::node
