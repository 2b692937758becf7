// SPDX-License-Identifier: Apache-2.0
// Asks several services of Google's, and waits for what they begin; inside provider/gce only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "provider/gce/away/run_parts.h"

namespace stoker::gce {

// Not thread-safe.
class ServiceAsker {
 public:
  // `make`: MakeServiceApi. `pause` sleeps between two looks at the same thing.
  using Make = std::function<Result<std::shared_ptr<ComputeApi>>(const std::string& service)>;
  ServiceAsker(Make make, std::function<void()> pause)
      : make_(std::move(make)), pause_(std::move(pause)) {}

  // The service's word. Errors: nobody answered.
  Result<Reply> Ask(const ServiceCall& call);
  // Ok where it is done, an operation that it begins with it; refused with one of the statuses of
  // HTTP that `also` has (409: there is such a thing), too. The answer's body. Asks again while an
  // account that was just made is not known everywhere.
  Result<std::string> Do(const ServiceCall& call, std::initializer_list<int> also = {});
  // `bindings` of `email` in a policy, and no other of it; again while others write it, too. Ok
  // where the thing is gone and `bindings` are none.
  Status Bind(const PolicyOf& of, const std::string& email, const std::vector<Binding>& bindings);

 private:
  Status AwaitEnd(const ServiceCall& call, const std::string& body);

  const Make make_;
  const std::function<void()> pause_;
  std::map<std::string, std::shared_ptr<ComputeApi>> apis_;
};

// A refusal: there is no such thing.
bool IsGone(const Failure& failure);

}  // namespace stoker::gce
