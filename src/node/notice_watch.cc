// SPDX-License-Identifier: Apache-2.0
#include "node/notice_watch.h"

namespace stoker::node {

NoticeWatch::NoticeWatch(std::unique_ptr<MetadataService> metadata, Clock& clock, Duration every,
                         Changed changed)
    : metadata_(std::move(metadata)),
      clock_(clock),
      every_(every),
      changed_(std::move(changed)),
      thread_([this] { Run(); }) {}

NoticeWatch::~NoticeWatch() {
  stop_ = true;
  bell_.Ring();
  thread_.join();
}

Result<std::optional<Notice>> NoticeWatch::Poll() {
  const std::lock_guard lock(metadata_mutex_);
  return metadata_->PollNotice();
}

void NoticeWatch::Tell(const std::optional<Notice>& notice) {
  {
    const std::lock_guard lock(mutex_);
    // A host that is shutting down does not take it back.
    const std::optional<Notice> now = host_ ? host_ : notice;
    if (now == told_) return;
    told_ = now;
  }
  changed_(host_ ? host_ : notice);
}

void NoticeWatch::Run() {
  while (!stop_) {
    const auto answer = Poll();
    {
      const std::lock_guard lock(mutex_);
      trouble_ = answer.ok() ? "" : answer.status().WithContext("instance metadata").ToString();
    }
    if (answer.ok()) Tell(*answer);
    bell_.Wait(every_.ms);
  }
}

void NoticeWatch::HostStops(Duration left) {
  {
    const std::lock_guard lock(mutex_);
    if (host_) return;
    host_ = Notice{"terminate", clock_.Wall() + left};
  }
  Tell(std::nullopt);
}

bool NoticeWatch::TakenNow() {
  {
    const std::lock_guard lock(mutex_);
    if (host_) return true;
  }
  const auto answer = Poll();
  if (answer.ok()) Tell(*answer);
  return answer.ok() && answer->has_value();
}

std::string NoticeWatch::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace stoker::node
