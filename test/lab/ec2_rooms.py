# SPDX-License-Identifier: Apache-2.0
"""Machines that boot, as EC2's API moves them."""

import ipaddress

from test.lab.ec2api import lifecycle
from test.lab.ec2api.imds import Imds
from test.lab.ec2api.machines import Machines
from test.lab.room import Cloud
from test.lab.rooms import Rooms

GATE = "172.31.0.1"
HYPERVISOR = "ec2e1916-9099-7caf-fd21-012345abcdef"


def host_name(instance):
    return "ip-" + instance.address.replace(".", "-")


class Ec2Rooms(Rooms, Machines):
    """Give it `ec2` before the first launch."""

    name = "ec2"

    def __init__(self, settings, keyring, top, tree):
        super().__init__(settings, top, tree)
        self.keyring = keyring
        self.ec2 = None
        self.cloud = Cloud(GATE, host_name, "cloud-init", hypervisor=HYPERVISOR, lets_in=self.lets_in)

    def lets_in(self, instance, address):
        """By the rules of its security groups, for port 22. Of ranges alone."""
        ids = [each["GroupId"] for each in instance.asked["Groups"]]
        told = self.ec2.behind.ask(instance.region.name, "describe_security_group_rules", Filters=[{"Name": "group-id", "Values": ids}])[
            "SecurityGroupRules"
        ]
        return any(
            not each["IsEgress"]
            and "CidrIpv4" in each
            and (each["IpProtocol"] == "-1" or (each["IpProtocol"] == "tcp" and each["FromPort"] <= 22 <= each["ToPort"]))
            and ipaddress.ip_address(address) in ipaddress.ip_network(each["CidrIpv4"])
            for each in told
        )

    def lock(self):
        return self.ec2.world.lock

    def clock(self):
        return self.ec2.clock

    def instances(self):
        return self.ec2.world.instances()

    def metadata_of(self, instance):
        return Imds(self.ec2, self.keyring, instance)

    def boot(self, instance):
        instance.move((0, "pending"))
        self.start(instance)

    def is_coming(self, instance):
        return instance.state() == "pending"

    def is_up(self, instance):
        instance.move((0, "running"))

    def is_off(self, instance):
        state = instance.state()
        if state in ("running", "pending"):
            instance.state_reason = lifecycle.GUEST
            instance.reason = f"User initiated {lifecycle.stamp()}"
            state = "shutting-down" if instance.shutdown == "terminate" else "stopping"
        instance.move((0, "stopped" if state == "stopping" else "terminated"))

    def power_off(self, instance, then):
        was = instance.state()
        instance.move((0, "stopping" if then == "stopped" else "shutting-down"))
        if was == "stopped":
            instance.move((0, then))
        elif was == "running":
            self.button(instance)
