// SPDX-License-Identifier: Apache-2.0
// What tests of passes over one job have in common: a store, a ledger, two providers, and observers
// that may have seen nothing before. For tests.
#pragma once

#include "controller/controller.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "base/digest.h"
#include "base/text.h"
#include "ledger/paths.h"
#include "ledger/quiet_nodes.h"
#include "ledger/reports.h"
#include "spec/print.h"
#include "store/forwarding.h"
#include "test/contract/ledger_kit.h"

namespace stoker {

// Machines that are there as soon as they are asked for, or refused; counts what it is asked.
class TestProvider : public Provider {
 public:
  explicit TestProvider(std::string name) {
    traits_.name = std::move(name);
    traits_.describe_is_immediate = true;
  }
  const ProviderTraits& traits() const override { return traits_; }
  LaunchAnswer Launch(const LaunchRequest& request) override {
    ++launches;
    asked += "L";
    if (refuses) return *refuses;
    if (!unclear.ok()) return unclear;
    std::vector<std::string> ids;
    for (size_t index = 0; index < request.launches.size(); ++index) {
      InstanceSeen seen;
      seen.launch = request.launches[index];
      seen.id = traits_.name + "-" + std::to_string(seen.launch);
      seen.token = request.token;
      seen.ledger_id = request.ledger_id;
      seen.index = static_cast<int>(index);
      seen.state = InstanceState::kRunning;
      machines[seen.id] = seen;
      ids.push_back(seen.id);
    }
    return ids;
  }
  void TakeGangs() { traits_.takes_gangs = true; }
  Result<InstancesSeen> Describe(const std::string&, const std::string&) override {
    asked += "D";
    if (!answers.ok()) return answers;
    InstancesSeen all;
    for (const auto& [id, seen] : machines) all.push_back(seen);
    all.unheard = unheard;
    return all;
  }
  Status Terminate(const std::string& id) override {
    ended.push_back(id);
    machines.erase(id);
    return Status::Ok();
  }
  Status Interrupt(const std::string&, Duration) override { return Status::Ok(); }

  std::optional<Refusal> refuses;  // unset: it gives
  Status unclear;                  // else: nobody knows whether it has given
  Status answers;                  // of Describe
  std::vector<Unheard> unheard;    // the same
  int launches = 0;
  std::string asked;  // L = Launch, D = Describe
  std::map<std::string, InstanceSeen> machines;
  std::vector<std::string> ended;

 private:
  ProviderTraits traits_;
};

inline Refusal No(RefusalClass what, const std::string& words) {
  return {what, RefusalScope::kAccount, {}, {}, false, words};
}

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() {
    spec_.name = "train";
    spec_.run = "true";
    text_ = PrintJobSpec(spec_);
  }

  std::string Submit(const std::string& host = "", int nodes = 1, const std::string& id = "job1") {
    Job job;
    job.num_nodes = nodes;
    job.id = id;
    job.name = "train";
    job.user = "ann";
    job.host = host;
    job.spec_digest = Sha256Hex(text_);
    job.created = clock_.Wall();
    EXPECT_TRUE(CreateJob(*ledger_, job, text_).ok());
    return job.id;
  }

  std::unique_ptr<Controller> Observer() {
    auto observer = std::make_unique<Controller>(
        *ledger_,
        [this](const std::string& name) -> Result<Provider*> {
          const auto found = providers_.find(name);
          if (found == providers_.end()) return Status(Code::kInvalid, "no provider " + name);
          return found->second;
        },
        clock_, [this] { return here_; });
    observer->KeepQuietNodes(keeps_looks_);
    return observer;
  }

  // One that lives for a single pass, `seconds` after what was before.
  PassResult Once(const std::string& job, int64_t seconds = 0) {
    clock_.now += seconds * 1000;
    const auto pass = Observer()->Pass(job);
    EXPECT_TRUE(pass.ok()) << pass.status().ToString();
    return pass.ok() ? *pass : PassResult{};
  }

  Job Record(const std::string& job) { return ReadJob(*ledger_, job)->job; }

  StillClock clock_;
  MemoryStore store_{[this] { return clock_.Wall(); }};
  std::unique_ptr<Ledger> ledger_ = *Ledger::Open(store_, clock_, 1);
  bool keeps_looks_ = false;
  std::string here_;  // the computer that looks
  TestProvider local_{"local"};
  TestProvider other_{"other"};
  std::map<std::string, Provider*> providers_{{"local", &local_}, {"other", &other_}};
  JobSpec spec_;
  std::string text_;
};

}  // namespace stoker
