// SPDX-License-Identifier: Apache-2.0
// The contract of the provider port (port/provider.h), as a list of cases that any provider must
// pass: one source for the local one, the simulated cloud and each that is to come. A case tells
// what is wrong instead of asserting it, so that a provider made to lie can be seen to fail.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "port/provider.h"

namespace stoker::contract_test {

// A provider with nothing of the two ledgers "ledger" and "other" on it.
class ProviderSubject {
 public:
  virtual ~ProviderSubject() = default;
  virtual Provider& provider() = 0;
  // A way to it that another process has.
  virtual Provider& another() = 0;
  // The provider's clock.
  virtual WallTime Now() = 0;
  // Until `there` or some minutes of the provider's time are over; false = they are.
  virtual bool Until(const std::function<bool()>& there) = 0;
  // A request that would be carried out. Each `name` makes another token.
  virtual LaunchRequest Request(const std::string& name) = 0;
  // One for `machines`, of which all but the last could be had.
  virtual LaunchRequest TooMuch(int machines) = 0;
  // From now on the platform refuses so what would make a machine; unset: nothing any more. False:
  // this provider is never refused so.
  virtual bool Refuse(const std::optional<Refusal>& how) = 0;
  // From now on what is asked for is taken, and dies of this before it is up; unset: nothing any
  // more. False: no machine of this provider ever does.
  virtual bool Doom(const std::optional<Refusal>&) { return false; }
  // Has the machine stopped as its platform or a person would. False: no machine of this provider
  // is ever Stopped.
  virtual bool Stop(const std::string&) { return false; }
  // From now on what is asked for waits in the provider's queue, until it is told to end. False:
  // this provider has none.
  virtual bool Queue(bool /*begin*/) { return false; }
  // Calls each at the same time, as far as this provider's callers can.
  virtual void AtOnce(const std::vector<std::function<void()>>& calls) = 0;
};

struct ProviderCase {
  std::string name;
  // What is wrong; empty = it keeps the contract.
  std::function<std::vector<std::string>(ProviderSubject&)> run;
};

// Each is to be run on a subject of its own.
const std::vector<ProviderCase>& ProviderCases();

}  // namespace stoker::contract_test
