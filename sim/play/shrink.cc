// SPDX-License-Identifier: Apache-2.0
#include "sim/play/shrink.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/play/scenario_fields.h"

namespace stoker::sim {
namespace {

// Everything hangs on the order of the world's draws, and what is left out changes it: a plan is
// tried with a few more seeds before it is given up.
constexpr uint64_t kSeeds = 3;

class Shrinker {
 public:
  Shrinker(const Plan& plan, const std::function<std::string(const Plan&)>& breaks, int most_tries,
           const std::function<void(const std::string&)>& told)
      : breaks_(breaks), most_tries_(most_tries), told_(told), best_{plan, "", 0} {}

  Shrunk Run() {
    ++best_.tries;
    best_.rule = breaks_(best_.plan);
    if (best_.rule.empty()) return best_;
    for (bool smaller = true; smaller && !spent();) {
      smaller = false;
      smaller |= LeaveOut(&Plan::faults, 0);
      smaller |= LeaveOut(&Plan::jobs, 1);
      smaller |= LeaveOut(&Plan::controllers, 0);
      smaller |= EndEarlier();
      smaller |= Plainer();
      if (told_) {
        told_("after " + std::to_string(best_.tries) +
              " tries: " + std::to_string(best_.plan.faults.size()) + " faults, " +
              std::to_string(best_.plan.jobs.size()) + " jobs, " +
              std::to_string(best_.plan.controllers.size()) + " controllers");
      }
    }
    return best_;
  }

 private:
  bool spent() const { return best_.tries >= most_tries_; }

  // Takes `plan` if the same rule still breaks, with this seed or another.
  bool Try(Plan plan) {
    if (plan.boot_high < plan.boot_low) return false;  // no plan that a scenario can say
    for (uint64_t i = 0; i < kSeeds && !spent(); ++i) {
      plan.seed = best_.plan.seed + i;
      ++best_.tries;
      if (breaks_(plan) != best_.rule) continue;
      best_.plan = std::move(plan);
      return true;
    }
    return false;
  }

  // Zeller's delta debugging over one list: halves, quarters, … single ones.
  template <typename T>
  bool LeaveOut(std::vector<T> Plan::*list, size_t least) {
    bool smaller = false;
    size_t chunk = std::max<size_t>(1, (best_.plan.*list).size() / 2);
    for (;;) {
      for (size_t at = 0; at < (best_.plan.*list).size() && !spent();) {
        const size_t size = (best_.plan.*list).size();
        const size_t end = std::min(size, at + chunk);
        Plan plan = best_.plan;
        auto& items = plan.*list;
        items.erase(items.begin() + static_cast<ptrdiff_t>(at),
                    items.begin() + static_cast<ptrdiff_t>(end));
        if (items.size() >= least && Try(std::move(plan))) {
          smaller = true;
        } else {
          at += chunk;
        }
      }
      if (chunk == 1) return smaller;
      chunk /= 2;
    }
  }

  // What must happen, happens sooner: the calm, and what waits for it.
  bool EndEarlier() {
    bool smaller = false;
    while (best_.plan.calm > 10'000 && !spent()) {
      Plan plan = best_.plan;
      const int64_t sooner = plan.calm / 2;
      plan.calm -= sooner;
      for (FaultPlan& fault : plan.faults) fault.at = std::min(fault.at, plan.calm);
      for (ControllerPlan& controller : plan.controllers) {
        if (controller.begin > plan.calm) controller.begin -= sooner;
      }
      if (!Try(std::move(plan))) break;
      smaller = true;
    }
    return smaller;
  }

  bool Plainer() {
    bool plainer = false;
    plainer |= Fields(PlanFields(), [](Plan& plan) { return &plan; });
    plainer |= Fields(BucketFields(), [](Plan& plan) { return &plan.bucket; });
    plainer |= Fields(CloudFields(), [](Plan& plan) { return &plan.cloud; });
    for (size_t i = 0; i < best_.plan.jobs.size(); ++i) {
      plainer |= Fields(JobFields(), [i](Plan& plan) { return &plan.jobs[i]; });
      plainer |= Fields(ProgramFields(), [i](Plan& plan) { return &plan.jobs[i].program; });
    }
    for (size_t i = 0; i < best_.plan.controllers.size(); ++i) {
      plainer |= Fields(ControllerFields(), [i](Plan& plan) { return &plan.controllers[i]; });
    }
    for (size_t i = 0; i < best_.plan.faults.size(); ++i) {
      plainer |= Fields(FaultFields(), [i](Plan& plan) { return &plan.faults[i]; });
    }
    if (best_.plan.zones.size() > 1) {
      Plan plan = best_.plan;
      plan.zones.resize(1);
      plainer |= Try(std::move(plan));
    }
    return plainer;
  }

  template <typename T, typename Part>
  bool Fields(const std::vector<Field<T>>& fields, Part part) {
    bool plainer = false;
    for (const Field<T>& field : fields) plainer |= One(field, part);
    return plainer;
  }

  // A field as nobody touched it; else with fewer values, or one that is half as large.
  template <typename T, typename Part>
  bool One(const Field<T>& field, Part part) {
    static const T untouched{};
    const auto usual = field.get(untouched);
    const auto now = [&] { return field.get(*part(best_.plan)); };
    const auto with = [&](const std::vector<int64_t>& values) {
      Plan plan = best_.plan;
      field.clear(*part(plan));
      for (const int64_t value : values) field.set(*part(plan), value);
      return Try(std::move(plan));
    };
    if (now() != usual && !spent() && with(usual)) return true;
    bool plainer = false;
    for (size_t i = 0; i < now().size() && usual.empty() && !spent();) {
      auto values = now();
      values.erase(values.begin() + static_cast<ptrdiff_t>(i));
      if (with(values)) {
        plainer = true;
      } else {
        ++i;
      }
    }
    if (field.unit != Unit::kNumber && field.unit != Unit::kTime) return plainer;
    if (field.name == "calm" || field.name == "limit") return plainer;
    // What is as usual is plain enough, but for how long it all takes.
    const auto large = [&] { return now() != usual || field.name == "steps"; };
    while (large() && now().size() == 1 && now()[0] / 2 >= std::max<int64_t>(field.least, 1) &&
           !spent()) {
      if (!with({now()[0] / 2})) break;
      plainer = true;
    }
    return plainer;
  }

  const std::function<std::string(const Plan&)>& breaks_;
  const int most_tries_;
  const std::function<void(const std::string&)>& told_;
  Shrunk best_;
};

}  // namespace

Shrunk Shrink(const Plan& plan, const std::function<std::string(const Plan&)>& breaks,
              int most_tries, const std::function<void(const std::string&)>& told) {
  Shrinker shrinker(plan, breaks, most_tries, told);
  return shrinker.Run();
}

}  // namespace stoker::sim
