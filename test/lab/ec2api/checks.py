# SPDX-License-Identifier: Apache-2.0
"""What RunInstances refuses before it looks for room. complete() gives the request as it will be
carried out: image, type, subnet and groups found, defaults filled in."""

import base64
import binascii
import datetime
import re

from test.lab.ec2api.errors import Refusal, combination, invalid, invalid_value, malformed_id, missing

MAX_USER_DATA = 16384
MAX_TOKEN = 64
MAX_TAGS = 50
TAG_IN_METADATA = re.compile(r"[0-9a-zA-Z\-_+=,.@:]{1,255}")
TAGGABLE = ("instance", "volume", "spot-instances-request", "network-interface")


def complete(behind, region, asked):
    plan = dict(asked)
    check_counts(plan)
    if len(plan.get("ClientToken", "")) > MAX_TOKEN:
        raise invalid_value(plan["ClientToken"], "clientToken", "Length exceeds maximum of 64.")
    user_data(plan)
    image(behind, region, plan)
    instance_type(behind, region, plan)
    tags(plan)
    metadata_options(plan)
    market(plan)
    network(behind, region, plan)
    profile(behind, plan)
    if "KeyName" in plan:
        behind.key_pair(region, plan["KeyName"])
    if plan.setdefault("InstanceInitiatedShutdownBehavior", "stop") not in ("stop", "terminate"):
        raise invalid_value(plan["InstanceInitiatedShutdownBehavior"], "instanceInitiatedShutdownBehavior")
    return plan


def check_counts(plan):
    for name in ("MinCount", "MaxCount"):
        if name not in plan:
            raise missing(name)
        if plan[name] < 1:
            raise invalid_value(plan[name], name, "Must be at least 1")
    if plan["MinCount"] > plan["MaxCount"]:
        raise combination("The minimum count must not be greater than the maximum count.")


def user_data(plan):
    text = plan.get("UserData", "")
    try:
        plan["UserDataBytes"] = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        words = "Invalid BASE64 encoding of user data."
        raise Refusal("InvalidUserData.Malformed", words) from None
    if len(plan["UserDataBytes"]) > MAX_USER_DATA:
        raise invalid(f"User data is limited to {MAX_USER_DATA} bytes")


def image(behind, region, plan):
    if "ImageId" not in plan:
        raise missing("ImageId")
    name = plan["ImageId"]
    if name.startswith("resolve:ssm:"):
        name = behind.parameter(region, name.removeprefix("resolve:ssm:"))
        if name is None:
            raise invalid(f"Unable to find a parameter named in {plan['ImageId']}")
    if not re.fullmatch(r"ami-([0-9a-f]{8}|[0-9a-f]{17})", name):
        raise malformed_id("InvalidAMIID", name, "ami")
    plan["ImageId"] = name
    plan["Image"] = behind.image(region, name)
    if plan["Image"].get("State", "available") != "available":
        raise Refusal("InvalidAMIID.Unavailable", f"The image ID '{name}' is not available")


def instance_type(behind, region, plan):
    name = plan.setdefault("InstanceType", "m1.small")
    plan["Type"] = behind.type(region, name)
    if plan["Type"] is None or not behind.zones_with(region, name):
        raise invalid(f"Invalid value '{name}' for InstanceType.")
    architecture = plan["Image"].get("Architecture", "x86_64")
    if architecture not in plan["Type"]["ProcessorInfo"]["SupportedArchitectures"]:
        ours = plan["Type"]["ProcessorInfo"]["SupportedArchitectures"][0]
        raise invalid(
            f"The architecture '{ours}' of the specified instance type does not match the "
            f"architecture '{architecture}' of the specified AMI. Specify an instance type and an "
            "AMI that have matching architectures, and try again. You can use "
            "'describe-instance-types' or 'describe-images' to discover the architecture of the "
            "instance type or AMI."
        )


def check_tags(listed):
    if len(listed) > MAX_TAGS:
        words = f"The maximum number of Tags for a resource is {MAX_TAGS}"
        raise Refusal("TagLimitExceeded", words)
    for each in listed:
        key, value = each.get("Key", ""), each.get("Value", "")
        if not key:
            raise invalid("Tag keys cannot be empty.")
        if len(key) > 128:
            raise invalid(f"Tag key exceeds the maximum length of 128 characters: '{key}'")
        if len(value) > 256:
            raise invalid(f"Tag value exceeds the maximum length of 256 characters: '{value}'")
        if key.lower().startswith("aws:"):
            raise invalid_value(key, "key", "Tag keys starting with 'aws:' are reserved for internal use")
    if len({each["Key"] for each in listed}) < len(listed):
        raise invalid("Duplicate tag keys found.")


def tags(plan):
    plan["Tags"] = {}
    for each in plan.get("TagSpecifications", []):
        kind = each.get("ResourceType")
        if kind not in TAGGABLE:
            raise invalid(f"'{kind}' is not a valid taggable resource type for this operation.")
        check_tags(each.get("Tags", []))
        plan["Tags"][kind] = {tag["Key"]: tag.get("Value", "") for tag in each.get("Tags", [])}


def check_metadata_tags(keys):
    for key in keys:
        if not TAG_IN_METADATA.fullmatch(key) or key in (".", "..", "_index"):
            raise invalid(
                f"'{key}' is not a valid tag key. Tag keys must match pattern "
                r"([0-9a-zA-Z\-_+=,.@:]{1,255}), and must not be a reserved name "
                "('.', '..', '_index')"
            )


def metadata_options(plan):
    given = plan.get("MetadataOptions", {})
    whole = {
        "State": "applied",
        "HttpTokens": given.get("HttpTokens", "optional"),
        "HttpPutResponseHopLimit": given.get("HttpPutResponseHopLimit", 1),
        "HttpEndpoint": given.get("HttpEndpoint", "enabled"),
        "HttpProtocolIpv6": given.get("HttpProtocolIpv6", "disabled"),
        "InstanceMetadataTags": given.get("InstanceMetadataTags", "disabled"),
    }
    if not 1 <= whole["HttpPutResponseHopLimit"] <= 64:
        raise invalid_value(whole["HttpPutResponseHopLimit"], "HttpPutResponseHopLimit")
    if whole["HttpTokens"] not in ("optional", "required"):
        raise invalid_value(whole["HttpTokens"], "HttpTokens")
    if whole["InstanceMetadataTags"] == "enabled":
        check_metadata_tags(plan["Tags"].get("instance", {}))
    plan["MetadataOptions"] = whole


def market(plan):
    options = plan.get("InstanceMarketOptions")
    kind = (options or {}).get("MarketType", "spot" if options else None)
    plan["Market"] = {None: "on-demand", "spot": "spot"}.get(kind, kind)
    if kind not in (None, "spot", "capacity-block"):
        raise invalid_value(kind, "marketType")
    if plan["Market"] not in plan["Type"].get("SupportedUsageClasses", ["on-demand", "spot"]):
        if plan["Market"] == "spot":
            raise Refusal("UnsupportedOperation", "The instance configuration for this AWS Marketplace product is not supported.")
    spot = (options or {}).get("SpotOptions", {})
    if plan["Market"] != "spot":
        if plan["Tags"].get("spot-instances-request") is not None:
            raise combination("You cannot specify tags for Spot instances requests if you do not specify instance market options.")
        return
    if spot.get("SpotInstanceType", "one-time") == "one-time":
        if spot.get("InstanceInterruptionBehavior", "terminate") != "terminate":
            raise combination("The interruption behavior stop or hibernate is only supported for persistent Spot requests.")
        if "ValidUntil" in spot:
            raise combination("The parameter ValidUntil is not supported for one-time requests.")
    until = spot.get("ValidUntil")
    if until and until < datetime.datetime.now(datetime.timezone.utc):
        raise invalid_value(until, "validUntil")


def network(behind, region, plan):
    """Subnet and Zone (of a request that names none: None), Vpc and Groups."""
    cards = plan.get("NetworkInterfaces", [])
    if cards and any(name in plan for name in ("SubnetId", "SecurityGroupIds", "SecurityGroups")):
        raise combination("Network interfaces and an instance-level subnet ID or security groups may not be specified on the same request")
    card = cards[0] if cards else {}
    efa = any(each.get("InterfaceType", "").startswith("efa") for each in cards)
    if efa and not plan["Type"]["NetworkInfo"].get("EfaSupported"):
        raise combination(f"EFA interfaces are not supported on {plan['InstanceType']}.")
    most = plan["Type"]["NetworkInfo"].get("EfaInfo", {}).get("MaximumEfaInterfaces", 1)
    if len(cards) > most:
        raise combination(f"Interface count {len(cards)} exceeds the limit for {plan['InstanceType']}")
    for number, each in enumerate(cards):
        if each.get("NetworkCardIndex", 0) != number or each.get("DeviceIndex") != min(number, 1):
            raise combination(f"Network card {number} has no interface of device index {min(number, 1)}")
    subnet_id = plan.get("SubnetId") or card.get("SubnetId")
    zone = plan.get("Placement", {}).get("AvailabilityZone")
    if zone and zone not in behind.zones(region):
        raise invalid(f"Invalid availability zone: [{zone}]")
    plan["Subnet"] = None
    if subnet_id:
        plan["Subnet"] = behind.subnet(region, subnet_id)
        if zone and zone != plan["Subnet"]["AvailabilityZone"]:
            raise combination(f"The availability zone of the subnet '{subnet_id}' is not '{zone}'.")
        zone = plan["Subnet"]["AvailabilityZone"]
        plan["Vpc"] = behind.vpc(region, plan["Subnet"]["VpcId"])
    else:
        plan["Vpc"] = behind.default_vpc(region)
        if plan["Vpc"] is None:
            raise Refusal("VPCIdNotSpecified", "No default VPC for this user. GroupName is only supported for EC2-Classic and default VPC.")
    plan["Zone"] = zone
    groups(behind, region, plan, card)


def groups(behind, region, plan, card):
    vpc_id = plan["Vpc"]["VpcId"]
    found = []
    for group_id in plan.get("SecurityGroupIds") or card.get("Groups") or []:
        found.append(behind.group(region, group_id))
        if found[-1]["VpcId"] != vpc_id:
            raise invalid(f"Security group {group_id} and subnet belong to different networks.")
    for name in plan.get("SecurityGroups", []):
        found.append(behind.group_named(region, vpc_id, name))
        if found[-1] is None:
            raise Refusal("InvalidGroup.NotFound", f"The security group '{name}' does not exist in VPC '{vpc_id}'")
    if not found:
        found = [behind.group_named(region, vpc_id, "default")]
    plan["Groups"] = [{"GroupId": each["GroupId"], "GroupName": each["GroupName"]} for each in found]


def profile(behind, plan):
    """Profile: the instance profile, as IAM tells it. Like EC2 this refuses one that IAM has had
    for a moment only: see Behind.too_young()."""
    given = plan.get("IamInstanceProfile")
    plan["Profile"] = None
    if not given:
        return
    arn = given.get("Arn", "")
    name = given.get("Name") or arn.rsplit("/", 1)[-1]
    found = behind.profile(name)
    if found is None or (arn and found["Arn"] != arn) or behind.too_young(name):
        which, words = ("arn", "ARN") if arn else ("name", "name")
        raise invalid_value(arn or name, f"iamInstanceProfile.{which}", f"Invalid IAM Instance Profile {words}")
    if not found["Roles"]:
        raise invalid(f'IAM Instance Profile "{found["Arn"]}" has no associated IAM Roles')
    plan["Profile"] = found
