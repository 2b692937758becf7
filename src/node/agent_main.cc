// SPDX-License-Identifier: Apache-2.0
#include "node/agent_main.h"

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "agent/ledger_watch.h"
#include "node/agent.h"
#include "node/owner_cancel.h"
#include "notify/http_notifier.h"
#include "provider/job_secrets.h"
#include "provider/open.h"
#include "provider/registry.h"
#include "store/open.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/task/process_runner.h"

namespace stoker::node {
namespace {

// What a machine that shuts down gives its services before it kills them, as systemd's default
// minus some air.
constexpr Duration kShutdownLeft = Duration::Seconds(20);
// It ends a login's units at once, one after the other: a container's before its agent's, too.
constexpr Duration kUnitsApart = Duration::Ms(100);
constexpr char kIsSystemd[] = "/run/systemd/system";  // sd_booted(3)

int Complain(const Status& status) {
  std::fprintf(stderr, "stoker agent: %s\n", status.ToString().c_str());
  return 1;
}

// SIGTERM is taken by a thread of its own, so that no handler runs inside anything.
class ShutdownWatch {
 public:
  explicit ShutdownWatch(std::function<void()> told) {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    thread_ = std::thread([this, told = std::move(told)] {
      int signo = 0;
      while (!stop_) {
        if (sigwait(&set_, &signo) == 0 && !stop_) told();
      }
    });
  }
  // At once: until this process has ended, its machine holds what the job was granted.
  ~ShutdownWatch() {
    stop_ = true;
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }

 private:
  sigset_t set_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

std::string CacheDir() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  return (xdg != nullptr && xdg[0] == '/' ? std::string(xdg) : sys::HomeDir() + "/.cache") +
         "/stoker";
}

// A machine that shuts down tells its services alone.
void ToldToStop(Agent& agent, NodePlatform& platform, LocalProvider& local, TiedNode* tied) {
  if (tied != nullptr && tied->Signalled()) return;
  platform.Signalled();
  if (platform.traits().signals_program) return agent.PlatformSignals();
  // What began now would hold the shutdown up, and end with it.
  if (platform.traits().shared && local.BeginNoMore()) {
    agent.Say(
        "stoker: this computer shuts down, or ends what its user's login began: nothing begins "
        "here now, and the job goes on where somebody next looks");
  }
  agent.MachineStops(kShutdownLeft);
}

// Leaves the machine, which ends with it, and says why.
int Leave(NodePlatform& platform, const Status& why) {
  (void)Complain(why);
  (void)platform.PowerOff(why.ToString());
  return 0;
}

// Asks each provider whether the machine is one of its own.
Result<std::unique_ptr<NodePlatform>> FindPlatform(const std::string& dir, Clock& clock) {
  for (const ProviderLine& line : Registry()) {
    if (line.platform == nullptr) continue;
    STOKER_ASSIGN(auto platform, line.platform(dir, clock));
    if (platform) return platform;
  }
  return Status(Code::kInvalid, dir + ": no provider knows of this machine",
                "stoker itself starts its agents");
}

TiedTo EndsOf(Agent& agent, Ledger& ledger, const NodeIdentity& me) {
  TiedTo to;
  to.say = [&agent](const std::string& line) { agent.Say(line); };
  to.cancel = [&ledger, &me](const std::string& by) { (void)CancelByOwner(ledger, me, by); };
  to.stops = [&agent](Duration left) { agent.MachineStops(left); };
  to.signalled = [&agent] { agent.PlatformSignals(); };
  to.may_be_late = [&agent](Duration late) { agent.SignalsMayBeLate(late); };
  return to;
}

// Null where the machine was not begun inside an allocation.
std::unique_ptr<TiedNode> WatchAllocation(const std::string& dir, Clock& clock, const TiedTo& to) {
  for (const Allocations* of : AllAllocations()) {
    if (auto tied = of->Watch(dir, clock, to)) return tied;
  }
  return nullptr;
}

// One that is not there may be mounted again (agent/ledger_watch.h); none is ever made here.
Result<std::unique_ptr<Ledger>> OpenLedger(ObjectStore& store, Clock& clock) {
  LedgerWatch watch;
  for (;;) {
    auto ledger = Ledger::Open(store, clock, sys::RandomU64(), NewLedger::kNever);
    if (!ledger.status().Is(Code::kNotFound)) return ledger;
    watch.Missing(clock.Mono());
    if (watch.Gone(clock.Mono())) {
      return Status(Code::kNotFound, "the ledger " + store.url() + " has been deleted");
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

int RunAgent(const std::string& dir) {
  RealClock clock;
  auto found = FindPlatform(dir, clock);
  if (!found.ok()) return Complain(found.status());
  NodePlatform& platform = **found;
  const PlatformTraits& traits = platform.traits();
  const LaunchRequest& request = platform.identity().request;
  std::atomic<bool> leaving{false};  // no try at the store is followed by another then
  auto store = OpenStore(request.store_url, [&leaving] { return leaving.load(); });
  if (!store.ok()) return Complain(store.status());
  auto ledger = OpenLedger(**store, clock);
  if (ledger.status().Is(Code::kNotFound)) return Leave(platform, ledger.status());
  if (!ledger.ok()) return Complain(ledger.status());
  ProviderOptions provider_options;
  provider_options.state_dir = traits.state_dir;
  if (traits.notes) {
    provider_options.store = [&store]() -> Result<ObjectStore*> { return store->get(); };
  }
  Providers providers(std::move(provider_options), clock);
  const auto local = providers.Local();
  if (!local.ok()) return Complain(local.status());
  platform.Use(**store);
  Controller controller(
      **ledger,
      [&](const std::string& name) -> Result<Provider*> {
        auto provider = providers.Get(name);
        // Not "invalid": that would count as a refusal, and others may well launch it.
        if (provider.status().Is(Code::kInvalid)) return static_cast<Provider*>(nullptr);
        return provider;
      },
      clock, [&] { return (*local)->LooksFor(); });
  // A machine of one provider has no rights at another, and needs none.
  controller.AsksOnly(request.ask.place.provider);
  controller.ForgetWith([&](const Job& job, const JobSpec& spec) {
    return RemoveJobSecrets((*ledger)->id(), job, OwnSecretNames(spec), request.ask.place.provider);
  });
  const auto notifier = MakeNotifier(
      [&](const Job& job, const SecretSpec& secret) {
        return FindJobSecret(traits.state_dir, (*ledger)->id(), job, secret, request.ask.place);
      },
      OpenAnyTopic);
  controller.TellThrough(*notifier);
  TaskLimiter limiter;
  TaskLimiter* limits = traits.shared ? &limiter : nullptr;
  const auto runner = MakeProcessRunner({request.ending, "/proc/self/exe", limits, !traits.shared});
  Agent agent({**store, **ledger, controller, *runner, clock, platform, limits,
               CloudLogOf(request.ask.place.provider).open},
              CacheDir());
  if (traits.shared && sys::FileExists(kIsSystemd)) agent.SignalsMayBeLate(kUnitsApart);
  if (traits.signals_program) agent.SignalsMayBeLate(*traits.signals_program);
  const auto tied = WatchAllocation(dir, clock, EndsOf(agent, **ledger, platform.identity()));
  const ShutdownWatch shutdown([&] {
    // The end that this node asks for itself is no notice.
    if (leaving && !traits.signals_program) return;
    ToldToStop(agent, platform, **local, tied.get());
  });
  const Status done = agent.Run();
  leaving = true;
  if (tied) tied->Leave();
  platform.Leave();
  if (done.ok()) {
    (void)platform.PowerOff(agent.off_why());
    return 0;
  }
  // A record that cannot be understood will not be understood later either; leave the machine.
  return done.transient() ? Complain(done) : Leave(platform, done);
}

}  // namespace

int AgentMain(const std::string& dir) {
  // Two arenas keep the threads' small allocations from spreading over many.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_TRIM_THRESHOLD, 256 << 10);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  // systemd sends SIGHUP with the SIGTERM by which it ends a login's processes, as when the machine
  // shuts down: that one is the notice.
  for (const int signo : {SIGPIPE, SIGHUP, SIGINT, SIGQUIT}) std::signal(signo, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before any thread, so that all inherit it
  (void)!::chdir("/");
  return RunAgent(dir);
}

}  // namespace stoker::node
