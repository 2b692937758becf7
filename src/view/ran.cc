// SPDX-License-Identifier: Apache-2.0
#include "view/ran.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

constexpr size_t kShownId = 12;

std::string MachineOf(const Job& job, const Attempt& attempt, int rank) {
  const Launch* launch = FindLaunch(job, attempt.launches[static_cast<size_t>(rank)]);
  const Request* request = launch != nullptr ? FindRequest(job, launch->request) : nullptr;
  if (request == nullptr) return "";
  const Ask& ask = request->ask;
  std::string where = ask.place.provider;
  for (const std::string& part : {ask.place.region, ask.place.zone}) {
    if (!part.empty()) where += " " + part;
  }
  for (const std::string& part : {ask.type, ask.market}) {
    if (!part.empty()) where += ", " + part;
  }
  return where;
}

// Reads lists of packages once each.
class RanReader {
 public:
  RanReader(ObjectStore& store, const Job& job, Status* trouble)
      : store_(store), job_(job), trouble_(trouble) {
    const Status listed = ListAll(store, paths::AllRan(job.id), [&](const ObjectInfo& info) {
      there_.insert(info.key);
      return Status::Ok();
    });
    if (!listed.ok()) *trouble_ = listed;
  }

  std::optional<Ran> Read(const Attempt& attempt, int rank) {
    const std::string key = paths::Ran(job_.id, attempt.number, rank);
    if (!there_.contains(key)) return std::nullopt;
    const auto object = store_.Get(key);
    auto facts = object.ok() ? DecodeRunFacts(key, object->data) : object.status();
    if (!facts.ok()) {
      if (!facts.status().Is(Code::kNotFound)) *trouble_ = facts.status();
      return std::nullopt;
    }
    Ran ran;
    ran.facts = std::move(*facts);
    ran.facts.attempt = attempt.number;
    ran.facts.rank = rank;
    ran.machine = MachineOf(job_, attempt, rank);
    if (!ran.facts.packages.empty()) ran.packages = Packages(ran.facts.packages);
    return ran;
  }

 private:
  const std::vector<Package>& Packages(const std::string& digest) {
    const auto known = lists_.find(digest);
    if (known != lists_.end()) return known->second;
    const std::string key = paths::RanPackages(job_.id, digest);
    const auto object = store_.Get(key);
    auto list = object.ok() ? DecodePackages(key, object->data) : object.status();
    if (!list.ok()) *trouble_ = list.status();
    return lists_[digest] = list.value_or({});
  }

  ObjectStore& store_;
  const Job& job_;
  Status* trouble_;
  std::set<std::string> there_;
  std::map<std::string, std::vector<Package>> lists_;
};

void AddFact(Facts* facts, const char* name, const std::string& text) {
  if (!text.empty()) (*facts)[name] = text;
}

}  // namespace

std::vector<Ran> ReadRan(ObjectStore& store, const Job& job, Status* trouble) {
  RanReader reader(store, job, trouble);
  std::vector<Ran> all;
  for (const Attempt& attempt : job.attempts) {
    for (int rank = 0; rank < static_cast<int>(attempt.launches.size()); ++rank) {
      if (auto ran = reader.Read(attempt, rank)) all.push_back(std::move(*ran));
    }
  }
  return all;
}

std::optional<Ran> ReadNewestRan(ObjectStore& store, const Job& job, Status* trouble) {
  RanReader reader(store, job, trouble);
  for (auto attempt = job.attempts.rbegin(); attempt != job.attempts.rend(); ++attempt) {
    for (int rank = 0; rank < static_cast<int>(attempt->launches.size()); ++rank) {
      if (auto ran = reader.Read(*attempt, rank)) return ran;
    }
  }
  return std::nullopt;
}

std::optional<RunFacts> NewestRunFacts(ObjectStore& store, const Job& job) {
  const size_t count = job.attempts.size();
  for (size_t back = 1; back <= std::min<size_t>(count, 3); ++back) {
    const std::string key = paths::Ran(job.id, job.attempts[count - back].number, 0);
    const auto object = store.Get(key);
    if (!object.ok()) continue;
    auto facts = DecodeRunFacts(key, object->data);
    if (facts.ok()) return std::move(*facts);
  }
  return std::nullopt;
}

std::string RanLine(const RunFacts& facts) {
  std::vector<std::string> parts;
  if (!facts.python_version.empty()) {
    parts.push_back("Python " + facts.python_version);
    parts.push_back(std::to_string(facts.package_count) +
                    (facts.package_count == 1 ? " package" : " packages"));
  }
  if (!facts.image.empty()) parts.push_back("container of " + facts.image);
  if (!facts.nvidia_driver.empty()) {
    parts.push_back("NVIDIA driver " + facts.nvidia_driver +
                    (facts.cuda.empty() ? "" : " (CUDA " + facts.cuda + ")"));
  }
  if (!facts.kernel.empty()) parts.push_back("kernel " + facts.kernel);
  return Printable(Join(parts, ", "));
}

Facts MachineAndPython(const Ran& ran) {
  const RunFacts& of = ran.facts;
  Facts facts;
  AddFact(&facts, "machine", ran.machine);
  AddFact(&facts, "container",
          of.image_id.empty() ? of.image : of.image + " (" + of.image_id.substr(0, kShownId) + ")");
  AddFact(&facts, "system", of.os);
  AddFact(&facts, "kernel", of.kernel.empty() ? "" : of.kernel + " " + of.architecture);
  AddFact(&facts, "processors",
          of.cpus == 0 ? "" : std::to_string(of.cpus) + (of.cpu.empty() ? "" : " x " + of.cpu));
  AddFact(&facts, "NVIDIA driver", of.nvidia_driver);
  AddFact(&facts, "CUDA of the driver", of.cuda);
  AddFact(&facts, "stoker", of.stoker);
  AddFact(&facts, "Python", of.python_version);
  // One node's folder of an environment is not another one's.
  const bool within = !of.environment.empty() && StartsWith(of.python, of.environment + "/");
  AddFact(&facts, "interpreter",
          within ? of.python.substr(of.environment.size() + 1) + " of the environment" : of.python);
  AddFact(&facts, "environment", of.environment_key);
  return facts;
}

Facts PackageVersions(const Ran& ran) {
  Facts facts;
  for (const Package& package : ran.packages) {
    facts[package.name] = package.version + (package.from.empty() ? "" : " (" + package.from + ")");
  }
  return facts;
}

Facts OtherVariables(const Ran& ran) {
  Facts facts;
  for (const ToldVariable& one : ran.facts.variables) {
    if (one.by == "stoker" || one.by == "job") continue;
    facts[one.name] = one.hidden ? "(secret)" : one.value.value_or("(not told)");
  }
  return facts;
}

std::vector<FactDifference> Differences(const Facts& before, const Facts& after) {
  std::vector<FactDifference> out;
  std::set<std::string> names;
  for (const Facts* facts : {&before, &after}) {
    for (const auto& [name, text] : *facts) names.insert(name);
  }
  for (const std::string& name : names) {
    const auto old = before.find(name), now = after.find(name);
    const FactDifference one{name, old == before.end() ? "" : old->second,
                             now == after.end() ? "" : now->second};
    const bool both = old != before.end() && now != after.end();
    if (!both || one.before != one.after) out.push_back(one);
  }
  return out;
}

std::vector<FactDifference> DifferencesOf(const Ran& before, const Ran& after) {
  auto out = Differences(MachineAndPython(before), MachineAndPython(after));
  for (auto& one : Differences(PackageVersions(before), PackageVersions(after))) {
    out.push_back(std::move(one));
  }
  return out;
}

nlohmann::json RanJson(const std::vector<Ran>& all) {
  nlohmann::json out = {{"ran", nlohmann::json::array()}, {"packages", nlohmann::json::object()}};
  for (const Ran& ran : all) {
    auto one = nlohmann::json::parse(EncodeRunFacts(ran.facts), nullptr, false);
    one["machine"] = ran.machine;
    out["ran"].push_back(std::move(one));
    if (ran.facts.packages.empty()) continue;
    out["packages"][ran.facts.packages] =
        nlohmann::json::parse(EncodePackages(ran.packages), nullptr, false)["packages"];
  }
  return out;
}

}  // namespace stoker
