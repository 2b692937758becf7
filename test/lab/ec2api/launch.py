# SPDX-License-Identifier: Apache-2.0
"""RunInstances: all or none between MinCount and MaxCount, once for each token, where there is
room."""

import ipaddress
import json
import time

from test.lab.ec2api import capacity, checks, views, volumes
from test.lab.ec2api.errors import DRY_RUN, Refusal, combination
from test.lab.ec2api.world import ACCOUNT, Instance, new_id

NOT_COMPARED = ("ClientToken", "DryRun")


class Launch:
    """What a token stands for."""

    def __init__(self, given, reservation, instances):
        self.given = given
        self.reservation = reservation
        self.instances = instances


def run_instances(ec2, region_name, asked):
    region = ec2.world.region(region_name)
    plan = checks.complete(ec2.behind, region_name, asked)
    given = json.dumps({k: v for k, v in asked.items() if k not in NOT_COMPARED}, sort_keys=True, default=str)
    token = (plan.get("ClientToken"), plan["Zone"])
    if token[0] and token in region.tokens:
        return _again(region.tokens[token], given)
    group = placement_group(region, plan)
    reserved = reservation(region, plan)
    count, zone = place(ec2, region, plan, group)
    if asked.get("DryRun"):
        raise DRY_RUN
    ec2.capacity.check_quota(ec2.world, ec2.behind, region_name, plan["InstanceType"], plan["Market"], count)
    plan["Zone"] = zone
    plan["Subnet"] = plan["Subnet"] or ec2.behind.default_subnets(region_name)[zone]
    plan["Group"] = group
    plan["Reserved"] = reserved
    launch = make(ec2, region, plan, count)
    launch.given = given
    if token[0]:
        region.tokens[token] = launch
    if plan["Market"] == "spot":
        ec2.world.spot_role = True
    for instance in launch.instances:
        ec2.machines.launch(instance)
    return views.reservation(launch.reservation, launch.instances)


def _again(launch, given):
    if launch.given != given:
        raise Refusal(
            "IdempotentParameterMismatch",
            "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
        )
    if all(each.over for each in launch.instances):
        raise Refusal(
            "IdempotentInstanceTerminated",
            "The client token you have provided is "
            "associated with an instance that has already been terminated. Please use "
            "a different token.",
        )
    return views.reservation(launch.reservation, launch.instances)


def placement_group(region, plan):
    place_ = plan.get("Placement", {})
    name = place_.get("GroupName")
    if place_.get("GroupId"):
        groups = region.groups.values()
        named = [g["GroupName"] for g in groups if g["GroupId"] == place_["GroupId"]]
        name = named[0] if named else place_["GroupId"]
    if not name:
        return None
    if name not in region.groups:
        raise Refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    group = region.groups[name]
    if group["Strategy"] not in plan["Type"]["PlacementGroupInfo"]["SupportedStrategies"]:
        raise combination(
            f"{group['Strategy'].capitalize()} placement groups are not supported by the "
            f"'{plan['InstanceType']}' instance type. Specify a supported instance type or change "
            "the placement group strategy, and try again."
        )
    return group


def reservation(region, plan):
    """The id of a capacity reservation that the request wants, or None."""
    said = plan.get("CapacityReservationSpecification", {})
    wanted = said.get("CapacityReservationTarget", {}).get("CapacityReservationId")
    if plan["Market"] == "capacity-block" and not wanted:
        raise combination("A capacity block needs the id of its capacity reservation.")
    if not wanted:
        return None
    found = region.reservations.get(wanted)
    if found is None:
        raise Refusal("InvalidCapacityReservationId.NotFound", f"The capacity reservation ID '{wanted}' does not exist")
    if found["State"] != "active" or found["InstanceType"] != plan["InstanceType"]:
        raise Refusal("ReservationCapacityExceeded", "The specified capacity reservation is not active, or is for another instance type.")
    used = sum(each.asked.get("Reserved") == wanted and each.takes_room for each in region.instances.values())
    if found["TotalInstanceCount"] - used < plan["MinCount"]:
        raise Refusal("ReservationCapacityExceeded", "The requested quantity exceeds the available capacity of the capacity reservation.")
    plan["Zone"] = plan["Zone"] or found["AvailabilityZone"]
    return wanted


def place(ec2, region, plan, group):
    """How many, and in which zone."""
    type_name, market = plan["InstanceType"], plan["Market"]
    offered = ec2.behind.zones_with(region.name, type_name)
    zone = plan["Zone"] or _zone_of(region, group)
    if zone and zone not in offered:
        raise Refusal(
            "Unsupported",
            f"Your requested instance type ({type_name}) is not "
            f"supported in your requested Availability Zone ({zone}). Please retry your "
            "request by not specifying an Availability Zone or choosing " + ", ".join(offered) + ".",
        )
    if market == "spot":
        ec2.prices.check_bid(region.name, plan, zone or offered[0])
    if "Subnet" in plan and not plan["Subnet"] and not zone:
        with_subnet = ec2.behind.default_subnets(region.name)
        candidates = [each for each in offered if each in with_subnet]
        if not candidates:
            vpc_id = plan["Vpc"]["VpcId"]
            raise Refusal("MissingInput", f"No subnets found for the default VPC '{vpc_id}'. Please specify a subnet.")
    else:
        candidates = [zone] if zone else offered

    def free(each):
        return ec2.capacity.free(ec2.world, region.name, each, type_name, market)

    for each in candidates:
        if free(each) >= plan["MinCount"]:
            return min(free(each), plan["MaxCount"]), each
    tried = zone or candidates[0]
    others = [each for each in offered if each != tried and free(each) >= plan["MinCount"]]
    raise capacity.no_room(type_name, market, tried, others)


def _zone_of(region, group):
    """Where the machines of a cluster are."""
    if not group or group["Strategy"] != "cluster":
        return None
    for each in region.instances.values():
        if each.takes_room and each.asked.get("Group") is group:
            return each.asked["Zone"]
    return None


def address(region, subnet):
    """The next one that was never given: real ones come back late, too."""
    given = region.addresses.get(subnet["SubnetId"], 0)
    region.addresses[subnet["SubnetId"]] = given + 1
    network = ipaddress.ip_network(subnet["CidrBlock"])
    if given + 10 >= network.num_addresses - 1:
        raise Refusal(
            "InsufficientFreeAddressesInSubnet",
            f"There are not enough free addresses in subnet '{subnet['SubnetId']}' to satisfy the requested number of instances.",
        )
    return str(network[given + 10])


def make(ec2, region, plan, count):
    reservation_id = new_id("r")
    dead = ec2.faults.birth(count)
    instances = []
    for index in range(count):
        instance = Instance(region, plan, index, reservation_id)
        instance.tags = dict(plan["Tags"].get("instance", {}))
        instance.address = address(region, plan["Subnet"])
        instance.card = new_id("eni")
        instance.mac = "02:" + ":".join(f"{int(part):02x}" for part in ("10", *instance.address.split(".")))
        instance.visible = time.time() + ec2.settings.late
        instance.zone_id = ec2.behind.zones(region.name)[plan["Zone"]]
        instance.born_dead = dead
        if plan["Market"] == "spot":
            instance.spot_request = new_id("sir")
            region.spot_requests[instance.spot_request] = {
                "instance": instance,
                "tags": dict(plan["Tags"].get("spot-instances-request", {})),
                "cancelled": None,
                "price": ec2.prices.now(plan["InstanceType"], plan["Zone"]),
            }
        volumes.attach(region, instance)
        region.instances[instance.id] = instance
        instances.append(instance)
    return Launch(None, {"id": reservation_id, "owner": ACCOUNT}, instances)
