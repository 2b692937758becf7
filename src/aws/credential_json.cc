// SPDX-License-Identifier: Apache-2.0
#include "aws/credential_json.h"

#include "base/json.h"
#include "base/json_depth.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

Result<WallTime> TimeOf(const Json& value) {
  if (value.is_number_integer()) return WallTime{value.get<int64_t>()};
  if (value.is_string()) return ParseRfc3339(value.get<std::string>());
  return Status(Code::kCorrupt, "not a time");
}

}  // namespace

Result<AwsCredentials> CredentialsOfJson(const std::string& source, const std::string& text,
                                         const AwsJsonNames& names) {
  const auto bad = [&](const std::string& what) {
    return Status(Code::kCorrupt, source + ": the answer " + what);
  };
  constexpr int kDeepest = 32;  // none has more than two; below, `json` is copied
  Json json;
  if (!NestedDeeper(text, kDeepest)) json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && names.inside != nullptr) {
    const Json inner = json.value(names.inside, Json());
    json = inner;
  }
  if (!json.is_object()) return bad("is not a JSON object with credentials");
  AwsCredentials out;
  out.source = source;
  const auto take = [&](const char* name, bool needed, std::string* value) {
    const auto at = json.find(name);
    if (at == json.end() || at->is_null()) return !needed;
    if (!at->is_string()) return false;
    *value = at->get<std::string>();
    return !needed || !value->empty();
  };
  if (!take(names.access_key, true, &out.access_key))
    return bad("has no " + std::string(names.access_key));
  if (!take(names.secret_key, true, &out.secret_key))
    return bad("has no " + std::string(names.secret_key));
  if (!take(names.session_token, names.temporary, &out.session_token)) {
    return bad("has no " + std::string(names.session_token));
  }
  const auto expires = json.find(names.expires);
  if (expires == json.end() || expires->is_null()) {
    if (names.temporary) return bad("has no " + std::string(names.expires));
    return out;
  }
  const auto time = TimeOf(*expires);
  if (!time.ok()) return bad("has a strange " + std::string(names.expires));
  out.expires = *time;
  return out;
}

std::string JsonMember(const std::string& text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return "";
  const auto at = json.find(name);
  if (at == json.end()) return "";
  if (at->is_string()) return at->get<std::string>();
  return at->is_number_integer() ? std::to_string(at->get<int64_t>()) : "";
}

}  // namespace stoker
