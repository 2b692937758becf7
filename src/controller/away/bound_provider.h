// SPDX-License-Identifier: Apache-2.0
// A provider that is asked for nothing beyond a bound.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/away/away_note.h"
#include "controller/away/bound.h"
#include "port/provider.h"

namespace stoker {

// A machine that a record says is there or will be, by the key of its request and its index in it.
struct AwayRecorded {
  std::string what;
  int index = 0;
};

// Of a request: a provider answers it again with the same machines only there, by the same token.
std::string AskedKey(const std::string& job, const Place& place, const std::string& token);

struct BoundUse {
  Bound bound;
  std::string store_url;  // the only store that its machines may be told to open
  // What the provider makes of what a record asks for. Errors: it is none of its own.
  std::function<Result<AskedMachine>(const Ask&)> understand;
  std::function<WallTime()> now;  // the store's clock, as it was at this run's last write
  // Machines that were asked for a moment ago, which lists may not show yet.
  std::function<std::vector<AwayAsked>()> asked_before;
  // The same of others, as their jobs' records tell it. May be empty. An error: it is not known
  // now.
  std::function<Result<std::vector<AwayRecorded>>()> recorded;
  // Kept as AwayAsked::what, so that whoever runs next counts it, before it is sent. An error: it
  // is not sent.
  std::function<Status(const std::string& what, int machines)> keep;
  // Nothing was made for what was kept.
  std::function<void(const std::string& what)> drop;
};

// `inner` must outlive it. Launch and Start count every machine of the ledger that has power. A
// request beyond the bound is refused as kDenied: it stands in the record in words, and others may
// ask. Thread-safe as `inner`, but for `keep` and `drop`.
std::unique_ptr<Provider> BindProvider(Provider& inner, const std::string& ledger_id, BoundUse use);

}  // namespace stoker
