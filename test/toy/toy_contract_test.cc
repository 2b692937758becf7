// SPDX-License-Identifier: Apache-2.0
// Machines of Toy keep the contract of the provider port. The test binary is machine process and
// agent, too: see main().
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/text.h"
#include "test/contract/real_subject.h"
#include "test/toy/toy.h"

namespace stoker::toy {
namespace {

class ToySubject : public contract_test::RealSubject {
 public:
  ToySubject() {
    provider_ = MakeToyProvider(dir_.path(), clock_);
    another_ = MakeToyProvider(dir_.path(), clock_);
    broken_ = MakeToyProvider("/proc/none", clock_);  // where nothing can be made
  }
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
  // Their names are longer than one may be.
  LaunchRequest TooMuch(int machines) override {
    return Times(machines, Request(std::string(65, 'x')));
  }
  bool Refuse(const std::optional<Refusal>& how) override {
    is_denied_ = how && how->what == RefusalClass::kDenied && how->scope == RefusalScope::kAccount;
    return is_denied_;
  }
};

STOKER_PROVIDER_CONTRACT(Toy, ToySubject);

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
