# SPDX-License-Identifier: Apache-2.0
"""Disks: those of the image with what the request says about them. Who does not say
DeleteOnTermination gets what the image says."""

from test.lab.ec2api.world import new_id, when


def wanted(plan):
    """Device names to what EBS is asked for."""
    disks = {}
    for each in plan["Image"].get("BlockDeviceMappings", []):
        if "Ebs" in each:
            disks[each["DeviceName"]] = dict(each["Ebs"])
    for each in plan.get("BlockDeviceMappings", []):
        if "Ebs" in each:
            disks.setdefault(each["DeviceName"], {}).update(each["Ebs"])
        elif "NoDevice" in each:
            disks.pop(each["DeviceName"], None)
    return disks


def attach(region, instance):
    for device, ebs in wanted(instance.asked).items():
        volume = {
            "id": new_id("vol"),
            "instance": instance,
            "device": device,
            "size": ebs.get("VolumeSize", 8),
            "type": ebs.get("VolumeType", "gp2"),
            "snapshot": ebs.get("SnapshotId", ""),
            "encrypted": ebs.get("Encrypted", False),
            "ends_with_it": ebs.get("DeleteOnTermination", True),
            "tags": dict(instance.asked["Tags"].get("volume", {})),
            "born": instance.born,
            "zone": instance.asked["Zone"],
            "deleted": False,
        }
        region.volumes[volume["id"]] = volume
        instance.volumes.append(volume["id"])


def there(region, at=None):
    """The volumes that exist: one that ends with its machine is gone with it."""
    return [
        each
        for each in region.volumes.values()
        if not each["deleted"] and not (each["ends_with_it"] and each["instance"].state(at) == "terminated")
    ]


def attached(volume, at=None):
    return volume["instance"].state(at) != "terminated"


def describe(volume):
    instance = volume["instance"]
    told = {
        "VolumeId": volume["id"],
        "Size": volume["size"],
        "VolumeType": volume["type"],
        "SnapshotId": volume["snapshot"],
        "AvailabilityZone": volume["zone"],
        "CreateTime": when(volume["born"]),
        "Encrypted": volume["encrypted"],
        "MultiAttachEnabled": False,
        "State": "in-use" if attached(volume) else "available",
        "Attachments": [],
        "Tags": [{"Key": k, "Value": v} for k, v in volume["tags"].items()],
    }
    if attached(volume):
        told["Attachments"] = [
            {
                "AttachTime": when(volume["born"]),
                "DeleteOnTermination": volume["ends_with_it"],
                "Device": volume["device"],
                "InstanceId": instance.id,
                "State": "attached",
                "VolumeId": volume["id"],
            }
        ]
    return told
