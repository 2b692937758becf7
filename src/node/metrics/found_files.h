// SPDX-License-Identifier: Apache-2.0
// Which files of a work directory hold metrics.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/metrics/segment.h"

namespace stoker::node {

struct MetricPlaces {
  std::string workdir;
  std::string tensorboard;  // the only folder with event files, relative or absolute; "" = any
};

// events.out.tfevents.* (TensorBoard's writers put that into the name), metrics.csv and
// metrics.jsonl, run-*.wandb, and RUN/metrics/NAME below a folder that is called by an id of
// MLflow's: at most kMaxFound of them. Beside them as many that hold hyperparameters: hparams.yaml,
// .hydra/config.yaml and .hydra/overrides.yaml, RUN/params/NAME; and mlflow.db, which nobody opens.
// Nothing below folders of packages.
inline constexpr size_t kMaxFound = 500;
struct FoundFile {
  std::string kind;  // as MetricSource::kind; of the second ones "hparams", "hydra", "overrides",
                     // "param" and "database"
  std::string path;  // as MetricSource::path
};
struct FoundFiles {
  std::vector<FoundFile> metrics;
  std::vector<FoundFile> settings;
};
Result<FoundFiles> FindMetricFiles(const MetricPlaces& places);

// The folder that is one run: that of a file; of MLflow's and Hydra's files the one above.
std::string RunFolderOf(const std::string& kind, const std::string& path);
// "val/loss" of "mlruns/0/ID/metrics/val/loss", and of params/ likewise.
std::string MlflowName(const std::string& path);

// When a file or folder was begun: as its file system has it, else as its name says, else 0.
WallTime BegunAt(const std::string& path);

// "runs/x/events… (TensorBoard)", for people.
std::string FoundText(const MetricSource& source);

}  // namespace stoker::node
