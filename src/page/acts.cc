// SPDX-License-Identifier: Apache-2.0
#include "page/acts.h"

#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "client/cancel.h"
#include "client/preempt.h"
#include "client/retry.h"
#include "client/submit/begin.h"

namespace stoker::page {
namespace {

constexpr size_t kMostRunning = 32;

// Keeps what is said, a line each. There is nobody who could be asked.
class Listening : public client::Caller {
 public:
  void Say(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    text_ += text + "\n";
  }
  void Progress(const std::string& /*text*/) override {}
  bool Confirm(const std::string& /*question*/) override { return false; }
  void Heed(const Settings& /*settings*/) override {}
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

Status Cancel(client::Client& client, const std::string& word) {
  auto jobs = client::FindRunning(client, {word});
  client::CancelJobs(
      client, false,
      [&](const client::Cancelled& one) {
        if (one.failed.ok()) client.Say(client::CancelledText(one));
      },
      &jobs);
  return jobs[0].failed;
}

Status Retry(client::Client& client, const std::string& word, std::string* made) {
  client::RetryWish wish;
  STOKER_ASSIGN(wish.job, client.ResolveJob(word));
  STOKER_ASSIGN(const client::Submitted again, client::Retry(client, wish));
  *made = again.job.id;
  STOKER_ASSIGN(Controller * controller, client.controller());
  controller->Submitted(*made);
  if (const auto refused =
          client::HearOut(client, *controller, client::BeginJob(*controller, *made))) {
    return Status(Code::kDenied,
                  "job " + *made + ", begun again, has ended: " + Printable(refused->result->why));
  }
  return Status::Ok();
}

Status Preempt(client::Client& client, const std::string& word) {
  client::PreemptWish wish;
  STOKER_ASSIGN(wish.job, client.ResolveJob(word, NameMeans::kRunning));
  return client::Preempt(client, wish).status();
}

bool HasEnded(const std::shared_future<Acted>& one) {
  return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

Acted ActOn(const std::string& verb, const std::string& job) {
  Listening heard;
  client::Client client(heard);
  Acted acted;
  Status status;
  if (verb == "cancel") status = Cancel(client, job);
  if (verb == "retry") status = Retry(client, job, &acted.made);
  if (verb == "preempt") status = Preempt(client, job);
  acted.done = status.ok();
  if (!status.ok()) heard.Say(status.message());
  if (!status.next().empty()) heard.Say(status.next());
  acted.text = Printable(heard.text(), true);
  return acted;
}

Acts::Acts(Act act, Duration patience) : act_(std::move(act)), patience_(patience) {}

Acted Acts::Do(const std::string& verb, const std::string& job) {
  std::shared_future<Acted> answer;
  try {
    const std::lock_guard lock(mutex_);
    Forget();
    if (running_.size() >= kMostRunning) {
      return {false, std::to_string(kMostRunning) + " others are under way: try again later", ""};
    }
    answer = std::async(std::launch::async, act_, verb, job).share();
    running_.push_back(answer);
  } catch (const std::system_error& error) {
    return {false, "this computer has no thread for it: " + std::string(error.what()), ""};
  }
  if (answer.wait_for(std::chrono::milliseconds(patience_.ms)) != std::future_status::ready) {
    return {false,
            verb + " of job " + job + " has not ended within " + HumanDuration(patience_) +
                " and goes on: " +
                (verb == "retry" ? "'stoker ls' says whether there is a new job"
                                 : "'stoker show " + job + "' says what came of it"),
            ""};
  }
  try {
    return answer.get();
  } catch (const std::exception& error) {
    return {false, error.what(), ""};
  }
}

size_t Acts::Running() {
  const std::lock_guard lock(mutex_);
  Forget();
  return running_.size();
}

void Acts::Forget() { std::erase_if(running_, HasEnded); }

}  // namespace stoker::page
