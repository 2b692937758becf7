// SPDX-License-Identifier: Apache-2.0
// Random programs with random pauses, killed at random moments: never torn, never mixed, seldom
// old.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/prng.h"
#include "test/checkpoint/keeper_bench.h"

namespace stoker::test {
namespace {

struct Style {
  std::vector<std::string> files;  // written in this order; "%" becomes the step
  bool temporary = false;          // under another name first, then renamed
  bool pointer = false;            // "latest" at the end
  int rotate = 0;                  // steps that stay; 0 = all
  const char* name;
  bool over = false;  // written over, never cut: its length says nothing
};

const std::vector<Style>& Styles() {
  static const std::vector<Style> styles = {
      {{"checkpoint.pt"}, false, false, 0, "one file in place"},
      {{"model.pt", "optim.pt"}, false, false, 0, "two files in place"},
      {{"model.pt", "optim.pt", "rng.pt"}, false, false, 0, "three files in place"},
      {{"checkpoint.pt"}, true, false, 0, "one file renamed"},
      {{"model.pt", "optim.pt"}, true, false, 0, "two files renamed"},
      {{"step-%/model.bin", "step-%/optim.bin"}, false, true, 2, "folders and a pointer"},
      {{"step-%.pt"}, false, false, 3, "numbered files"},
      {{"step-%.pt"}, true, true, 3, "numbered files renamed, and a pointer"},
      {{"epoch=%/a.json", "epoch=%/b.bin", "epoch=%/c.bin"}, false, false, 0, "folders"},
      {{"checkpoint.pt"}, false, false, 0, "one file mapped", true},
      {{"model.pt", "optim.pt"}, false, false, 0, "two files mapped", true},
      {{"m-1-of-3", "m-2-of-3", "m-3-of-3", "index"}, false, false, 0, "shards and their index"},
      {{"at-%/c", "at-%/b", "at-%/a", "at-%/d"}, false, false, 2, "folders of four"},
      {{"meta.json", "state-%.raw"}, false, false, 2, "a file, then one of a row"},
      {{"state-%.raw", "meta.json"}, false, false, 2, "one of a row, then a file"},
      {{"names/a", "names/b", "state-%.raw"}, false, false, 1, "two files, then one of a row"},
      {{"model-%.pt", "optim-%.pt"}, false, false, 2, "two rows"},
      {{"meta.json", "step-%/a", "step-%/b"}, false, true, 2, "a file, then a folder of a row"},
  };
  return styles;
}

bool Numbered(const std::string& pattern) { return pattern.find('%') != std::string::npos; }

std::string Named(const std::string& pattern, int step) {
  const size_t at = pattern.find('%');
  return at == std::string::npos
             ? pattern
             : pattern.substr(0, at) + std::to_string(step) + pattern.substr(at + 1);
}

std::string SixDigits(int step) {
  const std::string digits = std::to_string(step);
  return std::string(6 - digits.size(), '0') + digits;
}
std::string Bytes(int step) { return "whole " + SixDigits(step) + std::string(300, '.'); }
std::string Half(int step) { return "torn! " + SixDigits(step) + std::string(300, '.'); }

// A program as a state machine over virtual time; Next acts, and says when to be called again.
class Program {
 public:
  Program(const Style& style, FakeFiles& files, Prng prng, int low, int high, int after = 0)
      : style_(style),
        files_(files),
        prng_(prng),
        low_(low),
        high_(high),
        step_(after + 1),
        finished_(after) {}

  Duration Next() {
    const auto count = style_.files.size();
    if (open_) {
      open_ = false;
      files_.Close(Target(), Bytes(step_));
      if (style_.temporary) files_.Rename(Target(), Named(style_.files[file_], step_));
      ++file_;
      if (file_ < count) return Duration::Ms(prng_.Between(0, low_ / 4));
      Finish();
      return Duration::Ms(prng_.Between(low_, high_));
    }
    if (file_ == count) {
      file_ = 0;
      ++step_;
    }
    open_ = true;
    files_.Open(Target(), style_.over ? Half(step_) : "half");
    return Duration::Ms(prng_.Between(1, 250));
  }
  int finished() const { return finished_; }

 private:
  std::string Target() const {
    return Named(style_.files[file_], step_) + (style_.temporary ? ".tmp" : "");
  }
  void Finish() {
    if (style_.pointer) files_.Write("latest", Named(TopName(), step_));
    if (style_.rotate > 0 && step_ > style_.rotate) {
      for (const std::string& file : style_.files) {
        if (Numbered(file)) files_.Delete(Named(file, step_ - style_.rotate));
      }
    }
    finished_ = step_;
  }
  std::string TopName() const {
    const std::string& file = *std::find_if(style_.files.begin(), style_.files.end(), Numbered);
    return file.substr(0, file.find('/'));
  }

  const Style& style_;
  FakeFiles& files_;
  Prng prng_;
  int low_;
  int high_;
  int step_;
  size_t file_ = 0;
  bool open_ = false;
  int finished_;
};

// The step that a program would resume from; -1 = torn or mixed.
int StepOf(const Style& style, const Contents& files, std::string* why) {
  if (files.empty()) return 0;
  for (const auto& [path, bytes] : files) {
    if (path != "latest" && bytes.substr(0, 5) != "whole") {
      *why = path + " is torn";
      return -1;
    }
  }
  const bool numbered = std::all_of(style.files.begin(), style.files.end(), Numbered);
  int newest = 0;
  for (int step = 10'000; step > 0 && newest == 0; --step) {
    int there = 0;
    int right = 0;
    for (const std::string& file : style.files) {
      const auto it = files.find(Named(file, step));
      if (it == files.end()) continue;
      ++there;
      right += it->second == Bytes(step) ? 1 : 0;
    }
    const int all = static_cast<int>(style.files.size());
    if (right == all) newest = step;
    if (right == all || (numbered ? there == 0 : right == 0)) continue;
    *why = "step " + std::to_string(step) + ": " + std::to_string(right) + " of " +
           std::to_string(all);
    return -1;
  }
  const auto pointer = files.find("latest");
  if (pointer == files.end()) return newest;
  const std::string first =
      Named(*std::find_if(style.files.begin(), style.files.end(), Numbered), newest);
  const bool ahead = pointer->second > first && pointer->second.size() >= first.size();
  if (newest == 0 || ahead) {
    *why = "latest names " + pointer->second + ", the newest step is " + std::to_string(newest);
    return -1;
  }
  return newest;
}

struct Outcome {
  int finished = 0;
  int restored = 0;
  std::string why;
};

struct Life {
  CheckpointKeeper& keeper;
  HandClock& clock;
  FakeFiles& files;
};

// The program runs, is killed at some moment, and the keeper comes to its end.
void LiveAndDie(const Life& life, Program& program, Prng& prng, bool slow_store) {
  const MonoTime kill = life.clock.now + Duration::Ms(prng.Between(500, 20'000));
  MonoTime act = life.clock.now;
  MonoTime upload = life.clock.now;
  while (life.clock.now < kill) {
    life.clock.now = life.clock.now + Duration::Ms(prng.Between(3, 25));
    while (act <= life.clock.now && act < kill) act = act + program.Next() + Duration::Ms(1);
    life.keeper.Step();
    if (life.clock.now >= upload && life.keeper.RunUpload()) {
      upload = life.clock.now + Duration::Ms(slow_store ? prng.Between(200, 600) : 30);
    }
  }
  // The parent of a killed process may have collected it before anybody could look at it.
  static constexpr std::array<Fate, 3> kSeen = {Fate::kKilled, Fate::kUnknown, Fate::kLikely};
  life.files.Kill(kSeen[prng.Below(kSeen.size())]);
  life.files.alive = false;
  TaskExit exit;
  exit.exit_code = prng.Chance(1, 2) ? 1 : 0;
  exit.signal = prng.Chance(1, 2) ? 9 : 15;
  life.keeper.ProgramEnded(exit, prng.Chance(1, 3));
  for (int i = 0; i < 2'000 && !life.keeper.Finished(); ++i) {
    life.clock.now = life.clock.now + Duration::Ms(20);
    life.keeper.Step();
    while (life.keeper.RunUpload()) life.keeper.Step();
  }
  EXPECT_TRUE(life.keeper.Finished());
}

// By what rule the newest checkpoint came to be.
std::string ByWhatRule(ObjectStore& store) {
  const auto newest = NewestCheckpoint(store, "job", {});
  if (!newest.ok() || !newest->has_value()) return "nothing";
  const auto manifest = LoadManifest(store, "job", (*newest)->id);
  return manifest.ok() ? (*newest)->id + " by " + manifest->reason : manifest.status().ToString();
}

// Two lives of a program, the second of which goes on from what the first left.
std::array<Outcome, 2> Trial(const Style& style, uint64_t seed, int low, int high,
                             bool slow_store) {
  std::array<Outcome, 2> out;
  Prng prng(seed);
  Bench bench;
  Program program(style, bench.files, Prng(prng.Next()), low, high);
  LiveAndDie({*bench.keeper, bench.clock, bench.files}, program, prng, slow_store);
  out[0].finished = program.finished();
  const Contents restored = bench.Restored();
  out[0].restored = StepOf(style, restored, &out[0].why);
  out[0].why += ", " + ByWhatRule(bench.store);
  if (out[0].restored < 0) return out;

  HandClock clock;
  FakeFiles files(clock);
  for (const auto& [path, bytes] : restored) files.Write(path, bytes);
  KeeperConfig config;
  config.job = "job";
  config.attempt = 2;
  config.nonce_seed = 6;
  config.restored = bench.keeper->newest();
  CheckpointKeeper keeper(config, bench.store, clock, files);
  EXPECT_TRUE(keeper.Begin().ok());
  Program again(style, files, Prng(prng.Next()), low, high, out[0].restored);
  LiveAndDie({keeper, clock, files}, again, prng, slow_store);
  out[1].finished = std::max(out[0].restored, again.finished());
  out[1].restored = StepOf(style, bench.Restored(), &out[1].why);
  out[1].why += ", " + ByWhatRule(bench.store);
  return out;
}

class KeeperModel : public ::testing::TestWithParam<std::tuple<size_t, int>> {};

TEST_P(KeeperModel, NeverTornNeverMixedSeldomOld) {
  static constexpr std::array<std::array<int, 2>, 4> kPauses = {
      {{60, 400}, {150, 900}, {300, 1900}, {2500, 6000}}};
  const Style& style = Styles()[std::get<0>(GetParam())];
  const auto& pauses = kPauses[static_cast<size_t>(std::get<1>(GetParam()))];
  int old = 0;
  constexpr int kTrials = 12;
  for (int i = 0; i < kTrials; ++i) {
    const uint64_t seed = static_cast<uint64_t>(i) * 1000 + std::get<0>(GetParam());
    for (const Outcome& outcome : Trial(style, seed, pauses[0], pauses[1], i % 4 == 0)) {
      ASSERT_GE(outcome.restored, 0) << style.name << ", seed " << seed << ", pauses " << pauses[0]
                                     << "-" << pauses[1] << ": " << outcome.why;
      if (outcome.finished - outcome.restored <= 3) continue;
      ++old;
      std::cout << "  old: " << style.name << ", seed " << seed << ", pauses " << pauses[0] << ": "
                << outcome.restored << " of " << outcome.finished << "\n";
    }
  }
  EXPECT_LE(old, 2 * kTrials / 8) << style.name << ", pauses " << pauses[0] << "-" << pauses[1];
}

// A machine that is busy with other things: the keeper comes to look now and then only, and what is
// written into new folders meanwhile is not heard of.
class BusyMachine : public ::testing::TestWithParam<int> {};

TEST_P(BusyMachine, NeverTornNeverMixed) {
  const Style folders = {{"step-%/model.bin", "step-%/optim.bin"}, false, true, 0, "folders"};
  Prng prng(static_cast<uint64_t>(GetParam()));
  Bench bench;
  bench.files.deaf = Duration::Ms(prng.Between(0, 400));
  const int64_t pause = prng.Between(40, 400);
  const int64_t longest = prng.Between(30, 900);
  int step = 0;
  MonoTime write = bench.clock.now;
  MonoTime look = bench.clock.now;
  for (int i = 0; i < 400; ++i) {
    bench.clock.now = bench.clock.now + Duration::Ms(prng.Between(1, 20));
    if (bench.clock.now >= write) {
      ++step;
      if (prng.Chance(1, 2)) bench.files.BeginScan();
      for (const std::string& file : folders.files)
        bench.files.Write(Named(file, step), Bytes(step));
      bench.files.Write("latest", "step-" + std::to_string(step));
      write = bench.clock.now + Duration::Ms(pause + prng.Between(0, pause / 8));
    }
    if (bench.clock.now < look) continue;
    look = bench.clock.now + Duration::Ms(prng.Between(3, longest));
    bench.Pass();
    std::string why;
    ASSERT_GE(StepOf(folders, bench.Restored(), &why), 0) << why << ", at step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, BusyMachine, ::testing::Range(9, 18));

INSTANTIATE_TEST_SUITE_P(All, KeeperModel,
                         ::testing::Combine(::testing::Range<size_t>(0, Styles().size()),
                                            ::testing::Range(0, 4)));

}  // namespace
}  // namespace stoker::test
