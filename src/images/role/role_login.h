// SPDX-License-Identifier: Apache-2.0
// Logins at the registries of clouds by what this machine, or its user, may do there: no password
// is kept anywhere. Sources: "GetAuthorizationToken" (ECR API reference); "Configure authentication
// to Artifact Registry for Docker", access token.
#pragma once

#include "base/status.h"
#include "container/registry_login.h"
#include "images/role/role_registry.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker {

// With the credentials that the cloud's other tools would use here, on a machine of a cloud its
// role. Good for an hour at least. Takes a minute at most. kDenied: there are none, or they have no
// right to; kUnavailable, kTimeout: ask again later.
Result<RegistryLogin> LoginByRole(const RoleRegistry& registry);

// Amazon's part of it.
Result<RegistryLogin> AskEcr(ec2::AwsApi& api, const std::string& region);

}  // namespace stoker
