// SPDX-License-Identifier: Apache-2.0
// Requests and answers of the EC2 Query API as text; inside provider/ec2 only. Pure. Source: "Query
// requests for Amazon EC2" and "Error codes for the Amazon EC2 API" (EC2 developer guide).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http_message.h"

namespace stoker::ec2 {

// Names as the API has them ("TagSpecification.1.ResourceType"), in the order of the body.
using Params = std::vector<std::pair<std::string, std::string>>;

inline constexpr char kEc2Version[] = "2016-11-15";

// The form that is posted.
std::string QueryBody(std::string_view action, std::string_view version, const Params& params);

// What a service says that refuses; `code` is "" where it says nothing that can be read.
struct Failure {
  int status = 0;  // of HTTP
  std::string code;
  std::string message;  // printable; cut to a sensible length
};
// Of EC2's XML, of that of STS and IAM, and of the JSON of the others.
Failure ParseFailure(const HttpResponse& answer);

}  // namespace stoker::ec2
