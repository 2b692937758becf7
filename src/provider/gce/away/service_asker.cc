// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/away/service_asker.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "provider/gce/gce_errors.h"

namespace stoker::gce {
namespace {

using Json = nlohmann::json;

// With three seconds between two: "a minute or more until rights are known everywhere".
constexpr int kSettleTries = 40;
constexpr int kDeniedTries = 10;
constexpr int kPolicyTries = 10;

// How often to ask where that is the answer: again of an account that was made a moment ago. A 403
// says as well that a right lacks, which whoever asks is to hear within half a minute.
int TriesOf(const Failure& failure) {
  const bool unknown = failure.message.find("not exist") != std::string::npos &&
                       failure.message.find(".iam.gserviceaccount.com") != std::string::npos;
  if (!unknown) return 1;
  return failure.status == 400 ? kSettleTries : failure.status == 403 ? kDeniedTries : 1;
}

// "v2/projects/…/operations/…" of what an answer says has begun; "" = it is no operation.
std::string OperationPath(const ServiceCall& call, const Json& told) {
  if (!told.is_object()) return "";
  const std::string name = told.value("name", "");
  if (name.find("/operations/") == std::string::npos) return "";
  return call.call.path.substr(0, call.call.path.find('/') + 1) + name;
}

}  // namespace

bool IsGone(const Failure& failure) { return failure.status == 404; }

Result<Reply> ServiceAsker::Ask(const ServiceCall& call) {
  std::shared_ptr<ComputeApi>& api = apis_[call.service];
  if (!api) {
    STOKER_ASSIGN(api, make_(call.service));
  }
  return api->Repeat(call.call);
}

Result<std::string> ServiceAsker::Do(const ServiceCall& call, std::initializer_list<int> also) {
  for (int time = 1;; ++time) {
    STOKER_ASSIGN(Reply reply, Ask(call));
    if (!reply.failure) {
      STOKER_TRY(AwaitEnd(call, reply.body));
      return std::move(reply.body);
    }
    const Failure& failure = *reply.failure;
    if (std::find(also.begin(), also.end(), failure.status) != also.end()) return std::string();
    if (time >= TriesOf(failure)) {
      return StatusOf(call.service + ": " + Described(call.call), failure);
    }
    pause_();
  }
}

Status ServiceAsker::AwaitEnd(const ServiceCall& call, const std::string& body) {
  Json told = Json::parse(body, nullptr, false);
  const std::string path = OperationPath(call, told);
  if (path.empty()) return Status::Ok();
  const std::string what = call.service + ": " + Described(call.call);
  for (int time = 1; !told.value("done", false); ++time) {
    if (time >= kSettleTries) {
      return Status(Code::kTimeout, what + " has not ended for minutes", "Run this again");
    }
    pause_();
    STOKER_ASSIGN(const Reply reply, Ask({call.service, {"GET", path}}));
    if (reply.failure) return StatusOf(what, *reply.failure);
    told = Json::parse(reply.body, nullptr, false);
    if (!told.is_object()) return Status(Code::kCorrupt, what + ": it is not said how it goes on");
  }
  const auto error = told.find("error");
  if (error == told.end() || !error->is_object()) return Status::Ok();
  Failure failure;
  failure.message = Printable(CutText(error->value("message", "it failed"), 500));
  failure.status = error->value("code", 0) == 5 ? 404 : 400;  // google.rpc.Code NOT_FOUND
  // A thing that is gone is no failure of taking it away.
  if (call.call.method == "DELETE" && IsGone(failure)) return Status::Ok();
  return StatusOf(what, failure);
}

Status ServiceAsker::Bind(const PolicyOf& of, const std::string& email,
                          const std::vector<Binding>& bindings) {
  for (int time = 1;; ++time) {
    STOKER_ASSIGN(const Reply reply, Ask(of.get));
    const std::string what = of.service + ": " + Described(of.get.call);
    if (reply.failure && IsGone(*reply.failure) && bindings.empty()) return Status::Ok();
    if (reply.failure) return StatusOf(what, *reply.failure);
    STOKER_ASSIGN(const std::string changed, WithBindings(reply.body, email, bindings));
    if (changed.empty()) return Status::Ok();
    Json policy = Json::parse(changed, nullptr, false);
    policy["version"] = of.version;
    const ServiceCall set{of.service, {"POST", of.set_path, {}, Json({{"policy", policy}}).dump()}};
    STOKER_ASSIGN(const Reply done, Ask(set));
    if (!done.failure) return Status::Ok();
    const bool other = done.failure->status == 409 && time < kPolicyTries;
    if (!other && time >= TriesOf(*done.failure)) {
      return StatusOf(of.service + ": " + Described(set.call), *done.failure);
    }
    pause_();
  }
}

}  // namespace stoker::gce
