// SPDX-License-Identifier: Apache-2.0
// Kills programs in the middle of writing checkpoints and looks at what would be restored.
//
//   torn_trial [--trials 3] [--size 8MB] [--seed 1] [--kind NAME] [--work DIR] [--keep]
//
// Ends with "N passed, N failed"; exit code 0 only when nothing was torn or mixed and at least 95 %
// of the trials of each kind restore something at most three writes old.
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "base/prng.h"
#include "base/text.h"
#include "test/torn/trial.h"

namespace torn {
namespace {

namespace fs = std::filesystem;

struct Settings {
  int trials = 3;
  int64_t size = 8 << 20;
  uint64_t seed = 1;
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

const char* const kKinds[] = {"inplace", "killed", "diskfull", "pair",    "rename",
                              "mmap",    "folder", "patch",    "poisoned"};

// One file system of its own for the trials with a full disk; "" when that is not allowed here.
std::string MountSmall(const std::string& at, int64_t size) {
  fs::create_directories(at);
  const std::string options = "size=" + std::to_string(size * 3 + (2 << 20));
  return mount("tmpfs", at.c_str(), "tmpfs", 0, options.c_str()) == 0 ? at : "";
}

TrialOptions MakeTrial(const std::string& kind, const Settings& settings, const std::string& work,
                       stoker::Prng& prng) {
  TrialOptions trial;
  trial.work = work;
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
    const std::string small = prng.Chance(2, 3) ? MountSmall(work + "/small", settings.size) : "";
    trial.writer.by_limit = small.empty();
    if (!small.empty()) {
      trial.writer.directory = small + "/checkpoints";
      trial.writer.ballast = small + "/ballast";
    }
  }
  if (kind == "poisoned") {
    static const char* const kPoisons[] = {"flip", "cut", "delete", "suspect"};
    trial.poison = kPoisons[prng.Below(4)];
  }
  return trial;
}

Tally RunKind(const std::string& kind, const Settings& settings, const std::string& self) {
  Tally tally;
  for (int i = 0; i < settings.trials; ++i) {
    stoker::Prng prng(settings.seed * 1'000'003 + static_cast<uint64_t>(i) * 7919 +
                      std::hash<std::string>()(kind));
    const std::string work = settings.work + "/" + kind + "-" + std::to_string(i);
    const TrialOptions trial = MakeTrial(kind, settings, work, prng);
    const TrialResult result = RunTrial(trial, self);
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
    if (bad || !fresh || settings.verbose) {
      std::printf(
          "  %s %d (%s%s): killed in step %lld at %.2f, finished %lld, restored %lld, "
          "%lld commits%s%s%s\n",
          kind.c_str(), i, trial.writer.kind.c_str(),
          trial.poison.empty() ? "" : (", " + trial.poison).c_str(),
          static_cast<long long>(trial.kill_at_step), trial.kill_at_part,
          static_cast<long long>(result.finished), static_cast<long long>(result.verdict.step),
          static_cast<long long>(result.commits),
          result.verdict.torn    ? ", TORN: "
          : result.verdict.mixed ? ", MIXED: "
                                 : "",
          result.verdict.why.c_str(), result.error.c_str());
    }
    if (kind == "diskfull") (void)umount2((work + "/small").c_str(), MNT_DETACH);
    if (!(settings.keep && bad)) fs::remove_all(work);
    std::fflush(stdout);
  }
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
    } else if (word == "--size") {
      auto size = stoker::ParseSize(value);
      if (!size.ok()) return 2;
      settings.size = *size / (kBlock * 4) * (kBlock * 4);
    } else if (word == "--seed") {
      settings.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word == "--kind") {
      settings.kind = value;
    } else if (word == "--work") {
      settings.work = value;
    } else {
      std::fprintf(stderr, "unknown option %s\n", word.c_str());
      return 2;
    }
  }
  const bool own = settings.work.empty();
  if (own) {
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
