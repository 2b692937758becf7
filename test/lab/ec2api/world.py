# SPDX-License-Identifier: Apache-2.0
"""What there is: machines, disks, spot requests, tokens and groups, by region. Nothing here moves
by itself."""

import datetime
import secrets
import threading

from test.lab.timeline import Timeline

ACCOUNT = "123456789012"
CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}
OVER = ("shutting-down", "terminated")


def new_id(prefix):
    return f"{prefix}-{secrets.token_hex(9)[:17]}"


def when(moment):
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc)


def state_of(name):
    return {"Code": CODES[name], "Name": name}


class Instance(Timeline):
    """`asked` is the request that made it."""

    def __init__(self, region, asked, index, reservation):
        super().__init__("pending")
        self.id = new_id("i")
        self.region = region
        self.asked = asked
        self.index = index
        self.reservation = reservation
        self.reservation_owner = ACCOUNT
        self.launched = self.born
        self.reason = ""  # StateTransitionReason
        self.state_reason = None
        self.tags = {}
        self.spot_request = None
        self.volumes = []
        self.shutdown = asked.get("InstanceInitiatedShutdownBehavior", "stop")
        self.user_data = asked.get("UserDataBytes", b"")
        self.protected = bool(asked.get("DisableApiTermination"))
        self.stop_protected = bool(asked.get("DisableApiStop"))
        self.notice = None  # {'action', 'time'}
        self.rebalance = None  # a time
        self.maintenance = []  # events as the metadata tells them
        self.console = b""  # of one that does not boot
        self.room = None  # of one that boots

    @property
    def over(self):
        return self.moments[-1][1] == "terminated"

    @property
    def takes_room(self):
        return self.state() in ("pending", "running", "stopping")

    @property
    def spot(self):
        return self.spot_request is not None

    @property
    def market(self):
        return "spot" if self.spot else "on-demand"


class Region:
    def __init__(self, name):
        self.name = name
        self.instances = {}
        self.volumes = {}
        self.spot_requests = {}
        self.groups = {}  # of placement, by name
        self.reservations = {}  # of capacity, by id
        self.tokens = {}  # (token, zone or None) -> Launch
        self.addresses = {}  # subnet -> how many were given


class World:
    """Use it under its lock."""

    def __init__(self):
        self.lock = threading.RLock()
        self.regions = {}
        self.spot_role = False  # AWSServiceRoleForEC2Spot, made by the first who may and asks for spot

    def region(self, name):
        return self.regions.setdefault(name, Region(name))

    def instances(self):
        return [each for region in self.regions.values() for each in region.instances.values()]

    def find(self, instance_id):
        for region in self.regions.values():
            if instance_id in region.instances:
                return region.instances[instance_id]
        raise KeyError(f"no instance {instance_id}")
