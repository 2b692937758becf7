// SPDX-License-Identifier: Apache-2.0
// Machines on this machine keep the contract of the provider port. The test binary is machine
// process and agent, too: see main().
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <thread>

#include "base/text.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_machine.h"
#include "provider/local/local_provider.h"
#include "provider/local/local_waiter.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "test/contract/provider_suite.h"

namespace stoker {
namespace {

using contract_test::ProviderCase;
using contract_test::ProviderCases;
using contract_test::ProviderSubject;

class LocalSubject : public ProviderSubject {
 public:
  LocalSubject() {
    provider_ = Open();
    another_ = Open();
  }
  ~LocalSubject() override {
    for (const char* ledger : {"ledger", "other"}) {
      for (const InstanceSeen& left : provider_->Describe(ledger, "").value_or({})) {
        EXPECT_TRUE(provider_->Terminate(left.id).ok());
      }
      EXPECT_TRUE(provider_->Describe(ledger, "")->empty());
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
  // The name of the last is longer than one may be.
  LaunchRequest TooMuch(int machines) override {
    LaunchRequest request = Request(std::string(127, 'x'));
    request.launches.resize(static_cast<size_t>(machines), 3);
    return request;
  }
  // One whose program is not there; this machine's other refusals need a full disk, or another
  // user's limits.
  bool Refuse(const std::optional<Refusal>& how) override {
    is_denied_ = how && how->what == RefusalClass::kDenied;
    return is_denied_;
  }
  void AtOnce(const std::vector<std::function<void()>>& calls) override {
    std::vector<std::thread> threads;
    for (const auto& call : calls) threads.emplace_back(call);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::unique_ptr<LocalProvider> Open(const std::string& binary = "") {
    // A machine of its own, with room for all at once.
    setenv("STOKER_QUEUE", (dir_.path() + "/queue").c_str(), 1);
    setenv("STOKER_CAPACITY", "cpus=256 memory=0", 1);
    auto provider =
        MakeLocalProvider({dir_.path() + "/state", binary, {"/bin/sleep", "300"}}, clock_);
    EXPECT_TRUE(provider.ok()) << provider.status().ToString();
    return std::move(*provider);
  }

  RealClock clock_;
  sys::TempDir dir_ = *sys::TempDir::Make("provider-contract");
  std::unique_ptr<LocalProvider> provider_;
  std::unique_ptr<LocalProvider> another_;
  std::unique_ptr<LocalProvider> broken_ = Open("/no/such/stoker");
  bool is_denied_ = false;
};

class ProviderContract : public testing::TestWithParam<ProviderCase> {};

TEST_P(ProviderContract, Local) {
  LocalSubject subject;
  EXPECT_EQ(Join(GetParam().run(subject), "\n"), "");
}

INSTANTIATE_TEST_SUITE_P(Cases, ProviderContract, testing::ValuesIn(ProviderCases()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == stoker::kLocalMachineVerb) return stoker::LocalMachineMain(argv[2]);
  if (verb == stoker::kLocalWaiterVerb) return stoker::LocalWaiterMain(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
