// SPDX-License-Identifier: Apache-2.0
// A series is a name from one source: which of several sources of a name counts. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace stoker::metrics {

// Sources of series, best first: "pattern", "own" ($STOKER_METRICS), "tensorboard:…", "csv:…" and
// "jsonl:…", "wandb:…", "mlflow:…", "log", and "bar": what progress bars in the log say.
int SourceRank(std::string_view source);
// Whether it is what a program prints, and nobody asked for.
bool IsOfLog(std::string_view source);

// A name without case, separators, and how it counts, and with what it says of its data in one
// form: "Train Loss", "train/loss" and "loss" are one, "val_loss" and "Loss/val" are.
std::string PlainName(std::string_view name);

// Of all series of a job. Not thread-safe.
class SourceChoice {
 public:
  // `steps`: it says where its points are.
  void Add(std::string_view name, std::string_view source, bool steps);
  // False: a better source has this name; or the series is of a progress bar, and a better source
  // has steps.
  bool Counts(std::string_view name, std::string_view source) const;

 private:
  std::map<std::string, std::string, std::less<>> best_;  // name -> its source; not of the log
  std::set<std::string, std::less<>> plain_;              // those names, as PlainName has them
  bool steps_ = false;
};

}  // namespace stoker::metrics
