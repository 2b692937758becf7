# SPDX-License-Identifier: Apache-2.0
"""The calls of EC2: which are ours, and which are moto's."""

import types

from test.lab.ec2api import describe, groups, launch, lifecycle, spot, tags
from test.lab.ec2api.capacity import Capacity
from test.lab.ec2api.faults import Faults
from test.lab.ec2api.machines import Machines
from test.lab.ec2api.spot import Prices
from test.lab.ec2api.world import World
from test.lab.timeline import Clock

SETTINGS = {
    "boot_delay": 0.1,  # of machines that do not boot: seconds from pending to running
    "stop_delay": 0.1,  # of the same: seconds of shutting-down and stopping
    "nitro": True,  # whether the newest of a console is told
    "late": 0.0,  # seconds until a new machine is seen by anybody
    "stale": 0.0,  # what is told of a machine's state is so many seconds old
    "keep_terminated": 3600.0,  # seconds that a terminated machine is still told of
    "verify": False,  # whether signatures must be right
    "credential_life": 21600.0,  # seconds that a role's keys are good
    # Of machines that boot: seconds until one that goes on is killed. EC2 says of a reboot "within
    # four minutes", and of a stop "the timeout period".
    "power_button": 240.0,
    "boot_tries": 0,  # how often a machine that boots tries to fetch its binary; 0: as often as it is told
}

OURS = {
    "CancelSpotInstanceRequests": spot.cancel_requests,
    "CreatePlacementGroup": groups.create,
    "CreateTags": tags.create,
    "DeletePlacementGroup": groups.delete,
    "DeleteSecurityGroup": groups.delete_security_group,
    "DeleteTags": tags.delete,
    "DeleteVolume": describe.delete_volume,
    "DescribeCapacityReservations": groups.describe_reservations,
    "DescribeInstanceAttribute": describe.attribute,
    "DescribeInstanceStatus": describe.statuses,
    "DescribeInstances": describe.instances,
    "DescribeNetworkInterfaces": describe.cards,
    "DescribePlacementGroups": groups.describe,
    "DescribeSpotInstanceRequests": spot.describe_requests,
    "DescribeSpotPriceHistory": spot.describe_price_history,
    "DescribeTags": tags.describe_tags,
    "DescribeVolumes": describe.all_volumes,
    "GetConsoleOutput": describe.console_output,
    "ModifyInstanceAttribute": lifecycle.modify,
    "RebootInstances": lifecycle.reboot,
    "RunInstances": launch.run_instances,
    "StartInstances": lifecycle.start,
    "StopInstances": lifecycle.stop,
    "TerminateInstances": lifecycle.terminate,
}

# What moto does faithfully. Any other call is refused: better no answer than a wrong one.
MOTOS = {
    "AllocateAddress",
    "AuthorizeSecurityGroupEgress",
    "AuthorizeSecurityGroupIngress",
    "CreateKeyPair",
    "CreateSecurityGroup",
    "CreateSubnet",
    "CreateVpc",
    "DeleteKeyPair",
    "DeleteSubnet",
    "DeleteVpc",
    "DeregisterImage",
    "DescribeAccountAttributes",
    "DescribeAvailabilityZones",
    "DescribeImages",
    "DescribeInstanceTypeOfferings",
    "DescribeInstanceTypes",
    "DescribeInternetGateways",
    "DescribeKeyPairs",
    "DescribeRegions",
    "DescribeRouteTables",
    "DescribeSecurityGroupRules",
    "DescribeSecurityGroups",
    "DescribeSubnets",
    "CreateVpcEndpoint",
    "DescribeVpcAttribute",
    "DescribeVpcEndpoints",
    "DescribeVpcs",
    "ImportKeyPair",
    "ModifySubnetAttribute",
    "ModifyVpcAttribute",
    "RegisterImage",
    "RevokeSecurityGroupEgress",
    "RevokeSecurityGroupIngress",
    "UpdateSecurityGroupRuleDescriptionsIngress",
}


class Ec2:
    """What the calls work on. `behind`: see behind.py; `machines`: see machines.py."""

    def __init__(self, behind, machines=None):
        self.settings = types.SimpleNamespace(**SETTINGS)
        self.behind = behind
        self.world = World()
        self.sent_keys = []  # of Instance Connect: (when, what was sent)
        self.capacity = Capacity()
        self.faults = Faults()
        self.prices = Prices(behind)
        self.machines = machines or Machines(self.settings)
        self.clock = Clock(lambda: self.world.lock)

    def call(self, action, region, asked):
        """The result in the model's words. Raises Refusal."""
        with self.world.lock:
            return OURS[action](self, region, asked)

    def end(self):
        self.clock.end()
        self.machines.end()
