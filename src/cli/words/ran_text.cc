// SPDX-License-Identifier: Apache-2.0
#include "cli/words/ran_text.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace stoker::cli {
namespace {

constexpr size_t kMostDifferences = 8;
constexpr size_t kTitleWidth = 14;

std::string Row(const std::string& title, const std::string& text) {
  if (text.empty()) return "";
  return "  " + title + std::string(kTitleWidth - std::min(kTitleWidth, title.size()), ' ') +
         Printable(text) + "\n";
}

std::string Named(const Job& job, const RunFacts& facts) {
  return "attempt " + std::to_string(facts.attempt) +
         (job.num_nodes > 1 ? ", node " + std::to_string(facts.rank) : "");
}

std::string MachineRows(const Ran& ran) {
  const RunFacts& of = ran.facts;
  std::string nvidia = of.nvidia_driver.empty() ? "" : "driver " + of.nvidia_driver;
  if (!of.cuda.empty()) nvidia += ", CUDA up to " + of.cuda;
  const Facts facts = MachineAndPython(ran);
  const auto text = [&](const char* name) {
    const auto found = facts.find(name);
    return found == facts.end() ? "" : found->second;
  };
  return Row("machine", ran.machine) + Row("container", text("container")) + Row("system", of.os) +
         Row("kernel", text("kernel")) + Row("processors", text("processors")) +
         Row("NVIDIA", nvidia) + Row("stoker", of.stoker);
}

std::string PythonRows(const Ran& ran) {
  const RunFacts& of = ran.facts;
  const std::string environment =
      of.environment.empty() ? "" : of.environment_key + " in " + of.environment;
  if (!of.image.empty()) {
    return Row("environment", environment) +
           Row("packages", "Python and packages of a container are not looked at");
  }
  if (of.python.empty()) return Row("Python", "none was seen among the program's processes");
  std::string python = (of.python_version.empty() ? "" : of.python_version + ", ") + of.python;
  if (of.python_assumed) {
    python += " (as its PATH has it: the program had ended before it was seen)";
  }
  std::string rows = Row("Python", python);
  if (!of.python_trouble.empty()) rows += Row("", "it did not say more: " + of.python_trouble);
  rows += Row("environment", environment);
  if (of.package_count == 0) return rows + Row("packages", "none");
  rows += Row("packages", std::to_string(of.package_count));
  for (const Package& package : ran.packages) {
    rows += "    " + Printable(package.name + "==" + package.version) +
            (package.from.empty() ? "" : "  # " + Printable(package.from)) + "\n";
  }
  return rows;
}

std::string VariableRows(const RunFacts& of) {
  constexpr std::pair<const char*, const char*> kGroups[] = {{"job", "of the job"},
                                                             {"setup", "of setup"},
                                                             {"secret", "secrets"},
                                                             {"shell", "of the submitter's shell"},
                                                             {"stoker", "stoker's own"}};
  std::string rows;
  for (const auto& [by, title] : kGroups) {
    std::string group;
    for (const ToldVariable& one : of.variables) {
      if (one.by != by) continue;
      group += "    " + Printable(one.name) +
               (one.value    ? "=" + Printable(*one.value)
                : one.hidden ? "=***"
                             : "  (its value is not kept)") +
               "\n";
    }
    if (!group.empty()) rows += "  variables, " + std::string(title) + "\n" + group;
  }
  if (of.variables_left_out > 0) {
    rows += "    and " + std::to_string(of.variables_left_out) + " more\n";
  }
  return rows;
}

std::string DifferenceText(const FactDifference& one) {
  if (one.before.empty()) return one.name + " " + one.after + " only here";
  if (one.after.empty()) return "no " + one.name + " (" + one.before + " above)";
  return one.name + " " + one.after + " (" + one.before + " above)";
}

}  // namespace

std::string RanText(const Job& job, const std::vector<Ran>& all) {
  if (all.empty()) {
    return "What " + job.id +
           " ran with is not known: its program has not run for some seconds yet, or an older "
           "stoker ran it.\n";
  }
  const auto shown = std::find_if(all.begin(), all.end(), [&](const Ran& ran) {
    return ran.facts.attempt == all.back().facts.attempt;
  });
  std::string text = Printable(job.name) + " (" + job.id + "), " + Named(job, shown->facts) + "\n" +
                     MachineRows(*shown) + PythonRows(*shown) + VariableRows(shown->facts);
  for (const Ran& other : all) {
    if (&other == &*shown) continue;
    std::vector<std::string> parts;
    const auto differences = DifferencesOf(*shown, other);
    for (const FactDifference& one : differences) {
      if (parts.size() == kMostDifferences) break;
      parts.push_back(Printable(DifferenceText(one)));
    }
    if (differences.size() > parts.size()) {
      parts.push_back(std::to_string(differences.size() - parts.size()) + " more (--json)");
    }
    text += "  " + Named(job, other.facts) + ": " +
            (parts.empty() ? "the same" : Join(parts, "; ")) + "\n";
  }
  return text;
}

}  // namespace stoker::cli
