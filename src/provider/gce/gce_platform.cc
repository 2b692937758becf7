// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_platform.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/gce/gce_boot.h"
#include "provider/gce/gce_provider.h"
#include "provider/gce/gce_request.h"
#include "sys/command.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr int64_t kMostFile = 64 << 10;
constexpr int64_t kEndMs = 60'000;
constexpr int64_t kMostMachines = 100'000;  // of one request
constexpr int64_t kMostGpus = 64;
constexpr size_t kMostWord = 200;

// The newest state of one key, kept by a thread that waits for the next.
class Watched {
 public:
  Watched(GceMetadata& metadata, std::string key, Duration wait, Duration pause, Clock& clock)
      : metadata_(metadata), key_(std::move(key)), wait_(wait), pause_(pause), clock_(clock) {
    Look(Duration());
    thread_ = std::thread([this] { Run(); });
  }
  ~Watched() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    bell_.notify_all();
    thread_.join();
  }

  struct State {
    std::string text;
    WallTime since;  // when it was first seen
    Status trouble;  // the last time it was asked for
  };
  State Get() {
    const std::lock_guard lock(mutex_);
    return state_;
  }

 private:
  void Run() {
    for (;;) {
      const bool answered = Look(wait_);
      std::unique_lock lock(mutex_);
      if (!answered && !stop_) {
        bell_.wait_for(lock, std::chrono::milliseconds(pause_.ms), [this] { return stop_; });
      }
      if (stop_) return;
    }
  }

  bool Look(Duration longest) {
    const auto value = metadata_.Await(key_, etag_, longest);
    const std::lock_guard lock(mutex_);
    // Of what Google has not (yet) there is no event.
    if (value.status().Is(Code::kNotFound)) {
      state_ = {};
      return false;
    }
    state_.trouble = value.status();
    if (!value.ok()) return false;
    etag_ = value->etag;
    const std::string text = Printable(CutText(value->text, kMostWord));
    if (text != state_.text) state_ = {text, clock_.Wall(), Status::Ok()};
    return true;
  }

  GceMetadata& metadata_;
  const std::string key_;
  const Duration wait_, pause_;
  Clock& clock_;
  std::string etag_;  // of the thread
  std::mutex mutex_;
  std::condition_variable bell_;
  State state_;
  bool stop_ = false;
  std::thread thread_;
};

struct Promised {
  bool long_notice = false;  // Google tells of a preemption 120 s before
  bool gpus = false;
  bool stops = false;  // taken, it is stopped, and its job wants it again
  bool spot = false;
  WallTime armed;  // when Google deletes the machine
};

class GceNotices {
 public:
  GceNotices(std::unique_ptr<GceMetadata> metadata, const Promised& promised, Duration wait,
             Duration pause, Clock& clock)
      : metadata_(std::move(metadata)),
        promised_(promised),
        clock_(clock),
        preempted_(*metadata_, "instance/preempted", wait, pause, clock),
        // Google tells only whoever has asked for it since the last one.
        maintenance_(*metadata_, "instance/maintenance-event", wait, pause, clock) {}

  Result<std::optional<Notice>> First() {
    const Watched::State preempted = preempted_.Get();
    const Watched::State maintenance = maintenance_.Get();
    std::optional<Notice> first;
    const auto add = [&](const std::string& action, WallTime until) {
      if (!first || until < first->until) first = Notice{action, until};
    };
    const std::string taken = promised_.stops ? "stop" : "terminate";
    if (preempted.text == "TRUE") {
      add(taken,
          preempted.since + (promised_.long_notice ? gce::kPreemptionNotice : kClassicNotice));
    }
    if (maintenance.text == "TERMINATE_ON_HOST_MAINTENANCE") {
      const WallTime until =
          maintenance.since + (promised_.gpus ? kTerminateNoticeOfGpus : kTerminateNotice);
      if (until - clock_.Wall() <= kSoonEnough) add(taken, until);
    }
    if (promised_.armed.ms > 0 && promised_.armed - clock_.Wall() <= kLeaseNotice) {
      add(promised_.spot ? taken : "terminate", promised_.armed);
    }
    if (first) return first;
    STOKER_TRY(preempted.trouble);
    STOKER_TRY(maintenance.trouble);
    return first;
  }

  // A machine that is moved while it runs is not taken, but stands still for a while.
  Result<std::optional<PlatformAdvice>> Advice() {
    const Watched::State maintenance = maintenance_.Get();
    if (maintenance.text != "MIGRATE_ON_HOST_MAINTENANCE") return std::optional<PlatformAdvice>();
    return std::optional(PlatformAdvice{"migrate", maintenance.since});
  }

 private:
  const std::unique_ptr<GceMetadata> metadata_;
  const Promised promised_;
  Clock& clock_;
  Watched preempted_;
  Watched maintenance_;
};

// A word of one line.
Result<std::string> WordAt(GceMetadata& metadata, const std::string& key) {
  STOKER_ASSIGN(std::string text, metadata.Get(key));
  if (text.empty() || text.size() > kMostWord || Printable(text) != text) {
    return Status(Code::kCorrupt, key + ": not a value: " + Printable(text.substr(0, 100)));
  }
  return text;
}

// Unset: nobody gave it one.
Result<std::optional<std::string>> Attribute(GceMetadata& metadata, const char* name) {
  const auto value = metadata.Get(std::string("instance/attributes/") + name);
  if (value.status().Is(Code::kNotFound)) return std::optional<std::string>();
  STOKER_TRY(value.status());
  return std::optional(*value);
}

// What the machine was created from.
Result<LaunchRequest> ReadGceLaunch(const std::string& dir) {
  STOKER_ASSIGN(const std::string text, sys::ReadFile(dir + "/" + gce::kLaunchFile, kMostFile));
  return cloud::ParseLaunch(text, kGceProvider);
}

}  // namespace

Result<std::unique_ptr<NodePlatform>> FindGcePlatform(const std::string& dir, Clock& clock) {
  if (!sys::FileExists(dir + "/" + gce::kLaunchFile)) return std::unique_ptr<NodePlatform>();
  STOKER_ASSIGN(const LaunchRequest request, ReadGceLaunch(dir));
  STOKER_ASSIGN(const auto api, MakeComputeApi());
  GcePlatformOptions options;
  STOKER_ASSIGN(options.metadata, MakeGceMetadata(GceMetadataEndpoint()));
  STOKER_ASSIGN(const std::string name, options.metadata->Get("instance/name"));
  UseCloudFolders(dir, request, name, &options);
  // Threads of the platform's own wait for its notices: a question to it costs nothing.
  options.notice_poll = Duration::Ms(250);
  const Place place = request.ask.place;
  options.tag = [api, place](const std::string& id, WallTime deadline) {
    return LabelExpiry(*api, place.account, place.zone, id, deadline);
  };
  options.power_off = EndGceMachine;
  return MakeGcePlatform(std::move(options), clock);
}

Result<std::unique_ptr<NodePlatform>> MakeGcePlatform(GcePlatformOptions options, Clock& clock) {
  GceMetadata& metadata = *options.metadata;
  NodeIdentity me;
  STOKER_ASSIGN(me.request, ReadGceLaunch(options.dir));
  STOKER_ASSIGN(me.instance_id, WordAt(metadata, "instance/name"));
  STOKER_ASSIGN(me.address, WordAt(metadata, "instance/network-interfaces/0/ip"));
  const auto index =
      WholeNumber(me.instance_id.substr(me.instance_id.rfind('-') + 1), 0, kMostMachines);
  const bool mine =
      index && gce::InstanceName(me.request, static_cast<int>(*index)) == me.instance_id;
  if (!mine) {
    return Status(Code::kCorrupt, me.instance_id + " is no machine of the request on its disk");
  }
  me.index = static_cast<int>(*index);
  Promised promised;
  // One that comes up later has outlived it.
  promised.armed = gce::ArmedEnd(me.request);
  if (promised.armed <= clock.Wall()) promised.armed = WallTime();
  STOKER_ASSIGN(const auto again, Attribute(metadata, gce::kRestartKey));
  promised.stops = again.has_value();
  promised.spot = me.request.ask.market == gce::kSpot;
  STOKER_ASSIGN(const auto notice, Attribute(metadata, gce::kNoticeKey));
  promised.long_notice = notice.has_value();
  STOKER_ASSIGN(const auto gpus, Attribute(metadata, gce::kGpusKey));
  promised.gpus = gpus.has_value();
  me.gpus = static_cast<int>(WholeNumber(gpus.value_or("0"), 0, kMostGpus).value_or(0));
  auto notices = std::make_shared<GceNotices>(std::move(options.metadata), promised, options.wait,
                                              options.pause, clock);
  CloudPlatformOptions common = std::move(options);
  common.notice = [notices] { return notices->First(); };
  common.advice = [notices] { return notices->Advice(); };
  return MakeCloudPlatform(std::move(me), std::move(common), clock);
}

Status EndGceMachine(const std::string& why) {
  sys::Command command;
  command.argv = {"/bin/sh", "/opt/stoker/end"};
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) command.env.emplace_back(*at);
  // Whether it could or not: its power goes.
  (void)sys::RunCommands({command}, kEndMs);
  return PowerOffBySystemd(why);
}

}  // namespace stoker
