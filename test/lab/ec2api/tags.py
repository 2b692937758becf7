# SPDX-License-Identifier: Apache-2.0
"""Tags of what is ours; those of what is moto's are moto's."""

from test.lab.ec2api import checks, describe, volumes
from test.lab.ec2api.errors import Refusal, unknown_ids
from test.lab.ec2api.filters import chosen, page

FIELDS = ("resource-id", "resource-type", "key", "value", "tags")


def ours(name):
    return name.split("-", 1)[0] in ("i", "vol", "sir", "pg")


def _tags_of(ec2, region_name, name):
    region = ec2.world.region(region_name)
    if name.startswith("i-"):
        return describe.pick(ec2, region_name, [name])[0].tags
    if name.startswith("vol-") and name in region.volumes:
        return region.volumes[name]["tags"]
    if name.startswith("sir-") and name in region.spot_requests:
        return region.spot_requests[name]["tags"]
    for group in region.groups.values():
        if group["GroupId"] == name:
            return group["tags"]
    if name.startswith("vol-"):
        raise Refusal("InvalidVolume.NotFound", f"The volume '{name}' does not exist.")
    raise unknown_ids("InvalidID", "resource", [name])


def create(ec2, region, asked):
    names, given = asked.get("Resources", []), asked.get("Tags", [])
    checks.check_tags(given)
    new = {each["Key"]: each.get("Value", "") for each in given}
    mine = [(name, _tags_of(ec2, region, name)) for name in names if ours(name)]
    for name, has in mine:
        if len({**has, **new}) > checks.MAX_TAGS:
            raise Refusal("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
        if name.startswith("i-"):
            plan = ec2.world.region(region).instances[name].asked
            if plan["MetadataOptions"]["InstanceMetadataTags"] == "enabled":
                checks.check_metadata_tags(new)
    rest = [name for name in names if not ours(name)]
    if rest:
        ec2.behind.ask(region, "create_tags", Resources=rest, Tags=given)
    for _, has in mine:
        has.update(new)
    return {}


def delete(ec2, region, asked):
    names, given = asked.get("Resources", []), asked.get("Tags")
    rest = [name for name in names if not ours(name)]
    if rest:
        more = {"Tags": given} if given else {}
        ec2.behind.ask(region, "delete_tags", Resources=rest, **more)
    for name in names:
        if not ours(name):
            continue
        has = _tags_of(ec2, region, name)
        for each in given if given is not None else [{"Key": key} for key in list(has)]:
            if "Value" not in each or has.get(each["Key"]) == each["Value"]:
                has.pop(each["Key"], None)
    return {}


def _all(ec2, region_name):
    region = ec2.world.region(region_name)
    for each in region.instances.values():
        if describe.is_seen(ec2, each):
            yield each.id, "instance", each.tags
    for each in volumes.there(region):
        yield each["id"], "volume", each["tags"]
    for name, each in region.spot_requests.items():
        yield name, "spot-instances-request", each["tags"]
    for each in region.groups.values():
        yield each["GroupId"], "placement-group", each["tags"]
    for each in ec2.behind.ask(region_name, "describe_tags")["Tags"]:
        yield each["ResourceId"], each["ResourceType"], {each["Key"]: each["Value"]}


def describe_tags(ec2, region, asked):
    pairs = []
    for name, kind, tags in _all(ec2, region):
        for key, value in tags.items():
            told = {"ResourceId": name, "ResourceType": kind, "Key": key, "Value": value}
            pairs.append((told, {"resource-id": name, "resource-type": kind, "key": key, "value": value, "tags": {key: value}}))
    found = chosen(pairs, asked.get("Filters"), FIELDS)
    some, more = page(found, asked, lambda each: each["ResourceId"] + " " + each["Key"])
    return {"Tags": some, "NextToken": more}
