# SPDX-License-Identifier: Apache-2.0
"""Resource policies, of which the lab has those of compact placement alone: "Placement policies
overview" and "Use compact placement policies" of Compute Engine's documentation. Which families
take none: valid_placement_node in resume.py of Google's cluster toolkit."""

import re

from test.lab.gceapi import catalogue, checks, errors, views
from test.lab.gceapi.errors import Refusal, invalid
from test.lab.gceapi.lists import listed
from test.lab.gceapi.world import Operation

NONE = ("e2", "m1", "m2", "m3", "n1", "t2a", "t2d")


class Policy:
    def __init__(self, project, region, body):
        self.project, self.region, self.body = project, region, body
        self.name = body["name"]
        self.ready = False
        self.link = f"projects/{project}/regions/{region}/resourcePolicies/{self.name}"


def _told(each):
    told = {
        **each.body,
        "status": "READY" if each.ready else "CREATING",
        "region": views.url(f"projects/{each.project}/regions/{each.region}"),
    }
    return {**views.resource("resourcePolicy", told, each.link), "kind": "compute#resource_policies"}


def _find(api, project, region, name):
    return api.world.policies.get((project, region, name))


def _found(api, params):
    place = params["project"], params["region"]
    found = _find(api, *place, params["resourcePolicy"])
    if found is None:
        raise errors.not_found("projects/{}/regions/{}/resourcePolicies/{}".format(*place, params["resourcePolicy"]))
    return found


def _operation(api, each, kind, who, then):
    made = Operation(each.project, f"regions/{each.region}", kind, each.link, who.email)
    api.world.operations.append(made)

    def end():
        then()
        api.world.end_operation(made)

    api.soon(end)
    return made


def insert(api, params, body, who):
    project, region = params["project"], params["region"]
    if region not in catalogue.ZONES:
        raise errors.not_found(f"projects/{project}/regions/{region}")
    checks.check_name("resource.name", body.get("name"))
    placing = body.get("groupPlacementPolicy", {})
    if placing.get("collocation") != "COLLOCATED" or set(placing) != {"collocation"}:
        raise invalid("resource.groupPlacementPolicy", placing, "The lab has COLLOCATED alone, for any number of VMs.")
    made = Policy(project, region, body)
    if _find(api, project, region, made.name):
        raise errors.exists(made.link)
    api.world.policies[project, region, made.name] = made
    return _operation(api, made, "insert", who, lambda: setattr(made, "ready", True))


def users(api, each):
    return [one for one in api.world.instances if not one.gone and one.plan.get("policy") is each]


def delete(api, params, body, who):
    found = _found(api, params)
    used = users(api, found)
    if used:
        raise Refusal(
            400, f"The resource_policy resource '{found.link}' is already being used by '{used[0].link}'", "resourceInUseByAnotherResource"
        )
    del api.world.policies[found.project, found.region, found.name]
    return _operation(api, found, "delete", who, lambda: None)


def get(api, params, query):
    return _told(_found(api, params))


def list_(api, params, query):
    place = params["project"], params["region"]
    told = [_told(each) for key, each in api.world.policies.items() if key[:2] == place]
    link = "projects/{}/regions/{}/resourcePolicies".format(*place)
    return listed("resourcePolicy", told, query, link)


def of_instance(api, project, zone, body, plan, field):
    """What an insert refuses at once."""
    asked = body.get("resourcePolicies", [])
    if not asked:
        return
    where = f"{field}.resourcePolicies"
    if len(asked) > 1:
        raise invalid(where, len(asked), "At most one placement policy.")
    link = re.fullmatch(r"(?:.*/)?projects/([^/]+)/regions/([^/]+)/resourcePolicies/([^/]+)", asked[0])
    if field.endswith(".instanceProperties"):
        if "/" in asked[0]:
            raise invalid(where, asked[0], "It must be the name alone.")
    elif not link and zone:
        raise invalid(where, asked[0], "The URL is malformed.")
    if not zone:
        return  # of which region it is, is known with the zone
    region = catalogue.region_of(zone)
    if link and link[2] != region:
        raise invalid(where, asked[0], "The policy is of another region.")
    name = asked[0].rsplit("/", 1)[-1]
    found = _find(api, project, region, name)
    if found is None:
        raise errors.not_found(f"projects/{project}/regions/{region}/resourcePolicies/{name}")
    if not found.ready:
        raise Refusal(400, f"The resource '{found.link}' is not ready", "resourceNotReady")
    kind = plan["type"]["name"]
    if catalogue.family_of(kind) in NONE:
        raise Refusal(400, f"Placement policy is not applicable to machine type {kind}.", "invalid")
    if body["scheduling"].get("onHostMaintenance") != "TERMINATE":
        raise Refusal(400, "Instances with a compact placement policy do not support live migration.", "badRequest")
    if any(each.zone != zone for each in users(api, found)):
        raise Refusal(400, "All VMs of a compact placement policy are in one zone.", "invalid")
    plan["policy"] = found
    body["resourcePolicies"] = [views.url(found.link)]
