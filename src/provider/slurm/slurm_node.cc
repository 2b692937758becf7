// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_node.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "provider/agent/agent_keeper.h"
#include "provider/slurm/slurm_ask.h"
#include "provider/slurm/slurm_folder.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_judge.h"
#include "provider/slurm/slurm_platform.h"
#include "provider/slurm/slurm_tools.h"
#include "sys/container/engine_notes.h"
#include "sys/container/engines.h"
#include "sys/container/images_left.h"
#include "sys/file.h"
#include "sys/file_lock.h"
#include "sys/real_clock.h"
#include "sys/work_place.h"

namespace stoker {
namespace {

constexpr int64_t kTickMs = 500;
constexpr Duration kFolderEvery = Duration::Seconds(1);
constexpr Duration kUsualLimit = Duration::Hours(24);
constexpr Duration kAddressLimit = Duration::Seconds(20);
constexpr int64_t kForgetMs = 10'000;
constexpr int64_t kEngineMs = 5'000;
constexpr size_t kShortToken = 16;
// As StartLocalMachine's agents have it: a node's agent is the same program.
constexpr char kAgentVerb[] = "__agent";
constexpr char kGrantedGpus[] = "STOKER_GPUS", kGpuDevices[] = "STOKER_GPU_DEVICES";

// Slurm's GPUs of this step. A cluster that does not count them lets the job see all.
std::string GpusOf(const SlurmAsk& ask) {
  const bool amd = sys::FileExists("/dev/kfd") && !sys::FileExists("/dev/nvidiactl");
  const std::string granted =
      SlurmGpus(SlurmVariable("CUDA_VISIBLE_DEVICES"), SlurmVariable("ROCR_VISIBLE_DEVICES"), amd);
  if (!granted.empty()) return std::string(kGrantedGpus) + "=" + granted;
  return ask.gpus && *ask.gpus == 0 ? std::string(kGrantedGpus) + "=cuda:" : "";
}

// By which other nodes reach this one, as Slurm itself does.
std::string AddressOf(const SlurmTools& tools) {
  const std::string name = SlurmVariable("SLURMD_NODENAME");
  const auto text = tools.Run({"scontrol", "show", "node", name, "--oneliner"}, kAddressLimit);
  if (!text.ok()) return name;
  for (const std::string& word : Split(*text, ' ')) {
    if (StartsWith(word, "NodeAddr=")) return word.substr(9);
  }
  return name;
}

class Node {
 public:
  explicit Node(const std::string& folder) : folder_(folder), tools_("") {}

  int Run() {
    const Status begun = Begin();
    if (!begun.ok()) {
      Log(begun.ToString());
      return 1;
    }
    while (why_.empty()) Step();
    return PowerOff();
  }

 private:
  Status Begin();
  Status MakeDir();
  void SweepBeside(const std::string& mine) const;
  // False: its engine did not answer in time.
  bool Forget(const std::string& dir) const;
  void SweepImagesHere() const;
  AgentConfig ConfigOfAgent() const;
  void Step();
  void Look();
  void LearnWho();
  int PowerOff();
  void Log(const std::string& line) const {
    std::fprintf(stderr, "%s node %d: %s\n", FormatRfc3339(clock_.Wall()).c_str(), index_,
                 line.c_str());
  }
  int64_t Now() const { return clock_.Mono().ms; }

  mutable RealClock clock_;
  const SlurmFolder folder_;
  SlurmTools tools_;
  LaunchRequest request_;
  SlurmAsk ask_;
  int64_t job_ = 0;
  int index_ = 0;
  std::string dir_;
  sys::ScopedFd lock_;  // of its folder, for as long as this process lives
  sys::ScopedFd signals_;
  std::optional<AgentKeeper> agent_;
  int64_t looked_ = 0;
  bool signalled_ = false;
  bool who_is_known_ = false;
  std::string why_;  // set = power off
};

Status Node::Begin() {
  STOKER_ASSIGN(request_, ParseSlurmRequest(SlurmVariable(kSlurmRequest)));
  STOKER_ASSIGN(ask_, ParseSlurmAsk(request_.ask.options));
  const auto job = WholeNumber(SlurmVariable("SLURM_JOB_ID"), 1, kMostSlurmJob);
  const auto index = WholeNumber(SlurmVariable("SLURM_NODEID"), 0,
                                 static_cast<int64_t>(request_.launches.size()) - 1);
  if (!job || !index) return Status(Code::kInvalid, "srun starts this, on a node of a Slurm job");
  job_ = *job;
  index_ = static_cast<int>(*index);
  STOKER_ASSIGN(signals_, TakeMachineSignals());
  STOKER_TRY(MakeDir());
  const Duration limit = request_.limit.ms > 0 ? request_.limit : kUsualLimit;
  STOKER_TRY(folder_.KeepNode(index_, {AddressOf(tools_), clock_.Wall() + limit}));
  agent_.emplace(ConfigOfAgent(), [this](const std::string& line) { Log(line); });
  agent_->Start();
  return Status::Ok();
}

// On the node's own disk, in a folder that no other user could have put in its place.
Status Node::MakeDir() {
  const std::string given = SlurmVariable("TMPDIR");
  const std::string base = !given.empty() && given[0] == '/' ? given : "/tmp";
  const std::string mine = base + "/stoker-" + std::to_string(getuid());
  if (mkdir(mine.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus("making " + mine, errno);
  }
  struct stat info {};
  if (lstat(mine.c_str(), &info) != 0) return ErrnoStatus("looking at " + mine, errno);
  if (!S_ISDIR(info.st_mode) || info.st_uid != getuid() || (info.st_mode & 022) != 0) {
    return Status(Code::kDenied, mine + " is not this user's own folder",
                  "Remove it, or set TMPDIR on the node to another disk");
  }
  dir_ = mine + "/" + request_.token.substr(0, kShortToken) + "-" + std::to_string(index_);
  STOKER_TRY(sys::RemoveTree(dir_));
  // Locked before it has its name, so that nobody takes it for what a killed node has left.
  const std::string fresh = mine + "/.new-" + Hex64(sys::RandomU64());
  STOKER_TRY(sys::MakeDirs(fresh + "/work", 0700));
  STOKER_ASSIGN(lock_, sys::TryFileLock(fresh + "/lock"));
  if (rename(fresh.c_str(), dir_.c_str()) != 0) return ErrnoStatus("making " + dir_, errno);
  SweepBeside(mine);
  return Status::Ok();
}

// A node whose power failed, or that Slurm has killed, could not clear its folder away.
void Node::SweepBeside(const std::string& mine) const {
  const auto entries = sys::ListDir(mine);
  for (const sys::DirEntry& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    const std::string path = mine + "/" + entry.name;
    if (!entry.is_dir || entry.name[0] == '.' || path == dir_) continue;
    const auto lock = sys::TryFileLock(path + "/lock");
    if (!lock.ok()) continue;
    if (!Forget(path)) continue;  // who comes next knows of its container by the folder
    (void)sys::ForgetWork(path);
    (void)sys::RemoveTree(path);
  }
}

bool Node::Forget(const std::string& dir) const {
  const Status forgotten = ForgetContainers(folder_.state(), dir, kForgetMs);
  if (!forgotten.ok()) Log(forgotten.ToString());
  return !forgotten.Is(Code::kTimeout);
}

// Nobody but who has an allocation reaches this node's engine. Not in the seconds that Slurm leaves
// between its signal and the end.
void Node::SweepImagesHere() const {
  const std::string state = folder_.state();
  if (signalled_ || !HasImageUses(state)) return;
  std::vector<FoundEngine> engines = FindEngines("", kEngineMs);
  // Files of apptainer's may be all nodes': one that is mounted elsewhere must stay.
  std::erase_if(engines, [](const FoundEngine& one) { return !KeepsBooks(one.facts.kind); });
  for (const std::string& image : SweepImages(state, engines, clock_.Wall(), false)) {
    Log("removed the image " + image + ": no container of it has begun for " +
        HumanDuration(kImageUnusedAge));
  }
}

AgentConfig Node::ConfigOfAgent() const {
  AgentConfig facts;
  facts.dir = dir_;
  facts.program = "/proc/self/exe";
  facts.argv = {"stoker", kAgentVerb, dir_};
  facts.env = {std::string(kSlurmFolder) + "=" + folder_.path()};
  if (const std::string gpus = GpusOf(ask_); !gpus.empty()) facts.env.push_back(gpus);
  facts.env.push_back(std::string(kGpuDevices) + "=" +
                      SlurmGpuDevices(SlurmVariable("SLURM_STEP_GPUS"),
                                      SlurmVariable("SLURM_JOB_GPUS"),
                                      request_.launches.size() == 1));
  return facts;
}

void Node::Step() {
  pollfd fd{signals_.get(), POLLIN, 0};
  poll(&fd, 1, static_cast<int>(kTickMs));
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGTERM) continue;
    if (!signalled_) folder_.Signalled(index_);
    agent_->Signal(SIGTERM);
    if (!signalled_) Log("Slurm has sent SIGTERM");
    signalled_ = true;
  }
  if (const std::string off = agent_->Reap(); !off.empty()) why_ = off;
  if (why_.empty()) Look();
  // Whoever ends a machine of stoker's has given it its time before: Slurm's need not be waited
  // for.
  if (const auto end = folder_.End(); signalled_ && end && end->by == SlurmEnder::kSelf) {
    if (why_.empty()) why_ = end->why;
  }
  if (signalled_ && !who_is_known_) LearnWho();
  if (why_.empty()) agent_->Restart();
}

void Node::Look() {
  if (Now() - looked_ < kFolderEvery.ms) return;
  looked_ = Now();
  const std::string requests = folder_.path().substr(0, folder_.path().rfind('/'));
  if (sys::DirExists(requests) && !sys::FileExists(folder_.path() + "/request.json")) {
    why_ = "its folder was removed";
    return;
  }
  const auto notice = folder_.ReadNotice();
  if (notice.ok() && *notice && clock_.Wall() >= (*notice)->until) {
    why_ = "interrupted";
    (void)folder_.KeepEnd({SlurmEnder::kPlatform, "a fire drill took it"});
    return;
  }
  const auto mine = folder_.Node(index_);
  if (mine && clock_.Wall() >= mine->expires) {
    why_ = "its lease ran out at " + FormatRfc3339(mine->expires);
  }
}

// Slurm forgets minutes after the end, and whoever looks then must not take a scancel for a loss.
void Node::LearnWho() {
  if (folder_.End()) {
    who_is_known_ = true;
    return;
  }
  const auto row = tools_.Job(job_, request_.token);
  if (!row.ok() || !*row) return;
  const auto who = WhoEndedSlurmJob(**row, folder_.Traces());
  if (!who) return;
  who_is_known_ = folder_.KeepEnd(*who).ok();
  Log(who->why);
}

int Node::PowerOff() {
  Log("power off: " + why_);
  if (signalled_ && !who_is_known_) LearnWho();
  if (!agent_->End()) {
    Log("some processes cannot be ended");
    return 1;
  }
  (void)Forget(dir_);
  SweepImagesHere();
  (void)sys::ForgetWork(dir_);
  const Status removed = sys::RemoveTree(dir_);
  if (!removed.ok()) Log(removed.ToString());
  (void)rmdir(dir_.substr(0, dir_.rfind('/')).c_str());  // unless another job's is there, too
  return 0;
}

}  // namespace

int SlurmNodeMain(const std::string& folder) { return Node(folder).Run(); }

}  // namespace stoker
