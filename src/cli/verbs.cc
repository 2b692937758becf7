// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.h"

#include "cli/tensorboard.h"
#include "cli/ui.h"

namespace stoker::cli {

std::vector<Verb> AllVerbs() {
  return {RunVerb(),     LsVerb(),          ShowVerb(),        LogsVerb(),       MetricsVerb(),
          CompareVerb(), TensorboardVerb(), WaitVerb(),        CancelVerb(),     RetryVerb(),
          RenameVerb(),  NoteVerb(),        TagVerb(),         PreemptVerb(),    MoveVerb(),
          SshVerb(),     GetVerb(),         CheckpointsVerb(), PlacesVerb(),     UiVerb(),
          SyncVerb(),    RmVerb(),          GcVerb(),          ControllerVerb(), DoctorVerb(),
          ConfigVerb(),  CompletionVerb(),  VersionVerb()};
}

}  // namespace stoker::cli
