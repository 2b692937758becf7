// SPDX-License-Identifier: Apache-2.0
// Every input of corpus/ through its target, without libFuzzer: what was found once stays mended.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "sys/file.h"
#include "test/fuzz/target.h"

// A report of a sanitizer ends in SIGABRT, so that the input can be named.
extern "C" const char* __asan_default_options() { return "abort_on_error=1"; }

namespace stoker::fuzz {
namespace {

// No input takes a tenth of this; one that never ends must end.
constexpr unsigned kSeconds = 60;
char now_trying[512];

void NameInput(int signal_number) {
  (void)!write(STDERR_FILENO, now_trying, std::strlen(now_trying));
  (void)!write(STDERR_FILENO, "\n", 1);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, Holds) {
  for (const int fatal : {SIGABRT, SIGSEGV, SIGALRM}) signal(fatal, NameInput);
  const std::string folder = std::string(STOKER_CORPUS) + "/" + GetParam();
  const auto seeds = sys::ListDir(folder);
  ASSERT_TRUE(seeds.ok()) << seeds.status().ToString();
  EXPECT_GE(seeds->size(), 3U) << folder;
  for (const sys::DirEntry& seed : *seeds) {
    const std::string path = folder + "/" + seed.name;
    std::snprintf(now_trying, sizeof now_trying, "while trying %s", path.c_str());
    const auto text = sys::ReadFile(path);
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    alarm(kSeconds);
    Targets().at(GetParam())(*text);
    alarm(0);
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, target] : Targets()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(Names()),
                         [](const auto& each) { return each.param; });

TEST(Fuzz, EveryFolderIsOfATarget) {
  for (const sys::DirEntry& folder : *sys::ListDir(STOKER_CORPUS)) {
    EXPECT_EQ(Targets().count(folder.name), 1U) << folder.name;
  }
}

}  // namespace
}  // namespace stoker::fuzz
