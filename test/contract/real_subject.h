// SPDX-License-Identifier: Apache-2.0
// What subjects of the provider contract share that live in real time: those of adapters.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "test/contract/provider_suite.h"

namespace stoker::contract_test {

class RealSubject : public ProviderSubject {
 public:
  Provider& provider() override { return is_denied_ ? *broken_ : *provider_; }
  Provider& another() override { return *another_; }
  WallTime Now() override { return clock_.Wall(); }
  bool Until(const std::function<bool()>& there) override {
    const MonoTime end = clock_.Mono() + patience_;
    while (!there()) {
      if (clock_.Mono() > end) return false;
      usleep(10'000);
    }
    return true;
  }
  LaunchRequest Request(const std::string& name) override {
    LaunchRequest request;
    request.token = name;
    request.ledger_id = "ledger";
    request.job = "job";
    request.launches = {3};
    request.limit = Duration::Minutes(5);
    return request;
  }
  // Where it can be refused for want of rights alone: by `broken_`.
  bool Refuse(const std::optional<Refusal>& how) override {
    is_denied_ = how && how->what == RefusalClass::kDenied;
    return is_denied_;
  }
  void AtOnce(const std::vector<std::function<void()>>& calls) override {
    std::vector<std::thread> threads;
    for (const auto& call : calls) threads.emplace_back(call);
    for (std::thread& thread : threads) thread.join();
  }

 protected:
  static LaunchRequest Times(int machines, LaunchRequest request) {
    request.launches.resize(static_cast<size_t>(machines), 3);
    return request;
  }

  RealClock clock_;
  sys::TempDir dir_ = std::move(*sys::TempDir::Make("provider-contract"));
  Duration patience_ = Duration::Seconds(60);
  std::unique_ptr<Provider> provider_;
  std::unique_ptr<Provider> another_;
  std::unique_ptr<Provider> broken_;
  bool is_denied_ = false;
};

// How many machines of that request there are.
inline size_t Living(Provider& provider, const std::string& token) {
  size_t living = 0;
  for (const InstanceSeen& seen : provider.Describe("ledger", "").value_or({})) {
    living += seen.token == token && seen.state != InstanceState::kGone;
  }
  return living;
}

class ProviderContract : public testing::TestWithParam<ProviderCase> {};

template <class Subject>
void KeepsTheContract(const ProviderCase& one) {
  Subject subject;
  EXPECT_EQ(Join(one.run(subject), "\n"), "");
}

// Once a program.
#define STOKER_PROVIDER_CONTRACT(As, Subject)                                            \
  using contract_test::ProviderContract;                                                 \
  TEST_P(ProviderContract, As) { contract_test::KeepsTheContract<Subject>(GetParam()); } \
  INSTANTIATE_TEST_SUITE_P(Cases, ProviderContract,                                      \
                           testing::ValuesIn(contract_test::ProviderCases()),            \
                           [](const auto& each) { return each.param.name; })

}  // namespace stoker::contract_test
