// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/cloud_launch.h"

#include "base/json_fields.h"
#include "base/text.h"

namespace stoker::cloud {
namespace {

constexpr int kLaunchFormat = 1;
constexpr size_t kMostLaunch = 64 << 10;
constexpr char kWhere[] = "what this machine was made from";

}  // namespace

std::string EncodeLaunch(const LaunchRequest& request) {
  const Place& place = request.ask.place;
  json::Value out = {{"format", kLaunchFormat},
                     {"token", request.token},
                     {"ledger_id", request.ledger_id},
                     {"store_url", request.store_url},
                     {"job", request.job},
                     {"account", place.account},
                     {"region", place.region},
                     {"zone", place.zone},
                     {"type", request.ask.type},
                     {"image", request.ask.image},
                     {"market", request.ask.market},
                     {"launches", request.launches},
                     {"slots", request.slots},
                     {"binary_digest", request.binary_digest},
                     {"limit_ms", request.limit.ms},
                     {"not_after", FormatRfc3339(request.not_after)},
                     {"ending", request.ending}};
  return json::Dump(out);
}

Result<LaunchRequest> ParseLaunch(const std::string& text, const std::string& provider) {
  STOKER_ASSIGN(const json::Value object, json::ParseObject(kWhere, text, kMostLaunch));
  json::JsonIn in(object, std::string(kWhere) + ": ");
  LaunchRequest r;
  int format = 0;
  in.Need("format", format);
  if (in.status().ok() && format > kLaunchFormat) {
    return Status(Code::kTooNew, "this machine was started by a newer stoker");
  }
  r.ask.place.provider = provider;
  in.Need("token", r.token);
  in.Need("ledger_id", r.ledger_id);
  in.Need("store_url", r.store_url);
  in.Need("job", r.job);
  in("account", r.ask.place.account);
  in.Need("region", r.ask.place.region);
  in("zone", r.ask.place.zone);
  in("type", r.ask.type);
  in("image", r.ask.image);
  in("market", r.ask.market);
  in.Need("launches", r.launches);
  in("slots", r.slots);
  in.Need("binary_digest", r.binary_digest);
  in.Need("limit_ms", r.limit);
  in.Need("not_after", r.not_after);
  in("ending", r.ending);
  in.Check(!r.launches.empty(), "launches", "is empty");
  STOKER_TRY(in.status());
  return r;
}

WallTime FirstExpiry(const LaunchRequest& request) { return request.not_after + request.limit; }

std::string EncodeLaunches(const std::vector<int>& launches, char separator, size_t most) {
  std::string text;
  for (size_t i = 0; i < launches.size();) {
    size_t end = i + 1;
    while (end < launches.size() && launches[end] == launches[end - 1] + 1) ++end;
    std::string part = std::to_string(launches[i]);
    if (end - i > 1) part += "-" + std::to_string(launches[end - 1]);
    if (text.size() + 1 + part.size() > most) break;
    if (!text.empty()) text += separator;
    text += part;
    i = end;
  }
  return text;
}

int LaunchAt(std::string_view text, char separator, int index) {
  constexpr int64_t kMost = 1'000'000'000;
  int64_t left = index;
  for (const std::string& part : Split(text, separator)) {
    const size_t dash = part.find('-');
    const auto first = WholeNumber(part.substr(0, dash), 0, kMost);
    const auto last =
        dash == std::string::npos ? first : WholeNumber(part.substr(dash + 1), 0, kMost);
    if (!first || !last || *last < *first || left < 0) return 0;
    if (left <= *last - *first) return static_cast<int>(*first + left);
    left -= *last - *first + 1;
  }
  return 0;
}

}  // namespace stoker::cloud
