// SPDX-License-Identifier: Apache-2.0
#include "provider/tied/tied_node.h"

#include <chrono>
#include <future>
#include <utility>

namespace stoker {
namespace {

constexpr std::chrono::seconds kWriteCancel{2};
// A program may hear of Slurm's signal before its agent, and would count as one that failed.
constexpr Duration kSignalLate = Duration::Ms(1500);

LocalAllocation AllocationOf(const std::string& dir) {
  const auto boot = ReadLocalBoot(dir);
  return boot.ok() ? boot->allocation : LocalAllocation();
}

}  // namespace

TiedNode::TiedNode(const std::string& dir, Clock& clock, TiedTo to)
    : allocation_(AllocationOf(dir)), to_(std::move(to)) {
  if (allocation_.job == 0) return;
  watch_ = std::make_unique<AllocationWatch>(
      allocation_, clock, [this](const std::string& why, Duration left) { Ends(why, left); });
  if (watch_->held()) to_.may_be_late(kSignalLate);
}

TiedNode::~TiedNode() {
  Leave();
  if (cancel_.joinable()) cancel_.join();
}

bool TiedNode::Signalled() {
  const std::lock_guard lock(mutex_);
  if (!watch_) return false;
  // Slurm has signalled the program, too.
  if (watch_->held()) to_.signalled();
  return watch_->Signalled();
}

void TiedNode::Leave() {
  std::unique_ptr<AllocationWatch> watch;
  {
    const std::lock_guard lock(mutex_);
    watch = std::move(watch_);
  }
}

// Nobody hears of the notice before the cancel is written, or a successor would be asked for; but
// a store that is silent holds it up for two seconds only.
void TiedNode::Ends(const std::string& why, Duration left) {
  const std::string inside =
      "stoker: the allocation that this job was started inside of ends (" + why + "): ";
  if (allocation_.outlive) {
    to_.say(inside + "it goes on from its newest checkpoint where somebody next looks");
    return to_.stops(left);
  }
  to_.say(inside + "it is cancelled, after its save");
  const auto asked = std::make_shared<std::promise<void>>();
  auto done = asked->get_future();
  cancel_ = std::thread([this, asked, why] {
    const std::string by = "the end of the allocation that it was started inside of, " + why;
    to_.cancel(by);
    asked->set_value();
  });
  (void)done.wait_for(kWriteCancel);
  to_.stops(left);
}

}  // namespace stoker
