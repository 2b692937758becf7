// SPDX-License-Identifier: Apache-2.0
#include "container/registry_login.h"

#include <map>

#include "base/base64.h"
#include "base/json_fields.h"
#include "base/letter_case.h"

namespace stoker {
namespace {

constexpr size_t kMostLoginBytes = size_t{1} << 20;
constexpr char kHubServer[] = "https://index.docker.io/v1/";

std::string MemberText(const json::Value& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const json::Value* MemberObject(const json::Value& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

// What docker writes as "https://HOST/v1/" and podman as "HOST/namespace": without scheme and
// version, hub's under the name that images have.
std::string PlainKey(std::string_view key) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (StartsWith(key, scheme)) key.remove_prefix(scheme.size());
  }
  for (const std::string_view version : {"/v1/", "/v2/", "/v1", "/v2", "/"}) {
    if (EndsWith(key, version)) {
      key.remove_suffix(version.size());
      break;
    }
  }
  if (key == "index.docker.io" || key == "registry-1.docker.io") return "docker.io";
  return std::string(key);
}

// Of those that say something of `ref`, the longest: podman has logins of namespaces too.
const json::Value* NearestEntry(const json::Value& all, const ImageRef& ref) {
  const json::Value* best = nullptr;
  size_t length = 0;
  const std::string whole = ref.registry + "/" + ref.repository + "/";
  for (const auto& [key, value] : all.items()) {
    const std::string plain = PlainKey(key);
    if (plain.size() <= length || !StartsWith(whole, plain + "/")) continue;
    best = &value;
    length = plain.size();
  }
  return best;
}

std::optional<RegistryLogin> LoginOf(const json::Value& entry) {
  if (const std::string token = MemberText(entry, "identitytoken"); !token.empty()) {
    return RegistryLogin{kIdentityToken, token};
  }
  const auto text = FromBase64(MemberText(entry, "auth"));
  const size_t colon = text ? text->find(':') : std::string::npos;
  if (colon != std::string::npos) {
    std::string secret = text->substr(colon + 1);
    while (!secret.empty() && secret.back() == '\0') secret.pop_back();  // older clients pad it
    return RegistryLogin{text->substr(0, colon), secret};
  }
  RegistryLogin login{MemberText(entry, "username"), MemberText(entry, "password")};
  return login.user.empty() ? std::nullopt : std::optional(login);
}

}  // namespace

Result<LoginEntry> LoginIn(const std::string& file, std::string_view text, const ImageRef& ref) {
  const auto object = json::ParseObject(file, text, kMostLoginBytes);
  if (!object.ok()) {
    return Status(Code::kInvalid, "logins of registries: " + object.status().message(),
                  "Correct it, or log in anew with the engine's own login");
  }
  LoginEntry out;
  out.server = ref.registry == "docker.io" ? kHubServer : ref.registry;
  if (const json::Value* helpers = MemberObject(*object, "credHelpers")) {
    const json::Value* helper = NearestEntry(*helpers, ref);
    if (helper != nullptr && helper->is_string()) out.helper = helper->get<std::string>();
  }
  const json::Value* logins = MemberObject(*object, "auths");
  const json::Value* entry = logins != nullptr ? NearestEntry(*logins, ref) : nullptr;
  if (entry != nullptr) out.login = LoginOf(*entry);
  if (out.helper.empty() && !out.login) out.helper = MemberText(*object, "credsStore");
  if (!out.helper.empty() && !IsSafeName(out.helper)) {
    return Status(Code::kInvalid, Printable(file) + " names no program for logins",
                  "Correct credHelpers or credsStore there");
  }
  return out;
}

std::optional<RegistryLogin> AnsweredLogin(std::string_view text) {
  const auto object = json::ParseObject("login", text, kMostLoginBytes);
  if (!object.ok()) return std::nullopt;
  RegistryLogin login{MemberText(*object, "Username"), MemberText(*object, "Secret")};
  if (login.secret.empty()) return std::nullopt;
  return login;
}

std::optional<RegistryLogin> LoginOfJob(
    const ContainerLogin& login, const std::vector<std::pair<std::string, std::string>>& secrets) {
  const auto value = [&](const std::string& word) -> std::optional<std::string> {
    if (!StartsWith(word, "$")) return word;
    for (const auto& [name, text] : secrets) {
      if (name == word.substr(1)) return text;
    }
    return std::nullopt;
  };
  const auto user = value(login.user);
  const auto password = value(login.password);
  if (login.password.empty() || !user || !password) return std::nullopt;
  return RegistryLogin{*user, *password};
}

std::string LoginFile(const std::string& registry, const RegistryLogin& login) {
  json::Value entry;
  if (login.user == kIdentityToken) {
    entry["identitytoken"] = login.secret;
  } else {
    entry["auth"] = Base64(login.user + ":" + login.secret);
  }
  json::Value out;
  out["auths"][registry == "docker.io" ? kHubServer : registry] = std::move(entry);
  return json::Dump(out) + "\n";
}

std::optional<RegistryChallenge> ReadChallenge(std::string_view header) {
  const size_t blank = header.find(' ');
  const std::string scheme = LowerCase(std::string(header.substr(0, blank)));
  RegistryChallenge out;
  out.bearer = scheme == "bearer";
  if (!out.bearer) return scheme == "basic" ? std::optional(out) : std::nullopt;
  std::map<std::string, std::string> words;
  for (size_t at = blank; at != std::string_view::npos && at < header.size();) {
    at = header.find_first_not_of(" ,", at);
    const size_t sign = at == std::string_view::npos ? at : header.find('=', at);
    if (sign == std::string_view::npos) break;
    const std::string name = LowerCase(std::string(header.substr(at, sign - at)));
    std::string value;
    at = sign + 1;
    if (at < header.size() && header[at] == '"') {
      for (++at; at < header.size() && header[at] != '"'; ++at) {
        if (header[at] == '\\' && at + 1 < header.size()) ++at;
        value += header[at];
      }
      ++at;
    } else {
      while (at < header.size() && header[at] != ',') value += header[at++];
    }
    words[name] = value;
  }
  out.realm = words["realm"];
  out.service = words["service"];
  out.scope = words["scope"];
  return out.realm.empty() ? std::nullopt : std::optional(out);
}

}  // namespace stoker
