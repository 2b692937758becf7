// SPDX-License-Identifier: Apache-2.0

#include "base/json.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"
#include "job/job.h"

namespace stoker::cli {

Verb VersionVerb() {
  Verb verb;
  verb.name = "version";
  verb.summary = "Print the version";
  verb.description = "Prints the version of stoker and of the record format it writes.";
  verb.examples = {"stoker version --json"};
  verb.run = [](Context& context) {
    if (context.json) {
      const nlohmann::json out = {{"version", STOKER_VERSION}, {"record_format", kRecordFormat}};
      context.Print(out.dump() + "\n");
    } else {
      context.Print("stoker " STOKER_VERSION "\n");
    }
    return Status::Ok();
  };
  return verb;
}

}  // namespace stoker::cli
