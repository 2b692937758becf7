// SPDX-License-Identifier: Apache-2.0
// Sources: PutLogEvents, GetLogEvents, CreateLogGroup, CreateLogStream, PutRetentionPolicy (API
// reference of CloudWatch Logs): limits, errors, what is idempotent.
#include "provider/ec2/lines/cloudwatch.h"

#include <algorithm>
#include <utility>

#include "aws/config.h"
#include "base/json.h"
#include "base/text.h"
#include "ledger/paths.h"
#include "provider/ec2/api/ec2_errors.h"

namespace stoker {
namespace {

using Body = nlohmann::ordered_json;

constexpr char kService[] = "logs";
constexpr CloudLogLimits kLimits{1 << 20, 26, 10'000, Duration::Hours(24) - Duration::Seconds(1)};
constexpr int kMostPages = 100;
constexpr int64_t kMostMarker = 100;

std::string GroupOf(const CloudLogPlace& place) { return "/stoker/" + place.ledger; }
std::string StreamOf(const CloudLogPlace& place) {
  return place.job + "/" + std::to_string(place.attempt) + "-" + std::to_string(place.rank);
}

bool Is(const ec2::Reply& reply, const char* code) {
  return reply.failure && reply.failure->code == code;
}

class CloudWatch : public CloudLog {
 public:
  CloudWatch(std::shared_ptr<ec2::AwsApi> api, const CloudLogPlace& place, ObjectStore& store)
      : api_(std::move(api)), place_(place), store_(store) {}

  const char* title() const override { return "CloudWatch Logs"; }
  CloudLogLimits limits() const override { return kLimits; }

  Result<std::string> Prepare() override {
    const std::string key = paths::CloudLogs(place_.place.provider, place_.place.region);
    const auto set = store_.Get(key);
    if (!set.ok() && !set.status().Is(Code::kNotFound)) return set.status();
    if (!set.ok()) STOKER_TRY(MakeGroup(key));
    auto made = MakeStream();
    if (made.Is(Code::kNotFound)) {  // somebody has deleted the group
      STOKER_TRY(MakeGroup(key));
      made = MakeStream();
    }
    STOKER_TRY(made);
    const std::string kept = set.ok() ? set->data.substr(0, kMostMarker) : Days();
    if (kept == Days()) return std::string();
    return "CloudWatch Logs keeps the lines of this ledger for " + Printable(kept) + " days in " +
           place_.place.region + ", as was set first, and not " + Days();
  }

  Result<std::string> Append(const std::vector<CloudLine>& lines) override {
    Body events = Body::array();
    for (const CloudLine& line : lines) {
      events.push_back({{"timestamp", line.time.ms}, {"message", line.text}});
    }
    STOKER_ASSIGN(const ec2::Reply reply, Send("PutLogEvents", InStream({{"logEvents", events}})));
    if (Is(reply, "DataAlreadyAcceptedException")) return std::string();
    STOKER_TRY(StatusOf("PutLogEvents", reply));
    return Rejected(reply.body, lines.size());
  }

  // The newest of that time: a call is taken as a whole.
  Result<bool> Stands(const std::vector<CloudLine>& lines) override {
    std::vector<std::pair<int64_t, std::string>> wanted, there;
    for (const CloudLine& line : lines) wanted.emplace_back(line.time.ms, line.text);
    std::string token;
    for (int page = 0; page < kMostPages && there.size() < wanted.size(); ++page) {
      Body body = {{"startTime", wanted.front().first},
                   {"endTime", wanted.back().first + 1},
                   {"startFromHead", false}};
      if (!token.empty()) body["nextToken"] = token;
      STOKER_ASSIGN(const ec2::Reply reply, Send("GetLogEvents", InStream(body)));
      const Status answered = StatusOf("GetLogEvents", reply);
      if (answered.Is(Code::kNotFound)) return false;
      STOKER_TRY(answered);
      const Body got = Body::parse(reply.body, nullptr, false);
      if (!got.is_object()) return Status(Code::kUnavailable, "GetLogEvents: no JSON");
      const Body events = got.value("events", Body::array());
      for (auto event = events.rbegin(); event != events.rend(); ++event) {
        if (there.size() < wanted.size())
          there.emplace_back(event->value("timestamp", int64_t{0}), event->value("message", ""));
      }
      // The end of the stream gives the same token again; a page may be empty before it.
      const std::string next = got.value("nextBackwardToken", "");
      if (next.empty() || next == token) break;
      token = next;
    }
    // Of one time the order is nowhere promised.
    std::sort(wanted.begin(), wanted.end());
    std::sort(there.begin(), there.end());
    return wanted == there;
  }

 private:
  std::string Days() const { return std::to_string(place_.days); }

  Body InStream(Body body) const {
    body["logGroupName"] = GroupOf(place_);
    body["logStreamName"] = StreamOf(place_);
    return body;
  }

  Result<ec2::Reply> Send(const char* action, const Body& body) {
    ec2::Call call{kService, place_.place.region, action};
    call.json = body.dump();
    return api_->Send(call);
  }

  // kInvalid only where these very lines are at fault: whatever else is wrong may be put right.
  Status StatusOf(const char* action, const ec2::Reply& reply) const {
    if (!reply.failure) return Status::Ok();
    const std::string what = std::string(action) + " in " + place_.place.region;
    const Status said = ec2::StatusOf(what, *reply.failure);
    const std::string& code = reply.failure->code;
    const bool lines = code == "InvalidParameterException" || code == "SerializationException" ||
                       code == "ValidationException";
    if (!said.Is(Code::kInvalid) || lines) return said;
    return Status(Code::kBusy, said.message(), said.next());
  }

  Status MakeGroup(const std::string& key) {
    STOKER_ASSIGN(const ec2::Reply made,
                  Send("CreateLogGroup", {{"logGroupName", GroupOf(place_)}}));
    if (!Is(made, "ResourceAlreadyExistsException")) STOKER_TRY(StatusOf("CreateLogGroup", made));
    STOKER_ASSIGN(const ec2::Reply kept,
                  Send("PutRetentionPolicy",
                       {{"logGroupName", GroupOf(place_)}, {"retentionInDays", place_.days}}));
    STOKER_TRY(StatusOf("PutRetentionPolicy", kept));
    const Status noted = store_.Put(key, Days(), Condition::Absent()).status();
    return noted.Is(Code::kExists) ? Status::Ok() : noted;
  }

  Status MakeStream() {
    STOKER_ASSIGN(const ec2::Reply made, Send("CreateLogStream", InStream(Body::object())));
    if (Is(made, "ResourceAlreadyExistsException")) return Status::Ok();
    return StatusOf("CreateLogStream", made);
  }

  static std::string Rejected(const std::string& answer, size_t lines) {
    const Body got = Body::parse(answer, nullptr, false);
    if (!got.is_object() || !got.contains("rejectedLogEventsInfo")) return "";
    const Body& why = got["rejectedLogEventsInfo"];
    std::vector<std::string> told;
    const auto tell = [&](const char* name, bool newer, const char* words) {
      if (!why.is_object() || !why.contains(name) || !why[name].is_number_integer()) return;
      const auto index = why[name].get<int64_t>();
      const int64_t count = newer ? static_cast<int64_t>(lines) - index : index;
      told.push_back(std::to_string(count) + words);
    };
    tell("expiredLogEventEndIndex", false, " are older than it keeps lines");
    tell("tooOldLogEventEndIndex", false, " are older than 14 days");
    tell("tooNewLogEventStartIndex", true, " are more than two hours in the future");
    return Join(told, ", ");
  }

  const std::shared_ptr<ec2::AwsApi> api_;
  const CloudLogPlace place_;
  ObjectStore& store_;
};

// As the console's own links escape a name within their fragment.
std::string InFragment(const std::string& name) {
  std::string out;
  for (const char c : name) out += c == '/' ? std::string("$252F") : std::string(1, c);
  return out;
}

}  // namespace

std::unique_ptr<CloudLog> MakeCloudWatch(std::shared_ptr<ec2::AwsApi> api,
                                         const CloudLogPlace& place, ObjectStore& store) {
  return std::make_unique<CloudWatch>(std::move(api), place, store);
}

Result<std::unique_ptr<CloudLog>> OpenCloudWatch(const CloudLogPlace& place, ObjectStore& store) {
  STOKER_ASSIGN(auto api, MakeAwsApi());
  return MakeCloudWatch(std::move(api), place, store);
}

CloudLogQuery CloudWatchQuery(const CloudLogPlace& place) {
  const std::string& region = place.place.region;
  const std::string group = GroupOf(place);
  const std::string days = std::to_string(place.days) + "d";
  const bool china = AwsPartition(region) == "aws-cn";
  return {"CloudWatch Logs",
          "aws logs tail " + group + " --log-stream-name-prefix " + place.job + "/ --since " +
              days + " --region " + region,
          "https://" + region + (china ? ".console.amazonaws.cn" : ".console.aws.amazon.com") +
              "/cloudwatch/home?region=" + region + "#logsV2:log-groups/log-group/" +
              InFragment(group) + "$3FlogStreamNameFilter$3D" + InFragment(place.job + "/")};
}

}  // namespace stoker
