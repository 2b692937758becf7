#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel on two spot instances that boot: examples/ddp as it is. One gets a
notice; what follows is judged by EC2's log of requests, the bucket, aws-cli, and the losses. And a
script that knows NUM_NODES, NODE_RANK, MASTER_ADDR and MASTER_PORT alone. Needs torch and
scikit-learn of this machine's Python.

    ddp.py [preempted] [bare]"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results
from test.e2e.kit.job_kit import texts
from test.ec2 import lab_world
from test.ec2.lab_world import TAGS, LabWorld, whole_checkpoint
from test.s3_server import BUCKET

EPOCHS = 60
LEAD = 40.0  # seconds of the notice
BARE = """import os
import torch
import torch.distributed as dist
address, port = os.environ['MASTER_ADDR'], os.environ['MASTER_PORT']
rank, count = int(os.environ['NODE_RANK']), int(os.environ['NUM_NODES'])
for name in list(os.environ):
    if name not in ('PATH', 'HOME'):
        del os.environ[name]
dist.init_process_group('gloo', f'tcp://{address}:{port}', rank=rank, world_size=count)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
net(torch.full((1, 2), float(rank))).backward()
print('gradient', net.module.weight.grad.tolist(), flush=True)
dist.destroy_process_group()
"""


def aws(lab, *words):
    """aws-cli's answer."""
    more = {"AWS_DEFAULT_OUTPUT": "json", "AWS_DEFAULT_REGION": lab_of.REGION}
    env = {**os.environ, **lab.env, **more}
    command = [str(pathlib.Path(sys.executable).parent / "aws"), *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout or "null")


def epochs(world, job):
    """{attempt: [(epoch, loss)]}, and {attempt: {where its ranks began}}"""
    losses, begun = {}, {}
    for line in world.stoker("logs", job, "--json", check=True).stdout.splitlines():
        line = json.loads(line)
        if found := re.match(r"epoch (\d+)/\d+  loss: ([0-9.]+)", line["text"]):
            losses.setdefault(line["attempt"], []).append((int(found[1]), float(found[2])))
        if found := re.match(r"rank \d of 2 starts at epoch (\d+)", line["text"]):
            begun.setdefault(line["attempt"], []).append(int(found[1]))
    return losses, begun


def requested(lab, job):
    """When machines of it were asked for."""
    made = [each for each in lab.log if each.get("action") == "RunInstances"]
    return [each["time"] for each in made if f"'{job}'" in str(each.get("asked"))]


def heard(world, machine):
    """When its agent says that it had the notice; the record's own time."""
    found = re.search(r"^(\d+) s stoker: notice", world.spooled(machine), re.M)
    return found and int(found[1]) / 1000


def test_preempted(lab, check):
    with LabWorld(lab, "ddp") as world:
        work = world.root / "ddp"
        shutil.copytree(ROOT / "examples" / "ddp", work)
        job = world.submit("job.yaml", "--infra", "aws/us-east-1", "--spot", "--env", f"EPOCHS={EPOCHS}", "--env", "PAUSE=0.7", cwd=work)
        two = [world.machine(job, at) for at in (0, 1)]
        check("nothing of stoker runs outside", not world.outside(), world.outside())
        world.wait_for("twelve epochs", lambda: "epoch 12/" in world.spooled(two[0]), 240, 0.5)
        given = world.notice(two[1], LEAD)
        world.wait_for("the notice is heard", lambda: heard(world, two[1]), 60, 0.05)
        at = heard(world, two[1])
        third = world.machine(job, 2)
        asked = requested(lab, job)
        after = asked[-1] - at
        print(
            f"      the notice was heard {at - given:.1f} s after it was given (asked each 5 s), "
            f"the successor requested {after * 1000:.0f} ms later",
            flush=True,
        )
        check("one request for the two, one for the successor", len(asked) == 2, asked)
        check("the successor is requested at the notice", 0 <= after <= 10, after)
        check("in the same zone", third.asked["Zone"] == two[1].asked["Zone"])
        world.wait_for("the instance is gone", lambda: two[1].state() == "terminated", 120, 0.2)
        check("a checkpoint was committed before", whole_checkpoint(lab, job))
        world.over(job, 400)
        judge(lab, check, world, job)


def judge(lab, check, world, job):
    record = world.job(job)
    check("ddp: succeeds", record["state"] == "Succeeded", record)
    first, second = record["attempts"][0], record["attempts"][-1]
    check("two attempts", len(record["attempts"]) == 2, record["attempts"])
    check("told ahead", first["ending"]["reason"] == "Interrupted", first)
    check(
        "resumed from the newest of the first attempt",
        second["restore"] and second["restore"] == first["newest_checkpoint"],
        (first, second),
    )
    check("one machine was kept", second["launches"][0] == first["launches"][0], second)
    losses, begun = epochs(world, job)
    number = second["number"]
    old, new = dict(losses[1]), dict(losses[number])
    check("both ranks went on at one epoch", len(begun[number]) == 2 and set(begun[number]) == {min(new)}, begun)
    check("not from the beginning, and at most two epochs again", 1 < min(new) and max(old) - min(new) < 2, (max(old), min(new)))
    check("with the rest, once each", sorted(new) == list(range(min(new), EPOCHS + 1)), sorted(new))
    again = [(e, old[e], new[e]) for e in new if e in old and abs(old[e] - new[e]) > 0.0002]
    check("an epoch that is made again has the same loss", not again, again)
    print(
        f"      epochs 1-{max(old)}, then {min(new)}-{EPOCHS}: loss {old[1]} … {old[max(old)]}, {new[min(new)]} … {new[EPOCHS]}", flush=True
    )
    told = aws(lab, "ec2", "describe-instances", "--filters", f"Name=tag:stoker-job,Values={job}")
    seen = [each for one in told["Reservations"] for each in one["Instances"]]
    check("aws-cli: three instances, all terminated", len(seen) == 3 and {each["State"]["Name"] for each in seen} == {"terminated"}, seen)
    lost = [[t["Key"] for t in each["Tags"]] for each in seen if not TAGS <= {t["Key"] for t in each["Tags"]}]
    check("aws-cli: their tags", not lost, lost)
    check("aws-cli: spot", {each["InstanceLifecycle"] for each in seen} == {"spot"})
    check("aws-cli: no volume", not aws(lab, "ec2", "describe-volumes")["Volumes"])
    listed = aws(lab, "s3api", "list-objects-v2", "--bucket", BUCKET, "--prefix", f"team/jobs/{job}/")["Contents"]
    keys = [each["Key"].removeprefix(f"team/jobs/{job}/") for each in listed]
    parts = {"checkpoints/manifests/", f"log/{number}-0/", f"log/{number}-1/"}
    absent = [part for part in parts if not any(key.startswith(part) for key in keys)]
    check(f"aws-cli: checkpoints and logs among {len(keys)} objects", not absent, keys)


def test_bare(lab, check):
    with LabWorld(lab, "bare") as world:
        world.program(BARE, "bare.py")
        job = world.submit(
            "--infra",
            "aws/us-east-1",
            "--num-nodes",
            "2",
            "--output",
            "out",
            "--",
            "sh",
            "-c",
            "python3 bare.py && mkdir -p out && date >out/when",
        )
        world.over(job)
        said = texts(world, job)
        check("bare: one gradient on both nodes", said == ["gradient [[0.5, 0.5]]"] * 2, said)
        check("bare: succeeds", world.job(job)["state"] == "Succeeded", world.job(job))
        listed = aws(lab, "s3api", "list-objects-v2", "--bucket", BUCKET, "--prefix", f"team/jobs/{job}/artifacts/")["Contents"]
        check("aws-cli: outputs of both", len(listed) >= 2, listed)


def main(names):
    results = Results()
    with lab_of.Lab() as lab:
        lab.rooms.more = ["-p"]
        for name in names or ("preempted", "bare"):
            results.run(name, globals()["test_" + name], lab, results.check)
        lab_world.judge(lab, results.check)
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
