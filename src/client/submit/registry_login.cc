// SPDX-License-Identifier: Apache-2.0
#include "client/submit/registry_login.h"

#include <utility>

#include "images/logins.h"
#include "images/role/role_login.h"
#include "images/role/role_registry.h"
#include "net/system.h"

namespace stoker::client {

Result<RegistryAsk> AskAs(const ContainerSpec& container, const ImageRef& ref,
                          const LocalPrivate& own) {
  FoundLogin login{LoginOfJob(container.login, own.secrets), ""};
  if (!login.login && !container.login.password.empty()) {
    return Status(Code::kUnavailable, "its login lies in a vault");
  }
  if (!login.login) login = FindLogin(ref, SystemVariable);
  const auto cloud = login.login ? std::nullopt : FindRoleRegistry(ref.registry);
  if (cloud) {
    auto by_role = LoginByRole(*cloud);
    if (by_role.ok()) login.login = std::move(*by_role);
    if (!by_role.ok() && login.trouble.empty()) login.trouble = by_role.status().message();
  }
  return RegistryAsk{ref, OwnArchitecture(), std::move(login.login), std::move(login.trouble),
                     CertificatesFor(ref.registry, SystemVariable)};
}

}  // namespace stoker::client
