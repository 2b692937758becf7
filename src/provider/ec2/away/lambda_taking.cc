// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/away/lambda_taking.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/away/lambda_parts.h"

namespace stoker::ec2 {
namespace {

using Parts = std::set<std::string>;

constexpr char kShared[] = "iam";  // has no regions

// A list answers where there is nothing.
bool ListsNothing(const std::string& body) {
  const auto told = nlohmann::json::parse(body, nullptr, false);
  return told.is_object() && told.contains("logGroups") && told["logGroups"].empty();
}

// The first error, if what is there is not known of all; what is known is among `parts`.
Status Look(AwsApi& api, const std::string& ledger, const std::string& region, bool shared,
            Parts* parts) {
  Status first;
  for (const auto& [name, call] : Lookings(ledger, region)) {
    if (call.service == kShared && !shared) continue;
    const auto reply = api.Repeat(call);
    if (!reply.ok()) return reply.status();  // nor will it answer the next
    if (!reply->failure) {
      const std::string where = call.service == kShared ? "" : " in " + region;
      if (!ListsNothing(reply->body)) parts->insert(name + where);
    } else if (!IsGone(reply->failure->code) && first.ok()) {
      first = StatusOf(Described(call), *reply->failure);
    }
  }
  return first;
}

// All that can be; the first error.
Status EndAll(AwsApi& api, const std::string& ledger, const std::string& region, bool shared) {
  Status first;
  for (const Call& call : Endings(ledger, region)) {
    if (call.service == kShared && !shared) continue;
    const auto reply = api.Repeat(call);
    if (!reply.ok()) return first.ok() ? reply.status() : first;
    if (!reply->failure || IsGone(reply->failure->code) || !first.ok()) continue;
    first = StatusOf(Described(call), *reply->failure);
  }
  return first;
}

}  // namespace

bool IsGone(const std::string& code) {
  return code == "ResourceNotFoundException" || code == "NoSuchEntity";
}

AwayTaken TakeAway(AwsApi& api, const std::string& ledger, const AwayWhere& where) {
  std::map<std::string, Parts> before;
  Parts taken;
  std::vector<std::string> left;
  Status why;
  for (const std::string& region : where.regions) {
    // Best effort: what is not told can be ended all the same.
    (void)Look(api, ledger, region, where.shared, &before[region]);
  }
  for (const std::string& region : where.regions) {
    const Status ended = EndAll(api, ledger, region, where.shared);
    Parts here;
    const Status looked = Look(api, ledger, region, where.shared, &here);
    if (!looked.ok()) left.push_back("not known of " + region + ": " + looked.message());
    if (!here.empty()) {
      left.push_back("still there: " + Join({here.begin(), here.end()}, ", ") +
                     (ended.ok() ? "" : ": " + ended.message()));
    }
    if (why.ok()) why = looked.ok() && !here.empty() ? ended : looked;
    if (!looked.ok()) continue;
    for (const std::string& part : before[region]) {
      if (!here.contains(part)) taken.insert(part);
    }
  }
  AwayTaken out{{taken.begin(), taken.end()}, Status::Ok()};
  if (left.empty()) return out;
  out.left =
      Status(why.ok() ? Code::kBusy : why.code(), "not all was taken away: " + Join(left, "; "),
             "Run this again in a minute, or when these regions may be asked; 'stoker "
             "controller --uninstall aws/REGION' looks in one alone");
  return out;
}

}  // namespace stoker::ec2
