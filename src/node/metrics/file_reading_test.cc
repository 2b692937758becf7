// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/file_reading.h"

#include <gtest/gtest.h>

#include "sys/file.h"
#include "sys/real_clock.h"
#include "test/kit/recorded_wandb.h"

namespace stoker::node {
namespace {

const std::string kOne(32, 'a');
const std::string kTwo(32, 'b');

class FileReading : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::string whole = temp_.path() + "/" + path;
    ASSERT_TRUE(sys::MakeDirs(whole.substr(0, whole.rfind('/'))).ok());
    ASSERT_TRUE(sys::WriteFileAtomic(whole, text, 0600, false).ok());
  }
  MetricFiles Files(RunNames runs) {
    return MetricFiles({temp_.path(), ""}, "", std::move(runs), clock_);
  }
  static void Look(MetricFiles& files, MetricBatch& batch) {
    files.Look(true, batch, [] { return false; });
  }
  static std::map<std::string, std::vector<int64_t>> Steps(MetricBatch& batch) {
    std::map<std::string, std::vector<int64_t>> all;
    EXPECT_TRUE(batch
                    .Take([&](const MetricSeries& one) {
                      for (const auto& entry : one.entries) {
                        all[one.name].push_back(entry.first_step);
                      }
                      return Status::Ok();
                    })
                    .ok());
    return all;
  }

  sys::TempDir temp_ = sys::TempDir::Make("reading").value();
  RealClock clock_;
};

TEST_F(FileReading, ARunOfMlflowsGoesOnUnderAnotherId) {
  const std::string first = "mlruns/0/" + kOne + "/metrics/";
  MetricBatch batch;
  MetricFiles before = Files(RunNames(1, "box"));
  before.PassOver();
  // The file of a name is not where the run began.
  Write(first + "acc", "1700000002000 0.5 4\n1700000004000 0.6 8\n");
  Write(first + "loss", "1700000001000 1.0 1\n1700000003000 0.5 5\n");
  Write(first + "system/cpu", "1700000001000 1.0 1\n");
  Write("mlruns/0/" + kOne + "/params/lr", "0.1");
  Look(before, batch);
  EXPECT_EQ(Steps(batch),
            (std::map<std::string, std::vector<int64_t>>{{"acc", {4, 8}}, {"loss", {1, 5}}}));
  EXPECT_EQ(*batch.begins().at("mlflow:").step, 1);
  EXPECT_EQ(batch.hyperparameters().at("lr"), "0.1");

  RunNames runs(2, "box");
  runs.set_runs(before.runs().runs());
  MetricFiles after = Files(std::move(runs));
  after.PassOver();
  MetricBatch next;
  Look(after, next);
  EXPECT_TRUE(Steps(next).empty());
  EXPECT_TRUE(next.hyperparameters().empty());
  Write("mlruns/0/" + kTwo + "/metrics/loss", "1700000005000 0.4 5\n1700000005000 0.3 6\n");
  Look(after, next);
  EXPECT_EQ(Steps(next), (std::map<std::string, std::vector<int64_t>>{{"loss", {5, 6}}}));
}

TEST_F(FileReading, AnotherAgentGoesOnInTheFilesOfTrackers) {
  const std::string bytes = metrics::RecordedWandb();
  const std::string folder = "wandb/offline-run-20261128_131204-";
  const std::string loss = "mlruns/0/" + kOne + "/metrics/acc";
  Write(folder + "old/run-old.wandb", bytes);
  MetricFiles files = Files(RunNames(1, "box"));
  files.PassOver();
  const auto before = files.sources();
  Write(folder + "new/run-new.wandb", bytes.substr(0, bytes.size() / 2));
  Write(loss, "1700000001000 1.0 0\n1700000002000 0.5 1\n");
  MetricBatch batch;
  Look(files, batch);
  const size_t first = Steps(batch)["loss"].size();
  const auto sources = files.sources();
  Write(folder + "new/run-new.wandb", bytes);
  Write(loss, "1700000001000 1.0 0\n1700000002000 0.5 1\n1700000003000 0.2 2\n");
  MetricFiles next = Files(files.runs());
  next.set_sources(before);
  next.set_sources(sources);
  MetricBatch rest;
  Look(next, rest);
  auto steps = Steps(rest);
  EXPECT_EQ(first + steps["loss"].size(), 2U);
  EXPECT_EQ(steps["loss"].back(), 10);
  EXPECT_EQ(steps["acc"], std::vector<int64_t>{2});
  EXPECT_EQ(steps.size(), 2U);
}

TEST_F(FileReading, HyperparametersThatLayThereBeforeAreOfSomebodyElse) {
  Write("old/.hydra/config.yaml", "lr: 1\n");
  Write("conf/config.yaml", "lr: 2\n");
  MetricBatch batch;
  MetricFiles files = Files(RunNames(1, "box"));
  files.PassOver();
  Look(files, batch);
  EXPECT_TRUE(batch.hyperparameters().empty());
  // The same for the agent that comes after this one.
  MetricFiles taken = Files(RunNames(1, "box"));
  taken.set_sources(files.settings_passed_over());
  Write("outputs/2026-11-28/13-00-00/.hydra/config.yaml", "lr: 0.1\nmodel: {width: 3}\n");
  Write("outputs/2026-11-28/13-00-00/.hydra/overrides.yaml", "- lr=1e-1\n- +data=small\n");
  Write("lightning_logs/version_0/hparams.yaml", "depth: [\n");
  for (MetricFiles* each : {&files, &taken}) {
    MetricBatch found;
    Look(*each, found);
    EXPECT_EQ(found.hyperparameters(),
              (std::map<std::string, std::string>{
                  {"data", "\"small\""}, {"lr", "0.1"}, {"model.width", "3"}}));
    EXPECT_TRUE(each->TakeTroubles().empty());  // it may be half of one
    Look(*each, found);
    ASSERT_EQ(each->TakeTroubles().size(), 1U);
    Look(*each, found);
    EXPECT_TRUE(each->TakeTroubles().empty());
  }
  // Of another size, as it may be of the same millisecond.
  Write("lightning_logs/version_0/hparams.yaml", "depth: 20\n");
  MetricBatch found;
  Look(files, found);
  EXPECT_EQ(found.hyperparameters().at("depth"), "20");
}

}  // namespace
}  // namespace stoker::node
