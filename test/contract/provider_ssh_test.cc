// SPDX-License-Identifier: Apache-2.0
// Machines on boxes that ssh reaches keep the contract of the provider port. ssh_contract.py starts
// the boxes' sshds and this. The test binary is what runs on the boxes, too: see main().
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

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
#include "test/contract/real_subject.h"

namespace stoker {
namespace {

std::vector<std::string> TestBoxes() {
  const char* boxes = std::getenv("STOKER_TEST_BOXES");
  return Split(boxes != nullptr ? boxes : "", ',');
}

class SshSubject : public contract_test::RealSubject {
 public:
  SshSubject() {
    EXPECT_GE(TestBoxes().size(), 2u) << "run it by ssh_contract.py";
    provider_ = Open("lab");
    another_ = Open("lab");
    broken_ = Open("elsewhere");  // a pool that is not in its settings
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
    for (auto* one : {&provider_, &another_, &broken_}) one->reset();  // before their store
  }
  LaunchRequest Request(const std::string& name) override {
    LaunchRequest request = RealSubject::Request(run_ + "-" + name);
    request.ask.place = {"ssh", "lab", "", ""};
    return request;
  }
  // The name of the last is longer than one may be.
  LaunchRequest TooMuch(int machines) override {
    LaunchRequest request = Request("x");
    request.token.resize(127, 'x');
    return Times(machines, request);
  }
  // A job that has every box to itself.
  bool Queue(bool begin) override {
    for (const std::string& id : hogs_) EXPECT_TRUE(provider_->Terminate(id).ok());
    hogs_.clear();
    patience_ = Duration::Seconds(begin ? 3 : 60);
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

 private:
  std::unique_ptr<SshProvider> Open(const std::string& pool) {
    SshOptions options;
    options.pools[pool] = TestBoxes();
    options.state_dir = dir_.path() + "/state";
    options.store = [this]() -> Result<ObjectStore*> { return store_.get(); };
    return MakeSshProvider(std::move(options), clock_);
  }

  const std::string run_ = Hex64(sys::RandomU64());
  std::unique_ptr<ObjectStore> store_ = std::move(*OpenStore(dir_.path() + "/store"));
  std::vector<std::string> hogs_;
};

STOKER_PROVIDER_CONTRACT(Ssh, SshSubject);

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
