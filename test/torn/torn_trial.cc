// SPDX-License-Identifier: Apache-2.0
// Kills programs in the middle of writing checkpoints and looks at what would be restored.
//
//   torn_trial [--trials 3] [--size 8MB] [--seed 1] [--kind NAME] [--parallel 1] [--work DIR]
//              [--at-once N] [--keep] [--verbose]
//
// A trial takes some seven times its size in DIR (a new folder below TMPDIR or /tmp, if not given);
// those of one kind run N at a time with --parallel N. In memory (--work /dev/shm/torn) they are
// fastest. With --at-once 1 copies are verified as those of very many files are: held one by one.
// What is tried depends on the seed alone.
// Ends with "N passed, N failed"; exit code 0 only when nothing was torn or mixed and at least 95 %
// of the trials of each kind restore something at most three writes old.
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "base/prng.h"
#include "base/text.h"
#include "test/torn/side_by_side.h"
#include "test/torn/trial.h"

namespace torn {
namespace {

namespace fs = std::filesystem;

struct Settings {
  int trials = 3;
  int parallel = 1;
  int64_t size = 8 << 20;
  uint64_t seed = 1;
  size_t at_once = 0;
  std::string kind;
  std::string work;
  bool keep = false;
  bool verbose = false;
};

struct Tally {
  int trials = 0;
  int torn = 0;
  int mixed = 0;
  int errors = 0;
  int fresh = 0;                 // at most three writes old
  std::map<int64_t, int> stale;  // writes behind -> trials
};

const char* const kKinds[] = {"inplace", "killed", "diskfull", "pair",     "rename",
                              "mmap",    "folder", "patch",    "poisoned", "held"};

// One file system of its own for the trials with a full disk; a limit on the size of files where
// that is not allowed.
void MountSmall(TrialOptions* trial, int64_t size) {
  if (trial->writer.ballast.empty()) return;
  const std::string at = trial->work + "/small";
  fs::create_directories(at);
  const std::string options = "size=" + std::to_string(size * 3 + (2 << 20));
  if (mount("tmpfs", at.c_str(), "tmpfs", 0, options.c_str()) == 0) return;
  trial->writer.by_limit = true;
  trial->writer.ballast.clear();
  trial->writer.directory = trial->work + "/checkpoints";
}

TrialOptions MakeTrial(const std::string& kind, const Settings& settings, const std::string& work,
                       stoker::Prng& prng) {
  TrialOptions trial;
  trial.work = work;
  trial.at_once = settings.at_once;
  trial.writer.size = settings.size;
  trial.writer.seed = prng.Next();
  trial.writer.directory = work + "/checkpoints";
  trial.kill_at_step = prng.Between(3, 10);
  trial.kill_at_part = static_cast<double>(prng.Between(0, 200)) / 100.0;
  trial.writer.kind = kind;
  if (kind == "killed" || kind == "poisoned" || kind == "diskfull") {
    trial.writer.kind = prng.Chance(1, 3) ? "pair" : "inplace";
  }
  if (kind == "killed") {
    trial.kill_at_part = static_cast<double>(prng.Between(1, 99)) / 100.0;
    trial.by_term = prng.Chance(1, 4);
  }
  if (kind == "diskfull") {
    trial.writer.kind = "inplace";
    trial.let_end = true;
    trial.writer.fill_at_step = trial.kill_at_step;
    trial.writer.by_limit = !prng.Chance(2, 3);
    if (!trial.writer.by_limit) {
      trial.writer.directory = work + "/small/checkpoints";
      trial.writer.ballast = work + "/small/ballast";
    }
  }
  if (kind == "poisoned") {
    static const char* const kPoisons[] = {"flip", "cut", "delete", "suspect"};
    trial.poison = kPoisons[prng.Below(4)];
  }
  return trial;
}

void Describe(const std::string& kind, int index, const TrialOptions& trial,
              const TrialResult& result) {
  std::printf(
      "  %s %d (%s%s): killed in step %lld at %.2f, finished %lld, restored %lld, "
      "%lld commits%s%s%s\n",
      kind.c_str(), index, trial.writer.kind.c_str(),
      trial.poison.empty() ? "" : (", " + trial.poison).c_str(),
      static_cast<long long>(trial.kill_at_step), trial.kill_at_part,
      static_cast<long long>(result.finished), static_cast<long long>(result.verdict.step),
      static_cast<long long>(result.commits),
      result.verdict.torn    ? ", TORN: "
      : result.verdict.mixed ? ", MIXED: "
                             : "",
      result.verdict.why.c_str(), result.error.c_str());
  std::fflush(stdout);
}

// The same for the same kind and seed, however many run side by side.
TrialOptions TrialNumber(int i, const std::string& kind, const Settings& settings) {
  stoker::Prng prng(settings.seed * 1'000'003 + static_cast<uint64_t>(i) * 7919 +
                    std::hash<std::string>()(kind));
  return MakeTrial(kind, settings, settings.work + "/" + kind + "-" + std::to_string(i), prng);
}

Tally RunKind(const std::string& kind, const Settings& settings, const std::string& self) {
  Tally tally;
  const auto run = [&](int i) {
    TrialOptions trial = TrialNumber(i, kind, settings);
    MountSmall(&trial, settings.size);
    return RunTrial(trial, self);
  };
  const auto done = [&](int i, const TrialResult& result) {
    const TrialOptions trial = TrialNumber(i, kind, settings);
    ++tally.trials;
    // The newest one is damaged on purpose: what counts is the one before it.
    const int64_t allowed = trial.poison.empty() ? 3 : 6;
    const bool fresh = result.error.empty() && result.stale() <= allowed;
    tally.torn += result.verdict.torn ? 1 : 0;
    tally.mixed += result.verdict.mixed ? 1 : 0;
    tally.errors += result.error.empty() ? 0 : 1;
    tally.fresh += fresh ? 1 : 0;
    ++tally.stale[result.stale()];
    const bool bad = result.verdict.torn || result.verdict.mixed || !result.error.empty();
    if (bad || !fresh || settings.verbose) Describe(kind, i, trial, result);
    (void)umount2((trial.work + "/small").c_str(), MNT_DETACH);
    if (!(settings.keep && bad)) fs::remove_all(trial.work);
  };
  RunSideBySide(settings.trials, settings.parallel, run, done);
  return tally;
}

bool Report(const std::string& kind, const Tally& tally) {
  const double percent = tally.trials == 0 ? 0 : 100.0 * tally.fresh / tally.trials;
  const bool passed = tally.torn == 0 && tally.mixed == 0 && tally.errors == 0 && percent >= 95;
  std::string histogram;
  for (const auto& [writes, count] : tally.stale) {
    histogram += " " + std::to_string(writes) + ":" + std::to_string(count);
  }
  std::printf("%s %-9s %d trials, %d torn, %d mixed, %d errors, %.1f %% fresh; writes behind:%s\n",
              passed ? "PASS" : "FAIL", kind.c_str(), tally.trials, tally.torn, tally.mixed,
              tally.errors, percent, histogram.c_str());
  std::fflush(stdout);
  return passed;
}

int Main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--keep") {
      settings.keep = true;
      continue;
    }
    if (word == "--verbose") {
      settings.verbose = true;
      continue;
    }
    ++i;
    if (word == "--trials") {
      settings.trials = std::atoi(value.c_str());
    } else if (word == "--parallel") {
      settings.parallel = std::max(1, std::atoi(value.c_str()));
    } else if (word == "--size") {
      auto size = stoker::ParseSize(value);
      if (!size.ok()) return 2;
      settings.size = *size / (kBlock * 4) * (kBlock * 4);
    } else if (word == "--seed") {
      settings.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--at-once") {
      settings.at_once = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--kind") {
      settings.kind = value;
    } else if (word == "--work") {
      settings.work = value;
    } else {
      std::fprintf(stderr, "unknown option %s\n", word.c_str());
      return 2;
    }
  }
  bool own = settings.work.empty();
  if (!own) {
    own = fs::create_directories(settings.work);
  } else {
    const char* parent = std::getenv("TMPDIR");
    std::string name = std::string(parent != nullptr ? parent : "/tmp") + "/torn-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) return 2;
    settings.work = name;
  }
  const std::string self = fs::read_symlink("/proc/self/exe");
  int passed = 0;
  int failed = 0;
  for (const char* kind : kKinds) {
    if (!settings.kind.empty() && settings.kind != kind) continue;
    (Report(kind, RunKind(kind, settings, self)) ? passed : failed) += 1;
  }
  if (own && !settings.keep) fs::remove_all(settings.work);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace torn

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--writer") == 0) return torn::WriterMain(argc, argv);
  return torn::Main(argc, argv);
}
