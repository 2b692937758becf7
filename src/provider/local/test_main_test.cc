// SPDX-License-Identifier: Apache-2.0
// The provider tests' main: the test binary is also machine process, agent and launcher.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "provider/local/local_boot.h"
#include "provider/local/local_machine.h"
#include "provider/local/local_provider.h"
#include "provider/local/local_waiter.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "sys/task/process_runner.h"
#include "sys/task/process_table.h"
#include "sys/task/task_init.h"

namespace stoker {
namespace {

class Discard : public LogSink {
 public:
  void Write(LogStream, std::string_view) override {}
};

void Beat(const std::string& file) {
  for (long i = 1; i < 6000; ++i) {
    (void)sys::WriteFileAtomic(file, std::to_string(i), 0644, false);
    usleep(10'000);
  }
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Writes what it was given to $TEST_BEATS, starts a task that beats there, and beats itself.
int FakeAgent(const std::string& mode, const std::string& instance) {
  const std::string out = Variable("TEST_BEATS");
  const std::string id = std::to_string(getpid());
  (void)sys::WriteFileAtomic(out + "/began-" + id, "", 0644, false);
  if (mode == "quit") return 0;
  if (mode == "crash") {
    Beat(out + "/none/none");
    return 3;
  }
  Discard sink;
  auto runner = MakeProcessRunner({mode, "/proc/self/exe"});
  auto task = runner->Start(
      {{"/proc/self/exe", "__beat", out + "/task-" + id}, {{"PATH", "/bin"}}, instance}, sink);
  if (!task.ok()) return 9;
  Beat(out + "/agent-" + id);
  return 0;
}

int Launcher(const std::string& state, const std::string& token, const std::string& mode) {
  RealClock clock;
  auto provider = MakeLocalProvider({state, "", {"/proc/self/exe", "__fake", mode, "/"}}, clock);
  LaunchRequest request;
  request.token = token;
  request.ledger_id = "ledger";
  request.job = "job";
  request.launches = {1};
  request.limit = Duration::Minutes(5);
  return (*provider)->Launch(request).ok() ? 0 : 1;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == stoker::kLocalMachineVerb) return stoker::LocalMachineMain(argv[2]);
  if (verb == stoker::kLocalWaiterVerb) return stoker::LocalWaiterMain(argv[2]);
  if (verb == "__init") return stoker::TaskInitMain(argc, argv);
  if (verb == "__fake") return stoker::FakeAgent(argv[2], argv[3]);
  if (verb == "__beat") return stoker::Beat(argv[2]), 0;
  if (verb == "__launch") return stoker::Launcher(argv[2], argv[3], argv[4]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
