// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/container_user.h"

#include <unistd.h>

#include <string>

#include "container/inside.h"
#include "sys/container/engines.h"
#include "sys/container/give_tree.h"

namespace stoker::node {
Status AwaitEngine(AttemptContext& here, ShellStep& step, const std::function<Status()>& ask) {
  return here.engine_patience.Await(
      step, [&here](const std::string& line) { here.log.Say("stoker: " + line); }, ask);
}

Status PlanProgram(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
                   ContainerPlan* plan) {
  STOKER_TRY(CheckUser(engine, *plan));
  plan->entrypoint = plan->spec.entrypoint;
  if (!plan->spec.image_entrypoint) return Status::Ok();
  STOKER_ASSIGN(plan->entrypoint,
                ImageEntrypoint(engine, plan->image, [&step] { return step.cancelled(); }));
  if (plan->entrypoint.empty()) {
    here.log.Say("stoker: the image has no entry point (container.entrypoint)");
  }
  return Status::Ok();
}

Status SayUser(AttemptContext& here) {
  if (here.container->uid() == geteuid()) return Status::Ok();
  here.log.Say(
      "stoker: the container's user is " + std::to_string(here.container->uid()) + ":" +
      std::to_string(here.container->gid()) +
      " on this machine: the work directory, checkpoints and outputs are that user's here");
  return GiveToUser(here);
}

Status GiveToUser(const AttemptContext& here) {
  if (!here.container || here.container->uid() == geteuid()) return Status::Ok();
  std::vector<std::string> folders = {here.config.dir};
  if (here.place) folders.push_back(here.place->path());
  if (const std::string lasting = here.LastingCheckpointFolder(); !lasting.empty()) {
    folders.push_back(lasting);
  }
  for (const std::string& folder : folders) {
    STOKER_TRY(sys::GiveTree(folder, here.container->uid(), here.container->gid())
                   .WithContext("container.user"));
  }
  return Status::Ok();
}

}  // namespace stoker::node
