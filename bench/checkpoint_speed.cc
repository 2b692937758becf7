// SPDX-License-Identifier: Apache-2.0
// How long a checkpoint takes into a store, and back: the keeper as the agent runs it, on real
// files. Against wire_server, whose objects all have the bytes that these files have:
//
//   checkpoint_speed STORE FOLDER FILES BYTES     FOLDER must not exist; it is left behind
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/lib/pattern.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/keeper.h"
#include "checkpoint/keeper_threads.h"
#include "store/open.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/thread_crew.h"
#include "sys/watch/checkpoint_files.h"

namespace {

using stoker::Code;
using stoker::Duration;
using stoker::MonoTime;
using stoker::Status;

void WriteFiles(const std::string& folder, int files, int64_t bytes) {
  std::filesystem::create_directories(folder);
  for (int i = 0; i < files; ++i) {
    std::ofstream file(folder + "/part-" + std::to_string(i), std::ios::binary);
    bench::Pattern pattern;
    for (int64_t at = 0; at < bytes; at += bench::Pattern::kBlock) {
      file.write(pattern.Next().data(), std::min(bench::Pattern::kBlock, bytes - at));
    }
  }
}

double Since(stoker::Clock& clock, MonoTime begun) { return (clock.Mono() - begun).seconds(); }

Status Run(const std::string& url, const std::string& folder, int files, int64_t bytes) {
  stoker::RealClock clock;
  STOKER_ASSIGN(const auto store, stoker::OpenStore(url));
  stoker::CheckpointFilesOptions where;
  where.directory = folder + "/checkpoints";
  where.staging = folder + "/staging";
  std::filesystem::create_directories(where.staging);
  std::filesystem::create_directories(where.directory);  // as the agent does before the program
  const auto there = stoker::OpenCheckpointFiles(where, clock);
  stoker::KeeperConfig config;
  config.job = "speed-" + std::to_string(files);
  config.quiet = Duration::Hours(1);  // nothing is sent before the end
  config.nonce_seed = stoker::sys::RandomU64();
  stoker::ThreadCrew crew;
  config.movers = {&crew, &clock, {16, 8, int64_t{64} << 20}};
  stoker::CheckpointKeeper keeper(std::move(config), *store, clock, *there);
  STOKER_TRY(keeper.Begin());
  WriteFiles(where.directory, files, bytes);
  stoker::KeeperThreads threads(keeper, clock, *there);
  MonoTime begun = clock.Mono();
  keeper.ProgramEnded({}, false);
  STOKER_TRY(threads.FinalSync(begun + Duration::Minutes(10)));
  const double commit = Since(clock, begun);
  threads.Stop();
  if (keeper.commits() != 1) return Status(Code::kInternal, "not committed: " + keeper.trouble());
  begun = clock.Mono();
  STOKER_ASSIGN(const auto newest,
                stoker::NewestCheckpoint(*store, "speed-" + std::to_string(files), {}));
  const double found = Since(clock, begun);
  if (!newest) return Status(Code::kInternal, "there is no checkpoint");
  STOKER_ASSIGN(const auto writer, stoker::OpenDirectoryWriter(folder + "/restored"));
  begun = clock.Mono();
  STOKER_TRY(stoker::RestoreCheckpoint(*store, "speed-" + std::to_string(files), newest->id, 0,
                                       *writer, {&crew, &clock, {16, 8, int64_t{64} << 20}}));
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf(
      "files %d bytes %lld commit %.2f s find %.2f s restore %.2f s cpu %.2f s peak %ld MiB\n",
      files, static_cast<long long>(bytes), commit, found, Since(clock, begun),
      static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
          static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
      used.ru_maxrss / 1024);
  return Status::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: checkpoint_speed STORE FOLDER FILES BYTES\n");
    return 2;
  }
  const Status status = Run(argv[1], argv[2], std::atoi(argv[3]), std::atoll(argv[4]));
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
