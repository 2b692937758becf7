// SPDX-License-Identifier: Apache-2.0
// A Python environment out of the store, in the place of building it; and what is noted in one, so
// that it can be kept later (env_keeper.h).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "port/object_store.h"

namespace stoker::node {

struct EnvTaker {
  ObjectStore& store;
  std::function<bool()> cancelled;
  std::function<void(const std::string&)> say;
  // Runs that interpreter of the environment once.
  std::function<Status(const std::string& python)> check;
};
struct TakenEnv {
  bool taken = false;
  // The manifest that was there and did not do: it is to be replaced.
  std::optional<Version> damaged;
};
// Unpacks the environment `key` into `folder`, made anew, with a link to `python`. What arrives is
// held against its digests. Not taken: there is none, or it did not do, which is said. kCancelled.
Result<TakenEnv> TakeEnv(const EnvTaker& by, const std::string& key, const std::string& folder,
                         const std::string& python);

// What an environment says of itself, in a file of its own that is never kept.
struct EnvNote {
  std::string key;
  std::string stamp;    // StampOf, as it was made; kKeptStamp: it is kept; kSpoilt: it can't be
  std::string damaged;  // TakenEnv::damaged
};
inline constexpr char kKeptStamp[] = "kept";
inline constexpr char kSpoiltStamp[] = "spoilt";
Status WriteEnvNote(const std::string& folder, const EnvNote& note);
std::optional<EnvNote> ReadEnvNote(const std::string& folder);

}  // namespace stoker::node
