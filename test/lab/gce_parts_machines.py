# SPDX-License-Identifier: Apache-2.0
"""Machines of the lab's Compute Engine as google-cloud-compute sees them: made, stopped, started,
taken, ended; one by one and many at once."""

import concurrent.futures
import time
import uuid

import google.auth.exceptions
from google.api_core import exceptions
from google.cloud import compute_v1 as v1

from test.lab.gce_checks import KIND, REGION, expect, many, one, refused, spot, wait_for
from test.lab.gceapi import lifecycle
from test.lab.gceapi.identity import CLOUD
from test.lab.gceapi.service import PROJECT
from test.lab.unbooted_gce import OWN, ROLE, ZONE


def launch(lab, google):
    metadata = v1.Metadata(items=[v1.Items(key="startup-script", value="#!/bin/sh\n")])
    account = v1.ServiceAccount(email=ROLE, scopes=[CLOUD])
    operation = google.insert("one", labels={"stoker-job": "a"}, metadata=metadata, service_accounts=[account], description="it")
    expect("an operation comes back", operation.operation_type, "insert")
    ended = google.done(operation)
    expect("  it ends", (ended.status.name, len(ended.error.errors), ended.progress), ("DONE", 0, 100))
    expect("  who asked", ended.user, OWN)
    google.runs("one")
    told = google.get("one")
    expect("  the machine that it names", told.id, ended.target_id)
    expect("labels", dict(told.labels), {"stoker-job": "a"})
    expect("metadata", [(e.key, e.value) for e in told.metadata.items], [("startup-script", "#!/bin/sh\n")])
    expect("its account", told.service_accounts[0].email, ROLE)
    expect("its type", told.machine_type.rsplit("/", 1)[-1], KIND)
    expect(
        "what it is, by itself",
        (told.scheduling.provisioning_model, told.scheduling.on_host_maintenance, told.scheduling.automatic_restart),
        ("STANDARD", "MIGRATE", True),
    )
    expect("its disk ends with it", told.disks[0].auto_delete)
    expect(
        "the name again",
        refused(google.instances.insert_unary, request={"project": PROJECT, "zone": ZONE, "instance_resource": one("one")}),
        (409, "alreadyExists"),
    )
    google.done(google.insert("one", zone="us-central1-b", in_zone="us-central1-b"))
    expect("the name in another zone", google.state("one", "us-central1-b") != "none")
    google.done(google.act("delete", "one"))
    expect("deleted", google.state("one"), "none")
    expect("deleted once more", refused(google.instances.delete_unary, project=PROJECT, zone=ZONE, instance="one"), (404, "notFound"))
    disks = lab.client("DisksClient").list(project=PROJECT, zone=ZONE)
    expect("its disk is gone", [each.name for each in disks], [])
    expect("the name is free again", google.codes(google.insert("one")), [])
    google.done(google.act("delete", "one", "us-central1-b"))
    google.done(google.act("delete", "one"))


def once(lab, google):
    """requestId."""
    token = str(uuid.uuid4())
    first = google.insert("idem", request_id=token)
    expect("the id is in the operation", first.client_operation_id, token)
    again = google.insert("idem", request_id=token)
    expect("the same request is the same operation", again.name, first.name)
    google.done(first)
    expect("also when it has ended", google.insert("idem", request_id=token).name, first.name)
    found = google.operations["zone"].list(request={"project": PROJECT, "zone": ZONE, "filter": f'clientOperationId = "{token}"'})
    expect("found by it", [each.name for each in found], [first.name])
    expect(
        "another request with the id",
        refused(
            google.instances.insert_unary,
            request={"project": PROJECT, "zone": ZONE, "request_id": token, "instance_resource": one("other")},
        ),
        (400, "invalid"),
    )
    expect(
        "an id of no form",
        refused(
            google.instances.insert_unary, request={"project": PROJECT, "zone": ZONE, "request_id": "x", "instance_resource": one("other")}
        ),
        (400, "invalid"),
    )
    token = str(uuid.uuid4())
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda _: google.insert("race", request_id=token).name, range(8)))
    expect("eight at once are one", len(set(names)), 1)
    token = str(uuid.uuid4())
    lab.api.faults.add("instances.insert", "lost_answer")
    expect("an answer that is lost", _lost(google.insert, "lost", request_id=token))
    expect("  had its effect", google.codes(google.insert("lost", request_id=token)), [])
    lab.api.faults.add("instances.insert", "lost_request")
    expect("a request that is lost", _lost(google.insert, "never"))
    expect("  had none", google.state("never"), "none")


def _lost(call, *given, **asked):
    try:
        call(*given, **asked)
    except (exceptions.ServiceUnavailable, exceptions.GoogleAPICallError, OSError, google.auth.exceptions.TransportError):
        return True
    return False


def room(lab, google):
    lab.api.capacity.set(0, zone=ZONE, market="spot")
    operation = google.insert("full", scheduling=spot())
    expect("a stockout is no refusal", operation.status.name, "RUNNING")
    ended = google.done(operation)
    error = ended.error.errors[0]
    expect("  it comes later", error.code, "ZONE_RESOURCE_POOL_EXHAUSTED")
    expect("  by HTTP", (ended.http_error_status_code, ended.http_error_message), (503, "SERVICE UNAVAILABLE"))
    info = [each.error_info for each in error.error_details if each.error_info.reason]
    expect("  why", info[0].reason, "resource_availability")
    expect("  where there is some", "us-central1-b" in info[0].metadatas["zonesAvailable"])
    expect("  and no machine", google.state("full"), "none")
    expect("the other market has room", google.codes(google.insert("full")), [])
    lab.api.capacity.clear()
    lab.api.capacity.quotas["CPUS"] = 2
    error = google.done(google.insert("quota")).error.errors[0]
    expect("quota", error.code, "QUOTA_EXCEEDED")
    expect("  which", "Quota 'CPUS' exceeded.  Limit: 2.0 in region us-central1." in error.message)
    lab.api.capacity.clear()
    for code, status in [
        ("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", 503),
        ("RESOURCE_POOL_EXHAUSTED", 503),
        ("INTERNAL_ERROR", 500),
        ("UNSUPPORTED_OPERATION", 400),
    ]:
        lab.api.births.add(code, "so it is", status=status)
        expect(f"what a test says: {code}", google.codes(google.insert("said")), [code])
        expect("  no machine", google.state("said"), "none")


def power(lab, google):
    google.done(google.insert("power", scheduling=spot(instance_termination_action="STOP")))
    google.runs("power")
    before = google.get("power")
    google.done(google.act("stop", "power"))
    expect("stopped", google.state("power"), "TERMINATED")
    disks = lab.client("DisksClient").list(project=PROJECT, zone=ZONE)
    expect("its disk is kept", "power" in [each.name for each in disks])
    google.done(google.act("start", "power"))
    google.runs("power")
    after = google.get("power")
    expect("the same machine", after.id, before.id)
    expect("started later", after.last_start_timestamp > before.last_start_timestamp)
    google.done(google.act("stop", "power"))
    lab.api.capacity.set(0, zone=ZONE)
    expect("no room at its start", google.codes(google.act("start", "power")), ["ZONE_RESOURCE_POOL_EXHAUSTED"])
    expect("  it stays", google.state("power"), "TERMINATED")
    lab.api.capacity.clear()
    google.done(google.act("start", "power"))
    google.runs("power")
    lab.api.settings.stop_delay = 0.5
    stopping = google.act("stop", "power")
    expect(
        "a start while it stops",
        refused(google.instances.start_unary, project=PROJECT, zone=ZONE, instance="power"),
        (400, "resourceNotReady"),
    )
    deleting = google.act("delete", "power")
    google.done(stopping)
    google.done(deleting)
    expect("deleted while it stops", google.state("power"), "none")


def _system(google, kind):
    """Names of what the platform did by itself, by operation."""
    found = google.operations["zone"].list(request={"project": PROJECT, "zone": ZONE, "filter": f'operationType = "{kind}"'})
    return [(each.target_link.rsplit("/", 1)[-1], each.user) for each in found]


def ends(lab, google):
    """What ends a machine without a request."""
    api = lab.api
    api.settings.notices = (120.0, 0.2)
    for name, more in [
        ("kept", spot(instance_termination_action="STOP")),
        ("taken", spot(instance_termination_action="DELETE")),
        ("plain", spot()),
        ("told", spot(instance_termination_action="DELETE", preemption_notice_duration=v1.Duration(seconds=120))),
    ]:
        google.done(google.insert(name, scheduling=more))
        google.runs(name)

    def preempt(name, lead=None):
        with api.world.lock:
            lifecycle.preempt(api, api.world.named(name), lead)

    preempt("kept")
    preempt("taken")
    preempt("plain", 0)
    preempt("told")
    wait_for("STOP", lambda: google.state("kept") == "TERMINATED")
    wait_for("DELETE", lambda: google.state("taken") == "none")
    wait_for("by itself it is STOP", lambda: google.state("plain") == "TERMINATED")
    expect("with a notice it still runs", google.state("told"), "RUNNING")
    expect("  and knows it", api.world.named("told").preempted)
    who = sorted(_system(google, "compute.instances.preempted"))
    expect("who took them", who, [(name, "system") for name in ("kept", "plain", "taken")])
    google.done(google.insert("hurt"))
    google.done(google.insert("off"))
    google.runs("hurt")
    google.runs("off")
    with api.world.lock:
        lifecycle.host_error(api, api.world.named("hurt"))
        lifecycle.guest_off(api, api.world.named("off"))
    wait_for("one that goes off by itself is stopped", lambda: google.state("off") == "TERMINATED")
    expect("  by its own word", _system(google, "compute.instances.guestTerminate"), [("off", "system")])
    wait_for("host error", lambda: bool(_system(google, "compute.instances.automaticRestart")))
    google.runs("hurt")


def limits(lab, google):
    """Limits of time: enforced by moving the clock of the test, not by waiting."""
    short = v1.Duration(seconds=60)
    google.done(google.insert("limit", scheduling=v1.Scheduling(max_run_duration=short, instance_termination_action="DELETE")))
    google.runs("limit")
    at = google.get("limit").resource_status.scheduling.termination_timestamp
    expect("its end is told", at != "")
    instance = lab.api.world.named("limit")
    with lab.api.world.lock:
        lifecycle.limit(lab.api, instance, instance.ends)
    wait_for("it is deleted at its limit", lambda: google.state("limit") == "none")
    google.done(google.insert("stops", scheduling=v1.Scheduling(max_run_duration=short, instance_termination_action="STOP")))
    google.runs("stops")
    google.done(google.act("stop", "stops"))
    expect("a stop clears its clock", google.get("stops").resource_status.scheduling.termination_timestamp, "")
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    fixed = v1.Scheduling(termination_time=end, instance_termination_action="DELETE")
    google.done(google.insert("fixed", scheduling=fixed))
    google.runs("fixed")
    google.done(google.act("stop", "fixed"))
    told = google.get("fixed").resource_status.scheduling.termination_timestamp
    expect("a fixed end stays", told != "")


def bulk(lab, google):
    asked = many("gang-0", "gang-1", labels={"job": "g"})
    token = str(uuid.uuid4())
    operation = google.bulk(**asked, request_id=token)
    expect("the same bulk", google.bulk(**asked, request_id=token).name, operation.name)
    ended = google.done(operation)
    status = dict(ended.instances_bulk_insert_operation_metadata.per_location_status)
    told = status[f"zones/{ZONE}"]
    expect("a bulk", (ended.operation_type, told.created_vm_count, told.status), ("bulkInsert", 2, "DONE"))
    for name in ("gang-0", "gang-1"):
        google.runs(name)
        expect("  its labels", dict(google.get(name).labels), {"job": "g"})
    parts = google.operations["zone"].list(
        request={"project": PROJECT, "zone": ZONE, "filter": f'(operationGroupId = "{ended.operation_group_id}") (operationType = insert)'}
    )
    expect("  an insert for each", len(list(parts)), 2)
    lab.api.capacity.set(1, zone=ZONE, type="e2-standard-4")
    operation = google.bulk(**many("roll-0", "roll-1", "roll-2", kind="e2-standard-4"))
    ended = google.done(operation)
    expect("all or none", [each.code for each in ended.error.errors], ["VM_MIN_COUNT_NOT_REACHED", "ZONE_RESOURCE_POOL_EXHAUSTED"])
    wait_for("  rolled back", lambda: google.all(filter="name eq roll-.*") == {})
    told = ended.instances_bulk_insert_operation_metadata.per_location_status[f"zones/{ZONE}"]
    expect("  and counted", (told.created_vm_count, told.deleted_vm_count, told.failed_to_create_vm_count), (1, 1, 2))
    some = many("few-0", "few-1", kind="e2-standard-4")
    ended = google.done(google.bulk(**some, min_count=1))
    made = google.all(filter="name eq few-.*").get(f"zones/{ZONE}", [])
    expect("at least one", (len(ended.error.errors), len(made)), (0, 1))
    lab.api.capacity.clear()
    expect("a name that is taken", google.codes(google.bulk(**many("gang-0", "new-1"))), ["RESOURCE_ALREADY_EXISTS"])
    expect("  makes none", google.state("new-1"), "none")


def regional(lab, google):
    policy = v1.LocationPolicy(
        target_shape="ANY_SINGLE_ZONE",
        locations={
            "zones/us-central1-a": v1.LocationPolicyLocation(preference="ALLOW"),
            "zones/us-central1-b": v1.LocationPolicyLocation(preference="ALLOW"),
        },
    )
    lab.api.capacity.set(1, zone=ZONE)
    operation = google.bulk(region=REGION, **many("any-0", "any-1"), location_policy=policy)
    expect("an operation of the region", operation.region.rsplit("/", 1)[-1], REGION)
    expect("  ends well", google.codes(operation), [])
    expect("  in one zone with room", google.all(filter="name eq any-.*"), {"zones/us-central1-b": ["any-0", "any-1"]})
    lab.api.capacity.set(1)
    operation = google.bulk(region=REGION, **many("no-0", "no-1"), location_policy=policy)
    expect("no zone has room", google.codes(operation)[0], "VM_MIN_COUNT_NOT_REACHED")
    wait_for("  nothing is left", lambda: google.all(filter="name eq no-.*") == {})
    found = google.operations["region"].list(request={"project": PROJECT, "region": REGION, "filter": "operationType = bulkInsert"})
    expect("both are listed", len(list(found)), 2)
    lab.api.capacity.clear()
    gpu = many("gpu-0", "gpu-1", kind="t2a-standard-4", image="projects/debian-cloud/global/images/family/debian-12-arm64")
    expect("only where there is the type", google.codes(google.bulk(region=REGION, **gpu)), [])
    where = list(google.all(filter="name eq gpu-.*"))
    expect("  that is", where[0] in ("zones/us-central1-a", "zones/us-central1-b"))
