// SPDX-License-Identifier: Apache-2.0
// The parts of a plan by the names that scenarios give them: what the parser sets, the printer
// prints and the shrinker makes simpler. Every value is one number or several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/world/plan.h"

namespace stoker::sim {

// How a number is written.
enum class Unit { kNumber, kTime, kYesNo, kWord };

template <typename T>
struct Field {
  std::string name;
  Unit unit = Unit::kNumber;
  std::vector<std::string> words;               // of kWord: by value
  int64_t least = 0;                            // what it may be; "never" is -1 and may be besides
  void (*set)(T& of, int64_t value) = nullptr;  // of a list: one more
  // None: not given; of a list as many as it has.
  std::vector<int64_t> (*get)(const T& of) = nullptr;
  void (*clear)(T& of) = nullptr;  // as in a T that was never touched
};

// The tables; each in the order in which it is printed.
const std::vector<Field<Plan>>& PlanFields();
const std::vector<Field<JobPlan>>& JobFields();
const std::vector<Field<ProgramPlan>>& ProgramFields();
const std::vector<Field<ControllerPlan>>& ControllerFields();
const std::vector<Field<FaultPlan>>& FaultFields();  // its numbers; its names are the grammar's
const std::vector<Field<BucketFaults>>& BucketFields();
const std::vector<Field<CloudFaults>>& CloudFields();

template <typename T>
const Field<T>* FindField(const std::vector<Field<T>>& fields, const std::string& name) {
  for (const Field<T>& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

}  // namespace stoker::sim
