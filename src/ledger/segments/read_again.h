// SPDX-License-Identifier: Apache-2.0
// What is read can be wrong for a moment: a bit that plain HTTP flipped on the way, an answer of a
// proxy. So nothing is called damaged, and nothing missing that ought to be there, before it was
// read again. The rule is pure; the loop is at the edge, in the readers, so that all callers have
// it.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "port/object_store.h"
#include "port/pause.h"

namespace stoker {

// So often at most, the first time included: half a second in all.
inline constexpr int kReads = 3;

// Before read number `next` (2, 3).
inline Duration PauseBeforeRead(int next) { return Duration::Ms(next <= 2 ? 100 : 400); }

// Whether what was read may be judged otherwise when it comes again. A flipped bit makes it
// nonsense, or a format that only a newer stoker knows.
inline bool MayBeMomentary(const Status& judged) {
  return judged.Is(Code::kCorrupt) || judged.Is(Code::kTooNew);
}

// Whether to read once more after `reads` of them. The same bytes twice are what is stored.
inline bool ReadAgain(const Status& judged, int reads, bool same_bytes) {
  return MayBeMomentary(judged) && !same_bytes && reads < kReads;
}

// Gets `key` and gives what `judge` (const Object& -> Result<T>) makes of it. Failures of the store
// itself are returned at once. Costs one request more for what is damaged for good.
template <typename Judge>
auto GetJudged(ObjectStore& store, const std::string& key, Judge judge)
    -> decltype(judge(std::declval<const Object&>())) {
  std::string before;
  for (int reads = 1;; ++reads) {
    auto object = store.Get(key);
    if (!object.ok()) return object.status();
    auto judged = judge(std::as_const(*object));
    const bool same = reads > 1 && object->data == before;
    if (judged.ok() || !ReadAgain(judged.status(), reads, same)) return judged;
    before = std::move(object->data);
    Pause(store, PauseBeforeRead(reads + 1));
  }
}

}  // namespace stoker
