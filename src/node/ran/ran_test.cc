// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/paths.h"
#include "node/ran/machine_facts.h"
#include "node/ran/packages.h"
#include "node/ran/python_seen.h"
#include "node/ran/ran_teller.h"
#include "node/ran/told_variables.h"
#include "sys/file.h"
#include "test/kit/memory_store.h"

namespace stoker::node {
namespace {

TEST(MachineFacts, AreReadFromWhatTheKernelAndTheDriverSay) {
  EXPECT_EQ(DriverVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 "
                          "18:56:32 UTC 2023\nGCC version:  gcc version 12.2.0\n"),
            "535.129.03");
  EXPECT_EQ(DriverVersion("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  "
                          "Release Build  (root@host)\n"),
            "550.54.15");
  EXPECT_EQ(DriverVersion(""), "");
  EXPECT_EQ(
      CudaVersion("| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4  |"),
      "12.4");
  EXPECT_EQ(CudaVersion("| CUDA Version: N/A |"), "");
  EXPECT_EQ(OsName("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(CpuModel("processor\t: 0\nmodel name\t: Some(R) CPU @ 2.00GHz\n"),
            "Some(R) CPU @ 2.00GHz");
}

class PackagesFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = sys::TempDir::Make("packages");
    ASSERT_TRUE(made.ok());
    dir_ = std::make_unique<sys::TempDir>(std::move(*made));
  }
  void Make(const std::string& path, const std::string& file = "", const std::string& text = "") {
    ASSERT_TRUE(sys::MakeDirs(dir_->path() + "/" + path).ok());
    if (file.empty()) return;
    ASSERT_TRUE(sys::WriteFileAtomic(dir_->path() + "/" + path + "/" + file, text).ok());
  }
  std::unique_ptr<sys::TempDir> dir_;
};

TEST_F(PackagesFolder, ThoseOfTheFirstFolderOnThePathCount) {
  Make("a/ruamel.yaml-0.18.6.dist-info");
  Make("a/~orch-1.0.dist-info");  // pip was killed here
  Make("a/mine-0.1.dist-info", "direct_url.json",
       R"({"url":"file:///w","dir_info":{"editable":true}})");
  Make("a/lib-2.0.dist-info", "direct_url.json",
       R"({"url":"https://h/x","vcs_info":{"vcs":"git","commit_id":"1a2b3c4d5e6f7a8b9c0d"}})");
  Make("b/ruamel_yaml-0.17.0.dist-info");
  Make("b/Old_One-3.2-py3.11.egg-info");
  Make("b/local.egg-info", "PKG-INFO", "Metadata-Version: 2.1\nName: local\nVersion: 7\n");
  Make("b/numpy");
  const std::vector<Package> expected = {{"lib", "2.0", "git 1a2b3c4d5e6f"},
                                         {"local", "7", ""},
                                         {"mine", "0.1", "editable"},
                                         {"old-one", "3.2", ""},
                                         {"ruamel-yaml", "0.18.6", ""}};
  EXPECT_EQ(ReadPackages({dir_->path() + "/a", dir_->path() + "/none", dir_->path() + "/b"}),
            expected);
}

TEST(PythonSaid, IsReadAmongWhatOthersPrint) {
  const auto said = ParsePythonSaid(
      "hello from sitecustomize\nstoker-version 3.11.2\nstoker-path \nstoker-path rel\n"
      "stoker-path /usr/lib/python3.11\n");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(said->version, "3.11.2");
  EXPECT_EQ(said->path, std::vector<std::string>{"/usr/lib/python3.11"});
  EXPECT_FALSE(ParsePythonSaid("no\n").ok());
}

TEST(PythonSeen, LaunchersIntoOtherEnvironmentsArePassedOver) {
  EXPECT_TRUE(LeadsElsewhere({"/opt/conda/bin/python", "/opt/conda/bin/conda", "run", "-n", "x"}));
  EXPECT_TRUE(LeadsElsewhere({"python", "-m", "conda", "run"}));
  EXPECT_FALSE(LeadsElsewhere({"python", "train.py", "conda"}));
  EXPECT_FALSE(LeadsElsewhere({"python", "-u", "/w/bin/torchrun", "train.py"}));
  EXPECT_FALSE(LeadsElsewhere({"python"}));
}

TEST(PythonSeen, ThisProcessIsNone) { EXPECT_FALSE(SeePython({getpid()}).has_value()); }

TEST_F(PackagesFolder, OneThatHasEndedIsLookedUpAsTheProgramNamedIt) {
  for (const char* name : {"python3", "python3.9", "pythonic.sh"}) {
    Make("bin", name, "#!/bin/sh\n");
    ASSERT_EQ(chmod((dir_->path() + "/bin/" + name).c_str(), 0755), 0);
  }
  const contract::Environment env = {{"PATH", dir_->path() + "/bin"}};
  EXPECT_EQ(AssumePython("cd x\npython3.9 train.py", env, "/")->path,
            dir_->path() + "/bin/python3.9");
  EXPECT_EQ(AssumePython("torchrun train.py", env, "/")->path, dir_->path() + "/bin/python3");
  EXPECT_FALSE(AssumePython("python train.py", {{"PATH", "/none"}}, "/").has_value());
}

class NoProcesses final : public Task {
 public:
  std::optional<TaskExit> Poll() override { return std::nullopt; }
  std::optional<TaskExit> Wait(int64_t) override { return std::nullopt; }
  Result<std::vector<SignalledProcess>> Signal(int) override { return None(); }
  Result<std::vector<SignalledProcess>> Stop() override { return None(); }
  bool SavesAtStop() override { return false; }
  Status End() override { return Status::Ok(); }
  TaskUsage Usage() override { return {}; }
  std::string mechanism() const override { return "container"; }
  bool has_host_name() const override { return false; }
  std::vector<int> Processes() override { return {}; }

 private:
  static std::vector<SignalledProcess> None() { return {}; }
};

TEST_F(PackagesFolder, NoPythonIsRunForAProgramInAContainer) {
  const std::string ran = dir_->path() + "/ran";
  Make("bin", "python3", "#!/bin/sh\n: >" + ran + "\n");
  ASSERT_EQ(chmod((dir_->path() + "/bin/python3").c_str(), 0755), 0);
  for (const char* image : {"localhost/a:1", ""}) {
    MemoryStore store;
    RanInput input;
    input.job = "j1";
    input.facts.attempt = 1;
    input.facts.image = image;
    input.env = {{"PATH", dir_->path() + "/bin"}};
    input.cwd = "/";
    input.words = "python3 train.py";
    input.names_python = true;
    input.task = std::make_shared<NoProcesses>();
    input.say = [](const std::string&) {};
    RanTeller teller(store, std::move(input));
    teller.ProgramEnded();
    teller.Finish(Duration::Seconds(60));
    EXPECT_EQ(sys::FileExists(ran), *image == '\0');
    const auto object = store.Get(paths::Ran("j1", 1, 0));
    ASSERT_TRUE(object.ok());
    const auto facts = DecodeRunFacts("k", object->data);
    ASSERT_TRUE(facts.ok());
    EXPECT_EQ(facts->image, image);
    EXPECT_EQ(facts->python.empty(), *image != '\0');
    EXPECT_TRUE(facts->os.empty() || *image == '\0');
  }
}

class Told : public ::testing::Test {
 protected:
  ToldVariable Of(const std::string& name, const std::string& value) {
    const auto told = TellVariables(
        {{name, value}}, {spec_, shell_, from_setup_, secrets_, [](const std::string& text) {
                            return text.find("hush-hush") == std::string::npos ? text
                                                                               : std::string("***");
                          }});
    return told.at(0);
  }
  JobSpec spec_;
  contract::Environment shell_, from_setup_, secrets_;
};

TEST_F(Told, ValuesOfEnvsOfStokerAndOfTheListAlone) {
  spec_.envs = {{"LR", "0.1"}};
  shell_ = {{"OMP_NUM_THREADS", "4"}, {"MY_OWN", "x"}};
  from_setup_ = {{"FROM_SETUP", "y"}};
  EXPECT_EQ(Of("LR", "0.1"), (ToldVariable{"LR", "0.1", "job"}));
  EXPECT_EQ(Of("STOKER_ATTEMPT", "2"), (ToldVariable{"STOKER_ATTEMPT", "2", "stoker"}));
  EXPECT_EQ(Of("MASTER_PORT", "2"), (ToldVariable{"MASTER_PORT", "2", "stoker"}));
  EXPECT_EQ(Of("OMP_NUM_THREADS", "4"), (ToldVariable{"OMP_NUM_THREADS", "4", "shell"}));
  EXPECT_EQ(Of("MY_OWN", "x"), (ToldVariable{"MY_OWN", std::nullopt, "shell"}));
  EXPECT_EQ(Of("FROM_SETUP", "y"), (ToldVariable{"FROM_SETUP", std::nullopt, "setup"}));
  // What setup made of one of the job's is setup's.
  from_setup_ = {{"LR", "secret of setup"}};
  EXPECT_EQ(Of("LR", "secret of setup"), (ToldVariable{"LR", std::nullopt, "setup"}));
}

TEST_F(Told, NoSecretHoweverItIsCalled) {
  secrets_ = {{"HF_TOKEN", "hush-hush"}, {"PIN", "1234"}};
  spec_.envs = {{"A", "hush-hush"},
                {"B", "x hush-hush y"},
                {"C", "1234"},
                {"MY_API_KEY", "k1"},
                {"PLAIN", "12345"}};
  shell_ = {{"https_proxy", "http://me:hunter2@proxy:3128"}};
  EXPECT_EQ(Of("HF_TOKEN", "hush-hush"), (ToldVariable{"HF_TOKEN", std::nullopt, "secret", true}));
  EXPECT_EQ(Of("PIN", "1234"), (ToldVariable{"PIN", std::nullopt, "secret", true}));
  for (const auto& [name, value] :
       {std::pair{"A", "hush-hush"}, {"B", "x hush-hush y"}, {"C", "1234"}, {"MY_API_KEY", "k1"}}) {
    EXPECT_EQ(Of(name, value), (ToldVariable{name, std::nullopt, "job", true}));
  }
  EXPECT_EQ(Of("PLAIN", "12345"), (ToldVariable{"PLAIN", "12345", "job"}));
  EXPECT_FALSE(Of("https_proxy", "http://me:hunter2@proxy:3128").value.has_value());
  EXPECT_EQ(Of("STOKER_HPS", R"({"x":"hush-hush"})").value, std::nullopt);
}

}  // namespace
}  // namespace stoker::node
