// SPDX-License-Identifier: Apache-2.0
// A job that its owner wants elsewhere.
#include <algorithm>

#include "sim/check/checks.h"

namespace stoker::sim {
namespace {

// moved: a job that has moved trains there, on machines that were asked for there for it.
class MovedIsThere : public Observer {
 public:
  explicit MovedIsThere(World& world) : world_(world) {}

  void OnRecord(const Job& before, const Job& after, const std::string& writer) override {
    const Move* move = MoveUnderWay(before);
    if (move == nullptr || !after.move || after.move->state != MoveState::kArrived) return;
    for (const Attempt& attempt : after.attempts) {
      if (attempt.number < move->attempt || !attempt.running) continue;
      for (const int number : attempt.launches) {
        const Launch* launch = FindLaunch(after, number);
        if (launch == nullptr || IsThere(RequestOf(after, *launch), *move)) continue;
        world_.Breach("moved",
                      writer + " says that it has moved to " + move->to + ", but launch " +
                          std::to_string(number) + " of attempt " + std::to_string(attempt.number) +
                          " is not there",
                      after.id);
      }
    }
  }

 private:
  static bool IsThere(const Request& request, const Move& move) {
    return request.number >= move.request &&
           std::any_of(move.offers.begin(), move.offers.end(),
                       [&](const Offer& offer) { return offer.ask == request.ask; });
  }

  World& world_;
};

}  // namespace

void AddMoveChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<MovedIsThere>(world));
}

}  // namespace stoker::sim
