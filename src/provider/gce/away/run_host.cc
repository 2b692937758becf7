// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/away/run_host.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "controller/away/bound.h"
#include "images/registry_push.h"
#include "provider/cloud/away/away_run.h"
#include "provider/gce/away/gce_asked.h"
#include "provider/gce/away/run_main.h"
#include "provider/gce/away/run_parts.h"
#include "provider/gce/away/run_taking.h"
#include "provider/gce/away/service_asker.h"
#include "provider/gce/gce_catalog.h"
#include "provider/gce/gce_errors.h"
#include "provider/gce/gce_offers.h"
#include "store/open_gcs.h"
#include "sys/file.h"
#include "vault/google_secrets.h"

namespace stoker {
namespace {

using gce::RunMaking;
using gce::RunNames;
using Json = nlohmann::json;

constexpr int64_t kMostBinary = int64_t{1} << 30;
constexpr auto kPause = std::chrono::seconds(3);
constexpr int kPushTries = 3;
constexpr char kProgram[] = "stoker";
constexpr char kInvoker[] = "roles/run.invoker";
constexpr char kActs[] = "roles/iam.serviceAccountUser";
constexpr char kGoogleRegistries[] = "-docker.pkg.dev";

class CloudRunHost : public AwayHost {
 public:
  explicit CloudRunHost(const ProviderOptions& options)
      : options_(options), asker_(MakeServiceApi, [] { std::this_thread::sleep_for(kPause); }) {}

  Result<AwayPlan> Plan(const AwayWish& wish) override {
    AwayPlan plan;
    plan.wish = wish;
    const std::string store = wish.store->url();
    STOKER_TRY(CheckHere(store));
    STOKER_ASSIGN(const GceWish gce, WishIn(wish.where));
    std::string& where = plan.wish.where;
    where = gce.region;
    if (where.empty()) {
      return Status(Code::kInvalid, "no region of Google is set",
                    "Name the one in which it is to run: --install gcp/us-central1");
    }
    Bound& bound = plan.wish.bound;
    if (bound.price <= 0 || !bound.unknown_prices) {
      return Status(Code::kInvalid,
                    "nothing is known here of what machines of Google cost: their types are what "
                    "bounds it",
                    "Say so, and what the dearest of them costs an hour: --unknown-prices --price "
                    "1.2");
    }
    if (bound.regions.empty()) bound.regions = {where};
    if (bound.identity.empty()) bound.identity = gce.service_account;
    STOKER_TRY(CheckBound(bound));
    STOKER_TRY(PlacesOf(gce.project, bound).status());
    const RunNames names(wish.ledger, gce.project, where);
    if (names.account.size() > 30 || !IsSafeName(names.account)) {  // as IAM has account ids
      return Status(Code::kInvalid,
                    "no account can be called by the ledger's id, " + Printable(wish.ledger));
    }
    STOKER_TRY(CheckRegion(names, where));
    plan.place = GcePlace(gce.project, where);
    STOKER_ASSIGN(const auto roles, gce::RunRoles(names, bound, store));
    Json told = Json::array();
    for (const gce::RunRole& role : roles) {
      told.push_back({{"role", role.id},
                      {"includedPermissions", role.permissions},
                      {"condition", role.condition}});
    }
    plan.policy = told.dump();
    plan.makes = {
        "the account " + names.email + ", which may do what is in its roles " + names.role +
            " and " + names.store_role + ", act as " + bound.identity + " and run the job",
        "the repository " + names.job + " in " + where + ", with an image of this stoker alone",
        "the job of Cloud Run " + names.job + ": that image, with " +
            std::to_string(gce::kRunMegabytes) + " MiB and " + std::to_string(kCloudRunSeconds) +
            " s for a run",
        "the job of Cloud Scheduler " + names.job + ", which runs it each " +
            std::to_string(gce::kRunEveryMinutes) + " minutes"};
    plan.costs = gce::RunMonth();
    return plan;
  }

  Result<std::vector<std::string>> Install(const AwayPlan& plan) override {
    std::vector<std::string> done;
    STOKER_ASSIGN(const GceWish gce, WishIn(plan.wish.where));
    STOKER_ASSIGN(RunMaking making, Making(plan, gce.project));
    const RunNames names = making.names();
    STOKER_ASSIGN(const std::string there, asker_.Do(gce::GetRunJob(names), {404}));
    STOKER_TRY(cloud::CheckAwayStore(gce::VariableOf(there, cloud::kAwayStoreVariable),
                                     plan.wish.store->url()));
    STOKER_TRY(asker_.Do(gce::MakeAccount(making), {409}).status());
    STOKER_ASSIGN(const auto roles, gce::RunRoles(names, plan.wish.bound, plan.wish.store->url()));
    std::vector<gce::Binding> bindings;
    for (const gce::RunRole& role : roles) {
      STOKER_TRY(Role(names, role));
      bindings.push_back({names.project_path + "/roles/" + role.id, role.condition});
    }
    STOKER_TRY(asker_.Bind(gce::ProjectPolicy(names), names.email, bindings));
    STOKER_TRY(asker_.Do(gce::MakeRepository(making), {409}).status());
    STOKER_ASSIGN(making.image, Push(plan, names, &done));
    STOKER_TRY(PutJob(making, plan.wish.bound.identity));
    STOKER_TRY(asker_.Bind(gce::JobPolicy(names), names.email, {{kInvoker, ""}}));
    STOKER_ASSIGN(const std::string made, asker_.Do(gce::MakeSchedule(making), {409}));
    std::string changed;
    if (made.empty()) {
      STOKER_ASSIGN(changed, asker_.Do(gce::ChangeSchedule(making)));
    }
    done.push_back(std::string(made.empty() ? "brought" : "made") + " the job " + names.job +
                   (made.empty() ? " up to date" : ""));
    const Json schedule = Json::parse(changed, nullptr, false);
    if (schedule.is_object() && schedule.value("state", "") == "PAUSED") {
      done.push_back(
          "its schedule is paused, and runs nothing until: gcloud scheduler jobs resume " +
          names.job + " --location " + plan.wish.where);
    }
    return done;
  }

  AwayTaken Uninstall(const std::string& ledger, const AwayWhere& where) override {
    gce::RunTaking taking;
    taking.ledger = ledger;
    taking.shared = where.shared;
    const auto gce = WishIn("");
    if (gce.ok()) taking.node_email = gce->service_account;
    Status bad;
    for (const std::string& place : where.regions) {
      // A region, that of a project, or a place of machines: "my-project.us-central1-a".
      const size_t dot = place.rfind('.');
      const std::string project = dot != std::string::npos ? place.substr(0, dot)
                                  : gce.ok()               ? gce->project
                                                           : "";
      const std::string region = dot == std::string::npos ? place : RegionOf(place.substr(dot + 1));
      if (!IsSafeName(project) || !IsSafeName(region)) {
        bad = gce.ok() || dot != std::string::npos
                  ? Status(Code::kInvalid, "no place of Google's: " + Printable(place),
                           "'stoker controller --uninstall gcp/REGION' looks in one alone")
                  : gce.status();
        continue;
      }
      taking.places.emplace(project, region);
    }
    AwayTaken taken = gce::TakeAway(asker_, taking);
    if (bad.ok()) return taken;
    const Status& left = taken.left;
    taken.left =
        left.ok() ? bad : Status(left.code(), left.message() + "; " + bad.message(), left.next());
    return taken;
  }

 private:
  // What can be known without asking anybody.
  static Status CheckHere(const std::string& store) {
    if (!StartsWith(store, "gs://")) {
      return Status(Code::kInvalid,
                    "a job of Cloud Run looks after jobs of a ledger in a bucket of Google's, and "
                    "this one is in " +
                        store,
                    "'stoker controller --install' without a name installs a timer here");
    }
    if (OwnArchitecture() != "amd64") {
      return Status(Code::kInvalid,
                    "Cloud Run runs programs for linux/amd64 alone, and this stoker is one for " +
                        OwnArchitecture(),
                    "Type it on a machine of x86-64");
    }
    return Status::Ok();
  }

  // Cloud Scheduler is not in all regions, nor allowed in all projects.
  Status CheckRegion(const RunNames& names, const std::string& region) {
    const gce::ServiceCall call = gce::GetSchedulers(names);
    STOKER_ASSIGN(const gce::Reply reply, asker_.Ask(call));
    if (!reply.failure) return Status::Ok();
    const Status why = StatusOf(call.service + ": " + gce::Described(call.call), *reply.failure);
    if (reply.failure->status != 403 && reply.failure->status != 404) return why;
    return Status(Code::kInvalid,
                  "Cloud Scheduler cannot be used in " + Printable(region) + ": " + why.message(),
                  "Name a region that it is in, enable it (gcloud services enable "
                  "cloudscheduler.googleapis.com), or ask for the right");
  }

  // The job names whose machines it may ask for, and so by whose policy its account is known: what
  // an earlier one named is given up before, and what this one names is given after.
  Status PutJob(const RunMaking& making, const std::string& identity) {
    const RunNames names = making.names();
    STOKER_ASSIGN(const std::string earlier, asker_.Do(gce::GetRunJob(names), {404}));
    const std::string other = gce::NodeEmailOf(earlier);
    if (!other.empty() && other != identity) {
      STOKER_TRY(asker_.Bind(gce::AccountPolicy(other), names.email, {}));
    }
    STOKER_TRY(asker_.Do(gce::PutRunJob(making)).status());
    return asker_.Bind(gce::AccountPolicy(identity), names.email, {{kActs, ""}});
  }

  // Project, region and account, as a job would have them.
  Result<GceWish> WishIn(const std::string& where) {
    OfferAsk ask;
    ask.where = where;
    STOKER_ASSIGN(GceWish wish, GceWishOf(ask, options_.settings, nullptr));
    if (wish.project.empty()) {
      return Status(Code::kInvalid, "no project of Google is set",
                    "Set one: stoker config set gcp.project NAME");
    }
    if (wish.service_account.empty()) wish.service_account = UsualServiceAccount(wish.project);
    return wish;
  }

  // All zones of the bound's regions. Errors: a region that there is none of.
  Result<std::string> PlacesOf(const std::string& project, const Bound& bound) {
    STOKER_ASSIGN(const auto api, MakeComputeApi());
    std::vector<std::string> places;
    for (const std::string& region : bound.regions) {
      STOKER_ASSIGN(const auto zones, gce::Zones(*api, project, region));
      for (const std::string& zone : zones) places.push_back(GcePlace(project, zone));
    }
    return Join(places, " ");
  }

  Result<RunMaking> Making(const AwayPlan& plan, const std::string& project) {
    RunMaking making;
    making.ledger = plan.wish.ledger;
    making.project = project;
    making.region = plan.wish.where;
    making.version = STOKER_VERSION;
    making.variables =
        cloud::AwayVariables(plan.wish.store->url(), plan.wish.ledger, plan.wish.bound);
    STOKER_ASSIGN(const std::string places, PlacesOf(project, plan.wish.bound));
    making.variables.emplace_back(kAwayPlacesVariable, places);
    // Services that stand in for Google's, as machines get them.
    for (const auto& [name, url] :
         {std::pair(std::string("STORAGE_EMULATOR_HOST"), GcsEmulator()),
          std::pair(std::string("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"), ComputeEndpoint()),
          std::pair(std::string(vault::kEndpointVariable), vault::GoogleSecretsEndpoint())}) {
      if (!url.empty()) making.variables.emplace_back(name, url);
    }
    STOKER_ASSIGN(making.run_base, GoogleServiceUrl("run"));
    return making;
  }

  // As it is to be, whether it is there, was deleted (Google keeps its name for weeks), or neither.
  Status Role(const RunNames& names, const gce::RunRole& role) {
    STOKER_ASSIGN(const std::string made, asker_.Do(gce::MakeRole(names, role), {400, 409}));
    if (!made.empty()) return Status::Ok();
    STOKER_ASSIGN(const std::string there, asker_.Do(gce::GetRole(names, role.id), {404}));
    if (there.empty()) return asker_.Do(gce::MakeRole(names, role)).status();  // which says why
    if (gce::IsOver(there)) {
      STOKER_ASSIGN(const std::string back, asker_.Do(gce::UndeleteRole(names, role.id), {400}));
      // Another may have brought it back a moment ago.
      if (back.empty()) {
        STOKER_ASSIGN(const std::string now, asker_.Do(gce::GetRole(names, role.id), {404}));
        if (now.empty() || gce::IsOver(now)) return TooLate(role.id);
      }
    }
    return asker_.Do(gce::ChangeRole(names, role)).status();
  }

  static Status TooLate(const std::string& role) {
    return Status(Code::kInvalid,
                  "the role " + role +
                      " was deleted more than 7 days ago, and Google gives its name again 37 days "
                      "after the deletion",
                  "Until then a timer looks after the jobs: stoker controller --install");
  }

  // Where the image is, by its digest.
  Result<std::string> Push(const AwayPlan& plan, const RunNames& names,
                           std::vector<std::string>* done) {
    STOKER_ASSIGN(const std::string repository, asker_.Do(gce::GetRepository(names)));
    const Json told = Json::parse(repository, nullptr, false);
    const std::string uri = told.is_object() ? told.value("registryUri", "") : "";
    RegistryAsk ask;
    const auto ref = ParseImageRef(uri + "/" + kProgram + ":away");
    if (uri.empty() || !ref) {
      return Status(Code::kCorrupt,
                    "Artifact Registry does not say where the repository " + names.job + " is");
    }
    STOKER_ASSIGN(const std::string asked, GoogleServiceUrl("artifactregistry"));
    // A token for all of Google's services goes there.
    if (asked.find(".googleapis.com") != std::string::npos &&
        !EndsWith(ref->registry, kGoogleRegistries)) {
      return Status(Code::kCorrupt, "no registry of Google's: " + Printable(ref->registry));
    }
    ask.ref = *ref;
    ask.ca_file = GoogleCaFile();
    STOKER_ASSIGN(const GoogleToken token, GoogleCloudToken());
    ask.login = RegistryLogin{"oauth2accesstoken", token.secret};
    STOKER_ASSIGN(const std::string binary, sys::ReadFile(plan.wish.binary, kMostBinary));
    const OneLayerImage image = MakeOneLayerImage(kProgram, binary, OwnArchitecture());
    if (image.digest.empty()) {
      return Status(Code::kNoSpace, "no memory for an image of " + plan.wish.binary);
    }
    STOKER_ASSIGN(const bool sent, PushAgain(ask, image));
    if (sent) done->push_back("pushed an image of this stoker to " + uri);
    return PinnedImage(*ref, image.digest);
  }

  static Result<bool> PushAgain(const RegistryAsk& ask, const OneLayerImage& image) {
    for (int time = 1;; ++time) {
      auto sent = PushImage(ask, image);
      // A repository that was just made is not known everywhere, nor are rights.
      if (sent.ok() || time >= kPushTries) return sent;
      std::this_thread::sleep_for(kPause);
    }
  }

  const ProviderOptions options_;
  gce::ServiceAsker asker_;
};

}  // namespace

Result<std::unique_ptr<AwayHost>> MakeCloudRunHost(const ProviderOptions& options) {
  std::unique_ptr<AwayHost> host = std::make_unique<CloudRunHost>(options);
  return host;
}

}  // namespace stoker
