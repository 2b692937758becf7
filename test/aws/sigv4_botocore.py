#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our signatures are botocore's, on random requests: sigv4_botocore.py DRIVER [COUNT [SEED]]"""

import datetime
import json
import pathlib
import random
import subprocess
import sys
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

PIECES = [
    "a",
    "Z",
    "0",
    "key",
    "checkpoints",
    "-",
    "_",
    ".",
    "~",
    "..",
    "/",
    "//",
    " ",
    "  ",
    "+",
    "%",
    "%20",
    "%2F",
    "%25",
    "=",
    "&",
    "?",
    "#",
    "@",
    ":",
    ";",
    ",",
    "!",
    "*",
    "'",
    "(",
    ")",
    "[",
    "]",
    "$",
    '"',
    "\\",
    "|",
    "^",
    "`",
    "{",
    "}",
    "<",
    ">",
    "\t",
    "\n",
    "\x7f",
    "é",
    "ü",
    "日本",
    "🚀",
    "/./",
    "/../",
]
QUERY_KEYS = ["uploads", "list-type", "prefix", "delimiter", "partNumber", "uploadId", "versionId"]
HEADERS = [
    "Range",
    "Content-Type",
    "If-Match",
    "If-None-Match",
    "x-amz-meta-Name",
    "Content-MD5",
    "x-amz-checksum-sha256",
    "User-Agent",
    "Expect",
    "X-Amz-Target",
    "Accept",
]


def text(dice, longest):
    return "".join(dice.choice(PIECES) for _ in range(dice.randint(0, longest)))


def query(dice):
    """Unsorted; some keys without a value, some with an empty one, some twice."""
    pairs = []
    for _ in range(dice.choice([0, 0, 1, 2, 3, 6])):
        key = dice.choice(QUERY_KEYS) if dice.random() < 0.6 else text(dice, 3) or "k"
        pairs.append([key, dice.choice([None, "", text(dice, 4), text(dice, 4)])])
    return pairs


def request(dice):
    service = dice.choice(["s3", "s3", "s3", "sts", "ec2", "execute-api"])
    host = dice.choice(["bucket.s3.amazonaws.com", "localhost:5000", "127.0.0.1:9000", "h.example"])
    when = datetime.datetime(2013, 1, 1) + datetime.timedelta(seconds=dice.randrange(10**9))
    names = dice.sample(HEADERS, dice.choice([0, 0, 1, 3]))
    values = ["x", " two  words ", "a\tb", "*", '"etag"', "é"]
    out = {
        "access_key": "AKIA" + str(dice.randrange(10**16)),
        "secret_key": text(dice, 8) + "secret",
        "token": dice.choice(["", "", "FwoGZXIvYXdz+/=" + str(dice.random())]),
        "region": dice.choice(["us-east-1", "eu-central-1", "cn-north-1", "auto"]),
        "service": service,
        "time": when.isoformat() + "Z",
        "method": dice.choice(["GET", "PUT", "POST", "DELETE", "HEAD"]),
        "path": "/" + text(dice, 10),
        "query": query(dice),
        "headers": [["Host", host]] + [[name, dice.choice(values)] for name in names],
        "body": dice.choice(["", "", text(dice, 20)]),
        "unsigned": dice.random() < 0.2,
    }
    return out


def encoded(case):
    pairs = [
        urllib.parse.quote(key, safe="-_.~") + ("" if value is None else "=" + urllib.parse.quote(value, safe="-_.~"))
        for key, value in case["query"]
    ]
    return urllib.parse.quote(case["path"], safe="/~") + ("?" if pairs else "") + "&".join(pairs)


def botocore_signs(case):
    when = datetime.datetime.fromisoformat(case["time"].rstrip("Z"))
    botocore.auth.get_current_datetime = lambda *_, **__: when
    credentials = Credentials(case["access_key"], case["secret_key"], case["token"] or None)
    kind = botocore.auth.S3SigV4Auth if case["service"] == "s3" else botocore.auth.SigV4Auth
    signer = kind(credentials, case["service"], case["region"])
    url = "https://" + case["headers"][0][1] + encoded(case)
    asked = AWSRequest(case["method"], url, dict(case["headers"]), case["body"].encode())
    asked.context["payload_signing_enabled"] = not case["unsigned"]
    asked.context["client_config"] = Config(s3={"payload_signing_enabled": not case["unsigned"]})
    signer.add_auth(asked)
    return asked


def differences(case, ours):
    theirs = botocore_signs(case)
    if ours.get("target") != encoded(case):
        yield f"target: {ours.get('target')!r}, not {encoded(case)!r}"
    have = {name.lower(): value for name, value in ours.get("headers", {}).items()}
    want = {name.lower(): value for name, value in theirs.headers.items()}
    for name in sorted(have.keys() | want.keys()):
        if have.get(name) != want.get(name):
            yield f"{name}: {have.get(name)!r}, not {want.get(name)!r}"


def main(argv):
    count = int(argv[2]) if len(argv) > 2 else 3000
    dice = random.Random(int(argv[3]) if len(argv) > 3 else 1)
    cases = [request(dice) for _ in range(count)]
    done = subprocess.run(
        [argv[1]], input="\n".join(json.dumps(case) for case in cases) + "\n", capture_output=True, text=True, timeout=120, check=True
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == count, f"{len(answers)} answers to {count} requests"
    wrong = 0
    for case, ours in zip(cases, answers):
        found = list(differences(case, ours))
        wrong += bool(found)
        if found and wrong <= 5:
            print(json.dumps(case, ensure_ascii=False), *found, sep="\n  ")
    print(f"{count} requests: {wrong} signed unlike botocore")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
