// SPDX-License-Identifier: Apache-2.0
#include "images/role/role_registry.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kAccount = 12;

// What stands before and behind an account and a region of Amazon's.
constexpr const char* kAmazonServices[] = {".dkr.ecr.", ".dkr.ecr-fips."};
constexpr const char* kAmazonEnds[] = {".amazonaws.com", ".amazonaws.com.cn"};
// A host of Google's is one of these, or ends so.
constexpr const char* kGoogleHosts[] = {"gcr.io"};
constexpr const char* kGoogleEnds[] = {"-docker.pkg.dev", ".gcr.io"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsRegionLetter(char c) { return (c >= 'a' && c <= 'z') || IsDigit(c) || c == '-'; }

std::string AmazonRegion(const std::string& host) {
  for (const std::string service : kAmazonServices) {
    if (host.find(service) != kAccount ||
        !std::all_of(host.begin(), host.begin() + kAccount, IsDigit))
      continue;
    for (const std::string end : kAmazonEnds) {
      const size_t begin = kAccount + service.size();
      if (!EndsWith(host, end) || host.size() <= begin + end.size()) continue;
      std::string region = host.substr(begin, host.size() - begin - end.size());
      if (std::all_of(region.begin(), region.end(), IsRegionLetter)) return region;
    }
  }
  return "";
}

}  // namespace

std::optional<RoleRegistry> FindRoleRegistry(const std::string& host) {
  if (std::string region = AmazonRegion(host); !region.empty()) {
    return RoleRegistry{RoleRegistry::Of::kAmazon, std::move(region)};
  }
  const RoleRegistry google{RoleRegistry::Of::kGoogle, ""};
  for (const char* name : kGoogleHosts) {
    if (host == name) return google;
  }
  for (const std::string end : kGoogleEnds) {
    const std::string front = host.substr(0, host.size() - std::min(host.size(), end.size()));
    const bool plain = !front.empty() && std::all_of(front.begin(), front.end(), IsRegionLetter);
    if (EndsWith(host, end) && plain) return google;
  }
  return std::nullopt;
}

}  // namespace stoker
