// SPDX-License-Identifier: Apache-2.0
// Source: Publish (API reference of Amazon SNS).
#include "provider/ec2/lines/sns.h"

#include <utility>

#include "aws/account/account.h"
#include "base/json.h"
#include "base/text.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/api/ec2_errors.h"

namespace stoker {
namespace {

constexpr size_t kMostSubject = 99;
// As a notifier's: whoever tells has more to do than to wait (notify/http_notifier.h).
constexpr HttpTimeouts kSoon{Duration::Seconds(3), Duration::Seconds(5), Duration::Seconds(5)};

class Sns : public Topic {
 public:
  Sns(std::shared_ptr<ec2::AwsApi> api, const std::string& arn) : api_(std::move(api)), arn_(arn) {}

  bool Knows() override {
    const auto account = FindAwsAccount(kSoon);
    return account.ok() && AwsKeys(account->outside).Get().ok();
  }

  // People get it by mail: in words. Programs find the rest in its attributes.
  Status Publish(const Notification& what, const std::string&) override {
    const std::string text =
        what.text + (what.lines.empty() ? "" : "\n" + what.lines) + "\n" + what.next;
    ec2::Call call{"sns", Split(arn_, ':')[3], "Publish"};
    call.params = {{"TopicArn", arn_},
                   {"Subject", CutText(what.name + ": " + what.event, kMostSubject)},
                   {"Message", text}};
    int number = 0;
    for (const auto& [name, value] :
         {std::pair("event", what.event), {"id", what.key}, {"job", what.job}}) {
      const std::string entry = "MessageAttributes.entry." + std::to_string(++number);
      call.params.emplace_back(entry + ".Name", name);
      call.params.emplace_back(entry + ".Value.DataType", "String");
      call.params.emplace_back(entry + ".Value.StringValue", value);
    }
    if (EndsWith(arn_, ".fifo")) {  // what is sent again counts once there
      call.params.emplace_back("MessageGroupId", what.job);
      call.params.emplace_back("MessageDeduplicationId", what.key);
    }
    STOKER_ASSIGN(const ec2::Reply reply, api_->Send(call));
    return reply.failure ? ec2::StatusOf("Publish to " + arn_, *reply.failure) : Status::Ok();
  }

 private:
  const std::shared_ptr<ec2::AwsApi> api_;
  const std::string arn_;
};

constexpr char kFile[] = "notify-sns.json";

}  // namespace

void AllowSns(const std::vector<std::string>& arns, Rights* rights) {
  const nlohmann::ordered_json policy = {
      {"Version", "2012-10-17"},
      {"Statement",
       {{{"Sid", "Notify"}, {"Effect", "Allow"}, {"Action", "sns:Publish"}, {"Resource", arns}}}}};
  rights->files.push_back(
      {kFile, "whoever tells of jobs: machines that run them, people who look", policy.dump(2)});
  const std::string document = std::string(" --policy-name stoker-notify --policy-document ") +
                               "file://" + kRightsFolder + "/" + kFile;
  rights->commands.push_back("aws iam put-role-policy --role-name ROLE" + document);
  rights->commands.push_back("aws iam put-user-policy --user-name NAME" + document);
}

Result<std::unique_ptr<Topic>> OpenSns(const std::string& arn) {
  STOKER_ASSIGN(auto api, MakeAwsApi(nullptr, kSoon));
  return std::unique_ptr<Topic>(std::make_unique<Sns>(std::move(api), arn));
}

}  // namespace stoker
