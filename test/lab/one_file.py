#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One job file, unchanged, on this machine, on instances of EC2 and on VMs of Compute Engine that
boot: the same log, the same result, the same summary but for ids and times.

    one_file.py [local] [ec2] [gce]"""

import contextlib
import pathlib
import re
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results, World
from test.e2e.kit.job_kit import texts
from test.ec2.lab_world import LabWorld
from test.gcp.gce_world import GceWorld
from test.lab.gce_lab import GceLab

FILE = """name: anywhere
workdir: .
num_nodes: 2
hyperparameters: {lr: 0.1}
envs: {WORD: hello}
outputs: [result]
checkpoints: {keep: 2}
run: /usr/bin/python3 meet.py
"""
# Two nodes meet by MASTER_ADDR, and rank 0 leaves a result and a checkpoint.
PROGRAM = """import json, os, socket
rank = int(os.environ['NODE_RANK'])
address = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))
assert os.environ['NODES'].split().index(socket.gethostname()) == rank
if rank == 0:
    with socket.create_server(address) as server:
        other, _ = server.accept()
        told = json.loads(other.makefile().readline())
    os.makedirs('result', exist_ok=True)
    open('result/value', 'w').write(json.dumps([told, os.environ['WORD']]))
    os.makedirs('checkpoints', exist_ok=True)
    open('checkpoints/state', 'w').write('7')
    print('rank 0 has', told, flush=True)
else:
    while True:
        try:
            other = socket.create_connection(address)
            break
        except OSError:
            continue
    other.sendall((os.environ['STOKER_HPS'] + '\\n').encode())
    print('rank 1 has sent', os.environ['STOKER_HPS'], flush=True)
"""


class Here(World):
    infra = "local"


@contextlib.contextmanager
def place(name):
    if name == "local":
        with Here("anywhere") as world:
            yield world
    elif name == "ec2":
        with lab_of.Lab() as lab, LabWorld(lab, "anywhere") as world:
            yield world
            assert not lab.bugs, lab.bugs
    else:
        with GceLab() as lab, GceWorld(lab, "anywhere") as world:
            yield world
            assert not lab.bugs and not lab.front.strange(), (lab.bugs, lab.front.strange())


def without(text, job):
    """Ids, times and sizes of time go."""
    text = text.replace(job, "ID")
    return re.sub(r"\d+(\.\d+)?(ms|s|m|h)( \d+(ms|s|m))?", "TIME", text).strip()


def told(name, results):
    with place(name) as world:
        (world.work / "job.yaml").write_text(FILE)
        (world.work / "meet.py").write_text(PROGRAM)
        job = world.submit("job.yaml", "--infra", world.infra)
        done = world.stoker("wait", job, timeout=240)
        results.check(f"{name}: succeeds", done.returncode == 0, done.stdout + done.stderr)
        folder = world.root / "got"
        world.stoker("get", job, "result", folder, check=True)
        value = [each.read_text() for each in folder.glob("**/value")]
        said = sorted(texts(world, job))
        record = world.job(job)
        if name != "local":
            world.over(job)
        return {
            "summary": without(done.stdout, job),
            "result": value,
            "log": said,
            "attempts": [each["ending"]["reason"] for each in record["attempts"]],
        }


def main(names):
    results = Results()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # of the lab's own network
    first = None
    for name in names or ("local", "ec2", "gce"):
        seen = {}
        results.run(name, lambda n=name, s=seen: s.update(told(n, results)))
        first = first or seen
        for key in first:
            results.check(f"{name}: the same {key}", seen.get(key) == first[key], (seen.get(key), first[key]))
    print(first.get("summary") if first else "", flush=True)
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
