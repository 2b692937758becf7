// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_fleet.h"

#include <utility>

#include "base/text.h"
#include "provider/gce/gce_errors.h"
#include "provider/gce/gce_placement.h"
#include "provider/gce/gce_request.h"

namespace stoker::gce {
namespace {

// Of each machine what is read here, and no metadata.
constexpr char kFields[] =
    "items/*/instances(name,id,zone,status,statusMessage,labels,labelFingerprint,machineType,"
    "creationTimestamp,lastStartTimestamp,lastStopTimestamp,networkInterfaces/networkIP,"
    "guestAccelerators,scheduling/provisioningModel,resourcePolicies),"
    "items/*/warning,nextPageToken,unreachables";

Place PlaceIn(const std::string& project, const std::string& zone) {
  return {kGceProvider, project, RegionOf(zone), zone};
}

}  // namespace

std::string ZonePath(const std::string& project, const std::string& zone) {
  return "projects/" + project + "/zones/" + zone + "/";
}

void Fleet::Remember(const std::string& id, const std::string& project, const std::string& zone) {
  const std::lock_guard lock(mutex_);
  places_[id] = {project, zone};
}

std::optional<std::pair<std::string, std::string>> Fleet::PlaceOf(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto known = places_.find(id);
  if (known == places_.end()) return std::nullopt;
  return known->second;
}

Status Fleet::Note(const std::string& place) {
  {
    const std::lock_guard lock(mutex_);
    if (noted_.contains(place)) return Status::Ok();
  }
  STOKER_TRY(notes_.note_place(place).WithContext("noting the place " + place));
  const std::lock_guard lock(mutex_);
  noted_.insert(place);
  return Status::Ok();
}

Result<std::map<std::string, std::set<std::string>>> Fleet::Places() {
  STOKER_ASSIGN(std::vector<std::string> told, notes_.places());
  {
    const std::lock_guard lock(mutex_);
    told.insert(told.end(), noted_.begin(), noted_.end());
  }
  std::map<std::string, std::set<std::string>> out;
  for (const std::string& place : told) {
    const size_t dot = place.rfind('.');
    if (dot == std::string::npos) continue;
    out[place.substr(0, dot)].insert(place.substr(dot + 1));
  }
  return out;
}

Result<Fleet::Listing> Fleet::ListAll(const std::string& filter) {
  STOKER_ASSIGN(const auto places, Places());
  Listing out;
  size_t silent = 0;
  for (const auto& [project, zones] : places) {
    const size_t before = out.instances.size();
    const Status listed = List(project, zones, filter, &out);
    if (listed.ok()) continue;
    ++silent;
    out.instances.resize(before);  // half a list says nothing about what it leaves out
    out.unheard.push_back({Place{kGceProvider, project, "", ""}, listed});
  }
  if (silent > 0 && silent == places.size()) return out.unheard.front().why;
  return out;
}

Status Fleet::List(const std::string& project, const std::set<std::string>& zones,
                   const std::string& filter, Listing* out) {
  Query query = {{"filter", filter},
                 {"maxResults", "500"},
                 {"returnPartialSuccess", "true"},
                 {"fields", kFields}};
  std::set<std::string> silent;
  for (int number = 0; number < kMostPages; ++number) {
    WallTime now;
    STOKER_ASSIGN(const std::string body,
                  api_.Read({"GET", "projects/" + project + "/aggregated/instances", query}, &now));
    STOKER_ASSIGN(InstancePage page, ParseInstances(body, now));
    silent.insert(page.silent.begin(), page.silent.end());
    for (Instance& instance : page.instances) {
      const std::lock_guard lock(mutex_);
      places_[instance.seen.id] = {project, instance.zone};
      instance.seen.place = PlaceIn(project, instance.zone);
      out->instances.push_back(std::move(instance));
    }
    if (page.next.empty()) {
      NoteSilent(project, zones, silent, out);
      return Status::Ok();
    }
    if (query.back().first != "pageToken") query.emplace_back("pageToken", "");
    query.back().second = page.next;
  }
  return Status(Code::kCorrupt, "the list of instances of " + project + " has no end");
}

// Of other zones nothing was ever asked for.
void Fleet::NoteSilent(const std::string& project, const std::set<std::string>& zones,
                       const std::set<std::string>& silent, Listing* out) {
  for (const std::string& zone : silent) {
    if (!zones.contains(zone)) continue;
    out->unheard.push_back(
        {Place{kGceProvider, project, "", zone},
         Status(Code::kUnavailable,
                "the zone " + zone + " does not answer: what is there is not known")});
  }
}

Result<std::optional<Instance>> Fleet::Get(const std::string& project, const std::string& zone,
                                           const std::string& name) {
  const Call call{"GET", ZonePath(project, zone) + "instances/" + name};
  STOKER_ASSIGN(const Reply reply, api_.Repeat(call));
  if (reply.failure) {
    const Status status = StatusOf(Described(call), *reply.failure);
    if (status.Is(Code::kNotFound)) return std::optional<Instance>();
    return status;
  }
  STOKER_ASSIGN(Instance instance, ParseInstance(reply.body, reply.now));
  instance.seen.place = PlaceIn(project, zone);
  return std::optional(std::move(instance));
}

Result<std::optional<Found>> Fleet::Find(const std::string& id) {
  if (!IsInstanceName(id)) return Status(Code::kInvalid, "not an instance: " + Printable(id));
  std::optional<std::pair<std::string, std::string>> place;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = places_.find(id); known != places_.end()) place = known->second;
  }
  std::optional<Instance> found;
  if (place) {
    STOKER_ASSIGN(found, Get(place->first, place->second, id));
  } else {
    STOKER_ASSIGN(Listing heard, ListAll("name = \"" + id + "\""));
    if (!heard.instances.empty()) {
      found = std::move(heard.instances.front());
    } else if (!heard.unheard.empty()) {
      return heard.unheard.front().why;  // it may be where nobody answers
    }
    const std::lock_guard lock(mutex_);
    if (found) place = places_[id];
  }
  if (!found || found->seen.ledger_id.empty()) return std::optional<Found>();
  return std::optional(Found{place->first, std::move(*found)});
}

}  // namespace stoker::gce
