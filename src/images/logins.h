// SPDX-License-Identifier: Apache-2.0
// What this machine's user has told docker and podman of registries: logins and certificates.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "container/image_ref.h"
#include "container/registry_login.h"

namespace stoker {

using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

struct FoundLogin {
  std::optional<RegistryLogin> login;
  std::string trouble;  // why there is none, where a file or a helper should have had it
};
// Of the first of $REGISTRY_AUTH_FILE, docker's config.json and podman's auth.json that knows the
// registry, by its credential helper where it names one (up to 20 s). Thread-safe.
FoundLogin FindLogin(const ImageRef& ref, const EnvironmentLookup& environment);

// The file of certificates that the engines trust for `registry` ("certs.d"); "" = the system's.
std::string CertificatesFor(const std::string& registry, const EnvironmentLookup& environment);

}  // namespace stoker
