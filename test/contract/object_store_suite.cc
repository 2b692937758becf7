// SPDX-License-Identifier: Apache-2.0
#include "test/contract/object_store_suite.h"

#include <mutex>

namespace stoker::contract {

struct Findings::State {
  mutable std::mutex mutex;
  std::vector<std::string> all;
};

Findings::Findings() : state_(std::make_unique<State>()) {}
Findings::~Findings() = default;

void Findings::Add(std::string what) {
  const std::lock_guard lock(state_->mutex);
  // A broken store fails thousands of times; the first failures tell.
  if (state_->all.size() < 20) state_->all.push_back(std::move(what));
}

bool Findings::Expect(bool holds, const std::string& what) {
  if (!holds) Add(what);
  return holds;
}

bool Findings::ExpectOk(const Status& status, const std::string& what) {
  return Expect(status.ok(), what + ": " + status.ToString());
}

bool Findings::ExpectCode(const Status& status, Code code, const std::string& what) {
  return Expect(status.Is(code), what + ": expected " + std::string(CodeName(code)) + ", got " +
                                     std::string(CodeName(status.code())) + " " + status.message());
}

std::vector<std::string> Findings::all() const {
  const std::lock_guard lock(state_->mutex);
  return state_->all;
}

std::vector<Check> AllChecks() {
  std::vector<Check> all;
  for (auto&& group : {BasicChecks(), ListChecks(), RaceChecks(), ProcessChecks()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace stoker::contract
