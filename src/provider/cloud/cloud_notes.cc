// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/cloud_notes.h"

#include <atomic>
#include <memory>
#include <set>

#include "ledger/places.h"

namespace stoker::cloud {
namespace {

// The store's clock, as far as it is from this machine's: told with each list of places, which
// whoever looks after machines asks for at each look.
class StoreClock {
 public:
  explicit StoreClock(Clock& clock) : clock_(clock) {}
  void IsNow(WallTime now) {
    ahead_ms_ = (now - clock_.Wall()).ms;
    known_ = true;
  }
  std::optional<WallTime> Now() const {
    if (!known_) return std::nullopt;
    return clock_.Wall() + Duration::Ms(ahead_ms_);
  }

 private:
  Clock& clock_;
  std::atomic<int64_t> ahead_ms_ = 0;
  std::atomic<bool> known_ = false;
};

}  // namespace

std::vector<std::string> AllPlaces(const std::vector<std::string>& noted,
                                   const std::vector<std::string>& also) {
  std::set<std::string> all(noted.begin(), noted.end());
  all.insert(also.begin(), also.end());
  return {all.begin(), all.end()};
}

Notes NotesIn(const std::function<Result<ObjectStore*>()>& store, const std::string& provider,
              Clock& clock, const std::vector<std::string>& also) {
  const auto store_clock = std::make_shared<StoreClock>(clock);
  Notes notes;
  notes.places = [store, provider, store_clock, also]() -> Result<std::vector<std::string>> {
    STOKER_ASSIGN(ObjectStore * opened, store());
    WallTime now;
    STOKER_ASSIGN(const auto noted, NotedPlaces(*opened, provider, &now));
    store_clock->IsNow(now);
    return AllPlaces(noted, also);
  };
  notes.note_place = [store, provider](const std::string& place) -> Status {
    STOKER_ASSIGN(ObjectStore * opened, store());
    return NotePlace(*opened, provider, place);
  };
  notes.drill = [store](const std::string& job, const std::string& id, Duration lead) -> Status {
    STOKER_ASSIGN(ObjectStore * opened, store());
    return AskDrill(*opened, job, id, lead);
  };
  notes.store_now = [store_clock] { return store_clock->Now(); };
  return notes;
}

}  // namespace stoker::cloud
