// SPDX-License-Identifier: Apache-2.0
// The Notifier that speaks HTTP: to a webhook in JSON, to Slack and to ntfy in their forms; and to
// topics of clouds, through port/topic.h.
// Sources: "Sending messages using incoming webhooks" (Slack), "Publishing" (ntfy).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "net/http_client.h"
#include "net/http_message.h"
#include "port/notifier.h"
#include "port/topic.h"

namespace stoker {

// What is posted to the path and query `target`. Pure.
HttpRequest NotificationRequest(const std::string& kind, const std::string& target,
                                const Notification& what);

// Not thread-safe.
class HttpNotifier : public Notifier {
 public:
  // The value of a job's secret; nullopt where this process does not have it. Errors that are not
  // transient count as that.
  using FindSecret =
      std::function<Result<std::optional<std::string>>(const Job& job, const SecretSpec& secret)>;
  HttpNotifier(HttpPoolOptions options, FindSecret secrets, OpenTopic topics);

  bool Knows(const Job& job, const JobSpec& spec, const NotifySpec& to) override;
  Status Send(const Job& job, const JobSpec& spec, const NotifySpec& to,
              const Notification& what) override;

 private:
  Result<std::optional<std::string>> UrlOf(const Job& job, const JobSpec& spec,
                                           const NotifySpec& to);

  Topic* TopicOf(const NotifySpec& to);

  HttpPool pool_;
  const FindSecret secrets_;
  const OpenTopic topics_;
  std::map<std::string, std::unique_ptr<Topic>> open_;  // by name; null: not from here
  std::map<std::string, std::string> found_;            // secrets, by "<job>/<name>"
  std::map<std::string, std::chrono::steady_clock::time_point> missing_;  // when it was not there
};

// With this machine's proxies and certificates; a server has seconds. Either may be empty:
// addresses that are secrets, and topics, are for others then.
std::unique_ptr<Notifier> MakeNotifier(HttpNotifier::FindSecret secrets, OpenTopic topics);

}  // namespace stoker
