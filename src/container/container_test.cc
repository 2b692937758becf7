// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "container/apptainer_argv.h"
#include "container/container_spec.h"
#include "container/docker_info.h"
#include "container/engine_argv.h"
#include "container/engine_install.h"
#include "container/engine_words.h"
#include "container/inside.h"
#include "container/run_options.h"

namespace stoker {
namespace {

using Words = std::vector<std::string>;

const EngineFacts kPodman{EngineKind::kPodman, "/usr/bin/podman", "4.3.1", false};
const EngineFacts kRootless{EngineKind::kPodman, "/usr/bin/podman", "4.3.1", true};
const EngineFacts kDocker{EngineKind::kDocker, "/usr/bin/docker", "20.10.24", false};

ContainerPlan Plan() {
  ContainerPlan plan;
  plan.spec.image = plan.image = "localhost/bb:1";
  plan.owner = "/state/i1";
  plan.job = "job-1";
  plan.program = "/state/bin/stoker";
  plan.socket_dir = "/state/i1/container";
  plan.verb = "__container";
  plan.folders = {"/state/i1", "/work/j"};
  plan.machine_memory = 1000;
  return plan;
}

size_t At(const Words& words, const std::string& word) {
  return static_cast<size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}
bool Has(const Words& words, const std::string& word) { return At(words, word) < words.size(); }
bool Begins(const Words& words, const std::string& start) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return StartsWith(word, start); });
}

TEST(ContainerNames, WhatCouldBeReadAsAnOptionOrAPathIsNone) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (const std::string& good : {std::string("busybox"), std::string("localhost:5000/a/b_c:1.2"),
                                  "a/b" + digest, "a/b:tag" + digest}) {
    EXPECT_TRUE(IsImageName(good)) << good;
  }
  for (const std::string& bad :
       {std::string(""), std::string("-v"), std::string("--privileged"), std::string("a b"),
        std::string("a;b"), std::string("a$b"), std::string("a//b"), std::string("../a"),
        std::string("a@sha256:12"), std::string("a:"), std::string("a\nb"), digest}) {
    EXPECT_FALSE(IsImageName(bad)) << bad;
  }
  EXPECT_TRUE(IsVolume("/data:/data:ro"));
  for (const char* bad : {"data:/data", "/data", "/data:/", "/a/../b:/c", "/a:/b:/c", "/a:b"}) {
    EXPECT_FALSE(IsVolume(bad)) << bad;
  }
  EXPECT_TRUE(IsDevice("/dev/fuse") && IsDevice("/dev/a:/dev/b:rw") &&
              IsDevice("nvidia.com/gpu=all"));
  EXPECT_FALSE(IsDevice("fuse") || IsDevice("/dev/a:b") || IsDevice("-x=1") || IsDevice("a=b c"));
  EXPECT_TRUE(IsCapability("SYS_ADMIN"));
  EXPECT_FALSE(IsCapability("sys admin") || IsCapability("-X") || IsCapability(""));
}

TEST(WayToInstall, IsOfTheMachinesOwnTool) {
  const auto only = [](std::string_view tool) {
    return [tool](std::string_view asked) { return asked == tool; };
  };
  const auto engine = [](const InstallWay* way) {
    return way == nullptr ? std::string("none") : EngineName(way->engine);
  };
  EXPECT_EQ(engine(WayToInstall("", "debian", only("apt-get"))), "podman");
  EXPECT_EQ(engine(WayToInstall("docker", "ubuntu", only("apt-get"))), "docker");
  EXPECT_EQ(engine(WayToInstall("", "amzn", only("dnf"))), "docker");
  EXPECT_EQ(engine(WayToInstall("podman", "amzn", only("dnf"))), "podman");
  EXPECT_EQ(engine(WayToInstall("", "rocky", only("dnf"))), "podman");
  EXPECT_EQ(engine(WayToInstall("docker", "rocky", only("dnf"))), "none");
  EXPECT_EQ(engine(WayToInstall("", "cos", only("toolbox"))), "none");
  EXPECT_EQ(SystemId("NAME=x\nVERSION_ID=\"12\"\nID=debian\n"), "debian");
  EXPECT_EQ(SystemId("ID_LIKE=rhel\nID=\"amzn\""), "amzn");
  EXPECT_EQ(SystemId("NAME=x"), "");
  EXPECT_EQ(SystemId("ID=\""), "\"");
}

TEST(Apptainer, SeesWhatTheJobFileNamesAndNothingElse) {
  EngineFacts engine{EngineKind::kApptainer, "/usr/bin/apptainer", "1.4.5", false};
  engine.folder = "/home/me/.cache/stoker/images";
  ContainerPlan plan = Plan();
  plan.spec.volumes = {"/d:/d:ro"};
  plan.spec.devices = {"/dev/fuse"};
  plan.spec.cap_add = {"SYS_ADMIN"};
  plan.spec.run_options = {"--fakeroot"};
  plan.gpus = "all";
  plan.gpu_way = WayToGpus(engine, false);
  plan.host_name = "job-1-0";
  plan.hosts_file = "/state/i1/container/hosts";
  const Words words = RunArgv(engine, plan);
  for (const char* one :
       {"exec", "--containall", "--cleanenv", "--no-home", "--no-init", "--nv", "--fakeroot",
        "--overlay=/state/i1/container/scratch/overlay", "--bind=/work/j:/work/j",
        "--workdir=/state/i1/container/scratch/tmp", "--bind=/d:/d:ro", "--bind=/dev/fuse",
        "--bind=/state/bin/stoker:/.stoker/program:ro", "--add-caps=CAP_SYS_ADMIN",
        "--hostname=job-1-0", "--bind=/state/i1/container/hosts:/etc/hosts:ro"}) {
    EXPECT_TRUE(Has(words, one)) << one;
  }
  const std::string image = words[words.size() - 4];
  EXPECT_TRUE(StartsWith(image, engine.folder + "/") && EndsWith(image, ".sif")) << image;
  EXPECT_EQ((Words{words.end() - 3, words.end()}),
            (Words{kContainerProgram, "__container", kContainerSocket}));
  EXPECT_FALSE(Has(words, "--userns"));
  EXPECT_EQ(PullArgv(engine, plan.image).back(), image);
  EXPECT_EQ(InspectArgv(engine, plan.image).back(), image + ".id");
  EXPECT_FALSE(KeepsBooks(engine.kind));
  EXPECT_FALSE(Has(words, "--userns") || Has(words, "--rocm"));
  plan.whole_root = false;
  plan.amd_gpus = {"/dev/kfd"};
  EXPECT_TRUE(Has(RunArgv(engine, plan), "--userns") && Has(RunArgv(engine, plan), "--rocm"));
  EXPECT_TRUE(Has(RunArgv(kPodman, plan), "--device=/dev/kfd"));
  plan.uid = 1000;
  EXPECT_FALSE(Has(RunArgv(engine, plan), "--userns"));
  plan.spec.devices = {"nvidia.com/gpu=all"};
  EXPECT_FALSE(CheckForApptainer(plan.spec).ok());
  plan.spec.devices.clear();
  plan.spec.shm_size = 1;
  EXPECT_FALSE(CheckForApptainer(plan.spec).ok());
}

TEST(RunOptions, BecomeOneWordEach) {
  const auto words = CheckRunOptions({"--ulimit", "memlock=-1", "--privileged", "--ipc=host"});
  ASSERT_TRUE(words.ok()) << words.status().ToString();
  EXPECT_EQ(*words, (Words{"--ulimit=memlock=-1", "--privileged", "--ipc=host"}));
}

TEST(RunOptions, WhatStokerSetsItselfIsRefusedWithWhatToWrite) {
  for (const auto& [word, next] :
       std::vector<std::pair<std::string, std::string>>{{"--pid=host", "Leave it out"},
                                                        {"-d", "Leave it out"},
                                                        {"--rm", "Leave it out"},
                                                        {"--name=x", "labels"},
                                                        {"--restart=always", "job_recovery"},
                                                        {"-v", "container.volumes"},
                                                        {"-v/a:/b", "container.volumes"},
                                                        {"-dit", "Leave it out"},
                                                        {"-d=true", "Leave it out"},
                                                        {"-ti", "the job's log"},
                                                        {"--creds=me:x", "container.login"},
                                                        {"--health-retries=3", "limits.stall"},
                                                        {"--memory=1g", "resources.memory"},
                                                        {"--user=1", "container.user"},
                                                        {"--entrypoint=x", "entrypoint"},
                                                        {"--gpus=all", "resources.gpus"}}) {
    const auto judged = CheckRunOptions({word});
    ASSERT_FALSE(judged.ok()) << word;
    EXPECT_NE(judged.status().next().find(next), std::string::npos) << judged.status().ToString();
  }
  for (const char* bad : {"alpine", "--", "--a b", "-Z", "--=x", "---"}) {
    EXPECT_FALSE(CheckRunOptions({bad}).ok()) << bad;
  }
  EXPECT_FALSE(CheckRunOptions({"--ipc=host", "alpine"}).ok());
}

TEST(EngineArgv, SharedMemoryHasASizeWhereItIsTheContainersOwn) {
  ContainerPlan plan = Plan();
  plan.spec.shm_size = 77;
  for (const char* own : {"--ipc=private", "--ipc=shareable", "--privileged"}) {
    plan.spec.run_options = {own};
    EXPECT_TRUE(Has(RunArgv(kDocker, plan), "--shm-size=77")) << own;
  }
  for (const char* other : {"--ipc=host", "--ipc=container:x", "--ipc=ns:/x", "--ipc=none"}) {
    plan.spec.run_options = {other};
    EXPECT_FALSE(Begins(RunArgv(kDocker, plan), "--shm-size")) << other;
  }
}

TEST(EngineArgv, NoLimitOfProcessesUnasked) {
  ContainerPlan plan = Plan();
  EXPECT_TRUE(Has(RunArgv(kPodman, plan), "--pids-limit=0"));
  EXPECT_FALSE(Begins(RunArgv(kDocker, plan), "--pids-limit")) << "it has none";
  plan.holds_pids = false;
  EXPECT_FALSE(Begins(RunArgv(kRootless, plan), "--pids-limit")) << "it would say so";
  plan.holds_pids = true;
  plan.spec.run_options = {"--pids-limit=100"};
  const Words words = RunArgv(kPodman, plan);
  EXPECT_TRUE(Has(words, "--pids-limit=100") && !Has(words, "--pids-limit=0"));
}

TEST(EngineArgv, WhatTheImageBringsAlongIsNeitherRunNorLeft) {
  EXPECT_TRUE(Has(RunArgv(kDocker, Plan()), "--no-healthcheck"));
  EXPECT_TRUE(Has(RunArgv(kPodman, Plan()), "--http-proxy=false"));
  EXPECT_FALSE(Begins(RunArgv(kDocker, Plan()), "--http-proxy"));
  EXPECT_TRUE(Has(RemoveArgv(kDocker, "1"), "--volumes"));
  EXPECT_TRUE(Has(RemoveArgv(kPodman, "1"), "--volumes"));
}

TEST(EngineArgv, TheImageEndsTheOptionsAndStokerIsItsFirstProcess) {
  const Words words = RunArgv(kPodman, Plan());
  const Words end(words.end() - 3, words.end());
  EXPECT_EQ(end, (Words{"localhost/bb:1", "__container", kContainerSocket}));
  for (const char* one :
       {"--rm", "--detach", "--network=host", "--label=stoker.owner=/state/i1",
        "--label=stoker.job=job-1", "--volume=/state/bin/stoker:/.stoker/program:ro",
        "--volume=/state/i1/container:/.stoker/owner:ro", "--volume=/work/j:/work/j",
        "--shm-size=500", "--entrypoint=/.stoker/program"}) {
    EXPECT_TRUE(Has(words, one)) << one;
  }
  EXPECT_FALSE(Begins(words, "--memory") || Begins(words, "--cpus") || Begins(words, "--ulimit") ||
               Begins(words, "--gpus") || Begins(words, "--hostname"));
  // Docker ends its containers by itself when the machine shuts down: after the agent.
  EXPECT_TRUE(Has(RunArgv(kDocker, Plan()), "--stop-timeout=25"));
  EXPECT_FALSE(Begins(words, "--stop-timeout"));
}

TEST(EngineArgv, WhoseFilesTheyAre) {
  ContainerPlan plan = Plan();
  plan.uid = 1000;
  plan.gid = 100;
  EXPECT_TRUE(Has(RunArgv(kDocker, plan), "--user=1000:100"));
  EXPECT_TRUE(Has(RunArgv(kRootless, plan), "--userns=keep-id"));
  EXPECT_TRUE(Has(RunArgv(kRootless, plan), "--user=1000:100")) << "the image may have a USER";
  EngineFacts docker = kDocker;
  ReadDockerInfo(R"({"SecurityOptions":["name=seccomp,profile=builtin"]})", &docker);
  EXPECT_FALSE(docker.rootless);
  ReadDockerInfo(R"({"SecurityOptions":["name=seccomp,profile=builtin","name=rootless"]})",
                 &docker);
  EXPECT_TRUE(docker.rootless);
  EXPECT_TRUE(Has(RunArgv(docker, plan), "--user=0:0"));
  EXPECT_FALSE(Begins(RunArgv(docker, plan), "--userns"));
}

TEST(Inside, GroupsAreTheSubmitters) {
  ContainerPlan plan = Plan();
  plan.groups = {27, 7701};
  EXPECT_TRUE(GroupWords(kPodman, plan).empty()) << "root reads without";
  plan.uid = 1000;
  EXPECT_EQ(GroupWords(kDocker, plan), (Words{"--group-add=27", "--group-add=7701"}));
  EXPECT_EQ(GroupWords(kRootless, plan), (Words{"--group-add=keep-groups"}));
  EngineFacts old = kRootless;
  old.version = "3.0.1";
  EXPECT_TRUE(GroupWords(old, plan).empty());
  old.version = "10.0";
  EXPECT_FALSE(GroupWords(old, plan).empty());
  EngineFacts docker = kDocker;
  docker.rootless = true;
  EXPECT_TRUE(GroupWords(docker, plan).empty()) << "they are not in its range";
  plan.spec.run_options = {"--group-add=5"};
  EXPECT_TRUE(GroupWords(kRootless, plan).empty()) << "podman takes no other beside";
  plan.groups.clear();
  EXPECT_TRUE(GroupWords(kDocker, plan).empty());
}

TEST(Inside, AUserIsTheEnginesWhereItsProcessesCanBeLookedAt) {
  ContainerPlan plan = Plan();
  const auto words = [&](const EngineFacts& engine, const char* user) {
    plan.spec.user = user;
    return CheckUser(engine, plan).ok() ? Join(UserWords(engine, plan), " ") : "refused";
  };
  EXPECT_EQ(words(kPodman, ""), "--user=0:0");
  EXPECT_EQ(words(kPodman, "1000"), "--user=1000");
  EXPECT_EQ(words(kDocker, "a:b"), "--user=a:b");
  plan.uid = 1000;
  plan.gid = 100;
  EXPECT_EQ(words(kRootless, "root"), "--user=0:0");
  EXPECT_EQ(words(kRootless, "1000:100"), "--userns=keep-id --user=1000:100");
  for (const char* other : {"1001", "1000:1", "trainer", "root:100"}) {
    EXPECT_EQ(words(kRootless, other), "refused") << other;
  }
  EXPECT_EQ(words(kDocker, "1000"), "--user=1000");
  EXPECT_EQ(words(kDocker, "root"), "refused");
  EngineFacts docker = kDocker;
  docker.rootless = true;
  EXPECT_EQ(words(docker, "0"), "--user=0:0");
  EXPECT_EQ(words(docker, "1000"), "refused");  // a user of its own range
  for (const char* bad : {"", "-1", "a b", "a:", ":a", "a:b:c", "a;b"}) {
    EXPECT_FALSE(IsContainerUser(bad)) << bad;
  }
}

TEST(Inside, AnEntryPointIsWordsOrNone) {
  EXPECT_EQ(*ReadEntrypoint("{\"words\":[\"/opt/e.sh\",\"--\"]}\n"), (Words{"/opt/e.sh", "--"}));
  EXPECT_TRUE(ReadEntrypoint("{\"words\":null}")->empty());
  const auto shell = ReadEntrypoint(R"({"words":["/bin/sh","-c","exec python a.py"]})");
  EXPECT_NE(shell.status().message().find("python a.py"), std::string::npos);
  EXPECT_FALSE(ReadEntrypoint("no").ok());
  EXPECT_FALSE(ReadEntrypoint("{\"words\":[1]}").ok());
}

TEST(EngineArgv, WhatTheJobAsksFor) {
  ContainerPlan plan = Plan();
  plan.spec.cap_add = {"SYS_ADMIN"};
  plan.spec.devices = {"/dev/fuse"};
  plan.spec.volumes = {"/d:/d:ro"};
  plan.spec.run_options = {"--ulimit=memlock=-1"};
  plan.memory = 64 << 20;
  plan.cpus = 1500;
  plan.gpus = "0,2";
  plan.gpu_way = GpuWay::kRuntime;
  plan.host_name = "job-1-0";
  plan.hosts_file = "/state/i1/hosts";
  const Words words = RunArgv(kDocker, plan);
  for (const char* one :
       {"--cap-add=SYS_ADMIN", "--device=/dev/fuse", "--volume=/d:/d:ro", "--ulimit=memlock=-1",
        "--memory=67108864", "--memory-swap=67108864", "--cpus=1.500", "--shm-size=33554432",
        "--gpus=\"device=0,2\"", "--hostname=job-1-0", "--volume=/state/i1/hosts:/etc/hosts:ro"}) {
    EXPECT_TRUE(Has(words, one)) << one;
  }
  plan.gpu_way = GpuWay::kCdi;
  EXPECT_TRUE(Has(RunArgv(kPodman, plan), "--device=nvidia.com/gpu=2"));
  EXPECT_TRUE(Has(RunArgv(kDocker, plan), "--device=nvidia.com/gpu=2"));
  plan.spec.shm_size = 77;
  EXPECT_TRUE(Has(RunArgv(kDocker, plan), "--shm-size=77"));
  plan.spec.run_options = {"--ipc=host"};
  EXPECT_FALSE(Begins(RunArgv(kPodman, plan), "--shm-size"));
}

TEST(EngineArgv, ALoginIsAFileOfItsOwn) {
  EXPECT_EQ(PullArgv(kPodman, "a", "/l"),
            (Words{"/usr/bin/podman", "pull", "--authfile=/l/config.json", "a"}));
  EXPECT_EQ(PullArgv(kDocker, "a", "/l"), (Words{"/usr/bin/docker", "--config=/l", "pull", "a"}));
  EXPECT_EQ(PullArgv(kDocker, "a"), (Words{"/usr/bin/docker", "pull", "a"}));
  EXPECT_EQ(PushArgvs(kPodman, "a", "h/b:1", "/l", ""),
            (std::vector<Words>{{"/usr/bin/podman", "push", "--quiet", "--authfile=/l/config.json",
                                 "a", "h/b:1"}}));
  EXPECT_EQ(PushArgvs(kDocker, "a", "h/b:1", "/l", "unix:///s"),
            (std::vector<Words>{
                {"/usr/bin/docker", "tag", "a", "h/b:1"},
                {"/usr/bin/docker", "--config=/l", "--host=unix:///s", "push", "h/b:1"}}));
  EXPECT_EQ(PushArgvs(kDocker, "a", "h/b:1", "", "")[1],
            (Words{"/usr/bin/docker", "push", "h/b:1"}));
}

TEST(DockerInfo, TellsWhetherItCanGiveGpus) {
  const auto way = [](const std::string& info, bool cdi_files) {
    EngineFacts engine = kDocker;
    ReadDockerInfo(info, &engine);
    return WayToGpus(engine, cdi_files);
  };
  const std::string plain = R"({"Runtimes":{"io.containerd.runc.v2":{"path":"runc"}}})";
  EXPECT_EQ(way(plain, true), GpuWay::kNone);
  EXPECT_EQ(way(R"({"Runtimes":{"nvidia":{},"runc":{}}})", false), GpuWay::kRuntime);
  const std::string cdi = R"({"Runtimes":null,"CDISpecDirs":["/etc/cdi","/var/run/cdi"]})";
  EXPECT_EQ(way(cdi, true), GpuWay::kCdi);
  EXPECT_EQ(way(cdi, false), GpuWay::kNone);
  EXPECT_EQ(way(R"({"CDISpecDirs":[]})", true), GpuWay::kNone);
  EXPECT_EQ(way("", true), GpuWay::kNone);
  EXPECT_EQ(WayToGpus(kPodman, true), GpuWay::kCdi);
  EXPECT_EQ(WayToGpus(kPodman, false), GpuWay::kNone);
}

TEST(EngineWords, AreTakenApartByWhatTheEngineSays) {
  const auto says = [](int code, const std::string& error) {
    return EngineFailure(kPodman, "start a container of x", code, error);
  };
  const Status limits =
      says(126, "Error: crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI permission");
  EXPECT_NE(limits.next().find("default_ulimits"), std::string::npos);
  EXPECT_NE(says(126,
                 "Error: OCI runtime error: crun: the requested cgroup controller `cpu` is not "
                 "available")
                .next()
                .find("Delegate=cpu"),
            std::string::npos);
  EXPECT_NE(says(125, "Error: manifest unknown").message().find("no such image"),
            std::string::npos);
  EXPECT_NE(says(125, "write /x: no space left on device").next().find("Make room"),
            std::string::npos);
  const Status other = says(125, "time=\"x\" level=warning msg=\"y\"\nError: something new\n");
  EXPECT_EQ(other.code(), Code::kInvalid);
  const Status away = EngineFailure(
      kDocker, "start a container of x", 125,
      "docker: error during connect: Post \"http://%2Frun%2Fdocker.sock/v1.41/start\": EOF");
  EXPECT_EQ(away.code(), Code::kUnavailable) << "it may come back";
  EXPECT_NE(
      other.message().find("podman 4.3.1 could not start a container of x (Error: something new)"),
      std::string::npos)
      << other.message();
}

// Each as an engine says it.
TEST(EngineWords, ARegistryThatMayAnswerLaterIsToldFromOneThatHasAnswered) {
  const auto pulled = [](const std::string& error) {
    return PullFailure(kPodman, "x", 125, error);
  };
  for (const char* passes : {
           "Error: dial tcp 127.0.0.1:5000: connect: connection refused",
           "Error: Get \"https://r/v2/\": dial tcp: lookup r: no such host",
           "Error: toomanyrequests: You have reached your unauthenticated pull rate limit.",
           "Error: reading manifest 1 in r/a: received unexpected HTTP status: 503 Service "
           "Unavailable",
           "Error response from daemon: received unexpected HTTP status: 502 Bad Gateway",
           "Error: Get \"https://r/v2/\": net/http: TLS handshake timeout",
           "Error: writing blob: happened during read: unexpected EOF",
           "Error: read tcp 10.0.0.1:1->10.0.0.2:443: read: connection reset by peer",
           "Error response from daemon: Get \"https://r/v2/\": context deadline exceeded",
           "Error: something that nobody has seen yet",
       }) {
    EXPECT_TRUE(pulled(passes).Is(Code::kBusy)) << passes;
  }
  for (const char* stays : {
           "Error: reading manifest 9 in r/a: manifest unknown",
           "Error response from daemon: pull access denied for a, repository does not exist",
           "Error: unable to retrieve auth token: invalid username/password: unauthorized",
           "denied: Permission \"artifactregistry.repositories.downloadArtifacts\" denied",
           "Error: writing blob: write /x: no space left on device",
           "Error: no image found in manifest list for architecture arm64",
           "Error: Get \"https://r/v2/\": x509: certificate signed by unknown authority",
           "time=\"x\" level=warning msg=\"503 Service Unavailable\"\nError: manifest unknown",
       }) {
    EXPECT_TRUE(pulled(stays).Is(Code::kInvalid)) << stays;
  }
  EXPECT_TRUE(EngineFailure(kPodman, "start", 126, "exec: permission denied: unknown")
                  .message()
                  .find("login") == std::string::npos);
  const std::string told = pulled("Trying to pull x...\nError: connection refused\n").message();
  EXPECT_EQ(told,
            "podman 4.3.1 could not pull x: the registry does not answer (Error: connection "
            "refused)");
}

}  // namespace
}  // namespace stoker
