// SPDX-License-Identifier: Apache-2.0
// Whom what was told of a job's events (`notify`).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ledger/notified.h"
#include "spec/job_spec.h"

namespace stoker {

struct ToldWhom {
  Notified told;
  std::string whom;  // "slack $SLACK_URL", printable; no secret
};

// In the order of their first tries. Asks nothing where nobody is to be told; `spec` may be null.
std::vector<ToldWhom> ReadTold(Ledger& ledger, const std::string& job, const JobSpec* spec);
// "end to slack $SLACK_URL", "end to webhook https://…: given up: … answered 404"
std::string ToldText(const ToldWhom& one);
nlohmann::json ToldJson(const std::vector<ToldWhom>& all);

}  // namespace stoker
