// SPDX-License-Identifier: Apache-2.0
// Source: discovery document of pubsub v1 (projects.topics.publish).
#include "provider/gce/lines/pubsub.h"

#include <utility>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "provider/gce/gce_errors.h"
#include "provider/gce/gce_provider.h"

namespace stoker {
namespace {

class PubSub : public Topic {
 public:
  PubSub(std::shared_ptr<gce::ComputeApi> api, const std::string& name)
      : api_(std::move(api)), name_(name) {}

  bool Knows() override { return CanPublish(); }

  Status Publish(const Notification& what, const std::string& json) override {
    const nlohmann::ordered_json message = {
        {"data", Base64(json)},
        {"attributes", {{"event", what.event}, {"id", what.key}, {"job", what.job}}}};
    gce::Call call{"POST", "v1/" + name_ + ":publish"};
    call.body = nlohmann::ordered_json({{"messages", {message}}}).dump();
    STOKER_ASSIGN(const gce::Reply reply, api_->Send(call));
    return reply.failure ? gce::StatusOf("publishing to " + name_, *reply.failure) : Status::Ok();
  }

 private:
  const std::shared_ptr<gce::ComputeApi> api_;
  const std::string name_;
};

}  // namespace

void AllowPubSub(const std::vector<std::string>& names, Rights* rights) {
  for (const std::string& name : names) {
    for (const char* member : {"serviceAccount:EMAIL", "user:NAME"}) {
      rights->commands.push_back("gcloud pubsub topics add-iam-policy-binding " + name +
                                 " --role=roles/pubsub.publisher --member=" + member);
    }
  }
}

Result<std::unique_ptr<Topic>> OpenPubSub(const std::string& name) {
  STOKER_ASSIGN(auto api, MakePubSubApi());
  return std::unique_ptr<Topic>(std::make_unique<PubSub>(std::move(api), name));
}

}  // namespace stoker
