// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/away/run_taking.h"

#include <map>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "controller/away/bound.h"
#include "provider/cloud/away/away_run.h"
#include "provider/gce/gce_errors.h"

namespace stoker::gce {
namespace {

using Json = nlohmann::json;
using Parts = std::set<std::string>;

class Taking {
 public:
  Taking(ServiceAsker& asker, const RunTaking& taking) : asker_(asker), taking_(taking) {
    if (!taking.node_email.empty()) node_emails_.insert(taking.node_email);
    for (const auto& [project, region] : taking.places) {
      names_.emplace_back(taking.ledger, project, region);
      projects_.emplace(project, names_.back());
    }
  }

  AwayTaken Run() {
    const Parts before = Look();
    unknown_.clear();
    End();
    const Parts after = Look();
    AwayTaken out;
    for (const std::string& part : before) {
      if (!after.contains(part)) out.taken.push_back(part);
    }
    std::vector<std::string> left = unknown_;
    if (!after.empty()) {
      left.push_back("still there: " + Join({after.begin(), after.end()}, ", ") +
                     (why_.ok() ? "" : ": " + why_.message()));
    } else if (!why_.ok()) {
      left.push_back(why_.message());
    }
    if (left.empty()) return out;
    out.left =
        Status(why_.ok() ? Code::kBusy : why_.code(), "not all was taken away: " + Join(left, "; "),
               "Run this again in a minute, or when these regions may be asked; 'stoker "
               "controller --uninstall gcp/REGION' looks in one alone");
    return out;
  }

 private:
  using Lookings = std::vector<std::pair<std::string, ServiceCall>>;

  // What is there; of what cannot be asked `unknown_` says so.
  Parts Look() {
    Parts parts;
    for (const RunNames& names : names_) LookAtRegion(names, &parts);
    if (!taking_.shared) return parts;
    for (const auto& [project, names] : projects_) {
      LookAt(ProjectLookings(names), " of " + project, &parts);
    }
    return parts;
  }

  // A schedule that cannot be asked is not there where the job of Cloud Run is gone, which is the
  // last that goes: Cloud Scheduler is not to be had in each region that the ledger has noted.
  void LookAtRegion(const RunNames& names, Parts* parts) {
    Lookings all = RegionLookings(names);
    const auto job = asker_.Ask(GetRunJob(names));
    const bool gone = job.ok() && job->failure && IsGone(*job->failure);
    if (gone) {
      const auto schedule = asker_.Ask(all.front().second);
      if (!schedule.ok() || schedule->failure) all.erase(all.begin());
    }
    LookAt(all, " in " + names.place, parts);
  }

  void LookAt(const Lookings& all, const std::string& where, Parts* parts) {
    for (const auto& [name, call] : all) {
      const auto reply = asker_.Ask(call);
      Status why = reply.status();
      if (reply.ok() && reply->failure && !IsGone(*reply->failure)) {
        why = StatusOf(call.service + ": " + Described(call.call), *reply->failure);
      }
      if (!why.ok()) {
        unknown_.push_back("not known" + where + ": " + why.message());
        if (why_.ok()) why_ = why;
        return;  // nor will it answer the next
      }
      if (!reply->failure && !IsOver(reply->body)) parts->insert(name + where);
    }
  }

  // All that can be.
  void End() {
    why_ = Status::Ok();
    std::set<std::string> keep;  // places of which the job must be found again
    for (const RunNames& names : names_) {
      const Status schedule = asker_.Do(EndSchedule(names), {404}).status();
      const auto job = asker_.Do(GetRunJob(names), {404});
      const bool gone = job.ok() && job->empty();
      if (!gone) Take(schedule);
      Take(job.status());
      if (!schedule.ok() || !job.ok()) keep.insert(names.place);
      const std::string email = job.ok() ? NodeEmailOf(*job) : "";
      if (!email.empty()) node_emails_.insert(email);
    }
    if (taking_.shared) {
      for (const auto& [project, names] : projects_) EndShared(names);
    }
    for (const RunNames& names : names_) {
      Do(EndRepository(names));
      if (!keep.contains(names.place)) Do(EndJob(names));
    }
  }

  void EndShared(const RunNames& names) {
    Take(asker_.Bind(ProjectPolicy(names), names.email, {}));
    for (const std::string& email : node_emails_) {
      Take(asker_.Bind(AccountPolicy(email), names.email, {}));
    }
    for (const ServiceCall& call : ProjectEndings(names)) Do(call);
  }

  void Do(const ServiceCall& call) {
    // 400: a role that is deleted already.
    const bool role = call.call.path.find("/roles/") != std::string::npos;
    Take(role ? asker_.Do(call, {404, 400}).status() : asker_.Do(call, {404}).status());
  }
  void Take(const Status& done) {
    if (why_.ok()) why_ = done;
  }

  ServiceAsker& asker_;
  const RunTaking& taking_;
  std::set<std::string> node_emails_;
  std::vector<RunNames> names_;
  std::map<std::string, RunNames> projects_;  // each with any of its regions
  std::vector<std::string> unknown_;
  Status why_;
};

}  // namespace

bool IsOver(const std::string& body) {
  const Json told = Json::parse(body, nullptr, false);
  return told.is_object() && (told.value("deleted", false) || told.contains("deleteTime"));
}

std::string VariableOf(const std::string& body, const std::string& name) {
  const Json told = Json::parse(body, nullptr, false);
  const Json::json_pointer containers("/template/template/containers");
  if (!told.is_object() || !told.contains(containers)) return "";
  for (const Json& container : told[containers]) {
    for (const Json& each : container.value("env", Json::array())) {
      if (each.value("name", "") == name) return each.value("value", "");
    }
  }
  return "";
}

std::string NodeEmailOf(const std::string& body) {
  const auto bound = ParseBound(VariableOf(body, cloud::kAwayBoundVariable));
  return bound.ok() ? bound->identity : "";
}

AwayTaken TakeAway(ServiceAsker& asker, const RunTaking& taking) {
  return Taking(asker, taking).Run();
}

}  // namespace stoker::gce
