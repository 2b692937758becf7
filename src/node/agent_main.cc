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
#include "node/cloud_node.h"
#include "node/owner_cancel.h"
#include "node/tied/tied_node.h"
#include "provider/ec2/ec2_metadata.h"
#include "provider/gce/gce_platform.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_platform.h"
#include "provider/open.h"
#include "provider/slurm/slurm_platform.h"
#include "store/open.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/task/process_runner.h"

namespace stoker::node {
namespace {

// What a machine that shuts down gives its services before it kills them, as systemd's default
// minus some air.
constexpr Duration kShutdownLeft = Duration::Seconds(20);

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

// Leaves the machine, which ends with it, and says why.
int Leave(NodePlatform& platform, const Status& why) {
  (void)Complain(why);
  (void)platform.PowerOff(why.ToString());
  return 0;
}

struct Surroundings {
  std::unique_ptr<NodePlatform> platform;
  SlurmPlatform* slurm = nullptr;  // the same, if it is one
  std::string state_dir;           // where the submitter leaves what is for this machine
  std::string work_dir;            // NodeFolders::work_dir
  Duration notice_poll = Duration::Ms(250);
  bool shared = false;         // with other jobs, each of which may have what it asked for
  LocalAllocation allocation;  // that this machine was begun inside of
};

// The only place that knows which platform this is.
Result<Surroundings> FindSurroundings(const std::string& dir, Clock& clock, CloudNode& cloud) {
  Surroundings here;
  if (CloudNode::IsOne(dir)) {
    STOKER_ASSIGN(here.platform, cloud.FindPlatform(dir, clock));
    here.state_dir = dir;
    // Google's platform waits for its notices itself; a question to it costs nothing.
    here.notice_poll = IsGceNode(dir) ? Duration::Ms(250) : Duration::Seconds(5);
    return here;
  }
  if (const char* folder = std::getenv(kSlurmFolder); folder != nullptr) {
    STOKER_ASSIGN(auto slurm, MakeSlurmPlatform(dir, clock));
    here.slurm = slurm.get();
    here.platform = std::move(slurm);
    here.state_dir = StateOfSlurmFolder(folder);
    here.work_dir = here.state_dir + "/work";
    here.notice_poll = Duration::Seconds(1);
    return here;
  }
  const char* endpoint = std::getenv(kMetadataVariable);
  STOKER_ASSIGN(auto metadata, MakeEc2Metadata({endpoint == nullptr ? "" : endpoint}, clock));
  STOKER_ASSIGN(here.platform, MakeLocalPlatform(dir, std::move(metadata)));
  here.state_dir = LocalStateDir(dir);
  here.work_dir = here.state_dir + "/work";
  here.shared = true;
  if (const auto boot = ReadLocalBoot(dir); boot.ok()) here.allocation = boot->allocation;
  return here;
}

// Slurm signals the processes of a step one after the other: on a busy node a program may be gone
// before its agent has heard of it, and would count as one that failed.
constexpr Duration kSignalLate = Duration::Ms(1500);

// A machine that shuts down tells its services alone, and Slurm the program, too.
void ToldToStop(Agent& agent, const Surroundings& here, TiedNode& tied) {
  if (tied.Signalled()) return;
  if (here.slurm == nullptr) return agent.MachineStops(kShutdownLeft);
  here.slurm->Signalled();
  agent.PlatformSignals();
}

// Slurm's signal is the same where a person cancels the job, and where it takes the node. Nobody
// hears of it before that is known, were it only for lack of an answer: a successor would be asked
// for. Runs in the one thread that writes reports.
void HeedSlurm(SlurmPlatform& slurm, Ledger& ledger, bool over, const std::function<bool()>& stop) {
  const auto end = slurm.AwaitEnder(over, stop);
  if (end && end->by == SlurmEnder::kOwner) (void)CancelByOwner(ledger, slurm.identity());
}

TiedTo TieOf(Agent& agent, Ledger& ledger, const NodeIdentity& me) {
  TiedTo to;
  to.say = [&agent](const std::string& line) { agent.Say(line); };
  to.cancel = [&ledger, &me](const std::string& by) { (void)CancelByOwner(ledger, me, by); };
  to.stops = [&agent](Duration left) { agent.MachineStops(left); };
  to.signalled = [&agent] { agent.PlatformSignals(); };
  to.may_be_late = [&agent](Duration late) { agent.SignalsMayBeLate(late); };
  return to;
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
  CloudNode cloud;
  auto found = FindSurroundings(dir, clock, cloud);
  if (!found.ok()) return Complain(found.status());
  const Surroundings& here = *found;
  NodePlatform& platform = *here.platform;
  const LaunchRequest& request = platform.identity().request;
  std::atomic<bool> leaving{false};  // no try at the store is followed by another then
  auto store = OpenStore(request.store_url, [&leaving] { return leaving.load(); });
  if (!store.ok()) return Complain(store.status());
  auto ledger = OpenLedger(**store, clock);
  if (ledger.status().Is(Code::kNotFound)) return Leave(platform, ledger.status());
  if (!ledger.ok()) return Complain(ledger.status());
  const std::string& state_dir = here.state_dir;
  ProviderOptions provider_options;
  provider_options.state_dir = state_dir;
  if (CloudNode::IsOne(dir)) {
    provider_options.store = [&store]() -> Result<ObjectStore*> { return store->get(); };
  }
  Providers providers(std::move(provider_options), clock);
  const auto local = providers.Local();
  if (!local.ok()) return Complain(local.status());
  if (CloudNode::IsOne(dir)) {
    const Status usable = cloud.Use(providers, **store);
    if (!usable.ok()) return Complain(usable);
  }
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
  // Slurm holds what it has granted, and a cloud's machine is the job's alone.
  TaskLimiter limiter;
  TaskLimiter* limits = here.shared ? &limiter : nullptr;
  const auto runner = MakeProcessRunner({request.ending, "/proc/self/exe", limits, !here.shared});
  NodeParts parts{**store, **ledger, controller, *runner, clock, platform, limits};
  if (SlurmPlatform* slurm = here.slurm) {
    parts.before_word = [slurm, &ledger](bool over, const std::function<bool()>& stop) {
      HeedSlurm(*slurm, **ledger, over, stop);
    };
  }
  if (CloudNode::IsOne(dir)) parts.tell_machine = [&](NodeReport& r) { cloud.TellDoor(r); };
  Agent agent(std::move(parts), {CacheDir(), state_dir, here.work_dir}, here.notice_poll);
  if (here.slurm != nullptr) agent.SignalsMayBeLate(kSignalLate);
  TiedNode tied(here.allocation, clock, TieOf(agent, **ledger, platform.identity()));
  const ShutdownWatch shutdown([&] {
    // The end that this node asks for itself is no notice.
    if (leaving && here.slurm == nullptr) return;
    ToldToStop(agent, here, tied);
  });
  const Status done = agent.Run();
  leaving = true;
  tied.Leave();
  cloud.Leave();
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
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before any thread, so that all inherit it
  (void)!::chdir("/");
  return RunAgent(dir);
}

}  // namespace stoker::node
