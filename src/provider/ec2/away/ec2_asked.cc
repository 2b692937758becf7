// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/away/ec2_asked.h"

#include <algorithm>

#include "base/text.h"
#include "provider/ec2/ec2_options.h"
#include "provider/ec2/ec2_prices.h"
#include "provider/ec2/ec2_provider.h"
#include "provider/ec2/ec2_request.h"

namespace stoker {

Result<AskedMachine> AskedOfEc2(const Ask& ask) {
  if (ask.place.provider != kEc2Provider) {
    return Status(Code::kInvalid, "not a machine of EC2: " + Printable(ask.place.provider));
  }
  STOKER_ASSIGN(const ec2::Options options, ec2::ParseOptions(ask.options));
  AskedMachine asked;
  asked.region = ask.place.region;
  asked.type = ask.type;
  asked.identity = options.profile;
  asked.price = Ec2ListPrice(asked.region, asked.type);
  if (ask.market == ec2::kSpot && ask.ceiling) {
    asked.price = std::min(asked.price.value_or(*ask.ceiling), *ask.ceiling);
  }
  for (const ec2::Disk& disk : options.disks) {
    // Two of 2^62 must not add up to something small.
    asked.disk_gib =
        std::min<int64_t>(asked.disk_gib + std::clamp<int64_t>(disk.gib, 0, 1 << 30), 1 << 30);
  }
  return asked;
}

}  // namespace stoker
