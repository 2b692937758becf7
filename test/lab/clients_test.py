#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lab's EC2 as boto3 and aws-cli see it: what they ask for is done, once, and what Amazon
refuses is refused by the same code. Both parse every answer by Amazon's own model."""

import base64
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
import botocore.exceptions

from test.lab.unbooted import Unbooted

IMAGE = "resolve:ssm:/aws/service/debian/release/12/latest/amd64"
ARM_IMAGE = "resolve:ssm:/aws/service/debian/release/12/latest/arm64"
ONE = {"ImageId": IMAGE, "InstanceType": "m5.large", "MinCount": 1, "MaxCount": 1}
TWO = {**ONE, "MinCount": 2, "MaxCount": 2}
SPOT = {"InstanceMarketOptions": {"MarketType": "spot"}}
CLUSTER = {"Placement": {"GroupName": "near"}}
PATIENCE = 30.0
failed = []


def expect(what, found, wanted=True):
    good = found == wanted
    print(("ok   " if good else "FAIL ") + what + ("" if good else f": {found!r}, not {wanted!r}"))
    if not good:
        failed.append(what)


def code(call, *given, **asked):
    """The code of the refusal, 'no answer', or 'done'."""
    try:
        call(*given, **asked)
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"]
    except (botocore.exceptions.ConnectionError, botocore.exceptions.HTTPClientError):
        return "no answer"
    return "done"


def ids(answer):
    return [each["InstanceId"] for each in answer["Instances"]]


def tags(kind, **given):
    listed = [{"Key": key, "Value": value} for key, value in given.items()]
    return {"ResourceType": kind, "Tags": listed}


def listed(ec2, **asked):
    found = ec2.describe_instances(**asked)["Reservations"]
    return [each for reservation in found for each in reservation["Instances"]]


def wait_state(ec2, instance_ids, state):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = {each["State"]["Name"] for each in listed(ec2, InstanceIds=instance_ids)}
        if found == {state}:
            return True
        time.sleep(0.02)
    return found


def tokens(lab, ec2):
    asked = {**TWO, "ClientToken": "once"}
    first = ec2.run_instances(**asked)
    again = ec2.run_instances(**asked)
    expect("the same token again is the same machines", ids(again), ids(first))
    expect("their indices", [e["AmiLaunchIndex"] for e in first["Instances"]], [0, 1])
    expect("one token, another request", code(ec2.run_instances, **{**asked, "MaxCount": 3}), "IdempotentParameterMismatch")
    zoned = {**asked, "Placement": {"AvailabilityZone": "us-east-1b"}}
    expect("a token is of a zone", bool(set(ids(ec2.run_instances(**zoned))) - set(ids(first))))
    found = listed(ec2, Filters=[{"Name": "client-token", "Values": ["once"]}])
    expect("found by the token", len(found), 4)
    expect("they run", wait_state(ec2, ids(first), "running"))
    ec2.terminate_instances(InstanceIds=ids(first))
    expect("twice is once", code(ec2.terminate_instances, InstanceIds=ids(first)), "done")
    expect("they end", wait_state(ec2, ids(first), "terminated"))
    expect("the token of an ended one", code(ec2.run_instances, **asked), "IdempotentInstanceTerminated")

    def race(_):
        return tuple(ids(ec2.run_instances(**{**TWO, "ClientToken": "race"})))

    with concurrent.futures.ThreadPoolExecutor(8) as many:
        expect("eight at once with one token", len(set(many.map(race, range(8)))), 1)


def room(lab, ec2):
    lab.ec2.capacity.set(1, zone="us-east-1a", type="c5.large")
    wanted = {**TWO, "InstanceType": "c5.large", "Placement": {"AvailabilityZone": "us-east-1a"}}
    before = len(listed(ec2))
    try:
        ec2.run_instances(**wanted)
        expect("all or none", "done")
    except botocore.exceptions.ClientError as error:
        said = error.response["Error"]
        expect("no room", said["Code"], "InsufficientInstanceCapacity")
        expect("  its status", error.response["ResponseMetadata"]["HTTPStatusCode"], 500)
        expect("  names others", "us-east-1b" in said["Message"])
    expect("  made nothing", len(listed(ec2)), before)
    some = ec2.run_instances(**{**wanted, "MinCount": 1})
    expect("at least one", len(ids(some)), 1)
    free = {name: value for name, value in wanted.items() if name != "Placement"}
    zone = ec2.run_instances(**free)["Instances"][0]["Placement"]["AvailabilityZone"]
    expect("no zone asked for: one with room", zone != "us-east-1a")
    lab.ec2.capacity.set(0, type="c5.large", market="spot")
    expect("no spot", code(ec2.run_instances, **free, **SPOT), "InsufficientInstanceCapacity")
    lab.ec2.capacity.quotas.update({"on-demand": 0, "spot": 0})
    expect("quota", code(ec2.run_instances, **ONE), "VcpuLimitExceeded")
    expect("spot quota", code(ec2.run_instances, **ONE, **SPOT), "MaxSpotInstanceCountExceeded")
    lab.ec2.capacity.quotas.clear()


def refusals(lab, ec2):
    lab.profile("trainer")
    ec2.create_placement_group(GroupName="near", Strategy="cluster")
    metadata = {"MetadataOptions": {"InstanceMetadataTags": "enabled"}}
    low = {"InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.0001"}}}
    stop = {
        "InstanceMarketOptions": {
            "MarketType": "spot",
            "SpotOptions": {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "stop"},
        }
    }
    for what, more, wanted in [
        ("an image of no form", {"ImageId": "ami-nope"}, "InvalidAMIID.Malformed"),
        ("an unknown image", {"ImageId": "ami-" + "1" * 17}, "InvalidAMIID.NotFound"),
        ("an unknown parameter", {"ImageId": "resolve:ssm:/nope"}, "InvalidParameterValue"),
        ("an image for other machines", {"ImageId": ARM_IMAGE}, "InvalidParameterValue"),
        ("an unknown type", {"InstanceType": "zz.huge"}, "InvalidParameterValue"),
        ("a zone of elsewhere", {"Placement": {"AvailabilityZone": "us-east-9z"}}, "InvalidParameterValue"),
        ("a type that the zone has not", {"InstanceType": "g5.xlarge", "Placement": {"AvailabilityZone": "us-east-1e"}}, "Unsupported"),
        ("an unknown subnet", {"SubnetId": "subnet-" + "1" * 17}, "InvalidSubnetID.NotFound"),
        ("an unknown group", {"SecurityGroupIds": ["sg-" + "1" * 17]}, "InvalidGroup.NotFound"),
        ("an unknown key", {"KeyName": "nope"}, "InvalidKeyPair.NotFound"),
        ("an unknown profile", {"IamInstanceProfile": {"Name": "n"}}, "InvalidParameterValue"),
        ("a group of no form", {"Placement": {"GroupName": "n"}}, "InvalidPlacementGroup.Unknown"),
        ("a type in no cluster", {**CLUSTER, "InstanceType": "t3.micro"}, "InvalidParameterCombination"),
        ("EFA on a small one", {"NetworkInterfaces": [{"DeviceIndex": 0, "InterfaceType": "efa"}]}, "InvalidParameterCombination"),
        ("user-data of 16 KB and one", {"UserData": "x" * 16385}, "InvalidParameterValue"),
        ("a token of 65", {"ClientToken": "x" * 65}, "InvalidParameterValue"),
        ("51 tags", {"TagSpecifications": [tags("instance", **{f"k{i}": "" for i in range(51)})]}, "TagLimitExceeded"),
        ("a key of theirs", {"TagSpecifications": [tags("instance", **{"aws:x": ""})]}, "InvalidParameterValue"),
        ("a slash where tags are metadata", {**metadata, "TagSpecifications": [tags("instance", **{"a/b": ""})]}, "InvalidParameterValue"),
        ("more at least than at most", {"MinCount": 2}, "InvalidParameterCombination"),
        ("a bid too low", low, "SpotMaxPriceTooLow"),
        ("one-time, and stop", stop, "InvalidParameterCombination"),
        ("a dry run", {"DryRun": True}, "DryRunOperation"),
    ]:
        expect(what, code(ec2.run_instances, **{**ONE, **more}), wanted)
    expect("user-data of 16 KB", code(ec2.run_instances, **ONE, UserData="x" * 16384), "done")
    expect("a slash elsewhere", code(ec2.run_instances, **ONE, TagSpecifications=[tags("instance", **{"a/b": ""})]), "done")
    mine = {"IamInstanceProfile": {"Name": "trainer"}}
    lab.ec2.behind.young["trainer"] = time.time() + 3600
    expect("a profile of a moment ago", code(ec2.run_instances, **ONE, **mine), "InvalidParameterValue")
    lab.ec2.behind.young.clear()
    expect("  and later", code(ec2.run_instances, **ONE, **mine), "done")
    other = lab.client("ec2", aws_secret_access_key="x")
    expect("a wrong secret", code(other.describe_instances), "SignatureDoesNotMatch")
    other = lab.client("ec2", aws_access_key_id="AKIANOBODY")
    expect("a stranger", code(other.describe_instances), "AuthFailure")
    expect("an id of no form", code(ec2.describe_instances, InstanceIds=["i-x"]), "InvalidInstanceID.Malformed")
    expect("an unknown id", code(ec2.describe_instances, InstanceIds=["i-" + "1" * 17]), "InvalidInstanceID.NotFound")
    unknown = [{"Name": "nope", "Values": ["x"]}]
    expect("an unknown filter", code(ec2.describe_instances, Filters=unknown), "InvalidParameterValue")
    expect(
        "what the lab has not",
        code(ec2.request_spot_fleet, SpotFleetRequestConfig={"IamFleetRole": "x", "TargetCapacity": 1}),
        "InvalidAction",
    )


def lists(lab, ec2):
    made = []
    for number in range(12):
        made += ids(
            ec2.run_instances(**ONE, TagSpecifications=[tags("instance", batch="pages", number=str(number)), tags("volume", batch="pages")])
        )
    mine = [{"Name": "tag:batch", "Values": ["pages"]}]
    pages = list(ec2.get_paginator("describe_instances").paginate(Filters=mine, PaginationConfig={"PageSize": 5}))
    found = [e["InstanceId"] for p in pages for r in p["Reservations"] for e in r["Instances"]]
    expect("three pages", (len(pages), found), (3, made))
    expect("by the first letters of a tag", len(listed(ec2, Filters=[*mine, {"Name": "tag:number", "Values": ["1?"]}])), 2)
    found = ec2.describe_volumes(Filters=mine)["Volumes"]
    expect("volumes have their tags", len(found), 12)
    expect("and go or stay as the image says", {e["Attachments"][0]["DeleteOnTermination"] for e in found}, {False})
    expect("a page of four", code(ec2.describe_instances, MaxResults=4), "InvalidParameterValue")
    ec2.create_tags(Resources=made[:1], Tags=[{"Key": "late", "Value": "one"}])
    found = ec2.describe_tags(Filters=[{"Name": "key", "Values": ["late"]}])["Tags"]
    expect("a tag that came later", [each["ResourceId"] for each in found], made[:1])
    expect("they run", wait_state(ec2, made, "running"))
    statuses = ec2.describe_instance_status(InstanceIds=made)["InstanceStatuses"]
    expect("their status", len(statuses), 12)
    lab.ec2.settings.keep_terminated = 0.0
    ec2.terminate_instances(InstanceIds=made)
    gone = time.monotonic() + PATIENCE
    while listed(ec2, Filters=mine) and time.monotonic() < gone:
        time.sleep(0.02)
    expect("terminated ones vanish", code(ec2.describe_instances, InstanceIds=made), "InvalidInstanceID.NotFound")
    lab.ec2.settings.keep_terminated = 3600.0
    expect("and their volumes, which the image keeps, stay", len(ec2.describe_volumes(Filters=mine)["Volumes"]), 12)


def lives(lab, ec2):
    one = ids(ec2.run_instances(**ONE, UserData="#!/bin/sh\n"))
    expect("runs", wait_state(ec2, one, "running"))
    kept = ec2.describe_instance_attribute(InstanceId=one[0], Attribute="userData")
    expect("user-data", base64.b64decode(kept["UserData"]["Value"]), b"#!/bin/sh\n")
    ec2.stop_instances(InstanceIds=one)
    expect("stops", wait_state(ec2, one, "stopped"))
    lab.ec2.capacity.set(0, type="m5.large")
    expect("no room to start again", code(ec2.start_instances, InstanceIds=one), "InsufficientInstanceCapacity")
    lab.ec2.capacity.set(None, type="m5.large")
    ec2.start_instances(InstanceIds=one)
    expect("starts again", wait_state(ec2, one, "running"))
    spot = ids(ec2.run_instances(**ONE, **SPOT, TagSpecifications=[tags("spot-instances-request", who="me")]))
    expect("spot does not stop", code(ec2.stop_instances, InstanceIds=spot), "UnsupportedOperation")
    request = ec2.describe_spot_instance_requests(Filters=[{"Name": "tag:who", "Values": ["me"]}])["SpotInstanceRequests"][0]
    expect("its request", (request["State"], request["InstanceId"]), ("active", spot[0]))
    lab.ec2.faults.add_birth("Server.InsufficientInstanceCapacity", "no room after all")
    dead = ids(ec2.run_instances(**ONE))
    expect("a dead birth", wait_state(ec2, dead, "terminated"))
    reason = listed(ec2, InstanceIds=dead)[0]["StateReason"]["Code"]
    expect("  says why", reason, "Server.InsufficientInstanceCapacity")
    history = ec2.describe_spot_price_history(InstanceTypes=["g5.xlarge"], ProductDescriptions=["Linux/UNIX"], StartTime=time.time())[
        "SpotPriceHistory"
    ]
    zones = sorted(each["AvailabilityZone"] for each in history)
    expect("the price now, by zone", zones, [f"us-east-1{letter}" for letter in "abcdf"])
    expect("a group in use", code(ec2.delete_placement_group, GroupName="nope"), "InvalidPlacementGroup.Unknown")
    near = {**TWO, **CLUSTER}
    ec2.run_instances(**near)
    expect("a cluster in use", code(ec2.delete_placement_group, GroupName="near"), "InvalidPlacementGroup.InUse")


def faults(lab, ec2):
    asked = {**ONE, "ClientToken": "lost"}
    lab.ec2.faults.add("RunInstances", "lost_answer")
    expect("an answer lost", code(ec2.run_instances, **asked), "no answer")
    found = listed(ec2, Filters=[{"Name": "client-token", "Values": ["lost"]}])
    expect("  had its effect", len(found), 1)
    expect("  once", ids(ec2.run_instances(**asked)), [found[0]["InstanceId"]])
    lab.ec2.faults.add("RunInstances", "lost_request")
    asked = {**ONE, "ClientToken": "never"}
    expect("a request lost", code(ec2.run_instances, **asked), "no answer")
    found = listed(ec2, Filters=[{"Name": "client-token", "Values": ["never"]}])
    expect("  had none", found, [])
    lab.ec2.faults.add("*", "error", count=2)
    expect("throttled", code(ec2.describe_instances), "RequestLimitExceeded")
    expect("throttled", code(ec2.describe_regions), "RequestLimitExceeded")
    expect("no more", code(ec2.describe_instances), "done")
    lab.ec2.settings.late = 3600.0
    new = ids(ec2.run_instances(**ONE))
    expect("not seen yet", code(ec2.describe_instances, InstanceIds=new), "InvalidInstanceID.NotFound")
    lab.ec2.settings.late = 0.0


def aws_cli(lab, ec2):
    """Amazon's command line, which has its own code for what it sends and shows."""
    with tempfile.TemporaryDirectory(prefix="stoker-lab-cli-") as home:
        env = {**lab.env(), "PATH": os.environ["PATH"], "HOME": home}

        def aws(*words):
            done = subprocess.run(
                [sys.executable, os.path.join(sys.prefix, "bin", "aws"), *words, "--output", "json"],
                env=env,
                capture_output=True,
                text=True,
                timeout=120,
            )
            return json.loads(done.stdout) if done.returncode == 0 else done.stderr

        made = aws(
            "ec2",
            "run-instances",
            "--image-id",
            IMAGE,
            "--instance-type",
            "g5.xlarge",
            "--count",
            "2",
            "--instance-market-options",
            "MarketType=spot",
            "--user-data",
            "#!/bin/sh",
            "--tag-specifications",
            "ResourceType=instance,Tags=[{Key=who,Value=cli}]",
        )
        expect("aws run-instances", [e["InstanceLifecycle"] for e in made["Instances"]], ["spot", "spot"])
        found = aws("ec2", "describe-instances", "--filters", "Name=tag:who,Values=cli", "--query", "Reservations[].Instances[].InstanceId")
        expect("aws describe-instances", found, ids(made))
        done = aws("ec2", "terminate-instances", "--instance-ids", *found)
        expect("aws terminate-instances", len(done["TerminatingInstances"]), 2)
        said = aws("ec2", "start-instances", "--instance-ids", "i-" + "1" * 17)
        expect("aws start-instances", "InvalidInstanceID.NotFound" in said)
        who = aws("sts", "get-caller-identity")
        expect("aws sts, by moto", who["Account"], "123456789012")


def main():
    with Unbooted() as lab:
        ec2 = lab.client("ec2")
        for part in (tokens, room, refusals, lists, lives, faults, aws_cli):
            part(lab, ec2)
        expect("no error of the lab itself", lab.bugs, [])
    print(f"clients: {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
