// SPDX-License-Identifier: Apache-2.0
// From what a job asks to the ways to have it at Compute Engine, when it is submitted: names of one
// image and one zone each, no aliases.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/request.h"
#include "provider/cloud/cloud_wish.h"
#include "provider/gce/gce_provider.h"

namespace stoker {

struct GceWish : cloud::Wish {
  std::string project = "";
  bool restart = false;                                // on_stop: restart
  std::map<std::string, std::string> attributes = {};  // of metadata: see gce::kHyperparametersKey
  std::string network = "";                            // "" = "default"
  std::string subnetwork = "";                         // "" = that of the network
  std::string service_account = "";  // "" = "stoker@PROJECT.iam.gserviceaccount.com"
  bool external_ip = true;
  std::string storage_endpoint = "";  // "" = Google's
  std::string compute_endpoint = "";  // the same
  std::string secrets_endpoint = "";  // the same
  std::string logs_endpoint = "";     // the same
};

// "stoker@PROJECT.iam.gserviceaccount.com"
std::string UsualServiceAccount(const std::string& project);

// One offer for each zone, in the order in which they are worth asking. Only reads; one error for
// what cannot be had, with the nearest that can: kInvalid, kNotFound, kDenied; transient ones.
Result<std::vector<Offer>> ResolveGce(gce::ComputeApi& api, const GceWish& wish);

// What is to be known only once the job's code has been stored: the copy of the binary.
Status CompleteGceOffers(int64_t blob_period, std::vector<Offer>* offers);

}  // namespace stoker
