// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/away/gce_asked.h"

#include <algorithm>

#include "base/text.h"
#include "provider/gce/gce_options.h"
#include "provider/gce/gce_provider.h"

namespace stoker {

std::string RegionOfZone(const std::string& zone) {
  const size_t dash = zone.rfind('-');
  return dash == std::string::npos ? "" : zone.substr(0, dash);
}

std::string RegionOf(const std::string& word) {
  const bool region = !word.empty() && word.back() >= '0' && word.back() <= '9';
  return region ? word : RegionOfZone(word);
}

Result<AskedMachine> AskedOfGce(const Ask& ask, const std::set<std::string>& places) {
  if (ask.place.provider != kGceProvider) {
    return Status(Code::kInvalid,
                  "not a machine of Compute Engine: " + Printable(ask.place.provider));
  }
  const std::string place = GcePlace(ask.place.account, ask.place.zone);
  if (!places.contains(place)) {
    return Status(Code::kDenied, "beyond what the reconciler away may ask for: machines in " +
                                     Printable(place) + ", which is in none of its regions");
  }
  STOKER_ASSIGN(const gce::Options options, gce::ParseOptions(ask.options));
  if (options.disk_gib <= 0) {
    // It would be as large as whatever image the record names.
    return Status(Code::kInvalid,
                  "beyond what the reconciler away may ask for: a disk of no known size",
                  "Submit the job again, or name its 'disk_size'");
  }
  AskedMachine asked;
  asked.region = RegionOfZone(ask.place.zone);
  if (!options.disk_type.empty() && options.disk_type != gce::DiskTypeFor(ask.type)) {
    // What a GiB of others costs is another matter.
    return Status(Code::kDenied,
                  "beyond what the reconciler away may ask for: a disk of the type " +
                      Printable(options.disk_type) + " (it may " + gce::DiskTypeFor(ask.type) +
                      ")");
  }
  asked.type = gce::TypeWith(ask.type, options.accelerator, options.accelerators);
  asked.identity = options.service_account;
  asked.disk_gib = std::clamp<int64_t>(options.disk_gib, 0, int64_t{1} << 30);
  return asked;
}

}  // namespace stoker
