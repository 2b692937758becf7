// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_refusal.h"

#include <string_view>

#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kMostWords = 300;
constexpr Duration kLater = Duration::Minutes(1);

using Class = RefusalClass;
using Scope = RefusalScope;

struct Words {
  std::string_view text;
  Class what;
  Scope scope;
  Duration wait;
};

// The first that is found counts. A partition is a region's place of this provider.
constexpr Words kRefusals[] = {
    // Nobody can be given this, as the cluster is.
    {"Invalid partition name specified", Class::kInvalid, Scope::kRegion, {}},
    {"nvalid partition specified", Class::kInvalid, Scope::kRegion, {}},
    {"No partition specified or system default partition", Class::kInvalid, Scope::kRegion, {}},
    {"Invalid account or account/partition combination", Class::kInvalid, Scope::kRegion, {}},
    {"Invalid qos specification", Class::kInvalid, Scope::kRegion, {}},
    {"Invalid feature specification", Class::kInvalid, Scope::kRequest, {}},
    {"Invalid generic resource", Class::kInvalid, Scope::kRequest, {}},
    {"Invalid Trackable RESource", Class::kInvalid, Scope::kRequest, {}},
    {"Invalid license specification", Class::kInvalid, Scope::kRequest, {}},
    {"Invalid wckey specification", Class::kInvalid, Scope::kRequest, {}},
    {"Requested reservation is invalid", Class::kInvalid, Scope::kRequest, {}},
    {"Requested time limit is invalid", Class::kInvalid, Scope::kRequest, {}},
    {"Requested node configuration is not available", Class::kInvalid, Scope::kRequest, {}},
    {"Requested nodes not in this partition", Class::kInvalid, Scope::kRequest, {}},
    {"Node count specification invalid", Class::kInvalid, Scope::kRequest, {}},
    {"Node count is not within the limit", Class::kInvalid, Scope::kRequest, {}},
    {"More processors requested than permitted", Class::kInvalid, Scope::kRequest, {}},
    {"Memory required by task is not available", Class::kInvalid, Scope::kRequest, {}},
    {"Memory specification can not be satisfied", Class::kInvalid, Scope::kRequest, {}},
    {"CPU count per node can not be satisfied", Class::kInvalid, Scope::kRequest, {}},
    {"CPU count specification invalid", Class::kInvalid, Scope::kRequest, {}},
    {"Job size specification needs to be provided", Class::kInvalid, Scope::kRequest, {}},
    {"unrecognized option", Class::kInvalid, Scope::kRequest, {}},
    {"invalid option", Class::kInvalid, Scope::kRequest, {}},
    {"Try \"sbatch --help\"", Class::kInvalid, Scope::kRequest, {}},
    {"Invalid --", Class::kInvalid, Scope::kRequest, {}},
    // Whoever asked may not.
    {"Access denied to requested reservation", Class::kDenied, Scope::kRequest, {}},
    {"User's group not permitted to use this partition", Class::kDenied, Scope::kRegion, {}},
    {"Invalid user id", Class::kDenied, Scope::kAccount, {}},
    {"Access/permission denied", Class::kDenied, Scope::kAccount, {}},
    {"Protocol authentication error", Class::kDenied, Scope::kAccount, {}},
    {"Invalid authentication credential", Class::kDenied, Scope::kAccount, {}},
    {"Munge decode failed", Class::kDenied, Scope::kAccount, {}},
    // So much is not given to this account, or not at once.
    {"Job violates accounting/QOS policy", Class::kQuota, Scope::kRegion, kLater},
    {"Job violates accounting policy", Class::kQuota, Scope::kRegion, kLater},
    {"Maximum number of jobs", Class::kQuota, Scope::kAccount, kLater},
    // Not now.
    {"Required partition not available", Class::kCapacity, Scope::kZone, {}},
    {"Requested partition configuration not available now", Class::kCapacity, Scope::kZone, {}},
    {"Requested nodes are busy", Class::kCapacity, Scope::kZone, {}},
    {"Requested reservation not usable now", Class::kCapacity, Scope::kRequest, kLater},
    {"reservation is not active", Class::kCapacity, Scope::kRequest, kLater},
    // Slurm has as many jobs as it can hold (MaxJobCount), or takes none at this moment.
    {"Slurm temporarily unable to accept job", Class::kThrottled, Scope::kAccount, kLater},
    {"Resource temporarily unavailable", Class::kThrottled, Scope::kAccount, kLater},
    {"Unable to create job record, try again", Class::kThrottled, Scope::kAccount, kLater},
};

// Nobody heard the question, or nobody knows.
constexpr std::string_view kUnanswered[] = {"Unable to contact slurm controller",
                                            "Socket timed out on send/recv operation",
                                            "Zero Bytes were transmitted or received",
                                            "Transport endpoint is not connected",
                                            "Connection refused",
                                            "Slurm backup controller in standby mode",
                                            "Unexpected message received"};

}  // namespace

std::string SlurmSaid(const std::string& said) {
  std::string last;
  for (std::string line : Split(said, '\n')) {
    for (const std::string_view prefix : {"sbatch: error: ", "sbatch: ", "slurm_load_jobs error: ",
                                          "scancel: error: ", "Batch job submission failed: "}) {
      if (StartsWith(line, prefix)) line.erase(0, prefix.size());
    }
    const bool tells = !line.empty() && line.find("sleeping and retrying") == std::string::npos &&
                       !StartsWith(line, "Try ");
    if (tells) last = line;
  }
  return CutText(Printable(last), kMostWords);
}

LaunchAnswer SlurmRefusal(const std::string& said) {
  std::string words = SlurmSaid(said);
  if (words.empty()) words = "sbatch failed, and said nothing";
  for (const std::string_view text : kUnanswered) {
    if (said.find(text) == std::string::npos) continue;
    const bool timed_out = StartsWith(text, "Socket timed out");
    return Status(timed_out ? Code::kTimeout : Code::kUnavailable, "Slurm: " + words);
  }
  for (const Words& known : kRefusals) {
    if (said.find(known.text) == std::string::npos) continue;
    Refusal refusal;
    refusal.what = known.what;
    refusal.scope = known.scope;
    refusal.wait = known.wait;
    refusal.message = "Slurm: " + words;
    return refusal;
  }
  return Status(Code::kUnavailable, "sbatch: " + words);
}

}  // namespace stoker
