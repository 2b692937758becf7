# SPDX-License-Identifier: Apache-2.0
"""What a machine is told about itself, as paths below /latest. Times, shapes and absences are those
of "Instance metadata categories" (EC2 user guide) and of amazon-ec2-metadata-mock."""

import json
import time

from test.lab.ec2api.views import private_name
from test.lab.ec2api.world import ACCOUNT

EVENT_TIME = "%d %b %Y %H:%M:%S GMT"


def rfc3339(moment):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def tree(instance, public_key=""):
    """Paths to texts. Keys of a role are not among them: asking for them makes new ones."""
    plan = instance.asked
    name = private_name(instance)
    data = {
        "ami-id": plan["ImageId"],
        "ami-launch-index": str(instance.index),
        "ami-manifest-path": "(unknown)",
        "hostname": name,
        "instance-action": "none",
        "instance-id": instance.id,
        "instance-life-cycle": "spot" if instance.spot else "on-demand",
        "instance-type": plan["InstanceType"],
        "local-hostname": name,
        "local-ipv4": instance.address,
        "mac": instance.mac,
        "profile": "default-hvm",
        "reservation-id": instance.reservation,
        "security-groups": "\n".join(each["GroupName"] for each in plan["Groups"]),
        "services/domain": "amazonaws.com",
        "services/partition": "aws",
        "placement/availability-zone": plan["Zone"],
        "placement/availability-zone-id": instance.zone_id,
        "placement/region": instance.region.name,
        "block-device-mapping/ami": plan["Image"].get("RootDeviceName", "/dev/xvda"),
        "block-device-mapping/root": plan["Image"].get("RootDeviceName", "/dev/xvda"),
        "events/maintenance/history": "[]",
        "events/maintenance/scheduled": json.dumps([{k: v for k, v in each.items() if k != "At"} for each in instance.maintenance]),
        "system": "nitro",
    }
    if plan.get("Group"):
        data["placement/group-name"] = plan["Group"]["GroupName"]
    if plan["Profile"]:
        data["iam/info"] = json.dumps(
            {
                "Code": "Success",
                "LastUpdated": rfc3339(instance.born),
                "InstanceProfileArn": plan["Profile"]["Arn"],
                "InstanceProfileId": plan["Profile"]["InstanceProfileId"],
            }
        )
    if public_key:
        data["public-keys/"] = f"0={plan['KeyName']}"
        data["public-keys/0/openssh-key"] = public_key
    if instance.notice:
        data["spot/instance-action"] = json.dumps({"action": instance.notice["action"], "time": rfc3339(instance.notice["time"])})
        if instance.notice["action"] == "terminate":
            data["spot/termination-time"] = rfc3339(instance.notice["time"])
    if instance.rebalance:
        data["events/recommendations/rebalance"] = json.dumps({"noticeTime": rfc3339(instance.rebalance)})
    if plan["MetadataOptions"]["InstanceMetadataTags"] == "enabled":
        for key, value in instance.tags.items():
            data["tags/instance/" + key] = value
    data.update(_card(instance))
    told = {"meta-data/" + key: value for key, value in data.items()}
    told["dynamic/instance-identity/document"] = document(instance)
    return told


def _card(instance):
    plan = instance.asked
    below = f"network/interfaces/macs/{instance.mac}/"
    name = private_name(instance)
    return {
        below + key: value
        for key, value in {
            "device-number": "0",
            "interface-id": instance.card,
            "local-hostname": name,
            "local-ipv4s": instance.address,
            "mac": instance.mac,
            "network-card-index": "0",
            "owner-id": ACCOUNT,
            "security-group-ids": "\n".join(each["GroupId"] for each in plan["Groups"]),
            "security-groups": "\n".join(each["GroupName"] for each in plan["Groups"]),
            "subnet-id": plan["Subnet"]["SubnetId"],
            "subnet-ipv4-cidr-block": plan["Subnet"]["CidrBlock"],
            "vpc-id": plan["Vpc"]["VpcId"],
            "vpc-ipv4-cidr-block": plan["Vpc"]["CidrBlock"],
            "vpc-ipv4-cidr-blocks": plan["Vpc"]["CidrBlock"],
        }.items()
    }


def document(instance):
    plan = instance.asked
    return json.dumps(
        {
            "accountId": ACCOUNT,
            "architecture": plan["Image"].get("Architecture", "x86_64"),
            "availabilityZone": plan["Zone"],
            "billingProducts": None,
            "devpayProductCodes": None,
            "marketplaceProductCodes": None,
            "imageId": plan["ImageId"],
            "instanceId": instance.id,
            "instanceType": plan["InstanceType"],
            "kernelId": None,
            "pendingTime": rfc3339(instance.launched),
            "privateIp": instance.address,
            "ramdiskId": None,
            "region": instance.region.name,
            "version": "2017-09-30",
        },
        indent=2,
    )


def maintenance(code, lead, description, event_id, state="active"):
    """An event of events/maintenance/scheduled. `lead`: seconds until it may begin."""
    at = time.time() + lead

    def told(moment):
        return time.strftime(EVENT_TIME, time.gmtime(moment))

    return {
        "NotBefore": told(at),
        "Code": code,
        "Description": description,
        "EventId": event_id,
        "NotAfter": told(at + 7 * 86400),
        "NotBeforeDeadline": told(at + 9 * 86400),
        "State": state,
        "At": at,
    }


def credentials(keyring, role, life):
    key, secret, token, ends = keyring.for_role(role, life)
    return json.dumps(
        {
            "Code": "Success",
            "LastUpdated": rfc3339(time.time()),
            "Type": "AWS-HMAC",
            "AccessKeyId": key,
            "SecretAccessKey": secret,
            "Token": token,
            "Expiration": rfc3339(ends),
        },
        indent=2,
    )
