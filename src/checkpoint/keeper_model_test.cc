// SPDX-License-Identifier: Apache-2.0
// Random programs with random pauses, killed at random moments: never torn, never mixed, seldom
// old.
#include <gtest/gtest.h>

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
  };
  return styles;
}

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
  Program(const Style& style, FakeFiles& files, Prng prng, int low, int high)
      : style_(style), files_(files), prng_(prng), low_(low), high_(high) {}

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
        files_.Delete(Named(file, step_ - style_.rotate));
      }
    }
    finished_ = step_;
  }
  std::string TopName() const {
    const std::string& file = style_.files.front();
    return file.substr(0, file.find('/'));
  }

  const Style& style_;
  FakeFiles& files_;
  Prng prng_;
  int low_;
  int high_;
  int step_ = 1;
  size_t file_ = 0;
  bool open_ = false;
  int finished_ = 0;
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
  const bool numbered = style.files.front().find('%') != std::string::npos;
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
  const std::string first = Named(style.files.front(), newest);
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

Outcome Trial(const Style& style, uint64_t seed, int low, int high, bool slow_store) {
  Prng prng(seed);
  Bench bench;
  bench.uploads = false;
  Program program(style, bench.files, Prng(prng.Next()), low, high);
  const MonoTime kill = bench.clock.now + Duration::Ms(prng.Between(500, 20'000));
  MonoTime act = bench.clock.now;
  MonoTime upload = bench.clock.now;
  while (bench.clock.now < kill) {
    bench.clock.now = bench.clock.now + Duration::Ms(prng.Between(3, 25));
    while (act <= bench.clock.now && act < kill) act = act + program.Next() + Duration::Ms(1);
    bench.keeper->Step();
    if (bench.clock.now >= upload && bench.keeper->RunUpload()) {
      upload = bench.clock.now + Duration::Ms(slow_store ? prng.Between(200, 600) : 30);
    }
  }
  // The parent of a killed process may have collected it before anybody could look at it.
  static constexpr std::array<Fate, 3> kSeen = {Fate::kKilled, Fate::kUnknown, Fate::kLikely};
  bench.files.Kill(kSeen[prng.Below(kSeen.size())]);
  bench.uploads = true;
  bench.End(prng.Chance(1, 2) ? 1 : 0, prng.Chance(1, 2) ? 9 : 15, prng.Chance(1, 3));
  EXPECT_TRUE(bench.keeper->Finished());
  Outcome outcome;
  outcome.finished = program.finished();
  outcome.restored = StepOf(style, bench.Restored(), &outcome.why);
  return outcome;
}

class KeeperModel : public ::testing::TestWithParam<std::tuple<size_t, int>> {};

TEST_P(KeeperModel, NeverTornNeverMixedSeldomOld) {
  static constexpr std::array<std::array<int, 2>, 4> kPauses = {
      {{60, 400}, {150, 900}, {300, 1900}, {2500, 6000}}};
  const Style& style = Styles()[std::get<0>(GetParam())];
  const auto& pauses = kPauses[static_cast<size_t>(std::get<1>(GetParam()))];
  int old = 0;
  constexpr int kTrials = 25;
  for (int i = 0; i < kTrials; ++i) {
    const uint64_t seed = static_cast<uint64_t>(i) * 1000 + std::get<0>(GetParam());
    const Outcome outcome = Trial(style, seed, pauses[0], pauses[1], i % 4 == 0);
    ASSERT_GE(outcome.restored, 0) << style.name << ", seed " << seed << ", pauses " << pauses[0]
                                   << "-" << pauses[1] << ": " << outcome.why;
    if (outcome.finished - outcome.restored > 3) {
      ++old;
      std::cout << "  old: " << style.name << ", seed " << seed << ", pauses " << pauses[0] << ": "
                << outcome.restored << " of " << outcome.finished << "\n";
    }
  }
  EXPECT_LE(old, kTrials / 10) << style.name << ", pauses " << pauses[0] << "-" << pauses[1];
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
