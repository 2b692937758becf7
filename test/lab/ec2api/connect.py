# SPDX-License-Identifier: Apache-2.0
"""EC2 Instance Connect: a key for a minute. Sources: "SendSSHPublicKey" (EC2 Instance Connect API
reference), botocore's model of it."""

import functools
import json
import re
import time

from test.lab.ec2api.errors import Refusal

SERVICE = "ec2-instance-connect"
GOOD_FOR = 60  # seconds


@functools.cache
def _model():
    import botocore.session

    return botocore.session.get_session().get_service_model(SERVICE)


def _check(given):
    """By the model: what botocore validates, and the patterns, which it leaves to the service."""
    from botocore.validate import ParamValidator

    shape = _model().operation_model("SendSSHPublicKey").input_shape
    report = ParamValidator().validate(given, shape)
    if report.has_errors():
        raise Refusal("InvalidArgsException", report.generate_report())
    strange = set(given) - set(shape.members)
    if strange:
        raise Refusal("InvalidArgsException", f"unknown members: {sorted(strange)}")
    for name, value in given.items():
        pattern = shape.members[name].metadata.get("pattern")
        most = shape.members[name].metadata.get("max", len(value))
        if len(value) > most or (pattern and not re.match(pattern, value)):
            raise Refusal("InvalidArgsException", f"{name} is not as it must be: {value}")
    kind, key, *_ = [*given["SSHPublicKey"].split(), "", ""]
    if kind not in ("ssh-rsa", "ssh-ed25519") or not re.fullmatch("[A-Za-z0-9+/=]+", key):
        raise Refusal("InvalidArgsException", "SSHPublicKey is no key")


def call(ec2, region, action, body):
    """The answer, as JSON."""
    if action != "SendSSHPublicKey":
        raise Refusal("InvalidAction", f"The lab does not know the action {action}.")
    given = json.loads(body or b"{}")
    _check(given)
    instance = ec2.world.region(region).instances.get(given["InstanceId"])
    if instance is None:
        raise Refusal("EC2InstanceNotFoundException", "Instance not found")
    if instance.state() != "running":
        raise Refusal("EC2InstanceStateInvalidException", "Instance is not running")
    ec2.sent_keys.append((time.time(), given))
    return json.dumps({"RequestId": "abcd1234-abcd-1234-abcd-1234abcd1234", "Success": True})


def active_keys(ec2, instance):
    """What the machine's metadata has of them now. Amazon's are signed, too."""
    told = {}
    for when, given in ec2.sent_keys:
        if given["InstanceId"] == instance.id and time.time() < when + GOOD_FOR:
            path = f"meta-data/managed-ssh-keys/active-keys/{given['InstanceOSUser']}/"
            told[path] = told.get(path, "") + given["SSHPublicKey"].strip() + "\n"
    return told
