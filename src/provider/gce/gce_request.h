// SPDX-License-Identifier: Apache-2.0
// What is asked of Compute Engine, as pure functions of the request's entry in the record: so the
// same token always comes with the same names and the same body, whoever sends them. Inside
// provider/gce only. Source: "instances.insert", "instances.bulkInsert" (Compute Engine v1 API);
// RFC 9562 (UUIDs).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "port/provider.h"
#include "provider/gce/gce_options.h"

namespace stoker::gce {

inline constexpr char kSpot[] = "spot";
inline constexpr char kStandard[] = "on-demand";

inline constexpr char kLedgerLabel[] = "stoker-ledger";
inline constexpr char kJobLabel[] = "stoker-job";
// A label's value is too short for a token: its first 32 characters, and the rest.
inline constexpr char kTokenLabel[] = "stoker-request";
inline constexpr char kTokenRestLabel[] = "stoker-request-rest";
inline constexpr char kLaunchesLabel[] = "stoker-launches";
inline constexpr char kExpiresLabel[] = "stoker-expires";  // seconds since 1970

// Of the metadata: how many seconds of notice Google promised, and how many GPUs the machine has.
inline constexpr char kNoticeKey[] = "stoker-notice";
inline constexpr char kRestartKey[] = "stoker-restart";  // its job wants it again once stopped
inline constexpr char kGpusKey[] = "stoker-gpus";
// For programs, which need no stoker to read them: the job's id, and JSON objects of what the job
// file says: {"lr":0.1}, {"train":"gs://bucket/train"}.
inline constexpr char kJobKey[] = "stoker-job";
inline constexpr char kHyperparametersKey[] = "stoker-hyperparameters";
inline constexpr char kInputsKey[] = "stoker-inputs";

inline constexpr size_t kMostName = 63;  // of whatever Compute Engine names

inline constexpr Duration kPreemptionNotice = Duration::Seconds(120);

// What is sent for one entry is tried again under another id once an operation of it has failed.
struct Try {
  int number = 0;
  bool notice = true;  // preemptionNoticeDuration goes along, of spot
};

// "stoker-JOB-0123456789abcdef-INDEX": its name in the project, and so its host's.
std::string InstanceName(const LaunchRequest& request, int index);
// It has the name that its request gives it. Labels are copied by who makes a machine "like this
// one" in the console; names are not.
bool IsNamedByRequest(const InstanceSeen& seen);
// Would be a name that InstanceName gives.
bool IsInstanceName(const std::string& name);
// An UUID of version 5.
std::string UuidOf(std::string_view text);
std::string RequestId(const LaunchRequest& request, const Try& attempt);
// What stoker deletes, it deletes under an id that begins so ("stoker" in hex; the script of a
// machine does the same), so that what a person deletes is told apart. Another one each moment.
inline constexpr char kDeleteIds[] = "73746f6b-6572-";
std::string DeleteId(const std::string& name, WallTime now);

// When Google itself deletes the machine, whatever became of it: a machine that renews its lease
// moves on before.
WallTime ArmedEnd(const LaunchRequest& request);

// "instances" or "instances/bulkInsert".
std::string LaunchMethod(const LaunchRequest& request);
// One body for all machines of the request or for none. kInvalid: a token, job or label that is
// none, or something too long.
Result<std::string> LaunchBody(const LaunchRequest& request, const Options& options,
                               const std::string& startup, const Try& attempt);

// Of lists: the machines of a ledger, and of one job unless that is empty. kInvalid: no label.
Result<std::string> InstancesFilter(const std::string& ledger_id, const std::string& job);

}  // namespace stoker::gce
