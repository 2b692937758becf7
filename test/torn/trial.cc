// SPDX-License-Identifier: Apache-2.0
#include "test/torn/trial.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "checkpoint/as_left.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/keeper.h"
#include "checkpoint/keeper_threads.h"
#include "ledger/paths.h"
#include "store/local/local_store.h"
#include "sys/real_clock.h"
#include "sys/watch/checkpoint_files.h"

namespace torn {
namespace {

namespace fs = std::filesystem;
using stoker::Duration;

constexpr char kJob[] = "torn-trial";
constexpr Duration kLongestKeep = Duration::Seconds(60);
constexpr auto kLongestTrial = std::chrono::seconds(120);

Progress* Share(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Progress)) != 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<Progress*>(memory);
}

pid_t StartWriter(const TrialOptions& options, const std::string& self,
                  const std::string& progress) {
  const WriterOptions& w = options.writer;
  const std::vector<std::string> words = {self,
                                          "--writer",
                                          w.kind,
                                          w.directory,
                                          w.ballast,
                                          std::to_string(w.size),
                                          std::to_string(w.seed),
                                          std::to_string(w.min_pause_ms),
                                          std::to_string(w.max_pause_ms),
                                          std::to_string(w.fill_at_step),
                                          std::to_string(w.by_limit ? 1 : 0),
                                          std::to_string(w.last_step),
                                          progress};
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(self.c_str(), argv.data());
    _exit(127);
  }
  return pid;
}

// Waits for the moment that the trial asks for, or for the program's own end.
void Await(const TrialOptions& options, const Progress& progress, pid_t pid) {
  const auto end = std::chrono::steady_clock::now() + kLongestTrial;
  const double part = options.kill_at_part;
  while (std::chrono::steady_clock::now() < end) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid) {
      return;
    }
    if (!options.let_end) {
      const bool reached = part > 1 ? progress.finished >= options.kill_at_step
                                    : progress.begun > options.kill_at_step ||
                                          (progress.begun == options.kill_at_step &&
                                           static_cast<double>(progress.written) >=
                                               part * static_cast<double>(options.writer.size));
      if (reached) break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  if (part > 1) {
    const auto wait = static_cast<int64_t>((part - 1) * options.writer.max_pause_ms);
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
  }
}

stoker::Status Poison(stoker::LocalStore& store, const TrialOptions& options,
                      const std::string& id) {
  STOKER_ASSIGN(stoker::Manifest manifest, stoker::LoadManifest(store, kJob, id));
  for (const stoker::ManifestFile& file : manifest.parts.front().files) {
    if (file.size < 4096) continue;
    const std::string key = stoker::paths::Checkpoints(kJob) + file.object;
    if (options.poison == "delete") return store.Delete(key);
    STOKER_ASSIGN(stoker::Object object, store.Get(key));
    if (options.poison == "flip") object.data[object.data.size() / 2] ^= 1;
    if (options.poison == "cut") object.data.resize(object.data.size() / 2);
    auto put = store.Put(key, object.data);
    return put.ok() ? stoker::Status::Ok() : put.status();
  }
  return stoker::Status::Ok();
}

// Restores what should be restored, stepping over what turns out to be damaged, as a controller
// does with its list of suspects.
stoker::Status RestoreNewest(stoker::LocalStore& store, const TrialOptions& options,
                             const std::string& into) {
  std::set<std::string> suspects;
  bool poisoned = options.poison.empty();
  for (int attempt = 0; attempt < 10; ++attempt) {
    STOKER_ASSIGN(auto newest, stoker::NewestCheckpoint(store, kJob, suspects));
    if (!newest) return stoker::Status::Ok();
    if (!poisoned) {
      poisoned = true;
      if (options.poison == "suspect") {
        suspects.insert(newest->id);
      } else {
        STOKER_TRY(Poison(store, options, newest->id));
      }
      continue;
    }
    STOKER_ASSIGN(auto writer, stoker::OpenDirectoryWriter(into));
    const stoker::Status status = stoker::RestoreCheckpoint(store, kJob, newest->id, 0, *writer);
    if (!status.Is(stoker::Code::kCorrupt)) return status;
    suspects.insert(newest->id);
    fs::remove_all(into);
  }
  return stoker::Status(stoker::Code::kInternal, "ten checkpoints in a row are damaged");
}

std::map<std::string, std::string> Contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    contents[fs::relative(entry.path(), folder)] = {std::istreambuf_iterator<char>(in), {}};
  }
  return contents;
}

// What was left is what lies there, byte for byte, and no newest checkpoint.
stoker::Status CheckAsLeft(const TrialOptions& options, stoker::LocalStore& store,
                           stoker::Clock& clock, stoker::CheckpointFiles& files,
                           TrialResult* result) {
  STOKER_ASSIGN(const auto before, stoker::NewestCheckpoint(store, kJob, {}));
  stoker::AsLeftConfig config;
  config.job = kJob;
  config.wrote = config.unkept = true;
  config.nonce = "trial";
  config.pause = [](Duration wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(wait.ms));
  };
  STOKER_ASSIGN(const stoker::AsLeftKept kept,
                stoker::KeepAsLeft(config, store, clock, files, clock.Mono() + kLongestKeep));
  STOKER_ASSIGN(const auto after, stoker::NewestCheckpoint(store, kJob, {}));
  const std::string into = options.work + "/as-left";
  STOKER_ASSIGN(auto writer, stoker::OpenDirectoryWriter(into));
  STOKER_TRY(stoker::RestoreCheckpoint(store, kJob, kept.id, 0, *writer));
  const bool same = Contents(into) == Contents(options.writer.directory);
  const bool unseen =
      before.has_value() == after.has_value() && (!before || before->id == after->id);
  if (!same || !unseen) {
    return stoker::Status(stoker::Code::kCorrupt, same ? "what was left became the newest"
                                                       : "what was left is not what lay there");
  }
  result->as_left = true;
  return stoker::Status::Ok();
}

stoker::TaskExit EndWriter(const TrialOptions& options, pid_t pid) {
  kill(pid, options.by_term ? SIGTERM : SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  stoker::TaskExit exit;
  exit.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return exit;
}

stoker::Status Run(const TrialOptions& options, const std::string& self, Progress& progress,
                   TrialResult* result) {
  stoker::RealClock clock;
  stoker::LocalStore::Options plain;
  plain.durable = false;
  STOKER_ASSIGN(auto store, stoker::LocalStore::Open(options.work + "/store", plain));
  stoker::CheckpointFilesOptions where;
  where.directory = options.writer.directory;
  where.staging = options.work + "/staging";
  where.hold_at_once = options.at_once;
  auto files = stoker::OpenCheckpointFiles(where, clock);
  stoker::KeeperConfig config;
  config.job = kJob;
  config.nonce_seed = options.writer.seed;
  stoker::CheckpointKeeper keeper(config, *store, clock, *files);
  STOKER_TRY(keeper.Begin());
  stoker::KeeperThreads threads(keeper, clock, *files);
  const pid_t pid = StartWriter(options, self, options.work + "/progress");
  files->WatchTask([pid] { return std::vector<int>{pid}; });
  Await(options, progress, pid);
  const stoker::TaskExit exit = EndWriter(options, pid);
  result->finished = progress.finished;
  keeper.ProgramEnded(exit, options.by_term);
  STOKER_TRY(threads.FinalSync(clock.Mono() + Duration::Seconds(60)));
  threads.Stop();
  result->commits = keeper.commits();
  if (keeper.written().unkept) STOKER_TRY(CheckAsLeft(options, *store, clock, *files, result));
  const std::string into = options.work + "/restored";
  STOKER_TRY(RestoreNewest(*store, options, into));
  result->verdict = Verify(options.writer, into);
  // Never at rest: what was left is all that there can be.
  if (options.writer.kind == "held" && result->as_left) result->verdict.step = result->finished;
  return stoker::Status::Ok();
}

}  // namespace

TrialResult RunTrial(const TrialOptions& options, const std::string& self) {
  TrialResult result;
  fs::create_directories(options.work);
  fs::create_directories(options.writer.directory);
  Progress* progress = Share(options.work + "/progress");
  if (progress == nullptr) {
    result.error = "no shared memory";
    return result;
  }
  const stoker::Status status = Run(options, self, *progress, &result);
  if (!status.ok()) result.error = status.ToString();
  munmap(progress, sizeof(Progress));
  return result;
}

int WriterMain(int argc, char** argv) {
  if (argc != 13) return 2;
  WriterOptions options;
  options.kind = argv[2];
  options.directory = argv[3];
  options.ballast = argv[4];
  options.size = std::atoll(argv[5]);
  options.seed = std::strtoull(argv[6], nullptr, 10);
  options.min_pause_ms = std::atoi(argv[7]);
  options.max_pause_ms = std::atoi(argv[8]);
  options.fill_at_step = std::atoll(argv[9]);
  options.by_limit = std::atoi(argv[10]) != 0;
  options.last_step = std::atoll(argv[11]);
  Progress* progress = Share(argv[12]);
  return progress == nullptr ? 2 : RunWriter(options, *progress);
}

}  // namespace torn
