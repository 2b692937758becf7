// SPDX-License-Identifier: Apache-2.0
#include "sim/play/narrator.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "checkpoint/manifest.h"

namespace stoker::sim {
namespace {

std::string When(int64_t ms) {
  char text[64];
  const auto hours = static_cast<long long>(ms / 3'600'000);
  const auto minutes = static_cast<long long>(ms / 60'000 % 60);
  const auto seconds = static_cast<long long>(ms / 1'000 % 60);
  const auto rest = static_cast<long long>(ms % 1'000);
  if (hours > 0) {
    std::snprintf(text, sizeof text, "At %lld h %lld min %lld.%03lld s ", hours, minutes, seconds,
                  rest);
  } else if (minutes > 0) {
    std::snprintf(text, sizeof text, "At %lld min %lld.%03lld s ", minutes, seconds, rest);
  } else {
    std::snprintf(text, sizeof text, "At %lld.%03lld s ", seconds, rest);
  }
  return text;
}

// "i-00000001/agent2" is the second agent process of that machine.
std::string Who(const std::string& process) {
  const size_t slash = process.find('/');
  if (slash == std::string::npos) return process;
  const std::string place = process.substr(0, slash);
  if (StartsWith(process.substr(slash), "/agent")) return "the agent on " + place;
  return place;
}

std::string NodeOf(const ProgramView& view) {
  return "node " + std::to_string(view.rank) + " of attempt " + std::to_string(view.attempt);
}

std::string AfterStep(int step) {
  return step == 0 ? "from the beginning" : "after step " + std::to_string(step);
}

std::string List(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  for (const int number : numbers) words.push_back(std::to_string(number));
  return (words.size() == 1 ? "launch " : "launches ") + Join(words, ", ");
}

std::string Because(const std::string& why) { return why.empty() ? "" : ": " + why; }

std::string BeginsFrom(const Attempt& attempt) {
  return attempt.restore.empty() ? "from the beginning" : "from checkpoint " + attempt.restore;
}

}  // namespace

std::string WhatIsAsked(const LaunchRequest& request) {
  const std::string who = List(request.launches);
  return (request.launches.size() == 1 ? "a machine for " : "machines for ") + who;
}

std::vector<std::string> Narrator::Story(const std::string& job) const {
  std::vector<const Sentence*> told;
  for (const Sentence& sentence : sentences_) {
    if (!job.empty() && !sentence.job.empty() && sentence.job != job) continue;
    told.push_back(&sentence);
  }
  const auto commit = [&](size_t i) { return i < told.size() && told[i]->commit; };
  std::vector<std::string> lines;
  for (size_t i = 0; i < told.size(); ++i) {
    // Of many checkpoints in a row the first and the last are told.
    size_t more = 0;
    while (commit(i) && i > 0 && commit(i - 1) && commit(i + 1)) {
      ++more;
      ++i;
    }
    const std::string others = more == 0 ? "" : ", after " + std::to_string(more) + " others";
    lines.push_back(When(told[i]->at) + told[i]->text + others + ".");
  }
  return lines;
}

void Narrator::Say(const std::string& job, std::string text, bool commit) {
  while (EndsWith(text, ".")) text.pop_back();
  sentences_.push_back({world_.now(), job, Printable(text), commit});
}

void Narrator::OnChange(const BucketChange& change) {
  const auto id = change.before ? std::nullopt : IdOfManifestKey(change.key);
  if (!id || !change.after || change.writer.empty()) return;
  const auto manifest = DecodeManifest(*change.after);
  if (manifest.ok()) {
    Say(manifest->job, Who(change.writer) + " commits checkpoint " + id->ToString(), true);
  }
}

void Narrator::OnRecord(const Job& before, const Job& after, const std::string& writer) {
  const std::string who = Who(writer);
  if (before.rev == 0) {
    Say(after.id, who + " submits " + after.name + " as job " + after.id + ", " +
                      std::to_string(after.num_nodes) +
                      (after.num_nodes == 1 ? " node" : " nodes") +
                      (after.retry_of.empty() ? "" : ", as a retry of " + after.retry_of));
  }
  TellAttempts(before, after, who);
  TellLaunches(before, after, who);
  TellNewAttempts(before, after, who);
  if (after.cancel && !before.cancel) Say(after.id, who + " asks for the job's end");
  for (const std::string& suspect : after.suspects) {
    const auto& known = before.suspects;
    if (std::find(known.begin(), known.end(), suspect) == known.end()) {
      Say(after.id, who + " suspects checkpoint " + suspect);
    }
  }
  if (IsFinal(after.state) && !IsFinal(before.state)) {
    Say(after.id, who + " records that the job is " + std::string(Name(after.state)) +
                      (after.result ? Because(after.result->why) : ""));
  }
}

void Narrator::TellLaunches(const Job& before, const Job& after, const std::string& who) {
  for (const Launch& now : after.launches) {
    const Launch* const old = FindLaunch(before, now.number);
    const std::string name = "launch " + std::to_string(now.number);
    if (old == nullptr) {
      Say(after.id, who + " opens " + name + " for node " + std::to_string(now.slot));
    } else if (now.instance_id != old->instance_id) {
      Say(after.id, who + " records that " + name + " is " + now.instance_id);
    }
    if (now.closed && (old == nullptr || !old->closed)) {
      Say(after.id, who + " closes " + name + " as " + std::string(Name(*now.close_reason)) +
                        Because(now.close_why));
    }
  }
}

void Narrator::TellAttempts(const Job& before, const Job& after, const std::string& who) {
  for (const Attempt& now : after.attempts) {
    const Attempt* const old = FindAttempt(before, now.number);
    const std::string name = "attempt " + std::to_string(now.number);
    if (old == nullptr) continue;
    if (now.launches != old->launches) {
      Say(after.id, who + " moves " + name + " to " + List(now.launches));
    }
    if (now.ending && !old->ending) {
      Say(after.id, who + " decides that " + name + " ends as " +
                        std::string(Name(now.ending->reason)) + Because(now.ending->why));
    }
    if (now.state == old->state) continue;
    const std::string begins =
        now.state == AttemptState::kStaging ? " and begins " + BeginsFrom(now) : "";
    Say(after.id, who + " records that " + name + " is " + std::string(Name(now.state)) + begins);
  }
}

void Narrator::TellNewAttempts(const Job& before, const Job& after, const std::string& who) {
  for (const Attempt& now : after.attempts) {
    if (FindAttempt(before, now.number) != nullptr) continue;
    Say(after.id,
        who + " opens attempt " + std::to_string(now.number) + " on " + List(now.launches));
  }
}

// An executor asks again until it has an answer: only a new asker is news.
void Narrator::OnRequested(const LaunchRequest& request, const std::string& process) {
  std::string& last = asked_[request.token];
  if (last == process) return;
  last = process;
  Say(request.job, Who(process) + " asks for " + WhatIsAsked(request));
}

void Narrator::OnTerminating(const CloudMachine& machine, const std::string& process) {
  Say(machine.request.job, Who(process) + " ends machine " + machine.id);
}

void Narrator::OnBooted(const CloudMachine& machine) {
  Say(machine.request.job, "machine " + machine.id + " of launch " +
                               std::to_string(machine.launch()) + " is up" +
                               (machine.boots > 1 ? " again" : ""));
}

void Narrator::OnMachineEnded(const CloudMachine& machine) {
  Say(machine.request.job, "machine " + machine.id + " is gone" + Because(machine.why));
}

void Narrator::OnRestored(const ProgramView& view, const std::string& checkpoint) {
  Say(view.job, view.machine + " restores checkpoint " + checkpoint + " for " + NodeOf(view));
}

void Narrator::OnProgramStarts(const ProgramView& view) {
  Say(view.job,
      view.machine + " starts the program as " + NodeOf(view) + " " + AfterStep(view.step));
}

void Narrator::OnProgramEnds(const ProgramView& view, int exit_code, int signal) {
  const std::string how = signal != 0 ? "of signal " + std::to_string(signal)
                                      : "with exit code " + std::to_string(exit_code);
  Say(view.job, "the program of " + NodeOf(view) + " on " + view.machine + " ends " + how +
                    " after step " + std::to_string(view.step));
}

void Narrator::OnTold(const std::string& who, const std::string& what) {
  if (who == "world") return Say("", "the world " + what);
  if (who == "RULE") return Say("", "a rule is broken: " + what);
  if (who == "fault") {
    for (const auto& [id, machine] : world_.cloud().machines()) {
      if (EndsWith(what, " on " + id)) return Say(machine.request.job, "a fault strikes: " + what);
    }
    for (const auto& [id, job] : world_.jobs()) {
      if (what.find(id) != std::string::npos) return Say(id, "a fault strikes: " + what);
    }
    return Say("", "a fault strikes: " + what);
  }
  if (what == "is killed" || what == "the agent is killed" || what == "is stopped") {
    const CloudMachine* const machine = world_.cloud().Find(who);
    const std::string text = machine == nullptr || what != "the agent is killed"
                                 ? who + " " + what
                                 : "the agent on " + who + " is killed";
    Say(machine == nullptr ? "" : machine->request.job, text);
  }
}

}  // namespace stoker::sim
