// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_metadata.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "net/http_client.h"
#include "net/http_date.h"

namespace stoker {
namespace {

constexpr int64_t kTokenSeconds = 21'600;  // the longest that is granted
constexpr Duration kRenewBefore = Duration::Seconds(60);
constexpr Duration kFarthestNotice = Duration::Hours(24 * 7);
constexpr size_t kMaxValue = 256;
constexpr int64_t kMostMachines = 100'000;  // of one request

class MetadataClient : public Ec2Metadata {
 public:
  MetadataClient(HttpUrl url, Duration timeout, Clock& clock)
      : url_(std::move(url)), clock_(clock) {
    http_.connect_timeout = timeout;
    http_.total_timeout = timeout;
    http_.max_body_bytes = 64 << 10;
  }

  Result<std::optional<Notice>> PollNotice() override {
    constexpr char kPath[] = "/latest/meta-data/spot/instance-action";
    STOKER_ASSIGN(const HttpResponse response, Get(kPath));
    if (response.status == 404) return std::optional<Notice>();
    STOKER_TRY(Expect200(response, kPath));
    auto notice = ParseNotice(response.body);
    if (!notice.ok()) return notice.status().WithContext(kPath);
    return std::optional<Notice>(std::move(*notice));
  }

  Result<MachineIdentity> Identity() override {
    MachineIdentity out;
    STOKER_ASSIGN(out.instance_id, Value("/latest/meta-data/instance-id"));
    STOKER_ASSIGN(out.address, Value("/latest/meta-data/local-ipv4"));
    return out;
  }

  Result<int> LaunchIndex() override {
    constexpr char kPath[] = "/latest/meta-data/ami-launch-index";
    STOKER_ASSIGN(const std::string text, Value(kPath));
    const auto index = WholeNumber(text, 0, kMostMachines);
    if (index) return static_cast<int>(*index);
    return Status(Code::kCorrupt, std::string(kPath) + ": not a number: " + text);
  }

  Result<std::optional<WallTime>> PollRebalance() override {
    constexpr char kPath[] = "/latest/meta-data/events/recommendations/rebalance";
    STOKER_ASSIGN(const HttpResponse response, Get(kPath));
    if (response.status == 404) return std::optional<WallTime>();
    STOKER_TRY(Expect200(response, kPath));
    const nlohmann::json json = nlohmann::json::parse(response.body, nullptr, false);
    auto since = ParseRfc3339(Member(json, "noticeTime"));
    if (since.ok()) return std::optional(*since);
    return Status(Code::kCorrupt, std::string(kPath) + ": " + since.status().message());
  }

  Result<std::optional<Notice>> PollMaintenance() override {
    constexpr char kPath[] = "/latest/meta-data/events/maintenance/scheduled";
    STOKER_ASSIGN(const HttpResponse response, Get(kPath));
    if (response.status == 404) return std::optional<Notice>();
    STOKER_TRY(Expect200(response, kPath));
    const nlohmann::json list = nlohmann::json::parse(response.body, nullptr, false);
    if (!list.is_array()) return Status(Code::kCorrupt, std::string(kPath) + ": not a list");
    std::optional<Notice> first;
    for (const nlohmann::json& event : list) {
      if (Member(event, "State") != "active") continue;
      const std::string code = Member(event, "Code");
      auto from = ParseEventTime(Member(event, "NotBefore"));
      if (!from.ok() || !IsSafeName(code)) {
        return Status(Code::kCorrupt, std::string(kPath) + ": not an event: " +
                                          Printable(response.body.substr(0, 100)));
      }
      if (!first || *from < first->until) first = Notice{code, *from};
    }
    return first;
  }

 private:
  static std::string Member(const nlohmann::json& json, const char* name) {
    if (!json.is_object()) return "";
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : "";
  }

  Result<Notice> ParseNotice(const std::string& body) {
    const Status bad(Code::kCorrupt, "not a notice: " + Printable(body.substr(0, 100)));
    const nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
    if (!json.is_object()) return bad;
    const auto action = json.find("action"), time = json.find("time");
    if (action == json.end() || !action->is_string() || time == json.end() || !time->is_string()) {
      return bad;
    }
    Notice notice;
    notice.action = action->get<std::string>();
    if (!IsSafeName(notice.action)) return bad;
    auto until = ParseRfc3339(time->get<std::string>());
    if (!until.ok()) return until.status().WithContext(bad.message());
    notice.until = *until;
    if (notice.until - clock_.Wall() > kFarthestNotice || notice.until.ms <= 0) return bad;
    return notice;
  }

  static Status Expect200(const HttpResponse& response, const std::string& path) {
    if (response.status == 200) return Status::Ok();
    return Status(Code::kUnavailable,
                  path + ": the metadata service answered " + std::to_string(response.status));
  }

  Result<std::string> Value(const std::string& path) {
    STOKER_ASSIGN(HttpResponse response, Get(path));
    STOKER_TRY(Expect200(response, path));
    const std::string& body = response.body;
    if (body.empty() || body.size() > kMaxValue || Printable(body) != body) {
      return Status(Code::kCorrupt, path + ": not a value: " + Printable(body.substr(0, 100)));
    }
    return std::move(response.body);
  }

  Status RenewToken() {
    token_.clear();
    HttpRequest request{"PUT", "/latest/api/token", {}, ""};
    request.headers.emplace_back("X-aws-ec2-metadata-token-ttl-seconds",
                                 std::to_string(kTokenSeconds));
    STOKER_ASSIGN(HttpResponse response, HttpCall(url_, request, http_));
    STOKER_TRY(Expect200(response, request.target));
    if (response.body.empty() || response.body.size() > kMaxValue ||
        Printable(response.body) != response.body) {
      return Status(Code::kCorrupt, request.target + ": not a token");
    }
    int64_t granted = kTokenSeconds;
    if (const auto* ttl = FindHeader(response.headers, "X-aws-ec2-metadata-token-ttl-seconds")) {
      granted = std::min(granted, WholeNumber(*ttl, 0, INT64_MAX).value_or(0));
    }
    token_ = std::move(response.body);
    renew_at_ = clock_.Mono() + Duration::Seconds(granted) - kRenewBefore;
    return Status::Ok();
  }

  Result<HttpResponse> Get(const std::string& path) {
    const bool fresh = token_.empty() || clock_.Mono() >= renew_at_;
    if (fresh) STOKER_TRY(RenewToken());
    auto response = GetWithToken(path);
    // A token may be void before its time, after a restart of the service for instance.
    if (fresh || !response.ok() || response->status != 401) return response;
    STOKER_TRY(RenewToken());
    return GetWithToken(path);
  }

  Result<HttpResponse> GetWithToken(const std::string& path) {
    return HttpCall(url_, {"GET", path, {{"X-aws-ec2-metadata-token", token_}}, ""}, http_);
  }

  const HttpUrl url_;
  Clock& clock_;
  HttpClientOptions http_;
  std::string token_;
  MonoTime renew_at_;
};

}  // namespace

Result<std::unique_ptr<Ec2Metadata>> MakeEc2Metadata(const Ec2MetadataOptions& options,
                                                     Clock& clock) {
  STOKER_ASSIGN(HttpUrl url, ParseHttpUrl(options.endpoint));
  return std::unique_ptr<Ec2Metadata>(
      std::make_unique<MetadataClient>(std::move(url), options.timeout, clock));
}

// The same as a date of HTTP, which has the day of the week in front and two digits for the day.
Result<WallTime> ParseEventTime(const std::string& text) {
  const std::string day = text.size() > 1 && text[1] == ' ' ? "0" + text : text;
  auto time = ParseHttpDate("Mon, " + day);
  if (!time.ok()) return Status(Code::kCorrupt, "not a time: " + Printable(CutText(text, 60)));
  return time;
}

}  // namespace stoker
