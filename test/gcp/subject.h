// SPDX-License-Identifier: Apache-2.0
// Compute Engine as the lab plays it, and the lab's side of it: api.py says what each order does.
#pragma once

#include <string>

#include "provider/gce/compute_api.h"
#include "provider/gce/gce_options.h"
#include "provider/gce/gce_provider.h"
#include "provider/gce/gce_request.h"
#include "sys/real_clock.h"
#include "test/ec2/orders.h"

namespace stoker::gce_test {

using lab_test::Order;

inline constexpr char kProject[] = "lab-project";
inline constexpr char kZone[] = "us-central1-a";

inline std::shared_ptr<gce::ComputeApi> Api() { return std::move(*MakeComputeApi()); }

inline cloud::Notes Notes() {
  cloud::Notes notes;
  notes.places = [] { return Result<std::vector<std::string>>({GcePlace(kProject, kZone)}); };
  notes.note_place = [](const std::string&) { return Status::Ok(); };
  notes.drill = [](const std::string&, const std::string& id, Duration lead) {
    return Order("later?order=delete&name=" + id + "&ms=" + std::to_string(lead.ms)) == "ok"
               ? Status::Ok()
               : Status(Code::kUnavailable, "the lab does not answer");
  };
  notes.store_now = [] { return RealClock().Wall(); };
  return notes;
}

inline gce::Options Chosen() {
  gce::Options options;
  options.network = "projects/lab-project/global/networks/default";
  options.service_account = "stoker@lab-project.iam.gserviceaccount.com";
  options.disk_type = "pd-balanced";
  return options;
}

inline LaunchRequest RequestOf(const std::string& name, WallTime now) {
  LaunchRequest request;
  request.token = name;
  request.ledger_id = "ledger";
  request.store_url = "gs://bucket/prefix";
  request.job = "job";
  request.launches = {3};
  request.ask.place = {kGceProvider, kProject, "us-central1", kZone};
  request.ask.type = "e2-standard-2";
  request.ask.image = "projects/debian-cloud/global/images/debian-12-bookworm-v20261110";
  request.ask.market = gce::kStandard;
  request.ask.options = gce::EncodeOptions(Chosen());
  request.binary_digest = std::string(64, 'b');
  request.limit = Duration::Minutes(5);
  request.not_after = now + Duration::Seconds(50);
  return request;
}

}  // namespace stoker::gce_test
