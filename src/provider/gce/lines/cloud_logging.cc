// SPDX-License-Identifier: Apache-2.0
// Sources: discovery document of logging v2 (entries.write, LogEntry, MonitoredResource); "Quotas
// and limits" (Cloud Logging documentation).
#include "provider/gce/lines/cloud_logging.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "net/percent.h"
#include "provider/gce/gce_errors.h"
#include "provider/gce/gce_metadata.h"
#include "provider/gce/gce_provider.h"

namespace stoker {
namespace {

using Body = nlohmann::ordered_json;

// A request may have 10 MB; JSON may make six bytes of one.
constexpr CloudLogLimits kLimits{1 << 20, 400, 1000, Duration::Hours(24)};

// Of the bucket _Default. Source: "Logs retention periods" (Cloud Logging documentation).
constexpr int kUsualDays = 30;

std::string LogName(const CloudLogPlace& place) {
  return "projects/" + place.place.account + "/logs/stoker";
}

class CloudLogging : public CloudLog {
 public:
  CloudLogging(std::shared_ptr<gce::ComputeApi> api, const CloudLogPlace& place,
               const std::string& number)
      : api_(std::move(api)), place_(place), number_(number) {}

  const char* title() const override { return "Cloud Logging"; }
  CloudLogLimits limits() const override { return kLimits; }
  // A log has no retention of its own: its bucket has one for all that is in it.
  Result<std::string> Prepare() override {
    if (place_.days == kUsualDays) return std::string();
    return "Cloud Logging keeps lines for as long as the project's log bucket says (" +
           std::to_string(kUsualDays) + " days unless its owner set another), and not for " +
           std::to_string(place_.days);
  }

  Result<std::string> Append(const std::vector<CloudLine>& lines) override {
    Body entries = Body::array();
    for (const CloudLine& line : lines) {
      entries.push_back({{"timestamp", FormatRfc3339(line.time)},
                         {"insertId", InsertId(line)},
                         {"labels", {{"stream", std::string(1, static_cast<char>(line.stream))}}},
                         {"textPayload", line.text}});
    }
    gce::Call call{"POST", "v2/entries:write"};
    call.body = Body({{"logName", LogName(place_)},
                      {"resource",
                       {{"type", "gce_instance"},
                        {"labels",
                         {{"project_id", place_.place.account},
                          {"instance_id", number_},
                          {"zone", place_.place.zone}}}}},
                      {"labels",
                       {{"stoker-ledger", place_.ledger},
                        {"stoker-job", place_.job},
                        {"stoker-attempt", std::to_string(place_.attempt)},
                        {"stoker-rank", std::to_string(place_.rank)},
                        {"compute.googleapis.com/resource_name", place_.instance_id}}},
                      {"entries", std::move(entries)}})
                    .dump();
    STOKER_ASSIGN(const gce::Reply reply, api_->Send(call));
    if (!reply.failure) return std::string();
    const Status said = gce::StatusOf("writing to " + LogName(place_), *reply.failure);
    const bool lines_are_wrong = reply.failure->status == 400;
    if (!said.Is(Code::kInvalid) || lines_are_wrong) return said;
    return Status(Code::kBusy, said.message(), said.next());
  }

  // One with the time and the id of another takes its place, whatever became of the call.
  Result<bool> Stands(const std::vector<CloudLine>&) override { return false; }

 private:
  // Of one time, entries are listed by their ids.
  std::string InsertId(const CloudLine& line) const {
    return place_.job + "." + std::to_string(place_.attempt) + "." + std::to_string(place_.rank) +
           "." + Padded(line.number, 12);
  }

  const std::shared_ptr<gce::ComputeApi> api_;
  const CloudLogPlace place_;
  const std::string number_;
};

}  // namespace

std::unique_ptr<CloudLog> MakeCloudLogging(std::shared_ptr<gce::ComputeApi> api,
                                           const CloudLogPlace& place, const std::string& number) {
  return std::make_unique<CloudLogging>(std::move(api), place, number);
}

Result<std::unique_ptr<CloudLog>> OpenCloudLogging(const CloudLogPlace& place, ObjectStore&) {
  STOKER_ASSIGN(const auto metadata, MakeGceMetadata(GceMetadataEndpoint()));
  STOKER_ASSIGN(const std::string number, metadata->Get("instance/id"));
  if (!WholeNumber(number, 0, INT64_MAX)) {
    return Status(Code::kCorrupt, "instance/id of the metadata server is no number: " +
                                      Printable(CutText(number, 100)));
  }
  STOKER_ASSIGN(auto api, MakeLoggingApi());
  return MakeCloudLogging(std::move(api), place, number);
}

CloudLogQuery CloudLoggingQuery(const CloudLogPlace& place) {
  const std::string filter =
      "logName=\"" + LogName(place) + "\" AND labels.stoker-job=\"" + place.job + "\"";
  const std::string& project = place.place.account;
  return {"Cloud Logging",
          "gcloud logging read '" + filter + "' --order=asc --freshness=" +
              std::to_string(place.days) + "d --format='value(textPayload)' --project=" + project,
          "https://console.cloud.google.com/logs/query;query=" + PercentEncode(filter) +
              "?project=" + project};
}

}  // namespace stoker
