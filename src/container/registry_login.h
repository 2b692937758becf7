// SPDX-License-Identifier: Apache-2.0
// Logins of registries: where they stand in the files that docker and podman write, and what a
// registry asks for. Sources: docker's config.json, containers-auth.json(5), the credential
// helpers' protocol; RFC 9110 (11.6.1), distribution's "Token Authentication". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "container/container_spec.h"
#include "container/image_ref.h"

namespace stoker {

// A secret: it is in no message.
struct RegistryLogin {
  std::string user;  // kIdentityToken: `secret` is exchanged for a token, and is no password
  std::string secret;
};
inline constexpr char kIdentityToken[] = "<token>";

// What one file says of a registry's login. Both empty: nothing.
struct LoginEntry {
  std::optional<RegistryLogin> login;
  std::string helper;  // "docker-credential-NAME" is to be asked, for `server`
  std::string server;
};
// kInvalid: `file`, whose text it is, is not what docker and podman write.
Result<LoginEntry> LoginIn(const std::string& file, std::string_view text, const ImageRef& ref);
// What a helper printed for "get". Nullopt: it knows of no login.
std::optional<RegistryLogin> AnsweredLogin(std::string_view text);

// That of a job, whose secrets are `secrets`. Nullopt: it has none, or its values are not there.
std::optional<RegistryLogin> LoginOfJob(
    const ContainerLogin& login, const std::vector<std::pair<std::string, std::string>>& secrets);

// The same JSON for one registry, as docker's config.json and podman's auth.json are written.
std::string LoginFile(const std::string& registry, const RegistryLogin& login);

struct RegistryChallenge {
  bool bearer = false;  // a token from `realm`; else the login itself
  std::string realm, service, scope;
};
// A WWW-Authenticate header. Nullopt: of another scheme.
std::optional<RegistryChallenge> ReadChallenge(std::string_view header);

}  // namespace stoker
