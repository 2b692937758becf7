# SPDX-License-Identifier: Apache-2.0
"""The methods of Compute Engine that the lab knows, and what they work on. Any other one is
refused: better no answer than a wrong one."""

import json
import re
import time
import types

from test.lab.gceapi import catalogue, errors, launch, lifecycle, policies, reads, tags
from test.lab.gceapi.capacity import Capacity
from test.lab.gceapi.machines import Machines
from test.lab.gceapi.world import World, number_of
from test.lab.going_wrong import Faults
from test.lab.timeline import Clock

SETTINGS = {
    "operation_delay": 0.1,  # seconds until the operation of a launch or a start is decided
    "boot_delay": 0.1,  # of machines that do not boot: seconds from PROVISIONING to RUNNING
    "stop_delay": 0.1,  # of the same: seconds of STOPPING
    "rollback_delay": 0.1,  # seconds that machines of a bulk are there before it is rolled back
    "restart_delay": 0.1,  # seconds until a machine whose host died starts elsewhere
    "late": 0.0,  # seconds until a new machine is seen by anybody
    "stale": 0.0,  # what is told of machines is so many seconds old
    "wait_limit": 120.0,  # seconds that operations.wait waits at most
    "token_life": 3599.0,  # seconds that a token is good
    "power_button": 30.0,  # of machines that boot: seconds until one that goes on is cut off
    "boot_tries": 0,  # of machines that boot: how often each tries to fetch its binary; 0: as often as it is told
    "refuse_notice": False,  # whether preemptionNoticeDuration is refused
    "notices": (120.0,),  # which of them there are
    "private_access": False,  # whether subnetworks have Private Google Access
    "enabled": True,  # whether the project has the API enabled
}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
PROJECT = "lab-project"

CHANGES = {
    "instances.bulkInsert": launch.bulk_in_zone,
    "instances.delete": lifecycle.delete,
    "instances.insert": launch.insert,
    "instances.reset": lifecycle.reset,
    "instances.setLabels": tags.set_labels,
    "instances.setMetadata": tags.set_metadata,
    "instances.start": lifecycle.start,
    "instances.stop": lifecycle.stop,
    "regionInstances.bulkInsert": launch.bulk_in_region,
    "disks.delete": reads.delete_disk,
    "networks.insert": reads.insert_network,
    "firewalls.insert": reads.insert_firewall,
    "firewalls.delete": reads.delete_firewall,
    "resourcePolicies.insert": policies.insert,
    "resourcePolicies.delete": policies.delete,
}
READS = {
    "acceleratorTypes.aggregatedList": reads.all_accelerators,
    "acceleratorTypes.get": reads.accelerator,
    "acceleratorTypes.list": reads.accelerators,
    "disks.aggregatedList": reads.all_disks,
    "disks.get": reads.disk,
    "disks.list": reads.disks,
    "firewalls.get": reads.firewall,
    "firewalls.list": reads.firewalls,
    "globalOperations.aggregatedList": reads.all_operations,
    "globalOperations.get": reads.operation,
    "globalOperations.list": reads.operations,
    "globalOperations.wait": reads.wait,
    "images.get": reads.image,
    "images.getFromFamily": reads.image_of_family,
    "images.list": reads.images,
    "instances.aggregatedList": reads.all_instances,
    "instances.get": reads.instance,
    "instances.getGuestAttributes": reads.guest_attributes,
    "instances.getSerialPortOutput": reads.serial_port,
    "instances.list": reads.instances,
    "machineTypes.aggregatedList": reads.all_machine_types,
    "machineTypes.get": reads.machine_type,
    "machineTypes.list": reads.machine_types,
    "networks.get": reads.network,
    "networks.list": reads.networks,
    "projects.get": reads.project,
    "regionOperations.get": reads.operation,
    "regionOperations.list": reads.operations,
    "regionOperations.wait": reads.wait,
    "regions.get": reads.region,
    "regions.list": reads.regions,
    "resourcePolicies.get": policies.get,
    "resourcePolicies.list": policies.list_,
    "subnetworks.get": reads.subnetwork,
    "subnetworks.list": reads.subnetworks,
    "zoneOperations.get": reads.operation,
    "zoneOperations.list": reads.operations,
    "zoneOperations.wait": reads.wait,
    "zones.get": reads.zone,
    "zones.list": reads.zones,
}


class Births:
    """Launches and starts whose operation ends with an error, as a test has said."""

    def __init__(self):
        self.waiting = []

    def add(self, code, words=None, count=1, status=503):
        self.waiting.append({"code": code, "words": words, "count": count, "status": status})

    def clear(self):
        self.waiting.clear()

    def check(self, _):
        if not self.waiting:
            return
        first = self.waiting[0]
        first["count"] -= 1
        if first["count"] <= 0:
            self.waiting.pop(0)
        raise errors.named(first["code"], first["words"], first["status"])


class Compute:
    """What the methods work on. `identity`: see identity.py; `machines`: see machines.py."""

    def __init__(self, identity, machines=None):
        self.settings = types.SimpleNamespace(**SETTINGS)
        self.identity = identity
        self.machines = machines or Machines(self.settings)
        self.machines.api = self
        self.faults = Faults()
        self.births = Births()
        self.own_images = []  # in the form of catalogue.IMAGES
        self.clock = Clock(lambda: self.world.lock)
        self.projects = {PROJECT}
        self.may = lambda email, permission, acts_as=(), on=(): True  # project.py has one by what is bound
        self.forget()

    def forget(self):
        """As at the beginning, for the next test in the same process."""
        self.clock.end()  # what was to happen in the world of before
        self.world = World()
        self.capacity = Capacity()
        self.faults.clear()
        self.births.clear()
        self.silent_zones = set()
        self.denied = set()  # permissions that nobody has
        self.networks = {"default"}
        self.subnetworks = {"default": "default"}  # name -> network
        self.firewalls = {}
        self.project_metadata = []

    def call(self, method, params, query, body, who):
        """The answer as JSON. Raises Refusal."""
        with self.world.lock:
            name = method.removeprefix("compute.")
            self.check_project(params["project"], name)
            if params.get("zone") in self.silent_zones:
                raise errors.Refusal(503, f"Zone '{params['zone']}' did not answer.")
            if name in READS:
                return READS[name](self, params, query)
            return reads.view_operation(self.change(name, params, query, body, who))

    def change(self, name, params, query, body, who):
        request_id = query.get("requestId")
        if request_id is None:
            return CHANGES[name](self, params, body, who)
        if not UUID.fullmatch(request_id.lower()) or set(request_id) <= set("0-"):
            raise errors.invalid("requestId", request_id, "Must be a valid UUID.")
        asked = json.dumps([name, params, body], sort_keys=True)
        known = self.world.requests.get((params["project"], request_id))
        if known:
            if known[0] != asked:
                raise errors.invalid("requestId", request_id, "Another request had the same id.")
            return known[1]
        operation = CHANGES[name](self, params, json.loads(json.dumps(body)), who)
        operation.request_id = request_id
        self.world.requests[(params["project"], request_id)] = (asked, operation)
        return operation

    def check_project(self, project, name):
        if name.startswith("images.") and project in catalogue.image_projects(self.own_images):
            return
        if project not in self.projects:
            raise errors.Refusal(404, f"Failed to find project {project}")
        if not self.settings.enabled:
            raise errors.not_enabled(project)

    def check_zone(self, project, zone):
        if zone not in catalogue.zones():
            raise errors.not_found(f"projects/{project}/zones/{zone}")

    def place(self, *asked):
        policies.of_instance(self, *asked)

    def image(self, project, name, family=False):
        """What images.get or getFromFamily finds, or None."""
        found = catalogue.images(project, self.own_images)
        if family:
            return next((each for each in found if each["family"] == name and "deprecated" not in each), None)
        return next((each for each in found if each["name"] == name), None)

    def others(self, instance):
        """Zones of its region that have room for its kind."""
        return [
            zone
            for zone in catalogue.zones_of(catalogue.region_of(instance.zone))
            if zone != instance.zone
            and catalogue.has_type(zone, instance.kind)
            and self.capacity.free(self.world, zone, instance.kind, instance.market)
        ]

    def default_account(self, project):
        return f"{number_of(project)}-compute@developer.gserviceaccount.com"

    def soon(self, call, *arguments):
        self.clock.after(self.settings.operation_delay, call, *arguments)

    def wait(self, operation):
        """Of a caller that holds the lock, which goes free meanwhile."""
        end = time.monotonic() + self.settings.wait_limit
        while operation.status != "DONE" and time.monotonic() < end:
            self.world.changed.wait(min(end - time.monotonic(), 5))

    def end(self):
        self.clock.end()
        self.machines.end()
