// SPDX-License-Identifier: Apache-2.0
#include "node/env/engine/engine_here.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/text.h"
#include "container/engine_install.h"
#include "node/env/tail_sink.h"
#include "sys/container/engines.h"
#include "sys/file.h"
#include "sys/program_lookup.h"
#include "sys/task/process_runner.h"

namespace stoker::node {
namespace {

constexpr char kWhere[] = "/usr/sbin:/usr/bin:/sbin:/bin";
constexpr int kTries = 3;
constexpr int kPauseMs = 10'000;
constexpr size_t kMostSaid = 300;

const InstallWay* WayHere(const std::string& wanted) {
  const std::string told = sys::ReadFile("/etc/os-release", 64 << 10).value_or("");
  return WayToInstall(wanted, SystemId(told), [](std::string_view tool) {
    return FindProgram(std::string(tool), kWhere, "/").ok();
  });
}

// The end of what was said, which has the reason.
std::string LastWords(const std::string& tail) {
  std::string last;
  for (const std::string& line : Split(tail, '\n')) {
    if (!line.empty()) last = line;
  }
  return Printable(CutText(last, kMostSaid));
}

TaskCommand CommandOf(const InstallWay& way) {
  TaskCommand command;
  command.argv = {"/bin/sh", "-ec", way.script};
  for (const std::string& entry : EngineEnvironment()) {
    const size_t sign = entry.find('=');
    if (sign == std::string::npos || sign == 0 || StartsWith(entry, "PATH=")) continue;
    command.env.emplace_back(entry.substr(0, sign), entry.substr(sign + 1));
  }
  command.env.emplace_back("PATH", kWhere);
  command.cwd = "/";
  command.out = command.err = LogStream::kSystem;
  return command;
}

// Beside the usual enclosure: what is installed stays, and may be a service.
Status Install(const InstallWay& way, const EngineSearch& search, ShellStep& step,
               ProcessRunner& usual) {
  const auto runner = MakeProcessRunner({"subreaper", "/proc/self/exe"});
  const TaskCommand command = CommandOf(way);
  const std::string name = EngineName(way.engine);
  std::string why;
  for (int i = 0; i < kTries; ++i) {
    for (int slept = 0; i > 0 && slept < kPauseMs && !step.cancelled(); slept += 100) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    TailSink tail(search.sink);
    step.Use(*runner);
    const auto exit = step.Run(command, tail);
    step.Use(usual);
    if (!exit.ok()) return exit.status();
    if (exit->ShellCode() == 0) return Status::Ok();
    why = LastWords(tail.Tail());
    if (i + 1 < kTries) search.say(name + " could not be installed (" + why + "); trying again");
  }
  return Status(Code::kInvalid,
                name + " could not be installed by " + std::string(way.tool) + ": " + why,
                "Name an image of the machine that has an engine (resources.image_id), or let the "
                "machine reach its packages");
}

}  // namespace

Result<EngineFacts> EngineHere(const EngineSearch& search, ShellStep& step, ProcessRunner& usual) {
  const auto stopped = [&step] { return step.cancelled(); };
  auto there = ChooseEngine(search.wanted, kAskEngineMs, stopped);
  // A daemon that is away is there already, and may come back.
  const bool lacks = there.status().Is(Code::kInvalid);
  if (!lacks || !search.may_install || geteuid() != 0) return there;
  const InstallWay* way = WayHere(search.wanted);
  if (way == nullptr) {
    const std::string what = search.wanted.empty() ? "an engine" : search.wanted;
    return Status(
        Code::kInvalid,
        there.status().message() + ", and how " + what + " is installed on its system is not known",
        "Name an image of the machine that has it: resources.image_id");
  }
  search.say(there.status().message() + ": installing " + EngineName(way->engine) + ", by " +
             std::string(way->tool));
  STOKER_TRY(Install(*way, search, step, usual));
  return ChooseEngine(search.wanted, kAskEngineMs, stopped);
}

}  // namespace stoker::node
