// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/hooks.h"

#include <chrono>
#include <memory>
#include <utility>

#include "base/time.h"
#include "node/attempt/program.h"

namespace stoker::node {

// One hook to run. `until`: the event's own end, which may be nearer than the hook's limit.
struct Hooks::Event {
  const char* name;
  const HookSpec& hook;
  const std::atomic<bool>& stop;
  const char* why_stopped;
  std::optional<MonoTime> until = {};
  contract::Environment facts = {};
};

Hooks::~Hooks() {
  Withdrawn();
  stop_ = true;
  if (at_notice_.joinable()) at_notice_.join();
  if (at_end_.joinable()) at_end_.join();
}

void Hooks::ProgramStarts(const TaskCommand& command) {
  const std::lock_guard lock(mutex_);
  program_ = command;
}

std::optional<TaskCommand> Hooks::CommandOf(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (!program_) return std::nullopt;
  contract::Environment env = program_->env;
  env.emplace_back("STOKER_EVENT", event.name + 3);  // less "on_"
  for (const auto& fact : event.facts) env.push_back(fact);
  TaskCommand command = ShellCommand(here_, event.hook.run, std::move(env));
  command.host = program_->host;
  command.lock = program_->lock;
  command.out = LogStream::kSystem;
  command.err = LogStream::kSystem;
  return command;
}

void Hooks::Run(const Event& event) {
  const std::string name = std::string("stoker: hooks: ") + event.name;
  const auto command = CommandOf(event);
  if (!command) return here_.log.Say(name + " is not run: the program has not run here");
  const MonoTime begun = here_.clock.Mono();
  MonoTime until = begun + event.hook.limit;
  std::string limit = "its limit of " + FormatDuration(event.hook.limit);
  if (event.until && *event.until < until) {
    until = *event.until;
    limit = "all that the notice leaves it";
  }
  auto task = here_.container ? here_.container->StartBeside(*command, here_.log.Sink())
                              : here_.runner.Start(*command, here_.log.Sink());
  if (!task.ok()) return here_.log.Say(name + ": " + task.status().ToString());
  here_.log.Say(name + " has begun");
  std::optional<TaskExit> exit;
  while (!exit && here_.clock.Mono() < until && !event.stop) exit = (*task)->Wait(100);
  (void)(*task)->End();
  const std::string took = " after " + HumanDuration(here_.clock.Mono() - begun);
  if (exit) {
    here_.log.Say(name + " ended with exit code " + std::to_string(exit->ShellCode()) + took);
  } else {
    here_.log.Say(name + " was ended" + took + ": " + (event.stop ? event.why_stopped : limit));
  }
}

void Hooks::Noticed(const Notice& notice, Duration lead) {
  const HookSpec& hook = here_.config.spec.hooks.on_notice;
  const std::lock_guard lock(mutex_);
  if (ended_) leave_ = true;  // what the program has done is told before the machine goes
  if (hook.run.empty() || notice_over_ || settled_) return;
  notice_over_ = std::make_shared<std::atomic<bool>>(false);
  if (lead.ms <= 0) {
    here_.log.Say("stoker: hooks: on_notice is not run: the notice leaves no time");
    return;
  }
  const MonoTime until = here_.clock.Mono() + lead;
  const contract::Environment facts = {{"STOKER_NOTICE", notice.action},
                                       {"STOKER_NOTICE_SECONDS", std::to_string(lead.ms / 1000)}};
  // One of a notice that was withdrawn has been told to end; nobody waits for it here.
  at_notice_ = std::thread(
      [this, &hook, over = notice_over_, until, facts, before = std::move(at_notice_)]() mutable {
        if (before.joinable()) before.join();
        Run({"on_notice", hook, *over, "its notice or its attempt is over", until, facts});
      });
}

void Hooks::Withdrawn() {
  const std::lock_guard lock(mutex_);
  if (notice_over_) *notice_over_ = true;
  notice_over_.reset();
}

void Hooks::Ended(const FinalizeAttempt& action) {
  const HooksSpec& hooks = here_.config.spec.hooks;
  const int code = action.exit.ShellCode();
  const bool failed = code != 0 && !action.signalled;
  const std::lock_guard lock(mutex_);
  if (ended_ || !action.started || action.deadline) return;
  ended_ = true;
  if (hooks.on_end.run.empty() && (hooks.on_failure.run.empty() || !failed)) return;
  const contract::Environment facts = {{"STOKER_EXIT_CODE", std::to_string(code)}};
  at_end_ = std::thread([this, &hooks, failed, facts] {
    const char* stopped = "what is left is not waited for any longer";
    if (failed && !hooks.on_failure.run.empty())
      Run({"on_failure", hooks.on_failure, stop_, stopped, {}, facts});
    if (!hooks.on_end.run.empty()) Run({"on_end", hooks.on_end, stop_, stopped, {}, facts});
    end_over_ = true;
  });
}

void Hooks::Settle(const std::atomic<bool>& hurried) {
  std::thread at_notice;
  {
    const std::lock_guard lock(mutex_);
    settled_ = true;
    if (notice_over_) *notice_over_ = true;
    at_notice = std::move(at_notice_);
  }
  if (at_notice.joinable()) at_notice.join();
  if (!at_end_.joinable()) return;
  here_.log.Does("hooks");
  while (!end_over_ && !hurried && !leave_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  stop_ = true;
  at_end_.join();
}

}  // namespace stoker::node
