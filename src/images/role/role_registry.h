// SPDX-License-Identifier: Apache-2.0
// Registries of clouds, by the names of their hosts. Sources: "Private registry authentication"
// (ECR user guide), "Repository and image names" (Artifact Registry documentation). Pure.
#pragma once

#include <optional>
#include <string>

namespace stoker {

struct RoleRegistry {
  enum class Of { kAmazon, kGoogle } of = Of::kAmazon;
  std::string region;  // Amazon's, which its tokens are of; "" = Google's
};
// "123456789012.dkr.ecr.us-east-1.amazonaws.com", "us-docker.pkg.dev", "gcr.io", "eu.gcr.io".
// Nullopt: it is no registry of theirs that takes logins.
std::optional<RoleRegistry> FindRoleRegistry(const std::string& host);

}  // namespace stoker
