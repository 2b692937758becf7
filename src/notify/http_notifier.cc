// SPDX-License-Identifier: Apache-2.0
#include "notify/http_notifier.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "net/system.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::chrono::minutes kAskAgain{1};  // for a secret that was not there
constexpr size_t kMostAnswer = 200;           // of a server that refuses, in the error

std::string Text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json WebhookOf(const Notification& what) {
  json body = {{"id", what.key},    {"event", what.event},           {"job", what.job},
               {"name", what.name}, {"state", what.state},           {"text", what.text},
               {"next", what.next}, {"time", FormatRfc3339(what.at)}};
  if (!what.lines.empty()) body["lines"] = what.lines;
  return body;
}

bool IsTopic(const NotifySpec& to) { return to.kind == "sns" || to.kind == "pubsub"; }

// Slack's markup has three characters of its own; what is between backquotes is shown as it is.
std::string ForSlack(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c == '`' ? '\'' : c;
    }
  }
  return out;
}

std::string SlackText(const Notification& what) {
  std::string text = ForSlack(what.text);
  if (!what.lines.empty()) text += "\n```" + ForSlack(what.lines) + "```";
  return text + "\n`" + ForSlack(what.next) + "`";
}

// Of an address that parses.
std::string TargetOf(const std::string& url) {
  const size_t path = url.find_first_of("/?#", url.find("://") + 3);
  std::string target = path == std::string::npos ? "" : url.substr(path, url.find('#') - path);
  return StartsWith(target, "/") ? target : "/" + target;
}

// `said`: the begin of its answer; "" where it may hold an address that is a secret.
Status Refused(const HttpUrl& url, int status, const std::string& said) {
  const bool passes = status >= 500 || status == 429 || status == 408;
  return Status(passes ? Code::kUnavailable : Code::kInvalid,
                HostHeader(url) + " answered " + std::to_string(status) +
                    (said.empty() ? "" : ": " + Printable(said)));
}

}  // namespace

HttpRequest NotificationRequest(const std::string& kind, const std::string& target,
                                const Notification& what) {
  HttpRequest request;
  request.method = "POST";
  request.target = target;
  if (kind == "ntfy") {
    request.headers = {{"Content-Type", "text/plain; charset=utf-8"},
                       {"Title", what.name + ": " + what.event}};
    request.body = what.text + (what.lines.empty() ? "" : "\n" + what.lines) + "\n" + what.next;
    return request;
  }
  request.headers = {{"Content-Type", "application/json"}};
  request.body = Text(kind == "slack" ? json{{"text", SlackText(what)}} : WebhookOf(what));
  return request;
}

std::unique_ptr<Notifier> MakeNotifier(HttpNotifier::FindSecret secrets, OpenTopic topics) {
  HttpPoolOptions options = SystemPoolOptions("");
  options.timeouts = {Duration::Seconds(3), Duration::Seconds(5), Duration::Seconds(5)};
  options.max_body_bytes = 1 << 20;
  return std::make_unique<HttpNotifier>(std::move(options), std::move(secrets), std::move(topics));
}

HttpNotifier::HttpNotifier(HttpPoolOptions options, FindSecret secrets, OpenTopic topics)
    : pool_(std::move(options)), secrets_(std::move(secrets)), topics_(std::move(topics)) {}

// Null where this process cannot publish to it: asked once a minute.
Topic* HttpNotifier::TopicOf(const NotifySpec& to) {
  const auto asked = missing_.find(to.to);
  const auto now = std::chrono::steady_clock::now();
  if (!topics_ || (asked != missing_.end() && now - asked->second < kAskAgain)) return nullptr;
  auto& topic = open_[to.to];
  if (!topic) {
    auto opened = topics_(to.kind, to.to);
    if (opened.ok() && *opened != nullptr && (*opened)->Knows()) topic = std::move(*opened);
  }
  if (!topic) missing_[to.to] = now;
  return topic.get();
}

Result<std::optional<std::string>> HttpNotifier::UrlOf(const Job& job, const JobSpec& spec,
                                                       const NotifySpec& to) {
  if (!StartsWith(to.to, "$")) return std::optional<std::string>(to.to);
  const std::string name = to.to.substr(1);
  const std::string key = job.id + "/" + name;
  const auto known = found_.find(key);
  if (known != found_.end()) return std::optional<std::string>(known->second);
  const auto asked = missing_.find(key);
  const auto now = std::chrono::steady_clock::now();
  if (asked != missing_.end() && now - asked->second < kAskAgain)
    return std::optional<std::string>();
  for (const SecretSpec& secret : spec.secrets) {
    if (secret.name != name || !secrets_) continue;
    auto value = secrets_(job, secret);
    if (!value.ok() && value.status().transient()) return value.status();
    if (!value.ok() || !*value) break;
    found_[key] = **value;
    return value;
  }
  missing_[key] = now;
  return std::optional<std::string>();
}

bool HttpNotifier::Knows(const Job& job, const JobSpec& spec, const NotifySpec& to) {
  if (IsTopic(to)) return TopicOf(to) != nullptr;
  const auto url = UrlOf(job, spec, to);
  return !url.ok() || url->has_value();
}

Status HttpNotifier::Send(const Job& job, const JobSpec& spec, const NotifySpec& to,
                          const Notification& what) {
  if (IsTopic(to)) {
    Topic* const topic = TopicOf(to);
    if (topic == nullptr) return Status(Code::kInvalid, "this machine has no credentials for it");
    const Status sent = topic->Publish(what, Text(WebhookOf(what)));
    // Another who looks may have the right that this one lacks.
    return sent.Is(Code::kDenied) ? Status(Code::kUnavailable, sent.message(), sent.next()) : sent;
  }
  STOKER_ASSIGN(const std::optional<std::string> text, UrlOf(job, spec, to));
  if (!text) return Status(Code::kInvalid, "this machine does not have " + to.to);
  // A webhook's key may be its query, which no other address here has.
  const size_t path_end = text->find_first_of("?#");
  const auto url = ParseHttpUrl(text->substr(0, path_end));
  // Its text is a secret, maybe.
  if (!url.ok()) return Status(Code::kInvalid, "what " + to.to + " holds is no URL");
  const auto answer = pool_.Open(*url, NotificationRequest(to.kind, TargetOf(*text), what));
  if (!answer.ok()) return answer.status();
  const int status = (*answer)->head().status;
  if (status >= 200 && status < 300) return Status::Ok();
  char said[kMostAnswer];
  const auto read = (*answer)->Read(said, sizeof said);
  const bool secret = StartsWith(to.to, "$");
  return Refused(*url, status, secret || !read.ok() ? "" : std::string(said, *read));
}

}  // namespace stoker
