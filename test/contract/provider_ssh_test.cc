// SPDX-License-Identifier: Apache-2.0
// Machines on boxes that ssh reaches keep the contract of the provider port. ssh_contract.py starts
// the boxes' sshds and this. The test binary is what runs on the boxes, too: see main().
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <thread>

#include "base/text.h"
#include "policy/local_queue.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_machine.h"
#include "provider/local/local_waiter.h"
#include "provider/ssh/box_notes.h"
#include "provider/ssh/box_serve.h"
#include "provider/ssh/ssh_provider.h"
#include "store/open.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "test/contract/provider_suite.h"

namespace stoker {
namespace {

using contract_test::ProviderCase;
using contract_test::ProviderCases;
using contract_test::ProviderSubject;

std::vector<std::string> TestBoxes() {
  const char* boxes = std::getenv("STOKER_TEST_BOXES");
  return Split(boxes != nullptr ? boxes : "", ',');
}

class SshSubject : public ProviderSubject {
 public:
  SshSubject() {
    provider_ = Open("lab");
    another_ = Open("lab");
    broken_ = Open("elsewhere");
  }
  ~SshSubject() override {
    for (const char* ledger : {"ledger", "other"}) {
      for (const char* job : {"job", "job2"}) {
        for (const InstanceSeen& left : provider_->Describe(ledger, job).value_or({})) {
          EXPECT_TRUE(provider_->Terminate(left.id).ok());
        }
        EXPECT_TRUE(provider_->Describe(ledger, job)->empty());
      }
    }
  }
  Provider& provider() override { return is_denied_ ? *broken_ : *provider_; }
  Provider& another() override { return *another_; }
  WallTime Now() override { return clock_.Wall(); }
  bool Until(const std::function<bool()>& there) override {
    const MonoTime end = clock_.Mono() + Duration::Seconds(hogs_.empty() ? 60 : 3);
    while (!there()) {
      if (clock_.Mono() > end) return false;
      usleep(20'000);
    }
    return true;
  }
  LaunchRequest Request(const std::string& name) override {
    LaunchRequest request;
    request.token = run_ + "-" + name;
    request.ledger_id = "ledger";
    request.job = "job";
    request.ask.place = {"ssh", "lab", "", ""};
    request.launches = {3};
    request.limit = Duration::Minutes(5);
    return request;
  }
  // The name of the last is longer than one may be.
  LaunchRequest TooMuch(int machines) override {
    LaunchRequest request = Request("x");
    request.token.resize(127, 'x');
    request.launches.resize(static_cast<size_t>(machines), 3);
    return request;
  }
  // Whose settings do not have the pool; a box's other refusals are those of provider/local.
  bool Refuse(const std::optional<Refusal>& how) override {
    is_denied_ = how && how->what == RefusalClass::kDenied;
    return is_denied_;
  }
  // A job that has every box to itself.
  bool Queue(bool begin) override {
    for (const std::string& id : hogs_) EXPECT_TRUE(provider_->Terminate(id).ok());
    hogs_.clear();
    for (size_t i = 0; begin && i < TestBoxes().size(); ++i) {
      LaunchRequest request = Request("hog" + std::to_string(i));
      request.ledger_id = "hogs";
      request.job = "hog" + std::to_string(i);
      LocalWants all;
      all.cpus = 256'000;
      request.ask.options = EncodeWants(all);
      const LaunchAnswer ids = provider_->Launch(request);
      EXPECT_TRUE(ids.ok()) << ids.status().ToString();
      hogs_.push_back(ids.value_or({""}).front());
    }
    return true;
  }
  void AtOnce(const std::vector<std::function<void()>>& calls) override {
    std::vector<std::thread> threads;
    for (const auto& call : calls) threads.emplace_back(call);
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::unique_ptr<SshProvider> Open(const std::string& pool) {
    SshOptions options;
    options.pools[pool] = TestBoxes();
    options.state_dir = dir_.path() + "/state";
    options.store = [this]() -> Result<ObjectStore*> { return store_.get(); };
    return MakeSshProvider(std::move(options), clock_);
  }

  RealClock clock_;
  const std::string run_ = Hex64(sys::RandomU64());
  sys::TempDir dir_ = std::move(*sys::TempDir::Make("provider-contract"));
  std::unique_ptr<ObjectStore> store_ = std::move(*OpenStore(dir_.path() + "/store"));
  std::unique_ptr<SshProvider> provider_;
  std::unique_ptr<SshProvider> another_;
  std::unique_ptr<SshProvider> broken_;
  std::vector<std::string> hogs_;
  bool is_denied_ = false;
};

class ProviderContract : public testing::TestWithParam<ProviderCase> {};

TEST_P(ProviderContract, Ssh) {
  ASSERT_GE(TestBoxes().size(), 2u) << "run it by ssh_contract.py";
  SshSubject subject;
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
  if (verb == stoker::kBoxVerb) return stoker::BoxMain(argv[2], {"/bin/sleep", "300"});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
