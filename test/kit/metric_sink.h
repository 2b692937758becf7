// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "metrics/point.h"

namespace stoker::metrics {

// Keeps all that a reader finds. For tests.
struct TestSink : PointSink {
  std::map<std::string, std::vector<Point>> points;
  std::map<std::string, std::string> hyperparameters;
  void OnPoint(std::string_view name, const Point& point) override {
    points[std::string(name)].push_back(point);
  }
  void OnHyperparameter(std::string_view name, const std::string& json) override {
    hyperparameters[std::string(name)] = json;
  }
};

}  // namespace stoker::metrics
