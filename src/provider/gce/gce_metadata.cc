// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_metadata.h"

#include <utility>

#include "base/text.h"
#include "net/http_client.h"
#include "net/percent.h"
#include "net/system.h"

namespace stoker {
namespace {

constexpr Duration kAnswersWithin = Duration::Seconds(2);
constexpr size_t kMostValue = 256 << 10;

class MetadataOfGoogle : public GceMetadata {
 public:
  explicit MetadataOfGoogle(HttpUrl url) : url_(std::move(url)) {}

  Result<std::string> Get(const std::string& key) override {
    STOKER_ASSIGN(GceValue value, Ask(key, "", Duration()));
    return std::move(value.text);
  }

  Result<GceValue> Await(const std::string& key, const std::string& etag,
                         Duration longest) override {
    std::string query = "?wait_for_change=true&timeout_sec=" + std::to_string(longest.ms / 1000);
    // Without one it would wait for the next change, and not tell what is.
    query += "&last_etag=" + (etag.empty() ? "0" : PercentEncode(etag));
    return Ask(key, query, longest);
  }

 private:
  Result<GceValue> Ask(const std::string& key, const std::string& query, Duration longest) {
    HttpClientOptions options;
    options.connect_timeout = kAnswersWithin;
    options.total_timeout = kAnswersWithin + longest;
    options.max_body_bytes = kMostValue;
    const std::string path = "/computeMetadata/v1/" + key;
    STOKER_ASSIGN(
        const HttpResponse answer,
        HttpCall(url_, {"GET", path + query, {{"Metadata-Flavor", "Google"}}, ""}, options));
    if (answer.status == 404) return Status(Code::kNotFound, path + ": there is no such key");
    if (answer.status != 200) {
      return Status(Code::kUnavailable,
                    path + ": the metadata server answered " + std::to_string(answer.status));
    }
    const std::string* flavor = FindHeader(answer.headers, "Metadata-Flavor");
    if (flavor == nullptr || *flavor != "Google") {
      return Status(Code::kCorrupt, path + ": another service answers there");
    }
    const std::string* etag = FindHeader(answer.headers, "ETag");
    return GceValue{answer.body, etag == nullptr ? "" : *etag};
  }

  const HttpUrl url_;
};

}  // namespace

Result<std::unique_ptr<GceMetadata>> MakeGceMetadata(const std::string& endpoint) {
  STOKER_ASSIGN(HttpUrl url, ParseHttpUrl(endpoint));
  return std::unique_ptr<GceMetadata>(std::make_unique<MetadataOfGoogle>(std::move(url)));
}

std::string GceMetadataEndpoint() {
  return "http://" + SystemVariable("GCE_METADATA_HOST").value_or("169.254.169.254");
}

}  // namespace stoker
