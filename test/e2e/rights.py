#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker under exactly the rights that `stoker doctor --iam` prints: moto holds the policies and
refuses what they do not allow. rights.py less: with any one of them less, something fails."""

import json
import pathlib
import sys
import urllib.request

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import moto_s3
from test.e2e.kit.harness import Results, World
from test.e2e.kit.job_kit import texts, trainer

STORE = f"s3://{moto_s3.BUCKET}/team"


def iam(server):
    import boto3

    return boto3.client(
        "iam",
        endpoint_url=server.endpoint,
        region_name="us-east-1",
        aws_access_key_id=moto_s3.KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=moto_s3.KEYS["AWS_SECRET_ACCESS_KEY"],
    )


def user(server, name, policy):
    """Keys of a new user who may do what `policy` says."""
    client = iam(server)
    client.create_user(UserName=name)
    client.put_user_policy(UserName=name, PolicyName="stoker", PolicyDocument=json.dumps(policy))
    key = client.create_access_key(UserName=name)["AccessKey"]
    return {
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        "AWS_ENDPOINT_URL_STS": server.endpoint,
    }


def enforce(server):
    """From here on moto checks signatures and policies of every request."""
    request = urllib.request.Request(f"{server.endpoint}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})
    urllib.request.urlopen(request).read()


def machine(server, name, keys):
    world = World(name)
    world.env.update({**server.env(), **keys})
    world.stoker("config", "set", "store", STORE, check=True)
    return world


def trains(results, world, who):
    job = trainer(world, "4", name=who)
    code = world.stoker("wait", job, timeout=120).returncode
    kept = world.json("checkpoints", job)
    results.check(f"{who}: a job trains, and its checkpoints are whole", code == 0 and kept and all(c["whole"] for c in kept), kept)
    results.check(f"{who}: its log is read", texts(world, job)[-1] == "done")
    world.stoker("get", job, "checkpoint", world.work / "fetched", check=True)


def said(world, what):
    return [f for f in world.json("doctor", ok=(0, 1)) if f["what"] == what]


def without(policy, at, action):
    less = json.loads(json.dumps(policy))
    listed = less["Statement"][at]["Action"]
    rest = [each for each in (listed if isinstance(listed, list) else [listed]) if each != action]
    if rest:
        less["Statement"][at]["Action"] = rest
    else:
        del less["Statement"][at]
    return less


def actions(policy):
    for at, statement in enumerate(policy["Statement"]):
        listed = statement["Action"]
        for action in listed if isinstance(listed, list) else [listed]:
            yield at, action


# Needed after an upload in parts was cut off, days ago for gc; and where the role of machines has no
# policy (test/cloud/paste.py).
RESUMES = ("s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:GetBucketPolicy")


def does(world, name):
    """What comes of all that a job and its submitter ask of a bucket: [(what, how it went)]."""
    world.program("print('done')\n", "short.py")
    run = world.stoker("run", "--name", name, "--", "python3", "short.py", timeout=120)
    came = [("run", run.returncode), ("logs", world.stoker("logs", name).stdout.strip())]
    for words in (("ls", "--all"), ("gc",)):
        done = world.stoker(*words, timeout=120)
        came.append((words[0], done.returncode, "AccessDenied" in done.stdout + done.stderr))
    found = world.json("doctor", ok=(0, 1))
    return [*came, *sorted((f["what"], f["level"], "s3:" in f["text"]) for f in found)]


def one_less():
    """Each right that is printed, taken away: something fails that did not."""
    results = Results()
    with moto_s3.MotoS3() as server:
        rights = machine(server, "printer", {}).json("doctor", "--iam")
        cases = [
            (f"{who} without {action}", who, without(rights[who], at, action))
            for who in ("submitter", "node")
            for at, action in actions(rights[who])
            if action not in RESUMES
        ]
        cases += [(f"{who} with all", who, rights[who]) for who in ("node", "submitter")]
        users = {text: user(server, f"u{number}", policy) for number, (text, _, policy) in enumerate(cases)}
        enforce(server)
        whole = {}
        for number, (text, who, _) in reversed(list(enumerate(cases))):
            came = does(machine(server, f"less{number}", users[text]), f"j{number}")
            if who not in whole:
                whole[who] = came
                continue
            results.check(f"{text}: something fails", came != whole[who], came)
    results.finish()


def as_files(results, planner, rights):
    """`--write`: what is printed, and never over something else."""
    folder = planner.work / "iam"
    told = planner.json("doctor", "--iam", "--write", folder)
    written = {pathlib.Path(each["path"]).stem: json.loads(pathlib.Path(each["path"]).read_text()) for each in told["files"]}
    results.check("the files are what is printed", written == rights and all(each["written"] for each in told["files"]), told)
    results.check("the commands name them", any(f"file://{folder}/submitter.json" in each for each in told["next"]), told["next"])
    planner.stoker("config", "set", "store", f"s3://{moto_s3.BUCKET}/another", check=True)
    refused = planner.stoker("doctor", "--iam", "--write", folder)
    results.check(
        "and stay, once they would be others",
        refused.returncode == 1
        and "says something else" in refused.stderr
        and json.loads((folder / "node.json").read_text()) == rights["node"],
        refused.stderr,
    )


def main():
    results = Results()
    with moto_s3.MotoS3() as server:
        planner = machine(server, "planner", {})
        rights = planner.json("doctor", "--iam")
        as_files(results, planner, rights)
        keys = {who: user(server, who, rights[who]) for who in ("submitter", "node")}
        enforce(server)
        worlds = {who: machine(server, who, keys[who]) for who in keys}
        for who, world in worlds.items():
            trains(results, world, who)
        submitter, node = worlds["submitter"], worlds["node"]
        results.check("submitter: gc may sweep", submitter.stoker("gc").returncode == 0)
        found = said(submitter, "credentials")
        results.check(
            "doctor says for whom, and no secret",
            found
            and "user/submitter" in found[0]["text"]
            and keys["submitter"]["AWS_SECRET_ACCESS_KEY"] not in json.dumps(found)
            and keys["submitter"]["AWS_ACCESS_KEY_ID"] not in json.dumps(found),
            found,
        )
        found = said(submitter, "versioning")
        results.check("submitter: the bucket's settings are read", found and "gone" in found[0]["text"], found)
        found = said(node, "versioning")
        results.check(
            "node: they are not, and doctor says which right is missing", found and "s3:GetBucketVersioning" in found[0]["text"], found
        )
        submitter.stoker("config", "set", "store", f"s3://{moto_s3.BUCKET}/others", check=True)
        refused = submitter.stoker("ls")
        results.check(
            "another prefix is refused, and said to be", refused.returncode == 1 and "AccessDenied" in refused.stderr, refused.stderr
        )
    results.finish()


if __name__ == "__main__":
    one_less() if sys.argv[1:] == ["less"] else main()
