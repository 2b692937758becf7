# SPDX-License-Identifier: Apache-2.0
"""Spot requests and prices. Prices move in steps of six hours, and are made up of the type, the
zone and the step; a test may say others."""

import hashlib
import time

from test.lab.ec2api.errors import Refusal, invalid_value, unknown_ids
from test.lab.ec2api.filters import chosen, page
from test.lab.ec2api.views import tag_list
from test.lab.ec2api.world import when

STEP = 6 * 3600
HISTORY = 90 * 86400


class Prices:
    def __init__(self, behind):
        self.behind = behind
        self.said = {}  # (type, zone or '*') -> price

    def on_demand(self, region, type_name):
        """Roughly what such a machine costs an hour, out of what it has."""
        kind = self.behind.type(region, type_name)
        gpus = sum(each["Count"] for each in kind.get("GpuInfo", {}).get("Gpus", []))
        return 0.045 * kind["VCpuInfo"]["DefaultVCpus"] + 0.8 * gpus

    def at(self, type_name, zone, moment):
        for key in ((type_name, zone), (type_name, "*")):
            if key in self.said:
                return self.said[key]
        step = int(moment // STEP)
        drawn = hashlib.sha256(f"{type_name} {zone} {step}".encode()).digest()[0] / 255
        return self.on_demand(zone.rstrip("abcdef"), type_name) * (0.25 + 0.2 * drawn)

    def now(self, type_name, zone):
        return self.at(type_name, zone, time.time())

    def check_bid(self, region, plan, zone):
        bid = plan["InstanceMarketOptions"].get("SpotOptions", {}).get("MaxPrice")
        if bid is None:
            return
        try:
            offered = float(bid)
        except ValueError:
            raise invalid_value(bid, "spotPrice") from None
        price = self.now(plan["InstanceType"], zone)
        if offered < price:
            raise Refusal(
                "SpotMaxPriceTooLow",
                f"Your Spot request price of {bid} is lower than the minimum required Spot request fulfillment price of {price:.4f}.",
            )


def describe_price_history(ec2, region, asked):
    until = asked["EndTime"].timestamp() if "EndTime" in asked else time.time()
    since = asked["StartTime"].timestamp() if "StartTime" in asked else until - HISTORY
    since, until = min(since, time.time()), min(until, time.time())
    types = asked.get("InstanceTypes") or []
    fields = ("availability-zone", "instance-type", "product-description", "spot-price")
    for each in asked.get("Filters", []):
        if each["Name"] == "instance-type":
            types = types + [v for v in each["Values"] if "*" not in v]
    listed = []
    for type_name in types:
        kind = ec2.behind.type(region, type_name)
        if kind is None:
            raise invalid_value(type_name, "instanceType")
        if "spot" not in kind.get("SupportedUsageClasses", ["spot"]):
            continue
        for zone in ec2.behind.zones_with(region, type_name):
            listed += steps(ec2, type_name, zone, since, until)
    products = asked.get("ProductDescriptions")
    listed = [
        each
        for each in listed
        if asked.get("AvailabilityZone") in (None, each["AvailabilityZone"]) and (not products or each["ProductDescription"] in products)
    ]
    pairs = [
        (
            each,
            {
                "availability-zone": each["AvailabilityZone"],
                "instance-type": each["InstanceType"],
                "product-description": each["ProductDescription"],
                "spot-price": each["SpotPrice"],
            },
        )
        for each in listed
    ]
    listed = chosen(pairs, asked.get("Filters"), fields)
    listed.sort(key=lambda each: each["Timestamp"], reverse=True)
    some, more = page(
        listed, asked, lambda e: f"{e['InstanceType']} {e['AvailabilityZone']} {e['ProductDescription']} {e['Timestamp']}", least=1
    )
    return {"SpotPriceHistory": some, "NextToken": more or ""}


def steps(ec2, type_name, zone, since, until):
    """The price that held at `since`, and each change up to `until`."""
    moments = [since // STEP * STEP]
    while moments[-1] + STEP <= until:
        moments.append(moments[-1] + STEP)
    return [
        {
            "AvailabilityZone": zone,
            "InstanceType": type_name,
            "ProductDescription": product,
            "SpotPrice": f"{ec2.prices.at(type_name, zone, moment):.6f}",
            "Timestamp": when(moment),
        }
        for moment in moments
        for product in ("Linux/UNIX", "Red Hat Enterprise Linux")
    ]


def _status(request):
    instance = request["instance"]
    if request["cancelled"] and not instance.over:
        return "cancelled", "request-canceled-and-instance-running"
    if not instance.over:
        return "active", "fulfilled"
    if instance.notice:
        return "closed", "instance-terminated-no-capacity"
    return "closed", "instance-terminated-by-user"


def describe_requests(ec2, region_name, asked):
    region = ec2.world.region(region_name)
    ids = asked.get("SpotInstanceRequestIds")
    lost = [each for each in ids or [] if each not in region.spot_requests]
    if lost:
        raise unknown_ids("InvalidSpotInstanceRequestID", "spot instance request", lost)
    pairs = []
    for name in ids or region.spot_requests:
        request = region.spot_requests[name]
        told = describe(name, request)
        pairs.append(
            (
                told,
                {
                    "spot-instance-request-id": name,
                    "instance-id": request["instance"].id,
                    "state": told["State"],
                    "status-code": told["Status"]["Code"],
                    "type": "one-time",
                    "launched-availability-zone": told["LaunchedAvailabilityZone"],
                    "tags": request["tags"],
                },
            )
        )
    fields = ("spot-instance-request-id", "instance-id", "state", "status-code", "type", "launched-availability-zone", "tags")
    found = chosen(pairs, asked.get("Filters"), fields)
    some, more = page(found, asked, lambda each: each["SpotInstanceRequestId"], ids=ids)
    return {"SpotInstanceRequests": some, "NextToken": more}


def describe(name, request):
    instance = request["instance"]
    plan = instance.asked
    state, code = _status(request)
    return {
        "SpotInstanceRequestId": name,
        "InstanceId": instance.id,
        "InstanceInterruptionBehavior": "terminate",
        "Type": plan.get("InstanceMarketOptions", {}).get("SpotOptions", {}).get("SpotInstanceType", "one-time"),
        "State": state,
        "Status": {"Code": code, "Message": code, "UpdateTime": when(instance.since())},
        "CreateTime": when(instance.born),
        "LaunchedAvailabilityZone": plan["Zone"],
        "LaunchSpecification": {
            "ImageId": plan["ImageId"],
            "InstanceType": plan["InstanceType"],
            "Placement": {"AvailabilityZone": plan["Zone"]},
        },
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": f"{request['price']:.6f}",
        "Tags": tag_list(request["tags"]),
    }


def cancel_requests(ec2, region_name, asked):
    region = ec2.world.region(region_name)
    ids = asked.get("SpotInstanceRequestIds", [])
    lost = [each for each in ids if each not in region.spot_requests]
    if lost:
        raise unknown_ids("InvalidSpotInstanceRequestID", "spot instance request", lost)
    for each in ids:
        region.spot_requests[each]["cancelled"] = region.spot_requests[each]["cancelled"] or True
    return {
        "CancelledSpotInstanceRequests": [
            {"SpotInstanceRequestId": each, "State": "closed" if region.spot_requests[each]["instance"].over else "cancelled"}
            for each in ids
        ]
    }
