// SPDX-License-Identifier: Apache-2.0
// Files in which frameworks and trackers write the hyperparameters of a run. Pure.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "metrics/point.h"

namespace stoker::metrics {

// Each gives hyperparameters to `sink`: those of dictionaries as "outer.inner", at most 500 of one
// text, lists of up to 200 bytes as JSON; nothing of null, or of what nests deeper than 8.

// JSON of the value of `name`, of any kind.
void GiveJsonSetting(const std::string& name, std::string_view json, PointSink& sink);

// hparams.yaml of Lightning, .hydra/config.yaml: a map. Tags of Python's objects are passed over; a
// value that is "${a.b}" is that of a.b. Returns "" or what is wrong with the text, for people.
std::string GiveYamlSettings(std::string_view text, PointSink& sink);

// .hydra/overrides.yaml: a list of "lr=0.1", "+data=small". `known`: names that are left out. As
// above.
std::string GiveOverrides(std::string_view text, const std::set<std::string>& known,
                          PointSink& sink);

// A file params/NAME of MLflow's: its whole text is the value.
void GivePlainSetting(std::string_view name, std::string_view text, PointSink& sink);

}  // namespace stoker::metrics
