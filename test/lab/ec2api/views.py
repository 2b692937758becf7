# SPDX-License-Identifier: Apache-2.0
"""A machine as DescribeInstances tells it, in the words of the model."""

from test.lab.ec2api import volumes
from test.lab.ec2api.world import ACCOUNT, state_of, when


def tag_list(tags):
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def private_name(instance):
    return f"ip-{instance.address.replace('.', '-')}.{domain(instance.region.name)}"


def domain(region):
    return "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"


def instance(each, at=None):
    """As it was seen at that time."""
    plan = each.asked
    state = each.state(at)
    gone = state == "terminated"
    told = {
        "InstanceId": each.id,
        "ImageId": plan["ImageId"],
        "InstanceType": plan["InstanceType"],
        "AmiLaunchIndex": each.index,
        "ClientToken": plan.get("ClientToken", ""),
        "LaunchTime": when(each.launched),
        "State": state_of(state),
        "StateTransitionReason": each.reason if each.moments[-1][1] == state else "",
        "Monitoring": {"State": "disabled"},
        "Placement": placement(plan),
        "PrivateDnsName": "" if gone else private_name(each),
        "PublicDnsName": "",
        "ProductCodes": [],
        "Architecture": plan["Image"].get("Architecture", "x86_64"),
        "RootDeviceType": "ebs",
        "RootDeviceName": plan["Image"].get("RootDeviceName", "/dev/xvda"),
        "VirtualizationType": "hvm",
        "Hypervisor": "xen",
        "EbsOptimized": bool(plan.get("EbsOptimized")),
        "EnaSupport": True,
        "MetadataOptions": dict(plan["MetadataOptions"]),
        "PlatformDetails": "Linux/UNIX",
        "UsageOperation": "RunInstances",
        "EnclaveOptions": {"Enabled": False},
        "HibernationOptions": {"Configured": False},
        "CpuOptions": cpus(plan["Type"]),
        "CapacityReservationSpecification": {"CapacityReservationPreference": "open"},
        "BlockDeviceMappings": [] if gone else disks(each),
        "NetworkInterfaces": [] if gone else [card(each)],
        "SecurityGroups": [] if gone else plan["Groups"],
        "Tags": tag_list(each.tags),
    }
    if each.state_reason and (gone or state in ("shutting-down", "stopping", "stopped")):
        code, words = each.state_reason
        told["StateReason"] = {"Code": code, "Message": words}
    if not gone:
        told.update(
            {
                "PrivateIpAddress": each.address,
                "SubnetId": plan["Subnet"]["SubnetId"],
                "VpcId": plan["Vpc"]["VpcId"],
                "SourceDestCheck": True,
            }
        )
    if plan["Profile"]:
        told["IamInstanceProfile"] = {"Arn": plan["Profile"]["Arn"], "Id": plan["Profile"]["InstanceProfileId"]}
    if "KeyName" in plan:
        told["KeyName"] = plan["KeyName"]
    if each.spot:
        told["InstanceLifecycle"] = "spot"
        told["SpotInstanceRequestId"] = each.spot_request
    elif plan["Market"] == "capacity-block":
        told["InstanceLifecycle"] = "capacity-block"
    if plan.get("Reserved"):
        told["CapacityReservationId"] = plan["Reserved"]
        told["CapacityReservationSpecification"] = {"CapacityReservationTarget": {"CapacityReservationId": plan["Reserved"]}}
    return told


def placement(plan):
    told = {"AvailabilityZone": plan["Zone"], "Tenancy": plan.get("Placement", {}).get("Tenancy", "default"), "GroupName": ""}
    if plan.get("Group"):
        told["GroupName"] = plan["Group"]["GroupName"]
        told["GroupId"] = plan["Group"]["GroupId"]
    return told


def cpus(kind):
    told = kind["VCpuInfo"]
    threads = told.get("DefaultThreadsPerCore", 1)
    return {"CoreCount": told.get("DefaultCores", told["DefaultVCpus"] // threads), "ThreadsPerCore": threads}


def disks(each):
    return [
        {
            "DeviceName": volume["device"],
            "Ebs": {
                "AttachTime": when(volume["born"]),
                "DeleteOnTermination": volume["ends_with_it"],
                "Status": "attached",
                "VolumeId": volume["id"],
            },
        }
        for volume in (each.region.volumes[name] for name in each.volumes)
        if not volume["deleted"] and volumes.attached(volume)
    ]


def card(each):
    plan = each.asked
    asked = (plan.get("NetworkInterfaces") or [{}])[0]
    return {
        "NetworkInterfaceId": each.card,
        "InterfaceType": asked.get("InterfaceType", "interface"),
        "MacAddress": each.mac,
        "OwnerId": ACCOUNT,
        "PrivateIpAddress": each.address,
        "PrivateDnsName": private_name(each),
        "PrivateIpAddresses": [{"Primary": True, "PrivateIpAddress": each.address, "PrivateDnsName": private_name(each)}],
        "SubnetId": plan["Subnet"]["SubnetId"],
        "VpcId": plan["Vpc"]["VpcId"],
        "SourceDestCheck": True,
        "Status": "in-use",
        "Groups": plan["Groups"],
        "Attachment": {
            "AttachmentId": each.card.replace("eni-", "eni-attach-"),
            "AttachTime": when(each.born),
            "DeleteOnTermination": True,
            "DeviceIndex": 0,
            "NetworkCardIndex": 0,
            "Status": "attached",
        },
    }


def reservation(kept, instances, at=None):
    return {"ReservationId": kept["id"], "OwnerId": kept["owner"], "Groups": [], "Instances": [instance(each, at) for each in instances]}
