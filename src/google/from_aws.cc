// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "aws/credentials.h"
#include "aws/sigv4.h"
#include "base/text.h"
#include "google/exchange.h"
#include "google/external.h"
#include "net/percent.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr char kTokenHeader[] = "X-aws-ec2-metadata-token";

// EC2's metadata service, as far as the file tells where it is.
class Metadata {
 public:
  Metadata(const GoogleLookup& lookup, const GoogleFile& source, std::string found)
      : lookup_(lookup), source_(source), found_(std::move(found)) {}

  // "eu-west-1" of a zone as "eu-west-1b".
  Result<std::string> Region() {
    STOKER_ASSIGN(std::string zone, Get(source_.Text("region_url"), "the region"));
    if (!zone.empty()) zone.pop_back();
    return zone;
  }

  Result<AwsCredentials> Credentials() {
    const std::string url = source_.Text("url");
    STOKER_ASSIGN(const std::string role, Get(url, "the role"));
    STOKER_ASSIGN(const std::string text, Get(url + "/" + role, "the role's keys"));
    const GoogleFile keys{found_, Json::parse(text, nullptr, /*allow_exceptions=*/false)};
    AwsCredentials out;
    if (keys.json.is_object()) {
      out.access_key = keys.Text("AccessKeyId");
      out.secret_key = keys.Text("SecretAccessKey");
      out.session_token = keys.Text("Token");
    }
    if (out.access_key.empty() || out.secret_key.empty()) {
      return Status(Code::kCorrupt, found_ + ": the metadata service gives no keys");
    }
    return out;
  }

 private:
  Status Learn() {
    const std::string url = source_.Text("imdsv2_session_token_url");
    if (url.empty() || token_) return Status::Ok();
    STOKER_ASSIGN(const HttpResponse answer,
                  CallUrl(lookup_, found_, url,
                          {"PUT", "", {{"X-aws-ec2-metadata-token-ttl-seconds", "300"}}, ""}));
    STOKER_TRY(Check(answer, "a token"));
    token_ = answer.body;
    return Status::Ok();
  }

  Result<std::string> Get(const std::string& url, const std::string& what) {
    if (url.empty()) {
      return Status(Code::kInvalid, found_ + ": credential_source does not say where " + what +
                                        " is, and no variable does");
    }
    STOKER_TRY(Learn());
    HttpHeaders headers;
    if (token_) headers.emplace_back(kTokenHeader, *token_);
    STOKER_ASSIGN(const HttpResponse answer,
                  CallUrl(lookup_, found_, url, {"GET", "", std::move(headers), ""}));
    STOKER_TRY(Check(answer, what));
    return answer.body;
  }

  // What it says goes into a header or an address next.
  Status Check(const HttpResponse& answer, const std::string& what) const {
    const std::string asked = found_ + ": asked for " + what + ", the metadata service ";
    if (answer.status != 200) {
      return Status(answer.status >= 500 ? Code::kUnavailable : Code::kDenied,
                    asked + "answered " + std::to_string(answer.status));
    }
    if (answer.body.empty()) return Status(Code::kCorrupt, asked + "says nothing");
    const bool json = answer.body[0] == '{';
    if (!json && answer.body.find_first_of("\r\n") != std::string::npos) {
      return Status(Code::kCorrupt, asked + "says more than a line");
    }
    return Status::Ok();
  }

  const GoogleLookup& lookup_;
  const GoogleFile& source_;
  const std::string found_;
  std::optional<std::string> token_;
};

Status CheckVersion(const GoogleFile& file, const GoogleFile& source) {
  const std::string id = source.Text("environment_id");
  if (id == "aws1") return Status::Ok();
  return Status(Code::kInvalid, file.where + ": credential_source of environment_id '" +
                                    Printable(id) + "'; stoker knows 'aws1'");
}

// Where the request goes that Google will send: scheme checked, host and target apart.
struct Verification {
  std::string url;
  std::string host;
  std::string target;
};

Result<Verification> VerificationOf(const GoogleFile& file, const GoogleFile& source,
                                    const std::string& region) {
  constexpr std::string_view kScheme = "https://";
  constexpr std::string_view kRegion = "{region}";
  STOKER_ASSIGN(std::string url, source.Need("regional_cred_verification_url"));
  for (size_t at; (at = url.find(kRegion)) != std::string::npos;) {
    url.replace(at, kRegion.size(), region);
  }
  const size_t path = std::min(url.find_first_of("/?#", kScheme.size()), url.size());
  if (!StartsWith(url, kScheme) || path == kScheme.size() ||
      url.find_first_of(" \t\r\n#\\@") != std::string::npos) {
    return Status(Code::kInvalid, file.where +
                                      ": regional_cred_verification_url is not an https:// "
                                      "address");
  }
  Verification out{url, url.substr(kScheme.size(), path - kScheme.size()), url.substr(path)};
  out.host = out.host.substr(0, out.host.find(':'));
  if (!StartsWith(out.target, "/")) out.target = "/" + out.target;
  return out;
}

// "sts" of "sts-fips.us-east-2.amazonaws.com".
std::string ServiceOf(const std::string& host) {
  std::string service = host.substr(0, host.find('.'));
  if (EndsWith(service, "-fips")) service.resize(service.size() - 5);
  return service;
}

std::string Serialised(const Verification& to, const HttpRequest& signed_request) {
  Json headers = Json::array();
  for (const auto& [name, value] : signed_request.headers) {
    headers.push_back({{"key", name}, {"value", value}});
  }
  const Json all = {{"url", to.url}, {"method", signed_request.method}, {"headers", headers}};
  return PercentEncode(all.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

Result<ExternalSubject> SubjectOfAws(const GoogleLookup& lookup, const GoogleFile& file,
                                     const GoogleFile& source) {
  STOKER_TRY(CheckVersion(file, source));
  ExternalSubject subject;
  subject.found = "workload identity of " + file.where + " (of AWS)";
  const auto& variable = lookup.environment.variable;
  Metadata metadata(lookup, source, subject.found);
  std::string region = variable("AWS_REGION").value_or("");
  if (region.empty()) region = variable("AWS_DEFAULT_REGION").value_or("");
  if (region.empty()) {
    STOKER_ASSIGN(region, metadata.Region());
  }
  AwsCredentials keys;
  keys.access_key = variable("AWS_ACCESS_KEY_ID").value_or("");
  keys.secret_key = variable("AWS_SECRET_ACCESS_KEY").value_or("");
  keys.session_token = variable("AWS_SESSION_TOKEN").value_or("");
  if (keys.access_key.empty() || keys.secret_key.empty()) {
    STOKER_ASSIGN(keys, metadata.Credentials());
  }
  STOKER_ASSIGN(const Verification to, VerificationOf(file, source, region));
  HttpRequest request{"POST", to.target, {{"Host", to.host}}, ""};
  // So that nobody else who gets hold of the request can use it at another provider.
  request.headers.emplace_back("x-goog-cloud-target-resource", file.Text("audience"));
  const AwsSigner signer(region, ServiceOf(to.host));
  STOKER_TRY(signer.Sign(keys, lookup.environment.now(), &request));
  subject.text = Serialised(to, request);
  return subject;
}

}  // namespace stoker
