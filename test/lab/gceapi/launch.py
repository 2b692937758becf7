# SPDX-License-Identifier: Apache-2.0
"""insert and bulkInsert. What they refuse at once is in checks.py; whether there is room is known
when the operation ends."""

import time
import uuid

from test.lab.gceapi import catalogue, checks, errors, lifecycle
from test.lab.gceapi.world import Disk, Instance, Operation

FIELD = "resource.instanceProperties"
MOST = 1000  # of one bulkInsert in a zone


def _make(api, project, zone, body, plan):
    """Seen from now on, but without room yet."""
    plan["disks"] = [
        each.get("initializeParams", {}).get("diskName") or (body["name"] if number == 0 else f"{body['name']}-{number}")
        for number, each in enumerate(body["disks"])
    ]
    instance = Instance(project, zone, body, plan)
    instance.address, instance.mac = api.world.next_address()
    api.world.instances.append(instance)
    api.world.disks += [Disk(instance, told, name) for told, name in zip(body["disks"], plan["disks"])]
    return instance


def _no_disk_of_that_name(api, project, zone, name):
    for each in api.world.disks:
        if (each.project, each.zone, each.name) == (project, zone, name):
            raise errors.exists(each.link)


def insert(api, params, body, who):
    project, zone = params["project"], params["zone"]
    api.check_zone(project, zone)
    checks.check_name("resource.name", body.get("name"))
    body, plan = checks.complete(api, project, zone, body)
    if api.world.living(project, zone, body["name"]):
        raise errors.exists(f"projects/{project}/zones/{zone}/instances/{body['name']}")
    _no_disk_of_that_name(api, project, zone, body["name"])
    instance = _make(api, project, zone, body, plan)
    operation = Operation(project, f"zones/{zone}", "insert", instance.link, who.email)
    operation.target_id = instance.id
    instance.request = operation
    api.world.operations.append(operation)
    api.clock.after(api.settings.operation_delay, _decide, api, operation, instance)
    return operation


def _decide(api, operation, instance):
    try:
        admit(api, [instance])
    except errors.Failed as failed:
        lifecycle.remove(api, instance)
        api.world.end_operation(operation, failed)
        return
    if not instance.gone and lifecycle.alive(instance):  # else it was deleted meanwhile
        lifecycle.run(api, instance)
    api.world.end_operation(operation)


def admit(api, instances):
    """Room for these, or Failed."""
    first = instances[0]
    api.births.check(len(instances))
    if api.capacity.free(api.world, first.zone, first.kind, first.market) < len(instances):
        raise errors.no_room(first.project, first.zone, first.kind, api.others(first))
    api.capacity.check_quota(api.world, instances)
    for each in instances:
        each.admitted = True


def bulk_in_zone(api, params, body, who):
    api.check_zone(params["project"], params["zone"])
    return _bulk(api, params["project"], f"zones/{params['zone']}", [params["zone"]], body, who)


def bulk_in_region(api, params, body, who):
    project, region = params["project"], params["region"]
    if region not in catalogue.ZONES:
        raise errors.not_found(f"projects/{project}/regions/{region}")
    policy = body.get("locationPolicy", {})
    zones = _allowed(region, policy)
    shape = policy.get("targetShape", "ANY_SINGLE_ZONE")
    if shape != "ANY_SINGLE_ZONE":
        raise errors.invalid("resource.locationPolicy.targetShape", shape, "The lab has ANY_SINGLE_ZONE alone.")
    return _bulk(api, project, f"regions/{region}", zones, body, who)


def _allowed(region, policy):
    here = catalogue.zones_of(region)
    said = {}
    for name, told in policy.get("locations", {}).items():
        zone = name.rsplit("/", 1)[-1]
        if zone not in here or not name.startswith("zones/"):
            raise errors.invalid("resource.locationPolicy.locations", name, f"It is no zone of {region}.")
        said[zone] = told.get("preference", "ALLOW")
    only = [zone for zone, word in said.items() if word == "ALLOW"]
    zones = only or [zone for zone in here if said.get(zone) != "DENY"]
    if not zones:
        raise errors.invalid("resource.locationPolicy.locations", "", "All zones are denied.")
    return sorted(zones)


def _names(body, count):
    given = body.get("perInstanceProperties", {})
    if given and "namePattern" in body:
        raise errors.invalid("resource.namePattern", body["namePattern"], "It and perInstanceProperties exclude each other.")
    if given:
        if len(given) != count:
            raise errors.invalid("resource.perInstanceProperties", len(given), f"It must have as many entries as count ({count}).")
        names = [told.get("name", key) for key, told in given.items()]
    else:
        pattern = body.get("namePattern", "")
        head, _, digits = pattern.partition("#")
        if not pattern or set(digits) - {"#"}:
            raise errors.invalid("resource.namePattern", pattern)
        names = [head + str(i + 1).zfill(len(digits) + 1) for i in range(count)]
    for name in names:
        checks.check_name("resource.perInstanceProperties", name)
    if len(set(names)) < count:
        raise errors.invalid("resource.perInstanceProperties", "", "Names are not unique.")
    return names


def _bulk(api, project, scope, zones, body, who):
    count = int(body.get("count", 0))
    least = int(body.get("minCount", count))
    if not 1 <= count <= MOST:
        raise errors.invalid("resource.count", count, f"Must be between 1 and {MOST}.")
    if not 0 <= least <= count:
        raise errors.invalid("resource.minCount", least, "Must be at most count.")
    if "instanceProperties" not in body:
        raise errors.invalid("resource.instanceProperties", "", "The field is required.")
    names = _names(body, count)
    told = body["instanceProperties"]
    if "/" in told.get("machineType", ""):
        raise errors.invalid("resource.instanceProperties.machineType", told["machineType"], "It must be the name alone.")
    checks.complete(api, project, zones[0] if len(zones) == 1 else None, told, FIELD)
    operation = Operation(project, scope, "bulkInsert", f"projects/{project}/{scope}", who.email)
    operation.group = str(uuid.uuid4())
    operation.bulk = {}
    api.world.operations.append(operation)
    asked = (project, zones, told, names, least)
    api.clock.after(api.settings.operation_delay, _decide_bulk, api, operation, asked)
    return operation


def _decide_bulk(api, operation, asked):
    project, zones, told, names, least = asked
    kind = told["machineType"]
    market = "spot" if told.get("scheduling", {}).get("provisioningModel") == "SPOT" else "standard"
    fitting = []
    for zone in zones:
        try:
            checks.complete(api, project, zone, told, FIELD)
            free = api.capacity.free(api.world, zone, kind, market)
            fitting.append((min(free, len(names)), zone))
        except errors.Refusal as refused:
            reason = refused
    if not fitting:
        failed = errors.named("INVALID_USAGE", reason.words, reason.status)
        return api.world.end_operation(operation, failed)
    most = max(free for free, _ in fitting)
    free, zone = min((each for each in fitting if each[0] == most), key=lambda each: each[1])
    taken = [name for name in names if api.world.living(project, zone, name)]
    if taken:
        link = f"projects/{project}/zones/{zone}/instances/{taken[0]}"
        failed = errors.named("RESOURCE_ALREADY_EXISTS", f"The resource '{link}' already exists", 409)
        return api.world.end_operation(operation, failed)
    made = [_one_of_bulk(api, operation, project, zone, told, name) for name in names]
    return _settle(api, operation, zone, made, free, least)


def _one_of_bulk(api, operation, project, zone, told, name):
    copy = dict(told)
    copy["disks"] = [{**each, "initializeParams": dict(each.get("initializeParams", {}))} for each in told["disks"]]
    body, plan = checks.complete(api, project, zone, copy, FIELD)
    body["name"] = name
    body["machineType"] = f"zones/{zone}/machineTypes/{told['machineType']}"
    instance = _make(api, project, zone, body, plan)
    part = Operation(project, f"zones/{zone}", "insert", instance.link, operation.user)
    part.target_id, part.group = instance.id, operation.group
    instance.request = part
    api.world.operations.append(part)
    return instance


def _settle(api, operation, zone, made, free, least):
    """As many as there is room for, or none where that is too few."""
    why = None
    some = made[:free]
    try:
        if some:
            admit(api, some)
        else:
            api.births.check(len(made))
    except errors.Failed as failed:
        why, some = failed, []
    project, first = made[0].project, made[0]
    lost = [each for each in made if each not in some]
    if lost and why is None:
        why = errors.no_room(project, zone, first.kind, api.others(first))
    for each in lost:
        lifecycle.remove(api, each)
        api.world.end_operation(each.request, why)
    status = {"targetVmCount": len(made), "createdVmCount": len(some), "failedToCreateVmCount": len(lost), "deletedVmCount": 0}
    operation.bulk[f"zones/{zone}"] = status
    for each in some:
        lifecycle.run(api, each)
        api.world.end_operation(each.request)
    if len(some) >= max(least, 1):
        status["status"] = "DONE"
        api.world.end_operation(operation)
        return
    status["status"] = "ROLLING_BACK"
    words = f"Requested minimum count of {least} VMs could not be created."
    summary = {"code": "VM_MIN_COUNT_NOT_REACHED", "message": words}
    failed = errors.Failed([summary, *why.errors], why.status, why.message)
    api.clock.after(api.settings.rollback_delay, _roll_back, api, operation, some, status, failed)


def _roll_back(api, operation, some, status, failed):
    now = time.time()
    for each in some:
        if each.gone:
            continue
        part = Operation(each.project, f"zones/{each.zone}", "delete", each.link, operation.user)
        part.target_id, part.group, part.born = each.id, operation.group, now
        api.world.operations.append(part)
        lifecycle.end(api, each, "DELETE", part, pull=True)
    status.update(status="DONE", deletedVmCount=len(some), createdVmCount=len(some))
    api.world.end_operation(operation, failed)
