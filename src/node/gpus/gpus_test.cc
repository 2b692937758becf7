// SPDX-License-Identifier: Apache-2.0
#include "node/gpus/gpus.h"

#include <gtest/gtest.h>

#include <vector>

#include "sys/file.h"

namespace stoker::node {
namespace {

std::string Text(const std::string& given) {
  const auto granted = ReadGrantedGpus(given);
  if (!granted) return "none";
  std::string out = std::to_string(granted->count);
  for (const auto& [name, value] : granted->variables) {
    out += " " + name.substr(0, name.find('_')) + "=" + value;
  }
  return out;
}

TEST(Gpus, GrantedOnesAreWhatTheProgramSees) {
  EXPECT_EQ(Text("cuda:0,3"), "2 CUDA=0,3 CUDA=PCI_BUS_ID");
  EXPECT_EQ(Text("rocm:1,2"), "2 ROCR=1,2 HIP=0,1 CUDA=0,1");
  EXPECT_EQ(Text("cuda:"), "0 CUDA= ROCR= HIP=-1");
  EXPECT_EQ(Text("rocm:"), "0 CUDA= ROCR= HIP=-1");
  EXPECT_EQ(Text(""), "none");
  EXPECT_EQ(Text("cuda:GPU-1"), "none");
}

TEST(Gpus, NumbersOfThoseThatWereGranted) {
  using Set = std::set<int>;
  EXPECT_EQ(GrantedNumbers("cuda:0,3"), (Set{0, 3}));
  EXPECT_EQ(GrantedNumbers("cuda:"), Set{});
  EXPECT_EQ(GrantedNumbers(""), std::nullopt);
  EXPECT_EQ(GrantedNumbers("cuda:GPU-1"), std::nullopt);
}

TEST(Gpus, ASampleHasNoneOfOthers) {
  using Set = std::set<int>;
  const std::string two = R"([{"busy_percent":3,"index":0},{"busy_percent":88,"index":1}])";
  EXPECT_EQ(OnlyOwnGpus(two, std::nullopt), two);
  EXPECT_EQ(OnlyOwnGpus(two, Set{0, 1}), two);
  EXPECT_EQ(OnlyOwnGpus(two, Set{1}), R"([{"busy_percent":88,"index":1}])");
  EXPECT_EQ(OnlyOwnGpus(two, Set{2}), "");
  EXPECT_EQ(OnlyOwnGpus(two, Set{}), "");
  for (const char* odd : {"", "[", "{}", "[1]", "[[]]", R"([{"index":"1"}])", "null"}) {
    EXPECT_EQ(OnlyOwnGpus(odd, Set{1}), "") << odd;
  }
}

TEST(Gpus, EnginesCountThemByTheirBus) {
  EXPECT_EQ(EngineGpus("2,0", "/none"), "2,0");
  EXPECT_EQ(EngineGpus("", "/none"), std::nullopt);
  EXPECT_EQ(EngineGpus("MIG-1", "/none"), std::nullopt);
  auto folder = sys::TempDir::Make();
  ASSERT_TRUE(folder.ok());
  const auto card = [&](const std::string& bus, const std::string& minor, const char* out = "No") {
    const std::string path = folder->path() + "/" + bus;
    EXPECT_TRUE(sys::MakeDirs(path).ok());
    const std::string text =
        "Model: \t L4\nDevice Minor: \t " + minor + "\nGPU Excluded:\t " + out + "\n";
    EXPECT_TRUE(sys::WriteFileAtomic(path + "/information", text, 0644, false).ok());
  };
  card("0000:3b:00.0", "1");
  card("0000:af:00.0", "0");
  EXPECT_EQ(EngineGpus("0", folder->path()), "1");
  EXPECT_EQ(EngineGpus("1,0", folder->path()), "0,1");
  EXPECT_EQ(EngineGpus("2", folder->path()), std::nullopt) << "it has no such card";
  card("0000:12:00.0", "2", "Yes");
  EXPECT_EQ(EngineGpus("1,0", folder->path()), "0,1") << "nobody counts what is left out";
}

TEST(Gpus, ThatAreThereAreFoundBehindOneThatIsNot) {
  auto folder = sys::TempDir::Make();
  ASSERT_TRUE(folder.ok());
  const std::string prefix = folder->path() + "/renderD";
  for (const char* number : {"128", "130", "7"}) {
    EXPECT_TRUE(sys::WriteFileAtomic(prefix + number, "", 0644, false).ok());
  }
  EXPECT_EQ(NumberedDevices(prefix, 128),
            (std::vector<std::string>{prefix + "128", prefix + "130"}));
}

TEST(Gpus, WhoIsGivenSomeAloneCountsThemFromZero) {
  const GrantedGpus two = CountedFromZero(2);
  EXPECT_EQ(two.count, 2);
  EXPECT_EQ(two.variables[0].second, "0,1");
}

class SlowClock : public Clock {
 public:
  MonoTime Mono() override { return {now_ += 1000}; }
  WallTime Wall() override { return {now_}; }

 private:
  int64_t now_ = 0;
};

struct Waited {
  Status status;
  std::vector<std::string> said;
};

// `come`: how often it looks in vain.
Waited Wait(int promised, int come, bool cancelled = false) {
  Waited out;
  GpuWait wait;
  wait.promised = promised;
  wait.count = [&come, promised] { return come-- > 0 ? promised - 1 : promised; };
  wait.cancelled = [cancelled] { return cancelled; };
  wait.say = [&out](const std::string& text) { out.said.push_back(text); };
  wait.pause = Duration::Ms(0);
  SlowClock clock;
  out.status = AwaitGpus(wait, clock);
  return out;
}

TEST(AwaitGpus, SaysNothingWhereAllAreThereOrNoneArePromised) {
  EXPECT_TRUE(Wait(0, 0).status.ok());
  const Waited all = Wait(2, 0);
  EXPECT_TRUE(all.status.ok());
  EXPECT_TRUE(all.said.empty());
}

TEST(AwaitGpus, WaitsForTheDriverAndSaysSoOnce) {
  const Waited late = Wait(2, 60);
  EXPECT_TRUE(late.status.ok()) << late.status.ToString();
  ASSERT_EQ(late.said.size(), 2U);
  EXPECT_EQ(late.said[0],
            "this machine has 1 of the 2 GPUs that its type promises so far: its image may still "
            "be installing their driver; waiting, 15m at most");
  EXPECT_EQ(late.said[1].find("the GPUs are there after 1m"), 0U) << late.said[1];
}

TEST(AwaitGpus, GivesUpInTheEnd) {
  const Waited never = Wait(4, 1'000'000);
  EXPECT_TRUE(never.status.Is(Code::kNotFound));
  EXPECT_EQ(never.said.size(), 1U);
  EXPECT_FALSE(never.status.transient()) << "or it would begin anew, for ever";
  EXPECT_TRUE(Wait(4, 1'000'000, true).status.Is(Code::kCancelled));
}

}  // namespace
}  // namespace stoker::node
