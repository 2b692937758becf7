// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/away/run_main.h"

#include <csignal>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "provider/cloud/away/away_run.h"
#include "provider/gce/away/gce_asked.h"
#include "provider/gce/broker/gce_broker.h"

namespace stoker {
namespace {

// Cloud Run counts from before the process begins.
constexpr Duration kOwnTime = Duration::Seconds(kCloudRunSeconds - 10);

volatile std::sig_atomic_t told_to_end = 0;

// In a container, the first process is not ended by a signal that it does not take.
void TakeSignals() {
  for (const int number : {SIGTERM, SIGINT}) {
    std::signal(number, [](int) { told_to_end = 1; });
  }
}

}  // namespace

std::optional<int> CloudRunMain() {
  const std::string id = cloud::AwayVariable("CLOUD_RUN_EXECUTION");
  if (!IsSafeName(id) || cloud::AwayVariable(cloud::kAwayBoundVariable).empty()) {
    return std::nullopt;
  }
  TakeSignals();
  std::optional<MonoTime> begun;
  cloud::AwayRunner runner;
  runner.infra = "gcp";
  runner.id = id;
  const std::vector<std::string> places = Split(cloud::AwayVariable(kAwayPlacesVariable), ' ');
  runner.places = places;
  runner.broker = MakeGceBroker;
  const std::set<std::string> may(places.begin(), places.end());
  runner.understand = [&may](const Ask& ask) { return AskedOfGce(ask, may); };
  runner.left = [&begun](Clock& clock) {
    if (!begun) begun = clock.Mono();
    return told_to_end != 0 ? Duration() : kOwnTime - (clock.Mono() - *begun);
  };
  const auto report = cloud::RunAwayOnce(runner);
  if (report.ok()) {
    // As Cloud Logging reads fields: one object in a line.
    std::printf("%s\n", cloud::Encode(*report).c_str());
    return 0;
  }
  std::fprintf(stderr, "%s\n", report.status().ToString().c_str());
  return report.status().Is(Code::kBusy) ? 0 : 1;  // another run is at it, or was quicker
}

}  // namespace stoker
