// SPDX-License-Identifier: Apache-2.0
// The parts of a reconciler in Cloud Run and the calls that make and end each; inside provider/gce
// only. Pure. Sources: the references of Cloud Run v2, Cloud Scheduler v1, Artifact Registry v1,
// IAM v1 and Cloud Resource Manager v1 (docs: "REST reference" of each).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "port/away.h"
#include "provider/gce/compute_api.h"

namespace stoker::gce {

inline constexpr int kRunMegabytes = 512;  // the least that Cloud Run gives a job
inline constexpr int kRunEveryMinutes = 5;

// Names by the ledger's id, in one project and region.
struct RunNames {
  RunNames(const std::string& ledger, const std::string& project, const std::string& region);
  std::string account;           // "stoker-away-l…"
  std::string email;             // of it
  std::string role, store_role;  // ids: on machines, on the bucket
  std::string job;               // of Cloud Run and of Cloud Scheduler, and the repository's name
  std::string project_path;      // "projects/P"
  std::string place;             // "projects/P/locations/R"
};

// A call and the service that it is for, as MakeServiceApi names it.
struct ServiceCall {
  std::string service;
  Call call;
};

// All that makes calls needs to know.
struct RunMaking {
  std::string ledger, project, region;
  std::string image;  // "HOST/P/REPOSITORY/stoker@sha256:…"
  std::vector<std::pair<std::string, std::string>> variables;
  std::string version;   // of this stoker
  std::string run_base;  // where Cloud Run is asked
  RunNames names() const { return {ledger, project, region}; }
};

// A role as IAM has it.
struct RunRole {
  std::string id;
  std::string title;
  std::vector<std::string> permissions;
  std::string condition;  // by which it is bound; "" = none
};
// What the account may do on the project: to look, to launch what `bound` has, to end what is
// stoker's; and to use the objects below `store_url`, "gs://bucket/prefix". kInvalid: more regions
// than a condition takes.
Result<std::vector<RunRole>> RunRoles(const RunNames& names, const Bound& bound,
                                      const std::string& store_url);

ServiceCall MakeAccount(const RunMaking& making);
ServiceCall GetRole(const RunNames& names, const std::string& id);
ServiceCall MakeRole(const RunNames& names, const RunRole& role);
ServiceCall UndeleteRole(const RunNames& names, const std::string& id);
ServiceCall ChangeRole(const RunNames& names, const RunRole& role);
ServiceCall MakeRepository(const RunMaking& making);
ServiceCall GetRepository(const RunNames& names);
ServiceCall GetRunJob(const RunNames& names);
// Makes it, too, where there is none.
ServiceCall PutRunJob(const RunMaking& making);
// What Cloud Scheduler knows of the region; refused where it is not to be had.
ServiceCall GetSchedulers(const RunNames& names);
ServiceCall MakeSchedule(const RunMaking& making);
ServiceCall ChangeSchedule(const RunMaking& making);

// A policy of IAM, and what it is of: the project, an account, a job of Cloud Run.
struct PolicyOf {
  ServiceCall get;
  std::string service, set_path;
  int version = 1;
};
PolicyOf ProjectPolicy(const RunNames& names);
PolicyOf AccountPolicy(const std::string& email);
PolicyOf JobPolicy(const RunNames& names);

struct Binding {
  std::string role;
  std::string condition;  // an expression; "" = none
};
// The policy `text` with `bindings` of `email`, and no other of it (nor of one of that name that
// was deleted). "" = it says that already. kCorrupt: `text` is no policy.
Result<std::string> WithBindings(const std::string& text, const std::string& email,
                                 const std::vector<Binding>& bindings);

// Those that take it away; each is refused where there is nothing. Those of the region, and those
// of the project: the account and its roles.
ServiceCall EndSchedule(const RunNames& names);
ServiceCall EndRepository(const RunNames& names);
ServiceCall EndJob(const RunNames& names);
std::vector<ServiceCall> ProjectEndings(const RunNames& names);
// Those that tell what is there, with a name for people; each is refused where there is nothing,
// or its answer says "deleted". Of the region: the schedule, the job, the repository.
std::vector<std::pair<std::string, ServiceCall>> RegionLookings(const RunNames& names);
std::vector<std::pair<std::string, ServiceCall>> ProjectLookings(const RunNames& names);

// A list-price month of it, for people.
std::string RunMonth();

}  // namespace stoker::gce
