// SPDX-License-Identifier: Apache-2.0
// Prints what a VM is told at its start: gce_boot_driver [STORE_URL [LIMIT_SECONDS]]
#include <cstdio>
#include <cstdlib>

#include "provider/gce/gce_boot.h"

int main(int argc, char** argv) {
  stoker::LaunchRequest request;
  request.token = std::string(64, 'a');
  request.ledger_id = "ledger1";
  request.store_url = argc > 1 ? argv[1] : "gs://bucket/it's a prefix";
  request.job = "abcd1234";
  request.ask.place = {"gce", "my-project", "us-central1", "us-central1-a"};
  request.ask.type = "g2-standard-4";
  request.ask.image = "projects/debian-cloud/global/images/debian-12-bookworm-v20261110";
  request.ask.market = "spot";
  for (int i = 0; i < 64; ++i) {
    request.launches.push_back(i + 1);
    request.slots.push_back(i);
  }
  request.binary_digest = std::string(64, 'b');
  request.limit = stoker::Duration::Seconds(argc > 2 ? std::atoi(argv[2]) : 86'400);
  request.not_after = {1'790'000'000'000};
  stoker::gce::Options options;
  options.blob_period = 1373;
  const auto text = stoker::gce::StartupScript(request, options);
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.status().ToString().c_str());
    return 1;
  }
  std::fwrite(text->data(), 1, text->size(), stdout);
  return 0;
}
