// SPDX-License-Identifier: Apache-2.0
#include "notify/http_notifier.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "net/system.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr size_t kMostAnswer = 200;  // of a server that refuses, in the error

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

// What a server says may hold the address that it was asked at.
Status Refused(const HttpUrl& url, const HttpResponse& answer, bool secret) {
  const std::string said = secret ? "" : Printable(answer.body.substr(0, kMostAnswer));
  const bool passes = answer.status >= 500 || answer.status == 429 || answer.status == 408;
  return Status(passes ? Code::kUnavailable : Code::kInvalid,
                HostHeader(url) + " answered " + std::to_string(answer.status) +
                    (said.empty() ? "" : ": " + said));
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

std::unique_ptr<Notifier> MakeNotifier(HttpNotifier::FindSecret secrets) {
  HttpPoolOptions options = SystemPoolOptions("");
  options.timeouts = {Duration::Seconds(3), Duration::Seconds(5), Duration::Seconds(5)};
  options.max_body_bytes = 1 << 20;
  return std::make_unique<HttpNotifier>(std::move(options), std::move(secrets));
}

HttpNotifier::HttpNotifier(HttpPoolOptions options, FindSecret secrets)
    : pool_(std::move(options)), secrets_(std::move(secrets)) {}

Result<std::optional<std::string>> HttpNotifier::UrlOf(const Job& job, const JobSpec& spec,
                                                       const NotifySpec& to) {
  if (!StartsWith(to.to, "$")) return std::optional<std::string>(to.to);
  const std::string name = to.to.substr(1);
  const auto known = found_.find(job.id + "/" + name);
  if (known != found_.end()) return std::optional<std::string>(known->second);
  for (const SecretSpec& secret : spec.secrets) {
    if (secret.name != name || !secrets_) continue;
    auto value = secrets_(job, secret);
    if (!value.ok() && value.status().transient()) return value.status();
    if (!value.ok() || !*value) break;
    found_[job.id + "/" + name] = **value;
    return value;
  }
  return std::optional<std::string>();
}

bool HttpNotifier::Knows(const Job& job, const JobSpec& spec, const NotifySpec& to) {
  const auto url = UrlOf(job, spec, to);
  return !url.ok() || url->has_value();
}

Status HttpNotifier::Send(const Job& job, const JobSpec& spec, const NotifySpec& to,
                          const Notification& what) {
  STOKER_ASSIGN(const std::optional<std::string> text, UrlOf(job, spec, to));
  if (!text) return Status(Code::kInvalid, "this machine does not have " + to.to);
  // A webhook's key may be its query, which no other address here has.
  const size_t path_end = text->find_first_of("?#");
  const auto url = ParseHttpUrl(text->substr(0, path_end));
  // Its text is a secret, maybe.
  if (!url.ok()) return Status(Code::kInvalid, "what " + to.to + " holds is no URL");
  const auto answer = pool_.Call(*url, NotificationRequest(to.kind, TargetOf(*text), what));
  if (!answer.ok()) return answer.status();
  if (answer->status >= 200 && answer->status < 300) return Status::Ok();
  return Refused(*url, *answer, StartsWith(to.to, "$"));
}

}  // namespace stoker
