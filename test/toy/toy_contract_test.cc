// SPDX-License-Identifier: Apache-2.0
// Machines of Toy keep the contract of the provider port. The test binary is machine process and
// agent, too: see main().
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "base/text.h"
#include "sys/real_clock.h"
#include "test/contract/provider_suite.h"
#include "test/toy/toy.h"

namespace stoker::toy {
namespace {

using contract_test::ProviderCase;
using contract_test::ProviderCases;

class ToySubject : public contract_test::ProviderSubject {
 public:
  ~ToySubject() override {
    for (const char* ledger : {"ledger", "other"}) {
      for (const InstanceSeen& left : provider_->Describe(ledger, "").value_or({})) {
        EXPECT_TRUE(provider_->Terminate(left.id).ok());
      }
      EXPECT_TRUE(Until([&] {
        const auto left = provider_->Describe(ledger, "").value_or({});
        return std::all_of(left.begin(), left.end(), [](const InstanceSeen& seen) {
          return seen.state == InstanceState::kGone;
        });
      }));
    }
  }
  Provider& provider() override { return is_denied_ ? *broken_ : *provider_; }
  Provider& another() override { return *another_; }
  WallTime Now() override { return clock_.Wall(); }
  bool Until(const std::function<bool()>& there) override {
    const MonoTime end = clock_.Mono() + Duration::Seconds(60);
    while (!there()) {
      if (clock_.Mono() > end) return false;
      usleep(5'000);
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
  // Their names are longer than one may be.
  LaunchRequest TooMuch(int machines) override {
    LaunchRequest request = Request(std::string(65, 'x'));
    request.launches.resize(static_cast<size_t>(machines), 3);
    return request;
  }
  // Where nothing can be made.
  bool Refuse(const std::optional<Refusal>& how) override {
    is_denied_ = how && how->what == RefusalClass::kDenied && how->scope == RefusalScope::kAccount;
    return is_denied_;
  }
  void AtOnce(const std::vector<std::function<void()>>& calls) override {
    std::vector<std::thread> threads;
    for (const auto& call : calls) threads.emplace_back(call);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  RealClock clock_;
  sys::TempDir dir_ = *sys::TempDir::Make("toy-contract");
  std::unique_ptr<Provider> provider_ = MakeToyProvider(dir_.path(), clock_);
  std::unique_ptr<Provider> another_ = MakeToyProvider(dir_.path(), clock_);
  std::unique_ptr<Provider> broken_ = MakeToyProvider("/proc/none", clock_);
  bool is_denied_ = false;
};

class ProviderContract : public testing::TestWithParam<ProviderCase> {};

TEST_P(ProviderContract, Toy) {
  ToySubject subject;
  EXPECT_EQ(Join(GetParam().run(subject), "\n"), "");
}

INSTANTIATE_TEST_SUITE_P(Cases, ProviderContract, testing::ValuesIn(ProviderCases()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace stoker::toy

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == std::string(stoker::toy::kMachineVerb)) {
    return stoker::toy::ToyMachineMain(argv[2]);
  }
  if (argc > 1 && argv[1] == std::string("__agent")) return pause();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
