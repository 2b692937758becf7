// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_client.h"

#include <cstdlib>

#include "aws/config.h"
#include "base/text.h"
#include "net/http_date.h"
#include "net/percent.h"
#include "store/s3/s3_answer.h"

namespace stoker::s3 {
namespace {

constexpr int64_t kMaxErrorBody = 256 << 10;
// Signatures are good for 15 minutes; a Date header is whole seconds, and answers take their time.
constexpr int64_t kTolerableSkewMs = 120'000;

// A name that can stand in front of a host name, under a certificate for "*.s3….amazonaws.com".
bool IsHostLabel(const std::string& bucket) {
  return bucket.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

// Rules for bucket names, those of before 2018 included: nothing that could change a URL.
bool IsBucketName(const std::string& bucket) {
  return bucket.size() >= 3 && bucket.size() <= 255 &&
         bucket.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
             "0123456789.-_") == std::string::npos &&
         bucket.find("..") == std::string::npos;
}

bool WrongRegion(int status, const Failure& failure) {
  return status == 301 || status == 307 || failure.code == "AuthorizationHeaderMalformed" ||
         failure.code == "PermanentRedirect" ||
         failure.code == "IllegalLocationConstraintException";
}

// Expired keys are a bare 400 to HEAD, and a wrong clock is a bare 403.
bool CannotTell(const Request& request, int status) {
  return request.method == "HEAD" && !request.key.empty() && (status == 400 || status == 403);
}

// A first byte: of an empty object there is none.
bool Allowed(int status) { return status / 100 == 2 || status == 416; }

}  // namespace

Result<std::unique_ptr<Client>> Client::Make(Options options) {
  if (!IsBucketName(options.bucket)) {
    return Status(Code::kInvalid, "'" + Printable(options.bucket) + "' is no bucket's name",
                  "Name the store as s3://bucket or s3://bucket/prefix");
  }
  const std::string region = options.region.empty() ? "us-east-1" : options.region;
  std::unique_ptr<Client> client(new Client(std::move(options)));
  client->region_ = region;
  STOKER_ASSIGN(client->place_, client->FindPlace(region));
  return client;
}

Result<Client::Place> Client::FindPlace(const std::string& region) const {
  Place place;
  const bool amazon = options_.endpoint.empty();
  if (amazon && options_.variant.fips && AwsPartition(region) == "aws-cn") {
    return Status(Code::kInvalid, "S3 has no FIPS endpoint in region " + Printable(region),
                  "Unset AWS_USE_FIPS_ENDPOINT, or the profile's use_fips_endpoint");
  }
  const std::string base =
      amazon ? AwsRegionalUrl("s3", region, options_.variant) : options_.endpoint;
  auto url = ParseHttpUrl(base);
  if (!url.ok()) return url.status().WithContext("the endpoint of the store");
  place.url = std::move(*url);
  place.path = place.url.prefix;
  const bool path_style = options_.path_style.value_or(!amazon || !IsHostLabel(options_.bucket));
  if (path_style) {
    place.path += "/" + options_.bucket;
  } else {
    place.url.host = options_.bucket + "." + place.url.host;
  }
  place.signer = std::make_shared<AwsSigner>(region, "s3");
  return place;
}

std::string Client::Describe(const Request& request) const {
  return request.method + " s3://" + options_.bucket + "/" + Printable(request.key);
}

WallTime Client::ServiceNow() const { return options_.now() + Duration::Ms(skew_ms_.load()); }

Result<std::unique_ptr<HttpAnswer>> Client::SendOnce(const Place& place, const Request& request) {
  HttpRequest http;
  http.method = request.method;
  http.target = place.path + "/" + PercentEncodePath(request.key);
  if (!request.query.empty()) http.target += "?" + request.query;
  http.headers = request.headers;
  http.headers.emplace_back("Host", HostHeader(place.url));
  http.body = request.body;
  STOKER_ASSIGN(const AwsCredentials credentials, options_.credentials());
  const std::string_view payload = request.file.fd >= 0 ? kUnsignedPayload : "";
  STOKER_TRY(place.signer->Sign(credentials, ServiceNow(), &http, payload));
  pause_.Await(options_.stopped);
  return pool_.Open(place.url, http, request.file);
}

void Client::NoteClock(const HttpResponse& answer) {
  const std::string* date = FindHeader(answer.headers, "Date");
  if (date == nullptr) return;
  const auto theirs = ParseHttpDate(*date);
  const int64_t skew = theirs.ok() ? (*theirs - options_.now()).ms : 0;
  skew_ms_ = std::abs(skew) > kTolerableSkewMs ? skew : 0;
}

// The same as GET. A number of a part and a range exclude each other, and it has nothing to do with
// why.
Result<std::unique_ptr<HttpAnswer>> Client::AskWhy(const Place& place, const Request& head) {
  Request get = head;
  get.method = "GET";
  get.query.clear();
  get.headers.emplace_back("Range", "bytes=0-0");
  auto answer = SendOnce(place, get);
  if (!answer.ok()) return answer.status().WithContext(Describe(head));
  NoteClock((*answer)->head());
  return answer;
}

// Reads why, and takes from the answer what later requests should know.
Status Client::Refused(const Request& request, HttpAnswer& answer, std::string* region) {
  HttpResponse whole = answer.head();
  pause_.Note(whole, ServiceNow());
  // What was cut off, or is damaged, may have said that it can be tried again.
  auto body = ReadWhole(answer, kMaxErrorBody);
  if (!body.ok()) return body.status().WithContext(Describe(request));
  whole.body = std::move(*body);
  const Failure failure = ParseFailure(whole);
  if (failure.code.empty() && StartsWith(whole.body, "<?xml")) {
    return Status(Code::kCorrupt, Describe(request) + ": the store answers " +
                                      std::to_string(whole.status) + ", the rest is unreadable");
  }
  if (WrongRegion(whole.status, failure)) *region = failure.region;
  return Learn(request, whole, failure);
}

Status Client::Learn(const Request& request, const HttpResponse& answer, const Failure& failure) {
  if (failure.code == "RequestTimeTooSkewed") {
    const std::string* date = FindHeader(answer.headers, "Date");
    const auto theirs = date == nullptr ? Result<WallTime>(Status(Code::kCorrupt, "no Date"))
                                        : ParseHttpDate(*date);
    if (theirs.ok()) skew_ms_ = (*theirs - options_.now()).ms;
  }
  if (failure.code == "ExpiredToken" || failure.code == "TokenRefreshRequired") {
    if (options_.credentials_refused) options_.credentials_refused();
  }
  return FailureStatus(Describe(request), answer.status, failure);
}

Result<std::unique_ptr<HttpAnswer>> Client::Open(const Request& request) {
  for (int time = 0;; ++time) {
    Place place;
    std::string asked;
    {
      const std::lock_guard lock(mutex_);
      place = place_;
      asked = region_;
    }
    auto answer = SendOnce(place, request);
    if (!answer.ok()) return answer.status().WithContext(Describe(request));
    const HttpResponse& head = (*answer)->head();
    NoteClock(head);
    if (head.status / 100 == 2) return answer;
    std::string region;
    Status refused = Refused(request, **answer, &region);
    if (CannotTell(request, head.status)) {
      STOKER_ASSIGN(const std::unique_ptr<HttpAnswer> why, AskWhy(place, request));
      if (Allowed(why->head().status)) {
        // The clock, which the refusal has set, or the keys, which are others by now.
        if (time > 0) return refused;
        continue;
      }
      refused = Refused(request, *why, &region);
    }
    if (region.empty() || region == asked || time > 0) return refused;
    STOKER_ASSIGN(Place right, FindPlace(region));
    const std::lock_guard lock(mutex_);
    region_ = region;
    place_ = std::move(right);
  }
}

Result<HttpResponse> Client::Call(const Request& request) {
  STOKER_ASSIGN(const std::unique_ptr<HttpAnswer> answer, Open(request));
  auto whole = bucket::WholeAnswer(*answer, options_.http.max_body_bytes);
  if (!whole.ok()) return whole.status().WithContext(Describe(request));
  if (!request.may_fail_late) return whole;
  const Failure failure = ParseFailure(*whole);
  if (!failure.code.empty()) return Learn(request, *whole, failure);
  return whole;
}

}  // namespace stoker::s3
