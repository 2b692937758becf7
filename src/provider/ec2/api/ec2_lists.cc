// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/api/ec2_lists.h"

#include "base/text.h"

namespace stoker::ec2 {
namespace {

constexpr int kMostListPages = 200;

}  // namespace

std::string TextIn(const pugi::xml_node& node, const char* name) {
  return Printable(CutText(node.child_value(name), 300));
}

int64_t NumberIn(const pugi::xml_node& node, const char* name) {
  return WholeNumber(node.child_value(name), 0, int64_t{1} << 50).value_or(0);
}

std::string TagIn(const pugi::xml_node& node, const std::string& key) {
  for (const pugi::xml_node tag : node.child("tagSet").children("item")) {
    if (key == tag.child_value("key")) return TextIn(tag, "value");
  }
  return "";
}

Params Filters(const std::vector<std::pair<std::string, std::vector<std::string>>>& filters,
               Params params) {
  int n = 0;
  for (const auto& [name, values] : filters) {
    const std::string prefix = "Filter." + std::to_string(++n);
    params.emplace_back(prefix + ".Name", name);
    int v = 0;
    for (const std::string& value : values) {
      params.emplace_back(prefix + ".Value." + std::to_string(++v), value);
    }
  }
  return params;
}

Call Lasting(const std::string& region, const char* action, Params params, Duration good_for) {
  Call call{"ec2", region, action, std::move(params)};
  call.good_for = good_for;
  return call;
}

Status EachItem(AwsApi& api, const Call& call, const char* set,
                const std::function<void(const pugi::xml_node&)>& take) {
  std::string next;
  for (int page = 0; page < kMostListPages; ++page) {
    Call one = call;
    if (!next.empty()) one.params.emplace_back("NextToken", next);
    STOKER_ASSIGN(const std::string body, api.Read(one));
    pugi::xml_document document;
    if (!document.load_buffer(body.data(), body.size())) {
      return Status(Code::kCorrupt, Described(call) + ": the answer is not XML");
    }
    const pugi::xml_node root = document.document_element();
    for (const pugi::xml_node item : root.child(set).children("item")) take(item);
    next = root.child_value("nextToken");
    if (next.empty()) return Status::Ok();
  }
  return Status(Code::kCorrupt, Described(call) + ": the list has no end");
}

}  // namespace stoker::ec2
