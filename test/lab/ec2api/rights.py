# SPDX-License-Identifier: Apache-2.0
"""Who may do what, by policies of IAM: as far as those that stoker prints need it. A policy that
has anything else in it is refused by an error, so that nothing is allowed by a mistake of ours.

Sources: "Policy evaluation logic" and "IAM JSON policy elements" (IAM user guide); which resources
and conditions each call is checked against: "Actions, resources, and condition keys for Amazon
EC2", "… AWS Systems Manager", "… IAM" (Service Authorization Reference)."""

import fnmatch
import re

from test.lab.ec2api import away_rights
from test.lab.ec2api.errors import Refusal
from test.lab.ec2api.world import ACCOUNT

NO_SPOT_ROLE = Refusal(
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
    "The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances.",
    403,
)
KINDS = {
    "i": "instance",
    "vol": "volume",
    "sg": "security-group",
    "sgr": "security-group-rule",
    "subnet": "subnet",
    "vpc": "vpc",
    "sir": "spot-instances-request",
    "pg": "placement-group",
}


def _listed(value):
    return value if isinstance(value, list) else [value]


def _like(text, pattern):
    return fnmatch.fnmatchcase(text, re.sub(r"\[", "[[]", pattern))


def _holds(test, key, wanted, context):
    found = context.get(key.lower())
    wanted = [str(each) for each in _listed(wanted)]
    if test == "Null":
        return (found is None) == (wanted == ["true"])
    if found is None:
        return False
    if test == "StringEquals":
        return found in wanted
    if test == "StringLike":
        return any(_like(found, each) for each in wanted)
    raise ValueError(f"the lab does not know the condition {test}")


def allows(policy, action, resource, context):
    """`context`: names of condition keys, in lower case, to their values."""
    allowed = False
    for statement in _listed(policy["Statement"]):
        strange = set(statement) - {"Sid", "Effect", "Action", "Resource", "Condition"}
        if strange:
            raise ValueError(f"the lab does not know {strange}")
        applies = (
            any(_like(action.lower(), each.lower()) for each in _listed(statement["Action"]))
            and any(_like(resource, each) for each in _listed(statement["Resource"]))
            and all(
                _holds(test, key, wanted, context)
                for test, pairs in statement.get("Condition", {}).items()
                for key, wanted in pairs.items()
            )
        )
        if applies and statement["Effect"] == "Deny":
            return False
        allowed = allowed or applies
    return allowed


def _arn(region, kind, name):
    owner = "" if kind == "image" else ACCOUNT
    return f"arn:aws:ec2:{region}:{owner}:{kind}/{name}"


def _of(ec2, region, name):
    """What a thing that is there is checked by: its ARN, its tags."""
    kind = KINDS.get(name.rsplit("-", 1)[0], "unknown")
    held = ec2.world.region(region)
    tags = {}
    if name in held.instances:
        tags = held.instances[name].tags
    elif name in held.volumes:
        tags = held.volumes[name]["tags"]
    elif kind == "security-group":
        try:
            told = ec2.behind.group(region, name).get("Tags", [])
        except Refusal:
            told = []
        tags = {each["Key"]: each["Value"] for each in told}
    context = {f"aws:resourcetag/{k.lower()}": v for k, v in tags.items()}
    if name in held.instances:
        context["ec2:instancetype"] = held.instances[name].asked.get("InstanceType", "")
    return _arn(region, kind, name), context


def _new_tags(region, asked, maker):
    """Tags at creation are a right of their own."""
    for each in asked.get("TagSpecifications", []):
        context = {f"aws:requesttag/{t['Key'].lower()}": t.get("Value", "") for t in each["Tags"]}
        context["ec2:createaction"] = maker
        yield "ec2:CreateTags", _arn(region, each["ResourceType"], "*"), context


def _launch(ec2, region, asked):
    kinds = {"instance": "*", "volume": "*", "network-interface": "*"}
    kinds["image"] = asked.get("ImageId", "*")
    market = asked.get("InstanceMarketOptions", {}).get("MarketType")
    if market == "spot":
        kinds["spot-instances-request"] = "*"
        if not ec2.world.spot_role:  # the first who asks in an account makes it
            role = "role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot"
            yield "iam:CreateServiceLinkedRole", f"arn:aws:iam::{ACCOUNT}:{role}", {"iam:awsservicename": "spot.amazonaws.com"}
    cards = asked.get("NetworkInterfaces", [])
    subnet = asked.get("SubnetId") or (cards and cards[0].get("SubnetId"))
    if subnet:
        kinds["subnet"] = subnet
    if asked.get("Placement", {}).get("GroupName"):
        kinds["placement-group"] = asked["Placement"]["GroupName"]
    reserved = asked.get("CapacityReservationSpecification", {})
    if reserved.get("CapacityReservationTarget"):
        target = reserved["CapacityReservationTarget"]
        kinds["capacity-reservation"] = target["CapacityReservationId"]
    everywhere = {"aws:requestedregion": region}
    for kind, name in kinds.items():
        context = {"ec2:instancetype": asked.get("InstanceType", "")} if kind == "instance" else {}
        yield "ec2:RunInstances", _arn(region, kind, name), {**everywhere, **context}
    for group in asked.get("SecurityGroupIds") or (cards and cards[0].get("Groups")) or []:
        arn, tags = _of(ec2, region, group)
        yield "ec2:RunInstances", arn, {**everywhere, **tags}
    yield from _new_tags(region, asked, "RunInstances")
    profile = ec2.behind.profile(asked.get("IamInstanceProfile", {}).get("Name", ""))
    for role in (profile or {}).get("Roles", []):
        yield "iam:PassRole", role["Arn"], {"iam:passedtoservice": "ec2.amazonaws.com"}


def asks(ec2, region, action, asked):
    """(action, resource, context) of all that a call of EC2 needs."""
    if action == "GetConsoleOutput":
        yield (f"ec2:{action}", *_of(ec2, region, asked.get("InstanceId", "")))
    elif action.startswith(("Describe", "Get")):
        yield f"ec2:{action}", "*", {}
    elif action == "RunInstances":
        yield from _launch(ec2, region, asked)
    elif action == "CreateSecurityGroup":
        yield f"ec2:{action}", _arn(region, "security-group", "*"), {}
        yield f"ec2:{action}", _arn(region, "vpc", asked.get("VpcId", "*")), {}
        yield from _new_tags(region, asked, action)
    elif action.endswith("PlacementGroup"):
        name = asked.get("GroupName", "*")
        held = ec2.world.region(region).groups.get(name, {"tags": {}})
        tags = {f"aws:resourcetag/{k.lower()}": v for k, v in held["tags"].items()}
        yield f"ec2:{action}", _arn(region, "placement-group", name), tags
        yield from _new_tags(region, asked, action)
    elif action == "CreateTags":
        context = {f"aws:requesttag/{t['Key'].lower()}": t.get("Value", "") for t in asked.get("Tags", [])}
        for name in asked.get("Resources", []):
            arn, tags = _of(ec2, region, name)
            yield "ec2:CreateTags", arn, {**context, **tags}
    else:
        names = asked.get("InstanceIds") or [asked.get("VolumeId") or asked.get("GroupId") or ""]
        for name in names:
            yield (f"ec2:{action}", *_of(ec2, region, name))
        yield from _new_tags(region, asked, action)


def asks_of_others(ec2, region, service, action, given):
    """The same of SSM, CloudWatch Logs, IAM, Lambda, EventBridge and Instance Connect; nobody needs a right to ask who he is."""
    if service == "ssm":
        name = given.get("Name", given.get("Path", "")).lstrip("/")
        name = name.rpartition(":parameter/")[2] or name  # of an ARN
        owner = "" if name.startswith("aws/") else ACCOUNT
        arn = f"arn:aws:ssm:us-east-1:{owner}:parameter/{name}"
        yield f"ssm:{action}", arn, {}
        if given.get("Tags"):
            yield "ssm:AddTagsToResource", arn, {}
    elif service == "secretsmanager":
        yield f"{service}:{action}", f"arn:aws:secretsmanager:{region}:{ACCOUNT}:secret:{given.get('SecretId', '*')}-AbCdEf", {}
    elif service == "logs":
        group = f"arn:aws:logs:{region}:{ACCOUNT}:log-group:{given.get('logGroupName', '*')}"
        stream = given.get("logStreamName")
        yield f"logs:{action}", f"{group}:log-stream:{stream}" if stream and action != "CreateLogStream" else group, {}
        if given.get("tags"):
            yield "logs:TagResource", group, {}
    elif service == "ecr":
        yield f"ecr:{action}", "*", {}
    elif service == "lambda":
        yield from away_rights.asks_of_lambda(region, action, given)
    elif service == "events":
        yield from away_rights.asks_of_events(region, action, given)
    elif service == "iam" and "RoleName" in given and "InstanceProfileName" not in given:
        yield from away_rights.asks_of_role(action, given)
    elif service == "iam":
        profile = f"arn:aws:iam::{ACCOUNT}:instance-profile/{given.get('InstanceProfileName', '*')}"
        yield f"iam:{action}", given.get("PolicySourceArn", profile), {}
    elif service == "ec2-instance-connect":
        yield (f"{service}:{action}", *_of(ec2, region, given.get("InstanceId", "")))


class Rights:
    """`policies`: access key -> policy. A key without one may do everything."""

    def __init__(self):
        self.policies = {}
        self.used = set()  # (key, action) that a policy was asked for

    def check(self, key, wanted, code):
        policy = self.policies.get(key)
        if policy is None:
            return
        for action, resource, context in wanted:
            self.used.add((key, action))
            if not allows(policy, action, resource, context):
                if action == "iam:CreateServiceLinkedRole":
                    raise NO_SPOT_ROLE
                raise Refusal(
                    code,
                    f"User: arn:aws:iam::{ACCOUNT}:user/{key} is not authorized to "
                    f"perform: {action} on resource: {resource} because no "
                    "identity-based policy allows the action",
                    403,
                )
