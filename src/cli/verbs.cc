// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.h"

#include <iterator>

namespace stoker::cli {

std::vector<Verb> AllVerbs() {
  constexpr Verb (*kMakers[])() = {
      RunVerb,         LsVerb,      ShowVerb,   LogsVerb,       MetricsVerb, CompareVerb,
      TensorboardVerb, WaitVerb,    CancelVerb, RetryVerb,      RenameVerb,  NoteVerb,
      TagVerb,         PreemptVerb, MoveVerb,   SshVerb,        GetVerb,     CheckpointsVerb,
      PlacesVerb,      UiVerb,      SyncVerb,   RmVerb,         GcVerb,      ControllerVerb,
      DoctorVerb,      ConfigVerb,  NotifyVerb, CompletionVerb, VersionVerb};
  std::vector<Verb> verbs;  // a list in braces would be copied, with all its words
  verbs.reserve(std::size(kMakers));
  for (const auto make : kMakers) verbs.push_back(make());
  return verbs;
}

}  // namespace stoker::cli
