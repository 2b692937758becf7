// SPDX-License-Identifier: Apache-2.0
// Nodes of a real Slurm keep the contract of the provider port. test/slurm/contract.py starts the
// Slurm (test/slurm/kit/lab.py) and this. The test binary is a node's process and its agent, too:
// see main().
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "provider/slurm/slurm_ask.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_node.h"
#include "provider/slurm/slurm_provider.h"
#include "provider/slurm/slurm_tools.h"
#include "sys/file.h"
#include "test/contract/real_subject.h"

namespace stoker {
namespace {

class SlurmSubject : public contract_test::RealSubject {
 public:
  SlurmSubject() {
    patience_ = Duration::Seconds(20);
    provider_ = Open(*sys::RealPath("/proc/self/exe"));
    another_ = Open(*sys::RealPath("/proc/self/exe"));
    broken_ = Open("/no/such/stoker");
  }
  ~SlurmSubject() override {
    Partition("State=UP");
    for (const char* ledger : {"ledger", "other"}) {
      EXPECT_TRUE(Until([&] { return Cleared(ledger); }))
          << "something of " << ledger << " is left";
    }
  }
  LaunchRequest Request(const std::string& name) override {
    LaunchRequest request =
        RealSubject::Request(nonce_ + "-" + name);  // other cases' are remembered
    SlurmAsk ask;
    ask.time = Duration::Minutes(30);
    request.ask.options = EncodeSlurmAsk(ask);
    return request;
  }
  // A partition of two nodes.
  LaunchRequest TooMuch(int machines) override {
    LaunchRequest request = Request("much");
    request.ask.place.region = "two";
    return Times(machines, request);
  }
  bool Refuse(const std::optional<Refusal>& how) override {
    is_denied_ = false;
    if (!how) {
      Partition("State=UP");
      Partition("MaxTime=INFINITE");
      return true;
    }
    if (how->what == RefusalClass::kDenied) is_denied_ = true;
    const bool zone = how->what == RefusalClass::kCapacity && how->scope == RefusalScope::kZone;
    if (zone) Partition("State=INACTIVE");
    if (how->what == RefusalClass::kInvalid) Partition("MaxTime=1");
    return is_denied_ || zone || how->what == RefusalClass::kInvalid;
  }
  // Once its node says where it is: what is suspended while srun begins is stuck in Slurm for long.
  bool Stop(const std::string& id) override {
    EXPECT_TRUE(Until([&] {
      for (const InstanceSeen& seen : provider_->Describe("ledger", "").value_or({})) {
        if (seen.id == id) return StartsWith(seen.address, "127.");
      }
      return false;
    }));
    Scontrol({"scontrol", "suspend", id.substr(0, id.find('.'))});
    return true;
  }
  bool Queue(bool begin) override {
    Partition(begin ? "State=DOWN" : "State=UP");
    return true;
  }

 private:
  std::unique_ptr<Provider> Open(const std::string& binary) {
    SlurmOptions options;
    options.state_dir = dir_.path() + "/state";
    options.binary = binary;
    options.look_least = options.look_most = Duration::Ms(50);
    auto provider = MakeSlurmProvider(options, clock_);
    EXPECT_TRUE(provider.ok()) << provider.status().ToString();
    return std::move(*provider);
  }
  bool Cleared(const char* ledger) {
    const auto left = provider_->Describe(ledger, "");
    if (!left.ok()) return false;
    for (const InstanceSeen& seen : *left) EXPECT_TRUE(provider_->Terminate(seen.id).ok());
    return left->empty();
  }
  void Scontrol(const std::vector<std::string>& words) {
    const auto done = tools_.Run(words, Duration::Seconds(20));
    EXPECT_TRUE(done.ok()) << done.status().ToString();
  }
  void Partition(const std::string& what) {
    Scontrol({"scontrol", "update", "PartitionName=main", what});
  }

  SlurmTools tools_{""};
  const std::string nonce_ = Hex64(sys::RandomU64());
};

STOKER_PROVIDER_CONTRACT(Slurm, SlurmSubject);

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == stoker::kSlurmNodeVerb) return stoker::SlurmNodeMain(argv[2]);
  if (verb == "__agent") return execl("/bin/sleep", "sleep", "300", nullptr);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
