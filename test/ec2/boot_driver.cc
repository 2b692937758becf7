// SPDX-License-Identifier: Apache-2.0
// Prints what an instance is told at its start; of a store of Google's, with an identity there:
//   ec2_boot_driver [STORE_URL [LIMIT_SECONDS]]
#include <cstdio>
#include <cstdlib>

#include "provider/ec2/ec2_boot.h"

int main(int argc, char** argv) {
  stoker::LaunchRequest request;
  request.token = std::string(64, 'a');
  request.ledger_id = "ledger1";
  request.store_url = argc > 1 ? argv[1] : "s3://bucket/it's a prefix";
  request.job = "abcd1234";
  request.ask.place = {"ec2", "123456789012", "us-east-1", "us-east-1a"};
  request.ask.type = "g6.xlarge";
  request.ask.image = "ami-0123456789abcdef0";
  request.ask.market = "spot";
  for (int i = 0; i < 64; ++i) {
    request.launches.push_back(i + 1);
    request.slots.push_back(i);
  }
  request.binary_digest = std::string(64, 'b');
  request.limit = stoker::Duration::Seconds(argc > 2 ? std::atoi(argv[2]) : 86'400);
  request.not_after = {1'790'000'000'000};
  stoker::ec2::Options options;
  options.store_region = "us-east-1";
  options.blob_period = 1373;
  if (request.store_url.starts_with("gs://")) {
    options.store_region = "";
    options.google_identity =
        "projects/1234567890/locations/global/workloadIdentityPools/stoker-pool/providers/aws";
    options.google_account = "stoker@a-project.iam.gserviceaccount.com";
  }
  const auto text = stoker::ec2::UserData(request, options);
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.status().ToString().c_str());
    return 1;
  }
  std::fwrite(text->data(), 1, text->size(), stdout);
  return 0;
}
