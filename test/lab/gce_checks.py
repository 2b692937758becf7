# SPDX-License-Identifier: Apache-2.0
"""What the parts of gce_clients_test.py share: google-cloud-compute's clients, and checks. Call
cloud_env.enter() before."""

import json
import time
import urllib.error
import urllib.request

from google.api_core import exceptions
from google.cloud import compute_v1 as v1

from test.lab.gceapi.service import PROJECT
from test.lab.unbooted_gce import ZONE

REGION = "us-central1"
KIND = "e2-standard-2"
IMAGE = "projects/debian-cloud/global/images/family/debian-12"


class State:
    failed = []
    quiet = False
    patience = 30.0


def expect(what, found, wanted=True):
    good = found == wanted
    if not State.quiet:
        more = "" if good else f": {found!r}, not {wanted!r}"
        print(("ok   " if good else "FAIL ") + what + more)
    if not good:
        State.failed.append(what)


def refused(call, **asked):
    """(status of HTTP, reason), or 'done'."""
    try:
        call(**asked, retry=None, timeout=20)
    except exceptions.GoogleAPICallError as error:
        return error.code, error.errors[0].get("reason") if error.errors else None
    return "done"


def wait_for(what, holds):
    end = time.monotonic() + State.patience
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    expect(what, False)
    return False


class Google:
    """The client's calls, with this project, and without what is always the same."""

    def __init__(self, lab, exchanged=True):
        self.lab = lab
        self.instances = lab.client("InstancesClient", exchanged)
        self.region_instances = lab.client("RegionInstancesClient", exchanged)
        self.operations = {"zone": lab.client("ZoneOperationsClient", exchanged), "region": lab.client("RegionOperationsClient", exchanged)}

    def insert(self, name, zone=ZONE, request_id=None, **more):
        request = {"project": PROJECT, "zone": zone, "instance_resource": one(name, **more)}
        if request_id:
            request["request_id"] = request_id
        return self.instances.insert_unary(request=request, retry=None, timeout=20)

    def bulk(self, zone=ZONE, region=None, request_id=None, **told):
        request = {"project": PROJECT, "bulk_insert_instance_resource_resource": told}
        if request_id:
            request["request_id"] = request_id
        if region:
            request["region"] = region
            return self.region_instances.bulk_insert_unary(request=request, retry=None, timeout=20)
        request["zone"] = zone
        return self.instances.bulk_insert_unary(request=request, retry=None, timeout=20)

    def act(self, verb, name, zone=ZONE, **more):
        call = getattr(self.instances, f"{verb}_unary")
        return call(project=PROJECT, zone=zone, instance=name, retry=None, timeout=20, **more)

    def get(self, name, zone=ZONE):
        return self.instances.get(project=PROJECT, zone=zone, instance=name, retry=None)

    def state(self, name, zone=ZONE):
        try:
            return self.get(name, zone).status
        except exceptions.NotFound:
            return "none"

    def done(self, operation):
        """As it is at its end."""
        place = "region" if operation.region else "zone"
        where = {place: getattr(operation, place).rsplit("/", 1)[-1]}
        while operation.status != v1.Operation.Status.DONE:
            operation = self.operations[place].wait(project=PROJECT, operation=operation.name, retry=None, timeout=150, **where)
        return operation

    def codes(self, operation):
        return [each.code for each in self.done(operation).error.errors]

    def all(self, **asked):
        """Names by scope, over all pages."""
        request = {"project": PROJECT, "return_partial_success": True, **asked}
        if "return_partial_success" not in v1.AggregatedListInstancesRequest.meta.fields:
            request.pop("return_partial_success")
        found = {}
        for scope, told in self.instances.aggregated_list(request=request):
            found.setdefault(scope, []).extend(each.name for each in told.instances)
        return {scope: names for scope, names in found.items() if names}

    def runs(self, name, zone=ZONE):
        return wait_for(f"{name} runs", lambda: self.state(name, zone) == "RUNNING")


def one(name, kind=KIND, image=IMAGE, **more):
    params = v1.AttachedDiskInitializeParams(source_image=image)
    told = {
        "name": name,
        "machine_type": f"zones/{more.pop('in_zone', ZONE)}/machineTypes/{kind}",
        "disks": [v1.AttachedDisk(boot=True, auto_delete=True, initialize_params=params)],
        "network_interfaces": [v1.NetworkInterface(network="global/networks/default")],
        **more,
    }
    return v1.Instance(**{key: each for key, each in told.items() if each is not None})


def properties(kind=KIND, **more):
    told = one("x", **more)
    return v1.InstanceProperties(
        machine_type=kind,
        disks=told.disks,
        network_interfaces=told.network_interfaces,
        labels=told.labels,
        scheduling=told.scheduling,
        metadata=told.metadata,
    )


def many(*names, count=None, **more):
    per = {name: v1.BulkInsertInstanceResourcePerInstanceProperties(name=name) for name in names}
    return {"count": count or len(names), "per_instance_properties": per, "instance_properties": properties(**more)}


def spot(**more):
    return v1.Scheduling(provisioning_model="SPOT", **more)


def ask(lab, token, path, body=None, header=None):
    """(status, JSON) without any client."""
    headers = {"Content-Type": "application/json"}
    if token or header:
        headers["Authorization"] = header or f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{lab.endpoint}/compute/v1/{path}", data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
