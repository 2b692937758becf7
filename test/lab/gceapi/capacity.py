# SPDX-License-Identifier: Apache-2.0
"""How many machines may be alive at once, by zone, type and market; and quotas of regions. Nothing
is counted up or down: who is alive is looked up."""

import fnmatch

from test.lab.gceapi import errors
from test.lab.gceapi.catalogue import region_of

PLENTY = 1 << 30


class Capacity:
    def __init__(self):
        self.rules = []  # {'zone', 'type', 'market', 'slots'}; '*' stands for any
        self.quotas = {}  # metric of a region -> its limit, as 'CPUS' or 'PREEMPTIBLE_CPUS'

    def set(self, slots, zone="*", type="*", market="*"):
        """The newest word on the same three counts. slots=None: there is room again."""
        rule = {"zone": zone, "type": type, "market": market}
        self.rules = [each for each in self.rules if {**each, "slots": 0} != {**rule, "slots": 0}]
        if slots is not None:
            self.rules.append({**rule, "slots": slots})

    def clear(self):
        self.rules.clear()
        self.quotas.clear()

    def free(self, world, zone, kind, market):
        room = PLENTY
        for rule in self.rules:
            if _fits(rule, zone, kind, market):
                alive = sum(each.takes_room and _fits(rule, each.zone, each.kind, each.market) for each in world.instances)
                room = min(room, rule["slots"] - alive)
        return max(room, 0)

    def check_quota(self, world, instances):
        """Raises errors.Failed where these would be too many for their region."""
        region = region_of(instances[0].zone)
        used = usage(world, region)
        wanted = {}
        for each in instances:
            for metric, amount in needs(each).items():
                wanted[metric] = wanted.get(metric, 0) + amount
        for metric, amount in wanted.items():
            limit = self.quotas.get(metric)
            if limit is not None and used.get(metric, 0) + amount > limit:
                raise errors.over_quota(metric, limit, region)

    def told(self, world, region):
        """As regions tell them."""
        used = usage(world, region)
        limits = {"CPUS": 2400.0, "INSTANCES": 24000.0, "NVIDIA_L4_GPUS": 64.0, "PREEMPTIBLE_NVIDIA_L4_GPUS": 64.0, **self.quotas}
        return [{"metric": metric, "limit": float(limit), "usage": float(used.get(metric, 0))} for metric, limit in limits.items()]


def needs(instance):
    """What one takes of the quotas."""
    told = instance.plan["type"]
    before = "PREEMPTIBLE_" if instance.spot else ""
    found = {before + "CPUS": told["guestCpus"], "INSTANCES": 1}
    for kind, count in instance.plan["accelerators"].items():
        name = kind.replace("nvidia-tesla-", "nvidia-").upper().replace("-", "_")
        found[f"{before}{name}_GPUS"] = count
    return found


def usage(world, region):
    used = {}
    for each in world.instances:
        if each.takes_room and region_of(each.zone) == region:
            for metric, amount in needs(each).items():
                used[metric] = used.get(metric, 0) + amount
    return used


def _fits(rule, zone, kind, market):
    return fnmatch.fnmatchcase(zone, rule["zone"]) and fnmatch.fnmatchcase(kind, rule["type"]) and rule["market"] in ("*", market)
