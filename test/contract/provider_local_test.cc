// SPDX-License-Identifier: Apache-2.0
// Machines on this machine keep the contract of the provider port. The test binary is machine
// process and agent, too: see main().
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_machine.h"
#include "provider/local/local_provider.h"
#include "provider/local/local_waiter.h"
#include "sys/file.h"
#include "test/contract/real_subject.h"

namespace stoker {
namespace {

class LocalSubject : public contract_test::RealSubject {
 public:
  LocalSubject() {
    provider_ = Open();
    another_ = Open();
    // One whose program is not there; this machine's other refusals need a full disk, or another
    // user's limits.
    broken_ = Open("/no/such/stoker");
  }
  ~LocalSubject() override {
    for (const char* ledger : {"ledger", "other"}) {
      for (const InstanceSeen& left : provider_->Describe(ledger, "").value_or({})) {
        EXPECT_TRUE(provider_->Terminate(left.id).ok());
      }
      EXPECT_TRUE(provider_->Describe(ledger, "")->empty());
    }
  }
  // The name of the last is longer than one may be.
  LaunchRequest TooMuch(int machines) override {
    return Times(machines, Request(std::string(127, 'x')));
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
};

STOKER_PROVIDER_CONTRACT(Local, LocalSubject);

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == stoker::kLocalMachineVerb) return stoker::LocalMachineMain(argv[2]);
  if (verb == stoker::kLocalWaiterVerb) return stoker::LocalWaiterMain(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
