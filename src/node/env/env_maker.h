// SPDX-License-Identifier: Apache-2.0
// With what the commands run that make an environment.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/env/shell_step.h"
#include "port/process_runner.h"

namespace stoker::node {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct EnvMaker {
  const std::string& workdir;
  const Variables& env;
  ShellStep& step;
  LogSink& sink;

  TaskCommand Command(std::vector<std::string> argv) const {
    TaskCommand command;
    command.argv = std::move(argv);
    command.cwd = workdir;
    command.env = env;
    command.out = LogStream::kSystem;
    command.err = LogStream::kSystem;
    return command;
  }
  void Say(const std::string& line) const {
    sink.Write(LogStream::kSystem, "stoker: " + line + "\n");
  }
};

// Collects a short output: what an interpreter is asked.
class TextSink : public LogSink {
 public:
  void Write(LogStream, std::string_view bytes) override {
    if (text.size() < (size_t{64} << 10)) text.append(bytes);
  }
  std::string text;
};

}  // namespace stoker::node
