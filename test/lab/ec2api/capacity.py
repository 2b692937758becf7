# SPDX-License-Identifier: Apache-2.0
"""How many machines may be alive at once, by zone, type and market; and quotas. Nothing is counted
up or down: who is alive is looked up."""

import fnmatch

from test.lab.ec2api.errors import Refusal

PLENTY = 1 << 30


class Capacity:
    def __init__(self):
        self.rules = []  # {'zone', 'type', 'market', 'slots'}; '*' stands for any
        self.quotas = {}  # market -> vCPUs of a region

    def set(self, slots, zone="*", type="*", market="*"):
        """The newest word on the same three counts. slots=None: there is room again."""
        rule = {"zone": zone, "type": type, "market": market}
        self.rules = [each for each in self.rules if {**each, "slots": 0} != {**rule, "slots": 0}]
        if slots is not None:
            self.rules.append({**rule, "slots": slots})

    def free(self, world, region, zone, type_name, market):
        room = PLENTY
        for rule in self.rules:
            if not _fits(rule, zone, type_name, market):
                continue
            alive = sum(
                each.takes_room and _fits(rule, each.asked["Zone"], each.asked["InstanceType"], each.market)
                for each in world.region(region).instances.values()
            )
            room = min(room, rule["slots"] - alive)
        return max(room, 0)

    def check_quota(self, world, behind, region, type_name, market, count):
        limit = self.quotas.get(market)
        if limit is None:
            return

        def cpus(name):
            return behind.type(region, name)["VCpuInfo"]["DefaultVCpus"]

        used = sum(
            cpus(each.asked["InstanceType"])
            for each in world.region(region).instances.values()
            if each.takes_room and each.market == market
        )
        if used + count * cpus(type_name) <= limit:
            return
        if market == "spot":
            raise Refusal("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
        raise Refusal(
            "VcpuLimitExceeded",
            "You have requested more vCPU capacity than your current vCPU limit of "
            f"{limit} allows for the instance bucket that the specified instance type belongs to. "
            "Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment "
            "to this limit.",
        )


def _fits(rule, zone, type_name, market):
    return fnmatch.fnmatchcase(zone, rule["zone"]) and fnmatch.fnmatchcase(type_name, rule["type"]) and rule["market"] in ("*", market)


def no_room(type_name, market, zone, others):
    """`others`: the zones that have room now."""
    if market == "spot":
        words = "There is no Spot capacity available that matches your request."
    else:
        elsewhere = "by not specifying an Availability Zone in your request"
        if others:
            elsewhere += " or choosing " + ", ".join(others)
        words = (
            f"We currently do not have sufficient {type_name} capacity in the Availability Zone "
            f"you requested ({zone}). Our system will be working on provisioning additional "
            f"capacity. You can currently get {type_name} capacity {elsewhere}."
        )
    return Refusal("InsufficientInstanceCapacity", words, 500)
