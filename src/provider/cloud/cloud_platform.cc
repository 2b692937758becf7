// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/cloud_platform.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/text.h"
#include "ledger/places.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/cloud/ssh_door.h"
#include "sys/command.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr int64_t kCommandMs = 20'000;
constexpr char kBootIdFile[] = "/run/stoker/boot-id";

// Another one after each boot, also where several machines share a kernel.
Result<std::string> BootId(const std::string& file) {
  const auto known = sys::ReadFile(file, 256);
  if (known.ok() && IsSafeName(*known)) return known;
  const std::string id = Hex64(sys::RandomU64()) + Hex64(sys::RandomU64());
  STOKER_TRY(sys::MakeDirs(file.substr(0, file.rfind('/')), 0700));
  STOKER_TRY(sys::WriteFileAtomic(file, id, 0600, false));
  return id;
}

PlatformTraits TraitsFor(const CloudPlatformOptions& options) {
  PlatformTraits traits;
  traits.state_dir = options.dir;
  traits.notice_poll = options.notice_poll;
  traits.notes = true;
  traits.own_system = true;
  return traits;
}

class CloudPlatform : public NodePlatform {
 public:
  CloudPlatform(NodeIdentity identity, CloudPlatformOptions options, Clock& clock)
      : NodePlatform(std::move(identity), TraitsFor(options)),
        options_(std::move(options)),
        clock_(clock),
        tagged_(cloud::FirstExpiry(identity_.request)),
        kept_(sys::FileExists(KeptFile())) {
    if (options_.drill) drills_ = std::thread([this] { WatchDrills(); });
  }

  ~CloudPlatform() override {
    Leave();
    {
      const std::lock_guard lock(drill_mutex_);
      stop_ = true;
    }
    drill_bell_.notify_all();
    if (drills_.joinable()) drills_.join();
  }

  // The first of all that may take it.
  Result<std::optional<Notice>> PollNotice() override {
    if (kept_) return std::optional<Notice>();  // there is no program that it could be told
    const std::lock_guard lock(mutex_);
    STOKER_ASSIGN(std::optional<Notice> first, options_.notice());
    const auto add = [&](const std::optional<Notice>& notice) {
      if (notice && (!first || notice->until < first->until)) first = notice;
    };
    add(Drill());
    add(Lease());
    return first;
  }

  Result<std::optional<PlatformAdvice>> PollAdvice() override {
    const std::lock_guard lock(mutex_);
    return options_.advice();
  }

  // The tag first: whoever clears up goes by it, so the lease on disk never outlives it. While the
  // cloud is asked for that, a drill is heard and its end written.
  Status Renew(WallTime deadline) override {
    const std::lock_guard turn(tag_mutex_);
    if (DrilledOrKept()) return Status::Ok();  // its end is near, and stays
    const Status status =
        deadline > tagged_ ? Tag(deadline + identity_.request.limit / 4) : Status::Ok();
    const std::lock_guard lock(renew_mutex_);
    if (drill_until_ || kept_) return Status::Ok();
    STOKER_TRY(WriteDeadline(std::min(deadline, tagged_)));
    return status;
  }

  // The lease first, which ends the machine.
  Status Keep(WallTime until) override {
    {
      const std::lock_guard lock(renew_mutex_);
      kept_ = true;
      STOKER_TRY(sys::WriteFileAtomic(KeptFile(), "", 0600, true));
      STOKER_TRY(WriteDeadline(drill_until_ ? std::min(*drill_until_, until) : until));
    }
    const std::lock_guard turn(tag_mutex_);
    if (!options_.tag || tagged_ == until) return Status::Ok();
    return Tag(until);
  }

  Status PowerOff(const std::string& why) override { return options_.power_off(why); }

  void Use(ObjectStore& store) override {
    const std::lock_guard lock(store_mutex_);
    store_ = &store;
  }

  void Leave() override {
    const std::lock_guard lock(store_mutex_);
    store_ = nullptr;
  }

  // Each time: keys that an image had when the agent came up are replaced later in that boot.
  void Tell(NodeReport* report) override {
    const cloud::SshDoor door = cloud::ReadSshDoor("");
    report->host_keys = door.host_keys;
    report->ssh_user = door.user;
  }

 private:
  std::string KeptFile() const { return options_.instance_dir + "/" + cloud::kKeptFile; }
  std::string DeadlineFile() const { return options_.instance_dir + "/" + cloud::kDeadlineFile; }

  bool DrilledOrKept() {
    const std::lock_guard lock(renew_mutex_);
    return drill_until_ || kept_;
  }

  // With tag_mutex_; may take minutes.
  Status Tag(WallTime at) {
    if (!options_.tag) return Status(Code::kDenied, "the lease cannot be renewed here");
    const Status tagged = options_.tag(identity_.instance_id, at);
    if (tagged.ok()) tagged_ = at;
    return tagged;
  }

  Status WriteDeadline(WallTime at) {
    return sys::WriteFileAtomic(DeadlineFile(), std::to_string(at.ms / 1000) + "\n", 0600, true);
  }

  // Counted from when it is first read, and then as real as any: the machine ends at its end.
  void WatchDrills() {
    std::unique_lock lock(drill_mutex_);
    while (!stop_ && !drill_) {
      lock.unlock();
      const auto asked = AskDrill();
      lock.lock();
      if (asked.ok() && *asked) {
        drill_ = Notice{"terminate", clock_.Wall() + **asked};
        const std::lock_guard renewing(renew_mutex_);
        drill_until_ = drill_->until;
        if (!kept_) (void)WriteDeadline(drill_->until);
      }
      const auto pause = std::chrono::milliseconds(options_.drill_every.ms);
      if (!drill_) drill_bell_.wait_for(lock, pause, [this] { return stop_; });
    }
  }

  Result<std::optional<Duration>> AskDrill() {
    const std::lock_guard lock(store_mutex_);
    if (store_ == nullptr) return std::optional<Duration>();
    return options_.drill(*store_);
  }

  std::optional<Notice> Drill() {
    const std::lock_guard lock(drill_mutex_);
    return drill_;
  }

  std::optional<Notice> Lease() {
    const auto text = sys::ReadFile(DeadlineFile(), 256);
    if (!text.ok()) return std::nullopt;
    const auto seconds = WholeNumber(text->substr(0, text->find('\n')), 0, int64_t{1} << 40);
    if (!seconds) return std::nullopt;
    const WallTime until{*seconds * 1000};
    if (until - clock_.Wall() > std::min(kLeaseNotice, identity_.request.limit / 4)) {
      return std::nullopt;
    }
    return Notice{"terminate", until};
  }

  const CloudPlatformOptions options_;
  Clock& clock_;
  std::mutex mutex_;      // of the cloud's own notices and advice
  std::mutex tag_mutex_;  // of tagged_; held while the cloud is asked, and taken first
  WallTime tagged_;
  std::mutex renew_mutex_;  // of the lease on disk, and of drill_until_
  std::atomic<bool> kept_;  // for good
  std::optional<WallTime> drill_until_;
  std::mutex drill_mutex_;  // taken before renew_mutex_
  std::condition_variable drill_bell_;
  std::optional<Notice> drill_;
  bool stop_ = false;
  std::mutex store_mutex_;  // held while the store is asked
  ObjectStore* store_ = nullptr;
  std::thread drills_;
};

}  // namespace

void UseCloudFolders(const std::string& dir, const LaunchRequest& request,
                     const std::string& instance_id, CloudPlatformOptions* options) {
  options->dir = dir;
  options->instance_dir = cloud::kInstanceDir;
  options->boot_id_file = kBootIdFile;
  options->drill = [job = request.job, instance_id](ObjectStore& store) {
    return ReadDrill(store, job, instance_id);
  };
}

Result<std::unique_ptr<NodePlatform>> MakeCloudPlatform(NodeIdentity me,
                                                        CloudPlatformOptions options,
                                                        Clock& clock) {
  const auto& launches = me.request.launches;
  if (static_cast<size_t>(me.index) >= launches.size()) {
    return Status(Code::kCorrupt, "this is machine " + std::to_string(me.index) +
                                      " of a request for " + std::to_string(launches.size()));
  }
  me.launch = launches[static_cast<size_t>(me.index)];
  me.dir = options.dir;
  STOKER_ASSIGN(me.boot_id, BootId(options.boot_id_file));
  return std::unique_ptr<NodePlatform>(
      std::make_unique<CloudPlatform>(std::move(me), std::move(options), clock));
}

Status PowerOffBySystemd(const std::string& why) {
  // The unit's output goes to the console.
  if (!why.empty()) std::fprintf(stderr, "stoker: this machine ends: %s\n", Printable(why).c_str());
  sys::Command command;
  command.argv = {"systemctl", "poweroff", "--no-block"};
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) command.env.emplace_back(*at);
  const auto results = sys::RunCommands({command}, kCommandMs);
  STOKER_TRY(results[0].status());
  if (results[0]->exit_code == 0) return Status::Ok();
  return Status(Code::kUnavailable, "systemctl poweroff: " + Printable(results[0]->err));
}

}  // namespace stoker
