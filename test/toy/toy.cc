// SPDX-License-Identifier: Apache-2.0
// The folder and process of a machine, and the three ports: node platform, provider, broker.
#include "test/toy/toy.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/text.h"
#include "provider/agent/agent_keeper.h"
#include "provider/agent/detached.h"
#include "provider/cloud/cloud_launch.h"
#include "sys/real_clock.h"

namespace stoker::toy {
namespace {

// Its files: "launch" (what the machine was created from), "lease" and "notice" (ms since 1970),
// "started" and "ended" (marks), and "lock", which its process holds.
class Folder {
 public:
  explicit Folder(std::string path) : path(std::move(path)) {}
  std::string File(const char* name) const { return path + "/" + name; }
  bool Has(const char* name) const { return sys::FileExists(File(name)); }
  void Mark(const char* name) const { (void)sys::WriteFileAtomic(File(name), "", 0600, false); }
  Status SetTime(const char* name, WallTime at) const {
    return sys::WriteFileAtomic(File(name), std::to_string(at.ms), 0600, false);
  }
  WallTime Time(const char* name) const {
    const std::string text = sys::ReadFile(File(name), 100).value_or("");
    return WallTime{WholeNumber(text, 0, int64_t{1} << 50).value_or(0)};
  }
  Result<LaunchRequest> Launch() const {
    STOKER_ASSIGN(const std::string text, sys::ReadFile(File("launch")));
    return cloud::ParseLaunch(text, kToyBroker.name);
  }
  int Index() const { return std::atoi(path.substr(path.rfind('-') + 1).c_str()); }
  // Marked, or killed without a mark; and nothing of it runs.
  bool IsOver() const {
    const auto lock = sys::Open(File("lock"), O_RDWR);
    const bool held = lock.ok() && flock(lock->get(), LOCK_EX | LOCK_NB) != 0;
    return !held && (Has("ended") || Has("started"));
  }

  const std::string path;
};

class ToyPlatform : public NodePlatform {
 public:
  using NodePlatform::NodePlatform;
  Result<std::optional<Notice>> PollNotice() override {
    if (!folder_.Has("notice")) return std::optional<Notice>();
    return std::optional(Notice{"terminate", folder_.Time("notice")});
  }
  Status Renew(WallTime deadline) override { return folder_.SetTime("lease", deadline); }
  // Its process ends when its agent has ended well.
  Status PowerOff(const std::string&) override { return Status::Ok(); }

 private:
  const Folder folder_{identity_.dir};
};

using No = RefusalClass;
Refusal Refused(No what, const std::string& why, RefusalScope scope = RefusalScope::kRequest) {
  return {what, scope, {}, {}, false, why};
}

class ToyProvider : public Provider {
 public:
  ToyProvider(const std::string& state_dir, Clock& clock)
      : root_(state_dir + "/toy"), clock_(clock) {
    traits_.name = kToyBroker.name;
    traits_.describe_is_immediate = true;
  }

  const ProviderTraits& traits() const override { return traits_; }
  LaunchAnswer Launch(const LaunchRequest& request) override {
    std::vector<std::string> ids;
    for (size_t i = 0; i < request.launches.size(); ++i) {
      ids.push_back(request.token + "-" + std::to_string(i));
    }
    if (!IsSafeName(request.token)) {
      return Refused(No::kInvalid, "not a launch token: " + Printable(request.token));
    }
    if (const Status root = sys::MakeDirs(root_, 0700); !root.ok()) {
      return Refused(No::kDenied, root.ToString(), RefusalScope::kAccount);
    }
    const bool late = request.not_after.ms > 0 && clock_.Wall() > request.not_after;
    if (late && !sys::DirExists(At(ids[0]).path)) {
      return Refused(No::kOver, "the time to send this request is over");
    }
    for (std::string& id : ids) {
      const Folder folder = At(id);
      STOKER_TRY(MakeFolder(folder, request));
      if (!folder.Has("started") && !folder.Has("ended")) {
        STOKER_TRY(StartDetachedSelf({"stoker", kMachineVerb, folder.path}, folder.File("log")));
      }
      if (folder.IsOver()) id.clear();
    }
    if (Join(ids, "").empty()) return Refused(No::kOver, "its machines have come and gone");
    return ids;
  }

  Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) override {
    InstancesSeen all;
    const auto found = sys::ListDir(root_);
    if (!found.ok() && !found.status().Is(Code::kNotFound)) return found.status();
    for (const sys::DirEntry& entry : found.value_or({})) {
      const Folder folder = At(entry.name);
      const auto launch = folder.Launch();
      if (!launch.ok()) continue;  // it is being made
      if (launch->ledger_id != ledger_id || (!job.empty() && launch->job != job)) continue;
      InstanceSeen seen = SeenOf(*launch, folder.Index(), entry.name);
      seen.state = folder.IsOver()         ? InstanceState::kGone
                   : folder.Has("ended")   ? InstanceState::kStopping
                   : folder.Has("started") ? InstanceState::kRunning
                                           : InstanceState::kBooting;
      seen.address = "127.0.0.1";
      seen.expires = folder.Time("lease");
      seen.freed = seen.state == InstanceState::kGone;
      all.push_back(std::move(seen));
    }
    return all;
  }

  Status Terminate(const std::string& id) override {
    if (Knows(id)) At(id).Mark("ended");
    return Status::Ok();
  }

  Status Interrupt(const std::string& id, Duration lead) override {
    if (!Knows(id) || At(id).IsOver()) {
      return Status(Code::kNotFound, "there is no machine " + Printable(id) + " of Toy");
    }
    return At(id).SetTime("notice", clock_.Wall() + lead);
  }

 private:
  Folder At(const std::string& id) const { return Folder(root_ + "/" + id); }
  bool Knows(const std::string& id) const {
    return IsSafeName(id.substr(0, id.rfind('-'))) && At(id).Has("launch");
  }

  // It is there whole, or not at all, whoever else makes it at this moment.
  Status MakeFolder(const Folder& folder, const LaunchRequest& request) const {
    if (sys::DirExists(folder.path)) return Status::Ok();
    STOKER_ASSIGN(sys::TempDir made, sys::TempDir::Make(".new", root_));
    const Folder fresh(made.path());
    STOKER_TRY(sys::WriteFileAtomic(fresh.File("launch"), cloud::EncodeLaunch(request), 0600));
    STOKER_TRY(fresh.SetTime("lease", clock_.Wall() + request.limit));
    if (rename(made.path().c_str(), folder.path.c_str()) == 0) {
      (void)made.Release();
    } else if (!sys::DirExists(folder.path)) {
      return ErrnoStatus("making " + folder.path, errno);
    }
    return Status::Ok();
  }

  const std::string root_;
  Clock& clock_;
  ProviderTraits traits_;
};

class ToyBroker : public Broker {
 public:
  ToyBroker(const ProviderOptions& options, Clock& clock)
      : provider_(MakeToyProvider(options.state_dir, clock)) {}

  const BrokerTraits& traits() const override { return kToyBroker; }
  Result<Provider*> Machines() override { return provider_.get(); }

  Result<std::vector<Offer>> Resolve(const OfferAsk& ask) override {
    std::vector<Offer> offers(1);
    offers[0].ask.place = {kToyBroker.name, "", ask.where.empty() ? "first" : ask.where, ""};
    return offers;
  }
  std::vector<std::string> Words() override { return {kToyBroker.infra.word}; }
  Result<Findings> Examine(const std::string&, const Result<LedgerRef>&) override {
    return Findings{{{"toy", "ok", "machines of Toy are processes here"}}};
  }
  Result<Holdings> List(const LedgerRef&, const std::string& id, bool) override {
    STOKER_ASSIGN(const InstancesSeen seen, provider_->Describe(id, ""));
    Holdings all;
    all.now = RealClock().Wall();
    for (const InstanceSeen& one : seen) {
      if (one.state == InstanceState::kGone) continue;
      Holding holding;
      holding.word = "machine";
      holding.id = one.id;
      holding.place = {kToyBroker.name, "", "first", ""};
      holding.job = one.job;
      holding.token = one.token;
      holding.expires = one.expires;
      all.all.push_back(std::move(holding));
    }
    return all;
  }
  Status End(const Holding& holding) override { return provider_->Terminate(holding.id); }

 private:
  const std::unique_ptr<Provider> provider_;
};

}  // namespace

Result<std::unique_ptr<NodePlatform>> FindToyPlatform(const std::string& dir, Clock&) {
  const Folder folder(dir);
  const size_t at = dir.rfind("/toy/");
  if (!folder.Has("launch") || at == std::string::npos) return std::unique_ptr<NodePlatform>();
  NodeIdentity me;
  STOKER_ASSIGN(me.request, folder.Launch());
  me.instance_id = dir.substr(dir.rfind('/') + 1);
  me.index = folder.Index();
  me.launch = me.request.launches[static_cast<size_t>(me.index)];
  me.boot_id = sys::BootId();
  me.address = "127.0.0.1";
  me.dir = dir;
  PlatformTraits traits;
  traits.state_dir = dir.substr(0, at);
  return std::unique_ptr<NodePlatform>(std::make_unique<ToyPlatform>(me, traits));
}

int ToyMachineMain(const std::string& path) {
  if (fork() != 0) return 0;  // whoever launched it waits for this process alone
  const Folder folder(path);
  const auto lock = sys::Open(folder.File("lock"), O_RDWR | O_CREAT, 0600);
  if (!lock.ok() || flock(lock->get(), LOCK_EX) != 0) return 1;
  if (folder.Has("started") || folder.Has("ended")) return 1;  // no machine lives twice
  folder.Mark("started");
  const auto signals = TakeMachineSignals();
  if (!signals.ok()) return 1;
  AgentKeeper agent(
      {path, "/proc/self/exe", {"stoker", "__agent", path}, {}, folder.File("agent.log")},
      [](const std::string&) {});
  agent.Start();
  RealClock clock;
  const auto is_over = [&] {
    const bool taken = folder.Has("notice") && clock.Wall() >= folder.Time("notice");
    return taken || folder.Has("ended") || clock.Wall() >= folder.Time("lease") ||
           !agent.Reap().empty();
  };
  while (!is_over()) {
    agent.Restart();
    poll(nullptr, 0, 100);
  }
  folder.Mark("ended");
  (void)agent.End();
  (void)sys::RemoveTree(folder.File("work"));
  return 0;
}

std::unique_ptr<Provider> MakeToyProvider(const std::string& state_dir, Clock& clock) {
  return std::make_unique<ToyProvider>(state_dir, clock);
}

std::unique_ptr<Broker> MakeToyBroker(const ProviderOptions& options, Clock& clock) {
  return std::make_unique<ToyBroker>(options, clock);
}

}  // namespace stoker::toy
