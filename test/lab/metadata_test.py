#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lab's metadata beside those of Amazon's own amazon-ec2-metadata-mock: the same paths are
there or not, statuses are the same, and texts have the same form."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
import ctypes

from test import go_tools
from test.lab.ec2api.metadata import maintenance
from test.lab.unbooted import Unbooted
from test.versity_s3 import free_port

MODULE = "github.com/aws/amazon-ec2-metadata-mock/cmd/ec2-metadata-mock@v1.13.0"
IMAGE = "resolve:ssm:/aws/service/debian/release/12/latest/amd64"
PATIENCE = 30.0
ROLE = "baskinc-role"  # the one that theirs has
TTL = "X-aws-ec2-metadata-token-ttl-seconds"
SESSION = "X-aws-ec2-metadata-token"

# Below /latest; what theirs knows and a machine of the lab has, too.
PATHS = [
    "meta-data/ami-id",
    "meta-data/ami-launch-index",
    "meta-data/ami-manifest-path",
    "meta-data/block-device-mapping/ami",
    "meta-data/block-device-mapping/root",
    "meta-data/events/maintenance/scheduled",
    "meta-data/events/recommendations/rebalance",
    "meta-data/hostname",
    "meta-data/iam/info",
    f"meta-data/iam/security-credentials/{ROLE}",
    "meta-data/iam/security-credentials/",
    "meta-data/instance-action",
    "meta-data/instance-id",
    "meta-data/instance-life-cycle",
    "meta-data/instance-type",
    "meta-data/local-hostname",
    "meta-data/local-ipv4",
    "meta-data/mac",
    "meta-data/placement/availability-zone",
    "meta-data/placement/availability-zone-id",
    "meta-data/placement/region",
    "meta-data/reservation-id",
    "meta-data/security-groups",
    "meta-data/services/domain",
    "meta-data/services/partition",
    "meta-data/spot/instance-action",
    "meta-data/spot/termination-time",
    "meta-data/tags/instance/Name",
    "dynamic/instance-identity/document",
    "meta-data/nope",
    "nope",
]
OF_THE_CARD = [
    "device-number",
    "interface-id",
    "local-hostname",
    "local-ipv4s",
    "mac",
    "owner-id",
    "security-group-ids",
    "security-groups",
    "subnet-id",
    "subnet-ipv4-cidr-block",
    "vpc-id",
    "vpc-ipv4-cidr-block",
    "vpc-ipv4-cidr-blocks",
]
CARDS = "meta-data/network/interfaces/macs/"
FORMS = [
    ("RFC 3339", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
    ("date", r"\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"),
    ("CIDR", r"\d+\.\d+\.\d+\.\d+/\d+"),
    ("IPv4", r"\d+\.\d+\.\d+\.\d+"),
    ("MAC", r"([0-9a-f]{2}:){5}[0-9a-f]{2}"),
    ("zone id", r"[a-z]+\d-az\d"),
    ("zone", r"[a-z]{2}-[a-z]+-\d[a-z]"),
    ("region", r"[a-z]{2}-[a-z]+-\d"),
    ("host", r"ip-[\d-]+\.[a-z0-9.-]*internal"),
    ("number", r"\d+"),
    ("ARN", r"arn:aws:.*"),
]
IDS = re.compile(r"(i|ami|r|eni|sg|subnet|vpc|instance-event)-[0-9a-f]{8,17}")
failed = []


def expect(what, found, wanted=True):
    good = found == wanted
    print(("ok   " if good else "FAIL ") + what + ("" if good else f": {found!r}, not {wanted!r}"))
    if not good:
        failed.append(what)


def ask(url, method="GET", **headers):
    """(status, text, headers)."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, method=method, headers=named)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


def form(text):
    """What a text is, without what it says."""
    try:
        told = json.loads(text)
    except ValueError:
        return form_of_word(text.strip())
    return form_of_json(told) if isinstance(told, (dict, list)) else form_of_word(text.strip())


def form_of_json(told):
    if isinstance(told, dict):
        return {key: form_of_json(value) for key, value in told.items()}
    if isinstance(told, list):
        return [form_of_json(each) for each in told]
    known = None if told is None else form_of_word(str(told))
    return "text" if known == "number" else known  # their AccessKeyId is one


def form_of_word(word):
    for name, pattern in FORMS:
        if re.fullmatch(pattern, word):
            return name
    kind = IDS.fullmatch(word)
    return kind[1] + "-" if kind else "text"


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Theirs:
    """amazon-ec2-metadata-mock, that wants sessions or does not."""

    def __init__(self, *words):
        self.words = words

    def __enter__(self):
        self.home = tempfile.TemporaryDirectory(prefix="stoker-metadata-")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [go_tools.tool(MODULE), *self.words, "-n", "127.0.0.1", "-p", str(port)],
            env={"HOME": self.home.name, "PATH": os.environ["PATH"]},
            cwd=self.home.name,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=end_with_parent,
        )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                ask(self.url + "/latest/meta-data/ami-id")
                return self
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.home.cleanup()


def machine(lab, tokens):
    """A machine of the lab with all that theirs has: its metadata's URL."""
    ec2 = lab.client("ec2")
    made = ec2.run_instances(
        ImageId=IMAGE,
        InstanceType="m4.xlarge",
        MinCount=1,
        MaxCount=1,
        InstanceMarketOptions={"MarketType": "spot"},
        IamInstanceProfile={"Name": ROLE},
        MetadataOptions={"HttpTokens": tokens, "InstanceMetadataTags": "enabled"},
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "test"}]}],
    )["Instances"][0]
    return made["InstanceId"], lab.metadata(made["InstanceId"])


def compare(theirs, ours, paths, mac):
    for path in paths:
        left = ask(f"{theirs.url}/latest/{path}")
        right = ask(f"{ours}/latest/{path}")
        expect(f"{path}: status", right[0], left[0])
        if left[0] == right[0] == 200:
            expect("  its form", form(right[1]), form(left[1]))
    found = ask(f"{theirs.url}/latest/{CARDS}")[1].split()
    theirs_mac = found[0].strip("/")
    for name in OF_THE_CARD:
        left = ask(f"{theirs.url}/latest/{CARDS}{theirs_mac}/{name}")
        right = ask(f"{ours}/latest/{CARDS}{mac}/{name}")
        expect(f"card, {name}: status", right[0], left[0])
        expect("  its form", form(right[1]), form(left[1]))


def sessions(theirs, ours):
    """Where a session is needed, each way of not having a good one."""
    path = "/latest/meta-data/ami-id"
    for what, asked in [
        ("no lifetime", {}),
        ("a lifetime of 0", {TTL: "0"}),
        ("a lifetime too long", {TTL: "21601"}),
        ("a lifetime that is none", {TTL: "x"}),
        ("behind a proxy", {TTL: "60", "X-Forwarded-For": "10.0.0.1"}),
    ]:
        left, right = (ask(f"{url}/latest/api/token", "PUT", **asked)[0] for url in (theirs.url, ours))
        if what == "behind a proxy":  # theirs gives one; "Use IMDSv2" of the user guide says 403
            expect(f"session, {what}", right, 403)
        else:
            expect(f"session, {what}", right, left)
    for url in (theirs.url, ours):
        status, token, headers = ask(f"{url}/latest/api/token", "PUT", **{TTL: "60"})
        expect("a session", (status, headers[TTL]), (200, "60"))
        status, _, headers = ask(url + path, **{SESSION: token})
        expect("  is good", status, 200)
        if url == ours:  # theirs does not tell what is left of it, EC2 does
            expect("  and told to last", 0 < int(headers[TTL]) <= 60)
        expect("  another one is not", ask(url + path, **{SESSION: "x"})[0], 401)
        expect("  none is not", ask(url + path)[0], 401)


def without_notice(lab):
    """Before anything happens the paths are not there; a notice and its end."""
    name, url = machine(lab, "optional")
    quiet = ["meta-data/spot/instance-action", "meta-data/spot/termination-time", "meta-data/events/recommendations/rebalance"]
    with Theirs("-d", "3600", "--rebalance-delay-sec", "3600") as theirs:
        for path in quiet:
            statuses = [ask(f"{each}/latest/{path}")[0] for each in (theirs.url, url)]
            expect(f"{path} before", statuses, [404, 404])
    one = lab.ec2.world.find(name)
    one.notice = {"action": "terminate", "time": time.time() + 120}
    expect("a notice", ask(f"{url}/latest/{quiet[0]}")[0], 200)
    one.notice = None
    expect("  withdrawn", ask(f"{url}/latest/{quiet[0]}")[0], 404)
    lab.imds.broken = 1
    expect("a bad moment", [ask(f"{url}/latest/meta-data/ami-id")[0] for _ in "ab"], [503, 200])
    keys = json.loads(ask(f"{url}/latest/meta-data/iam/security-credentials/{ROLE}")[1])
    mine = lab.client(
        "ec2", aws_access_key_id=keys["AccessKeyId"], aws_secret_access_key=keys["SecretAccessKey"], aws_session_token=keys["Token"]
    )
    found = mine.describe_instances(InstanceIds=[name])["Reservations"]
    expect("the role's keys sign", len(found), 1)


def main():
    with Unbooted() as lab:
        lab.profile(ROLE)
        name, url = machine(lab, "optional")
        one = lab.ec2.world.find(name)
        one.notice = {"action": "terminate", "time": time.time() + 120}
        one.rebalance = time.time()
        one.maintenance = [maintenance("system-reboot", 0, "soon", "instance-event-" + "0" * 17)]
        with Theirs() as theirs:
            compare(theirs, url, PATHS, one.mac)
        _, url = machine(lab, "required")
        with Theirs("--imdsv2") as theirs:
            sessions(theirs, url)
        without_notice(lab)
        expect("no error of the lab itself", lab.bugs, [])
    print(f"metadata: {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
