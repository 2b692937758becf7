# SPDX-License-Identifier: Apache-2.0
"""Placement groups and capacity reservations, which moto has not; and that a security group in use
cannot be deleted."""

import time

from test.lab.ec2api.errors import Refusal, invalid_value
from test.lab.ec2api.filters import chosen, page
from test.lab.ec2api.views import tag_list
from test.lab.ec2api.world import ACCOUNT, new_id, when


def create(ec2, region_name, asked):
    region = ec2.world.region(region_name)
    name, strategy = asked.get("GroupName", ""), asked.get("Strategy", "cluster")
    if strategy not in ("cluster", "partition", "spread"):
        raise invalid_value(strategy, "strategy")
    if name in region.groups:
        raise Refusal("InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists.")
    tags = {}
    for each in asked.get("TagSpecifications", []):
        tags.update({tag["Key"]: tag.get("Value", "") for tag in each.get("Tags", [])})
    region.groups[name] = {"GroupName": name, "GroupId": new_id("pg"), "Strategy": strategy, "tags": tags}
    return {"PlacementGroup": _told(region, region.groups[name])}


def _told(region, group):
    return {
        "GroupName": group["GroupName"],
        "GroupId": group["GroupId"],
        "GroupArn": f"arn:aws:ec2:{region.name}:{ACCOUNT}:placement-group/{group['GroupName']}",
        "Strategy": group["Strategy"],
        "State": "available",
        "Tags": tag_list(group["tags"]),
    }


def describe(ec2, region_name, asked):
    region = ec2.world.region(region_name)
    wanted = asked.get("GroupNames", [])
    for name in wanted:
        if name not in region.groups:
            raise Refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    ids = asked.get("GroupIds", [])
    pairs = []
    for group in region.groups.values():
        if (wanted and group["GroupName"] not in wanted) or (ids and group["GroupId"] not in ids):
            continue
        pairs.append(
            (
                _told(region, group),
                {
                    "group-name": group["GroupName"],
                    "group-id": group["GroupId"],
                    "state": "available",
                    "strategy": group["Strategy"],
                    "tags": group["tags"],
                },
            )
        )
    names = ("group-name", "group-id", "state", "strategy", "tags")
    return {"PlacementGroups": chosen(pairs, asked.get("Filters"), names)}


def delete(ec2, region_name, asked):
    region = ec2.world.region(region_name)
    name = asked.get("GroupName", "")
    if name not in region.groups:
        raise Refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    for each in region.instances.values():
        if each.asked.get("Group") is region.groups[name] and each.state() != "terminated":
            raise Refusal("InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use and may not be deleted.")
    del region.groups[name]
    return {}


def delete_security_group(ec2, region_name, asked):
    """moto knows nothing of our machines."""
    name = asked.get("GroupId") or asked.get("GroupName", "")
    for each in ec2.world.region(region_name).instances.values():
        for group in each.asked["Groups"]:
            if name in (group["GroupId"], group["GroupName"]) and each.state() != "terminated":
                raise Refusal("DependencyViolation", f"resource {name} has a dependent object")
    told = ec2.behind.ask(region_name, "delete_security_group", **asked)
    return {key: value for key, value in told.items() if key != "ResponseMetadata"}


def reserve(ec2, region_name, type_name, zone, count):
    """A capacity reservation, as a test or a person has bought it: its id."""
    name = new_id("cr")
    ec2.world.region(region_name).reservations[name] = {
        "CapacityReservationId": name,
        "OwnerId": ACCOUNT,
        "InstanceType": type_name,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": zone,
        "Tenancy": "default",
        "TotalInstanceCount": count,
        "AvailableInstanceCount": count,
        "EbsOptimized": False,
        "State": "active",
        "EndDateType": "unlimited",
        "InstanceMatchCriteria": "targeted",
        "CreateDate": when(time.time()),
    }
    return name


def describe_reservations(ec2, region_name, asked):
    region = ec2.world.region(region_name)
    wanted = asked.get("CapacityReservationIds")
    pairs = []
    for name, kept in region.reservations.items():
        if wanted and name not in wanted:
            continue
        used = sum(each.asked.get("Reserved") == name and each.takes_room for each in region.instances.values())
        told = {**kept, "AvailableInstanceCount": kept["TotalInstanceCount"] - used}
        pairs.append((told, {"instance-type": kept["InstanceType"], "availability-zone": kept["AvailabilityZone"], "state": kept["State"]}))
    lost = set(wanted or []) - set(region.reservations)
    if lost:
        raise Refusal("InvalidCapacityReservationId.NotFound", f"The capacity reservation ID '{sorted(lost)[0]}' does not exist")
    found = chosen(pairs, asked.get("Filters"), ("instance-type", "availability-zone", "state"))
    some, more = page(found, asked, lambda each: each["CapacityReservationId"], least=1)
    return {"CapacityReservations": some, "NextToken": more}
