// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/tied/allocations.h"

#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "provider/local/local_boot.h"
#include "provider/slurm/slurm_allocation.h"
#include "provider/slurm/slurm_tools.h"
#include "provider/slurm/tied/allocation_watch.h"

namespace stoker {
namespace {

constexpr std::chrono::seconds kWriteCancel{2};
// A program may hear of Slurm's signal before its agent, and would count as one that failed.
constexpr Duration kSignalLate = Duration::Ms(1500);
constexpr Duration kTieAskLimit = Duration::Seconds(5);

class NodeInside : public TiedNode {
 public:
  NodeInside(const LocalAllocation& allocation, Clock& clock, TiedTo to)
      : outlive_(allocation.outlive), to_(std::move(to)) {
    watch_ = std::make_unique<AllocationWatch>(
        allocation, clock, [this](const std::string& why, Duration left) { Ends(why, left); });
    if (watch_->held()) to_.may_be_late(kSignalLate);
  }

  ~NodeInside() override {
    Leave();
    if (cancel_.joinable()) cancel_.join();
  }

  bool Signalled() override {
    const std::lock_guard lock(mutex_);
    if (!watch_) return false;
    // Slurm has signalled the program, too.
    if (watch_->held()) to_.signalled();
    return watch_->Signalled();
  }

  void Leave() override {
    std::unique_ptr<AllocationWatch> watch;
    {
      const std::lock_guard lock(mutex_);
      watch = std::move(watch_);
    }
  }

 private:
  // Nobody hears of the notice before the cancel is written, or a successor would be asked for; but
  // a store that is silent holds it up for two seconds only.
  void Ends(const std::string& why, Duration left) {
    const std::string inside =
        "stoker: the allocation that this job was started inside of ends (" + why + "): ";
    if (outlive_) {
      to_.say(inside + "it goes on from its newest checkpoint where somebody next looks");
      return to_.stops(left);
    }
    to_.say(inside + "it is cancelled, after its save");
    const auto asked = std::make_shared<std::promise<void>>();
    auto done = asked->get_future();
    cancel_ = std::thread([this, asked, why] {
      to_.cancel("the end of the allocation that it was started inside of, " + why);
      asked->set_value();
    });
    (void)done.wait_for(kWriteCancel);
    to_.stops(left);
  }

  const bool outlive_;
  const TiedTo to_;
  std::mutex mutex_;
  std::unique_ptr<AllocationWatch> watch_;
  std::thread cancel_;
};

class OfSlurm : public Allocations {
 public:
  std::string Name(int64_t job) const override { return AllocationName(job); }

  std::optional<AllocationHere> Here() const override {
    const auto inside = SlurmInsideHere();
    if (!inside) return std::nullopt;
    return AllocationHere{inside->job, inside->dies_first};
  }

  std::string Encode(const AllocationTie& tie) const override { return EncodeTie(tie); }

  std::optional<AllocationTie> Parse(std::string_view options) const override {
    auto tie = ParseTie(options);
    if (tie) tie->of = this;
    return tie;
  }

  bool IsEnding(Clock& clock, int64_t job) const override {
    SlurmTools tools("");
    const auto seen = AskAllocation(tools, job, clock.Wall(), kTieAskLimit);
    return seen.ok() && seen->state != AllocationState::kRuns;
  }

  std::unique_ptr<TiedNode> Watch(const std::string& dir, Clock& clock, TiedTo to) const override {
    const auto boot = ReadLocalBoot(dir);
    if (!boot.ok() || boot->allocation.job == 0) return nullptr;
    return std::make_unique<NodeInside>(boot->allocation, clock, std::move(to));
  }
};

}  // namespace

const Allocations& SlurmAllocations() {
  static const OfSlurm all;
  return all;
}

}  // namespace stoker
