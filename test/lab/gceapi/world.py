# SPDX-License-Identifier: Apache-2.0
"""What there is: machines, disks and operations of projects. Nothing here moves by itself."""

import base64
import datetime
import hashlib
import json
import secrets
import threading
import time
import uuid

from test.lab.timeline import Timeline

NUMBERS = {}  # project -> its number


def new_number():
    """An id as resources have them."""
    return str((1 << 60) + secrets.randbits(60))


def number_of(project):
    return NUMBERS.setdefault(project, str(100000000000 + len(NUMBERS) * 7919))


def stamp(moment):
    """A time as Compute Engine writes it."""
    at = datetime.datetime.fromtimestamp(moment, datetime.timezone(datetime.timedelta(hours=-8)))
    return at.isoformat(timespec="milliseconds")


def moment_of(text):
    """The time of a text of RFC 3339. Raises ValueError."""
    at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    if at.tzinfo is None:
        raise ValueError(text)
    return at.timestamp()


def fingerprint(told):
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).digest()
    return base64.urlsafe_b64encode(digest[:8]).decode()


def seconds(duration):
    return int(duration.get("seconds", 0)) + duration.get("nanos", 0) / 1e9


class Instance(Timeline):
    """`body` is the request that made it, completed."""

    def __init__(self, project, zone, body, plan):
        super().__init__("PROVISIONING")
        self.id = new_number()
        self.project = project
        self.zone = zone
        self.name = body["name"]
        self.body = body
        self.plan = plan  # what checks.py has found: machine type, image, network
        self.labels = dict(body.get("labels", {}))
        self.metadata = list(body.get("metadata", {}).get("items", []))
        self.guest_attributes = {}  # (namespace, key) -> value, as the VM itself has put it
        self.scheduling = body["scheduling"]
        self.admitted = False  # whether the zone has found room for it
        self.gone_at = None
        self.request = None  # the operation that made it
        self.started = None
        self.stopped = None
        self.ends = None  # a time that its scheduling names
        self.preempted = False
        self.maintenance = "NONE"
        self.upcoming = None
        self.address = ""
        self.mac = ""
        self.action = "STOP"  # where it goes when it is off
        self.waiting = []  # operations that end then
        self.restarts = False  # whether it starts again by itself then
        self.console = b""  # of one that does not boot
        self.room = None  # of one that boots

    @property
    def link(self):
        return f"projects/{self.project}/zones/{self.zone}/instances/{self.name}"

    @property
    def kind(self):
        return self.plan["type"]["name"]

    @property
    def spot(self):
        return self.scheduling["provisioningModel"] == "SPOT"

    @property
    def market(self):
        return "spot" if self.spot else "standard"

    @property
    def gone(self):
        return self.gone_at is not None

    @property
    def takes_room(self):
        return self.admitted and not self.gone and self.state() not in ("TERMINATED", "SUSPENDED")

    def there(self, at):
        """Whether there was one at that time."""
        return self.born <= at and (self.gone_at is None or self.gone_at > at)


class Disk:
    def __init__(self, instance, told, name):
        self.id = new_number()
        self.born = time.time()
        self.instance = instance
        self.zone = instance.zone
        self.project = instance.project
        self.name = name
        self.told = told
        self.labels = dict(told.get("initializeParams", {}).get("labels", {}))
        self.ends_with_it = told.get("autoDelete", False)

    @property
    def link(self):
        return f"projects/{self.project}/zones/{self.zone}/disks/{self.name}"


class Operation:
    """`scope`: 'zones/Z', 'regions/R' or 'global'."""

    def __init__(self, project, scope, kind, target, user):
        now = time.time()
        self.id = new_number()
        self.name = f"operation-{int(now * 1000)}-{uuid.uuid4().hex[:13]}-{secrets.token_hex(4)}"
        self.project = project
        self.scope = scope
        self.kind = kind
        self.target = target  # a link
        self.target_id = None
        self.user = user
        self.request_id = None
        self.group = None
        self.status = "RUNNING"
        self.born = now
        self.ended = None
        self.failed = None  # errors.Failed
        self.words = ""
        self.bulk = None  # location -> BulkInsertOperationStatus

    @property
    def link(self):
        return f"projects/{self.project}/{self.scope}/operations/{self.name}"


class World:
    """Use it under its lock; `changed` is told whenever an operation ends."""

    def __init__(self):
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.instances = []
        self.disks = []
        self.operations = []
        self.policies = {}  # (project, region, name) -> policies.Policy
        self.requests = {}  # (project, request id) -> (what was asked, operation)
        self.addresses = 0

    def living(self, project, zone, name):
        for each in reversed(self.instances):
            if not each.gone and (each.project, each.zone, each.name) == (project, zone, name):
                return each
        return None

    def named(self, name):
        """The newest of that name, alive or not."""
        for each in reversed(self.instances):
            if each.name == name:
                return each
        raise KeyError(f"no instance {name}")

    def next_address(self):
        self.addresses += 1
        high, low = divmod(self.addresses + 1, 250)
        return f"10.128.{high}.{low + 1}", f"42:01:0a:80:{high:02x}:{low + 1:02x}"

    def end_operation(self, operation, failed=None):
        operation.status = "DONE"
        operation.ended = time.time()
        operation.failed = failed
        self.changed.notify_all()
