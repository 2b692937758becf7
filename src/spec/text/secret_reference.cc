// SPDX-License-Identifier: Apache-2.0
// Sources: "PutParameter" (SSM API reference), "CreateSecret" (Secrets Manager API reference),
// secretmanager v1 (discovery document).
#include "spec/text/secret_reference.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kMostName = 2048;

struct Scheme {
  std::string_view word;
  std::string_view more;  // characters of a name beside letters, digits, '.', '_' and '-'
  bool key;
  const char* form;
};
constexpr Scheme kSchemes[] = {
    {"ssm", "/:", false, "ssm:/team/NAME, or ssm: and a parameter's ARN"},
    {"aws-secret", "/:+=@!", true, "aws-secret:NAME or aws-secret:NAME#KEY"},
    {"gcp-secret", "/:", false, "gcp-secret:projects/PROJECT/secrets/NAME/versions/latest"},
};

const Scheme* SchemeOf(std::string_view text) {
  const auto is = [&](const Scheme& one) {
    return StartsWith(text, one.word) && text.substr(one.word.size(), 1) == ":";
  };
  const auto found = std::find_if(std::begin(kSchemes), std::end(kSchemes), is);
  return found == std::end(kSchemes) ? nullptr : found;
}

bool Holds(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= kMostName &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return IsAlnum(c) || c == '.' || c == '_' || c == '-' ||
                  more.find(c) != std::string_view::npos;
         });
}

// A part that is only dots would climb out of a URL's path.
bool Climbs(std::string_view name) {
  for (const std::string& part : Split(std::string(name), '/')) {
    if (part == "." || part == "..") return true;
  }
  return false;
}

// "projects/P/secrets/S" or with "/versions/V".
bool IsVersioned(const std::string& name) {
  const std::vector<std::string> parts = Split(name, '/');
  const auto word = [&](size_t at, const char* is) { return parts[at] == is; };
  if (parts.size() != 4 && parts.size() != 6) return false;
  if (std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); })) {
    return false;
  }
  return word(0, "projects") && word(2, "secrets") && (parts.size() == 4 || word(4, "versions"));
}

// "arn:aws:ssm:REGION:ACCOUNT:parameter/NAME", "arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME".
bool IsArnOf(const std::string& service, const std::string& name) {
  const std::vector<std::string> parts = Split(name, ':');
  return parts.size() > 5 && parts[2] == service && !parts[3].empty() &&
         StartsWith(parts[5], service == "ssm" ? "parameter/" : "secret");
}

}  // namespace

bool LooksLikeReference(std::string_view text) { return SchemeOf(text) != nullptr; }

Result<SecretReference> ParseSecretReference(const std::string& text) {
  const Scheme* scheme = SchemeOf(text);
  if (scheme == nullptr) {
    return Status(Code::kInvalid, "that is no place where a secret lies",
                  std::string("Write ") + kReferenceForms);
  }
  SecretReference out{std::string(scheme->word), text.substr(scheme->word.size() + 1), ""};
  const size_t sign = scheme->key ? out.name.find('#') : std::string::npos;
  if (sign != std::string::npos) {
    out.key = out.name.substr(sign + 1);
    out.name.resize(sign);
  }
  const bool good = Holds(out.name, scheme->more) && !Climbs(out.name) &&
                    (sign == std::string::npos || Holds(out.key, "")) &&
                    (out.scheme != "gcp-secret" || IsVersioned(out.name));
  if (good) return out;
  return Status(Code::kInvalid, "'" + Printable(text) + "' is no name of a secret",
                std::string("Write ") + scheme->form);
}

Status CheckSecretName(const SecretReference& reference) {
  const Scheme* scheme = SchemeOf(reference.scheme + ":");
  const std::string& name = reference.name;
  std::string wrong;
  if (StartsWith(name, "arn:")) {
    const std::string service = reference.scheme == "ssm" ? "ssm" : "secretsmanager";
    if (!IsArnOf(service, name)) wrong = "is no ARN of " + service + " with a region";
  } else if (reference.scheme == "ssm" && name.find('/') != std::string::npos) {
    const bool whole = name[0] == '/' && name.back() != '/' && name.find("//") == std::string::npos;
    if (!whole) wrong = "is no name of a parameter: one with folders begins with '/'";
  }
  if (wrong.empty() || scheme == nullptr) return Status::Ok();
  return Status(Code::kInvalid, "'" + Printable(name) + "' " + wrong,
                std::string("Write ") + scheme->form);
}

}  // namespace stoker
