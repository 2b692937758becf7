#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs find on VMs of Compute Engine that boot: torch's DistributedDataParallel on two,
whose ranks come from NODES and the host name alone; names that resolve; hyperparameters, inputs and
the job's id from the metadata server; code out of a git repository, and of the image. Needs git,
and torch of this machine's Python.

    ddp.py [ranks] [image]"""

import json
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results
from test.e2e.kit.job_kit import texts
from test.e2e.repository import Git
from test.fake_gcs import BUCKET
from test.gcp.gce_world import GceWorld, judge
from test.lab.gce_lab import GceLab

TRAIN = """import json, os, socket, urllib.request
import torch
import torch.distributed as dist

nodes = os.environ['NODES'].split()
rank = nodes.index(socket.gethostname())
assert rank == int(os.environ['NODE_RANK']), (nodes, socket.gethostname(), os.environ['NODE_RANK'])
for name in nodes:
    print('resolves', socket.gethostbyname(name), flush=True)


def attribute(key):
    where = 'http://metadata.google.internal/computeMetadata/v1/instance/attributes/'
    request = urllib.request.Request(where + key, headers={'Metadata-Flavor': 'Google'})
    return urllib.request.urlopen(request, timeout=10).read().decode()


told = [attribute('stoker-' + each) for each in ('job', 'hyperparameters', 'inputs')]
print('attributes', json.dumps([told[0], json.loads(told[1]), json.loads(told[2])]), flush=True)
dist.init_process_group('gloo', f'tcp://{nodes[0]}:29400', rank=rank, world_size=len(nodes))
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
net(torch.full((1, 2), float(rank))).backward()
print('gradient', net.module.weight.grad.tolist(), flush=True)
dist.destroy_process_group()
"""
FILE = """name: ranks
workdir: {{url: "file://{folder}", ref: v1}}
num_nodes: 2
hyperparameters: {{lr: 0.1, name: "a b"}}
inputs: {{train: gs://{bucket}/data}}
run: /usr/bin/python3 train.py
"""


def test_ranks(lab, check):
    with GceWorld(lab, "ranks") as world:
        lab.gcs.client().bucket(BUCKET).blob("data/part-0").upload_from_string("x")
        source = Git(world.root / "source")
        (source.folder / "train.py").write_text(TRAIN)
        commit = source.commit("train\n")
        source("tag", "v1")
        path = world.work / "job.yaml"
        path.write_text(FILE.format(folder=source.folder, bucket=BUCKET))
        job = world.submit(path, "--infra", world.infra)
        two = world.over(job, 400)
        said = texts(world, job)
        check("ranks: one gradient on both", said.count("gradient [[0.5, 0.5]]") == 2, said)
        wanted = [f"resolves {each.address}" for each in two] * 2
        check(
            "ranks: each name is that VM's address",
            sorted(wanted) == sorted(line for line in said if line.startswith("resolves")),
            (said, wanted),
        )
        told = {line for line in said if line.startswith("attributes")}
        asked = [job, {"lr": 0.1, "name": "a b"}, {"train": f"gs://{BUCKET}/data"}]
        check("ranks: the metadata server has job, hyperparameters and inputs", told == {f"attributes {json.dumps(asked)}"}, told)
        record = world.job(job)
        check("ranks: succeeds", record["state"] == "Succeeded", record)
        note = record["workdir_note"]
        check("ranks: the commit is recorded", commit[:7] in note, note)


def test_image(lab, check):
    """Without a work directory: what the image has runs."""
    with GceWorld(lab, "image") as world:
        path = world.work / "job.yaml"
        path.write_text("name: image\nrun: /usr/bin/python3 -m this\n")
        job = world.submit(path, "--infra", world.infra)
        world.over(job)
        said = texts(world, job)
        check("image: its code ran", "The Zen of Python, by Tim Peters" in said, said)
        check("image: succeeds", world.job(job)["state"] == "Succeeded", world.job(job))


def main(names):
    results = Results()
    with GceLab() as lab:
        lab.rooms.more = ["-p"]
        for name in names or ("ranks", "image"):
            results.run(name, globals()["test_" + name], lab, results.check)
        judge(lab, results.check)
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
