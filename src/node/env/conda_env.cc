// SPDX-License-Identifier: Apache-2.0
// Sources: "Managing environments" (conda, user guide), "Micromamba User Guide" (mamba).
#include "node/env/conda_env.h"

#include <vector>

#include "base/text.h"
#include "node/env/make_env.h"
#include "node/env/pip_words.h"
#include "node/env/project_files.h"
#include "node/env/tail_sink.h"
#include "spec/text/yaml_tree.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

// The faster first; they read the same files and settings.
constexpr const char* kTools[] = {"micromamba", "mamba", "conda"};

std::string FindTool(const EnvMaker& by) {
  for (const char* tool : kTools) {
    TextSink version;
    const auto there = by.step.Run(by.Command({tool, "--version"}), version);
    if (there.ok() && there->ShellCode() == 0) return tool;
    if (by.step.cancelled()) return "";
  }
  return "";
}

}  // namespace

std::string DemandedCondaFile(std::string_view requirements) {
  if (AsksForPackages(std::string(requirements))) return "";
  for (const std::string& line : Split(std::string(requirements), '\n')) {
    std::string word = line;
    std::erase_if(word, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (word == "#environment.yml" || word == "#environment.yaml") return word.substr(1);
  }
  return "";
}

RequirementsScope ScopeOfCondaFile(const std::string& text) {
  std::vector<SpecError> mistakes;
  const YamlNode file = ParseYamlTree(text, "environment.yml", &mistakes, YamlTags::kPassedOver);
  // What it is then, its reader says.
  if (!mistakes.empty()) return RequirementsScope::kCode;
  std::string lines;
  for (const YamlEntry& part : file.entries) {
    if (part.key.text != "dependencies") continue;
    for (const YamlNode& item : part.value.items) {
      for (const YamlEntry& by : item.entries) {
        for (const YamlNode& line : by.value.items) lines += line.text + "\n";
      }
    }
  }
  return ScopeOfRequirements(lines);
}

Status MakeCondaEnv(const EnvMaker& by, const std::string& file, const std::string& prefix) {
  const std::string tool = FindTool(by);
  if (by.step.cancelled()) return Status(Code::kCancelled, "stopped while the node was set up");
  if (tool.empty()) {
    return Status(Code::kInvalid, "this machine has no conda, mamba or micromamba in its PATH",
                  "Use an image that has one, or list the packages in requirements.txt" +
                      std::string(kWithWhatIsThere));
  }
  by.Say("making an environment of " + file + " by " + tool);
  STOKER_TRY(sys::RemoveTree(prefix));
  TaskCommand command = by.Command({tool, "env", "create", "-p", prefix, "-f", file});
  // Older ones have no --yes here, and nobody is there to answer.
  command.env.emplace_back("CONDA_ALWAYS_YES", "true");
  command.env.emplace_back("MAMBA_ALWAYS_YES", "true");
  TailSink tail(by.sink);
  STOKER_ASSIGN(const TaskExit exit, by.step.Run(command, tail));
  if (exit.ShellCode() == 0 && sys::DirExists(prefix)) return Status::Ok();
  const std::string why = WhyPipFailed(tail.Tail());
  return Status(Code::kInvalid,
                tool + " env create failed with exit code " + std::to_string(exit.ShellCode()) +
                    (why.empty() ? "" : ": " + why),
                "All of it is in the log" + std::string(kWithWhatIsThere));
}

}  // namespace stoker::node
