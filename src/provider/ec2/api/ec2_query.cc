// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/api/ec2_query.h"

#include <pugixml.hpp>

#include "base/json.h"
#include "base/text.h"
#include "net/percent.h"

namespace stoker::ec2 {
namespace {

constexpr size_t kMostMessage = 400;

std::string Member(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string QueryBody(std::string_view action, std::string_view version, const Params& params) {
  std::string body = "Action=" + std::string(action) + "&Version=" + std::string(version);
  for (const auto& [name, value] : params) {
    body += "&" + PercentEncode(name) + "=" + PercentEncode(value);
  }
  return body;
}

Failure ParseFailure(const HttpResponse& answer) {
  Failure out;
  out.status = answer.status;
  pugi::xml_document document;
  if (document.load_buffer(answer.body.data(), answer.body.size())) {
    pugi::xml_node error = document.child("Response").child("Errors").child("Error");
    if (!error) error = document.child("ErrorResponse").child("Error");
    out.code = error.child_value("Code");
    out.message = error.child_value("Message");
  } else {
    const auto json = nlohmann::json::parse(answer.body, nullptr, false);
    if (json.is_object()) {
      out.code = Member(json, "__type");
      out.code = out.code.substr(out.code.find('#') + 1);
      out.message = Member(json, "message");
      if (out.message.empty()) out.message = Member(json, "Message");
    }
  }
  // REST says it in a header: "ResourceNotFoundException:http://…".
  const std::string* type = FindHeader(answer.headers, "x-amzn-ErrorType");
  if (out.code.empty() && type != nullptr) out.code = type->substr(0, type->find(':'));
  out.code = Printable(CutText(out.code, 100));
  out.message = Printable(CutText(out.message, kMostMessage));
  return out;
}

}  // namespace stoker::ec2
