// SPDX-License-Identifier: Apache-2.0
// Signs what sigv4_botocore.py asks for: a JSON object a line in, one a line out.
#include <iostream>
#include <string>

#include "aws/sigv4.h"
#include "base/json.h"
#include "net/percent.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

std::string TargetOf(const Json& in) {
  std::string out = PercentEncodePath(in.at("path").get<std::string>());
  char before = '?';
  for (const Json& pair : in.at("query")) {
    out += before + PercentEncode(pair[0].get<std::string>());
    if (!pair[1].is_null()) out += "=" + PercentEncode(pair[1].get<std::string>());
    before = '&';
  }
  return out;
}

Json Answer(const Json& in) {
  const AwsCredentials credentials{
      in.at("access_key"), in.at("secret_key"), in.at("token"), {}, ""};
  const WallTime now = *ParseRfc3339(in.at("time").get<std::string>());
  const AwsSigner signer(in.at("region"), in.at("service"));
  HttpRequest request{in.at("method"), TargetOf(in), {}, in.at("body")};
  for (const Json& header : in.at("headers")) request.headers.emplace_back(header[0], header[1]);
  Json out = {{"target", request.target}};
  const std::string hash = in.at("unsigned") ? std::string(kUnsignedPayload) : "";
  const Status status = signer.Sign(credentials, now, &request, hash);
  if (!status.ok()) return {{"error", status.ToString()}};
  for (const auto& [name, value] : request.headers) out["headers"][name] = value;
  return out;
}

}  // namespace
}  // namespace stoker

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << stoker::Answer(nlohmann::json::parse(line)).dump() << "\n";
  }
}
