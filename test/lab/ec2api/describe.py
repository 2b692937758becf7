# SPDX-License-Identifier: Apache-2.0
"""What is told of machines and their disks: late, where the test says so, as EC2 is."""

import base64
import time

from test.lab.ec2api import views, volumes
from test.lab.ec2api.errors import Refusal, invalid_value, malformed_id, unknown_ids
from test.lab.ec2api.filters import chosen, page
from test.lab.ec2api.world import CODES, state_of, when

FIELDS = (
    "affinity",
    "architecture",
    "availability-zone",
    "block-device-mapping.volume-id",
    "capacity-reservation-id",
    "client-token",
    "dns-name",
    "iam-instance-profile.arn",
    "image-id",
    "instance-id",
    "instance-lifecycle",
    "instance-state-code",
    "instance-state-name",
    "instance-type",
    "instance.group-id",
    "instance.group-name",
    "ip-address",
    "key-name",
    "launch-index",
    "launch-time",
    "metadata-options.http-tokens",
    "network-interface.group-id",
    "network-interface.network-interface-id",
    "network-interface.subnet-id",
    "owner-id",
    "placement-group-name",
    "private-dns-name",
    "private-ip-address",
    "reason",
    "reservation-id",
    "root-device-type",
    "spot-instance-request-id",
    "state-reason-code",
    "subnet-id",
    "tags",
    "vpc-id",
)


def is_seen(ec2, instance):
    """Not yet, or no more?"""
    now = time.time()
    gone_for = now - instance.since() if instance.state() == "terminated" else 0
    return now >= instance.visible and gone_for <= ec2.settings.keep_terminated


def pick(ec2, region_name, ids):
    """The instances of these ids, all of them known, or a refusal."""
    region = ec2.world.region(region_name)
    for each in ids:
        if not each.startswith("i-") or len(each) not in (10, 19):
            raise malformed_id("InvalidInstanceID", each, "i")
    lost = [each for each in ids if each not in region.instances or not is_seen(ec2, region.instances[each])]
    if lost:
        raise unknown_ids("InvalidInstanceID", "instance", lost)
    return [region.instances[each] for each in dict.fromkeys(ids)]


def fields(told, instance):
    plan = instance.asked
    return {
        "architecture": told["Architecture"],
        "availability-zone": plan["Zone"],
        "block-device-mapping.volume-id": instance.volumes,
        "capacity-reservation-id": plan.get("Reserved"),
        "client-token": plan.get("ClientToken"),
        "iam-instance-profile.arn": told.get("IamInstanceProfile", {}).get("Arn"),
        "image-id": plan["ImageId"],
        "instance-id": instance.id,
        "instance-lifecycle": told.get("InstanceLifecycle"),
        "instance-state-code": told["State"]["Code"],
        "instance-state-name": told["State"]["Name"],
        "instance-type": plan["InstanceType"],
        "instance.group-id": [each["GroupId"] for each in plan["Groups"]],
        "instance.group-name": [each["GroupName"] for each in plan["Groups"]],
        "key-name": plan.get("KeyName"),
        "launch-index": instance.index,
        "launch-time": told["LaunchTime"].strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "metadata-options.http-tokens": plan["MetadataOptions"]["HttpTokens"],
        "network-interface.group-id": [each["GroupId"] for each in plan["Groups"]],
        "network-interface.network-interface-id": instance.card,
        "network-interface.subnet-id": plan["Subnet"]["SubnetId"],
        "owner-id": instance.reservation_owner,
        "placement-group-name": told["Placement"]["GroupName"] or None,
        "private-dns-name": told["PrivateDnsName"] or None,
        "private-ip-address": told.get("PrivateIpAddress"),
        "reason": told["StateTransitionReason"],
        "reservation-id": instance.reservation,
        "root-device-type": "ebs",
        "spot-instance-request-id": instance.spot_request,
        "state-reason-code": told.get("StateReason", {}).get("Code"),
        "subnet-id": told.get("SubnetId"),
        "tags": instance.tags,
        "vpc-id": told.get("VpcId"),
    }


def instances(ec2, region_name, asked):
    ids = asked.get("InstanceIds")
    region = ec2.world.region(region_name)
    listed = pick(ec2, region_name, ids) if ids else list(region.instances.values())
    at = time.time() - ec2.settings.stale
    pairs = []
    for each in listed:
        if is_seen(ec2, each):
            told = views.instance(each, at)
            pairs.append(((each, told), fields(told, each)))
    found, more = page(chosen(pairs, asked.get("Filters"), FIELDS), asked, lambda pair: pair[0].id, ids=ids)
    reservations = {}
    for each, told in found:
        reservations.setdefault(each.reservation, []).append(told)
    return {
        "Reservations": [
            {"ReservationId": name, "OwnerId": region.instances[told[0]["InstanceId"]].reservation_owner, "Groups": [], "Instances": told}
            for name, told in reservations.items()
        ],
        "NextToken": more,
    }


def statuses(ec2, region_name, asked):
    ids = asked.get("InstanceIds")
    region = ec2.world.region(region_name)
    listed = pick(ec2, region_name, ids) if ids else list(region.instances.values())
    pairs = []
    for each in listed:
        state = each.state(time.time() - ec2.settings.stale)
        if is_seen(ec2, each) and (state == "running" or asked.get("IncludeAllInstances")):
            pairs.append(
                (
                    each,
                    {
                        "availability-zone": each.asked["Zone"],
                        "event.code": [event["Code"] for event in each.maintenance],
                        "instance-state-name": state,
                        "instance-state-code": CODES[state],
                    },
                )
            )
    names = ("availability-zone", "event.code", "instance-state-name", "instance-state-code")
    found, more = page(chosen(pairs, asked.get("Filters"), names), asked, lambda each: each.id, ids=ids)
    return {"InstanceStatuses": [_status(each) for each in found], "NextToken": more}


def _status(each):
    state = each.state()
    fine = "ok" if state == "running" else "not-applicable"
    reached = "passed" if fine == "ok" else "initializing"
    check = {"Status": fine, "Details": [{"Name": "reachability", "Status": reached}]}
    return {
        "InstanceId": each.id,
        "AvailabilityZone": each.asked["Zone"],
        "InstanceState": state_of(state),
        "InstanceStatus": check,
        "SystemStatus": check,
        "Events": [
            {
                "Code": event["Code"],
                "Description": event["Description"],
                "InstanceEventId": event["EventId"],
                "NotBefore": when(event["At"]),
            }
            for event in each.maintenance
        ],
    }


def all_volumes(ec2, region_name, asked):
    region = ec2.world.region(region_name)
    ids = asked.get("VolumeIds")
    alive = {each["id"]: each for each in volumes.there(region)}
    lost = [each for each in ids or [] if each not in alive]
    if lost:
        raise Refusal("InvalidVolume.NotFound", f"The volume '{lost[0]}' does not exist.")
    pairs = []
    for name in ids or alive:
        volume = alive[name]
        told = volumes.describe(volume)
        attached = told["Attachments"]
        pairs.append(
            (
                told,
                {
                    "volume-id": name,
                    "size": volume["size"],
                    "status": told["State"],
                    "volume-type": volume["type"],
                    "availability-zone": volume["zone"],
                    "attachment.instance-id": [each["InstanceId"] for each in attached],
                    "attachment.delete-on-termination": [str(each["DeleteOnTermination"]).lower() for each in attached],
                    "tags": volume["tags"],
                },
            )
        )
    names = (
        "volume-id",
        "size",
        "status",
        "volume-type",
        "availability-zone",
        "attachment.instance-id",
        "attachment.delete-on-termination",
        "tags",
    )
    found = chosen(pairs, asked.get("Filters"), names)
    some, more = page(found, asked, lambda each: each["VolumeId"], ids=ids)
    return {"Volumes": some, "NextToken": more}


def delete_volume(ec2, region_name, asked):
    region = ec2.world.region(region_name)
    name = asked.get("VolumeId", "")
    found = [each for each in volumes.there(region) if each["id"] == name]
    if not found:
        raise Refusal("InvalidVolume.NotFound", f"The volume '{name}' does not exist.")
    if volumes.attached(found[0]):
        raise Refusal("VolumeInUse", f"Volume {name} is currently attached to {found[0]['instance'].id}")
    found[0]["deleted"] = True
    return {}


def cards(ec2, region_name, asked):
    """Network interfaces, which here all belong to machines."""
    region = ec2.world.region(region_name)
    ids = asked.get("NetworkInterfaceIds")
    pairs = []
    for each in region.instances.values():
        if each.state() != "terminated" and (not ids or each.card in ids):
            told = views.card(each)
            told["TagSet"] = views.tag_list(each.asked["Tags"].get("network-interface", {}))
            told["AvailabilityZone"] = each.asked["Zone"]
            told["Attachment"] = {**told["Attachment"], "InstanceId": each.id}
            pairs.append(
                (
                    told,
                    {
                        "network-interface-id": each.card,
                        "attachment.instance-id": each.id,
                        "group-id": [group["GroupId"] for group in each.asked["Groups"]],
                        "subnet-id": each.asked["Subnet"]["SubnetId"],
                        "vpc-id": each.asked["Vpc"]["VpcId"],
                        "status": "in-use",
                        "tags": each.asked["Tags"].get("network-interface", {}),
                    },
                )
            )
    names = ("network-interface-id", "attachment.instance-id", "group-id", "subnet-id", "vpc-id", "status", "tags")
    found = chosen(pairs, asked.get("Filters"), names)
    some, more = page(found, asked, lambda each: each["NetworkInterfaceId"], ids=ids)
    return {"NetworkInterfaces": some, "NextToken": more}


def attribute(ec2, region_name, asked):
    each = pick(ec2, region_name, [asked.get("InstanceId", "")])[0]
    name = asked.get("Attribute")
    told = {"InstanceId": each.id}
    if name == "userData":
        text = base64.b64encode(each.user_data).decode()
        told["UserData"] = {"Value": text} if text else {}
    elif name == "instanceInitiatedShutdownBehavior":
        told["InstanceInitiatedShutdownBehavior"] = {"Value": each.shutdown}
    elif name == "disableApiTermination":
        told["DisableApiTermination"] = {"Value": each.protected}
    elif name == "disableApiStop":
        told["DisableApiStop"] = {"Value": each.stop_protected}
    elif name == "instanceType":
        told["InstanceType"] = {"Value": each.asked["InstanceType"]}
    else:
        raise invalid_value(name, "attribute")
    return told


def console_output(ec2, region_name, asked):
    each = pick(ec2, region_name, [asked.get("InstanceId", "")])[0]
    if asked.get("Latest") and not ec2.settings.nitro:
        words = "This instance type does not support retrieving the latest console logs. Only instances on the Nitro hypervisor do."
        raise Refusal("UnsupportedOperation", words)
    text = ec2.machines.console(each)[-65536:]
    return {"InstanceId": each.id, "Output": base64.b64encode(text).decode(), "Timestamp": when(time.time())}
