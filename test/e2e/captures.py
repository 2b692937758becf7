#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of programs with habits: a script that sleeps between its saves, a mapping, many
files with few descriptors, a file with holes."""

import resource
import sys

from kit.harness import PYTHON, Results, World

ROUNDS = 5
SCRIPT = f"""
mkdir -p checkpoints
for n in $(seq {ROUNDS}); do
  head -c 100000 /dev/urandom > checkpoints/c-$n.pt
  rm -f checkpoints/c-$((n - 1)).pt
  sleep 4
done
"""

MAPPING = f"""
import mmap, os, time
os.makedirs("checkpoints", exist_ok=True)
file = open("checkpoints/state.bin", "w+b")
file.truncate(1 << 20)
mapping = mmap.mmap(file.fileno(), 1 << 20)
for step in range({ROUNDS}):
    mapping[:8] = step.to_bytes(8, "little")
    open("checkpoints/.stoker-done", "w").close()
    while os.path.exists("checkpoints/.stoker-done"):
        time.sleep(0.02)
"""

# More than there may be descriptors. It waits for its checkpoint, as a test should.
MANY = """
import os, pathlib, time
folder = pathlib.Path("checkpoints/step-1")
folder.mkdir(parents=True)
for n in range(600):
    (folder / f"part-{n}").write_text(f"part {n}")
(folder / "sparse.bin").touch()
os.truncate(folder / "sparse.bin", 256 << 20)
with open(folder / "sparse.bin", "r+b") as file:
    file.seek(200 << 20)
    file.write(b"x" * 100_000)
time.sleep(600)
"""


def allocated(folder):
    return sum(p.stat().st_blocks * 512 for p in folder.rglob("*") if p.is_file())


def checkpoints(world, job):
    return world.json("checkpoints", job)


def a_script(world, results):
    job = world.submit("--", "bash", "script.sh")
    world.stoker("wait", job, timeout=120)
    newest = checkpoints(world, job)[0]["id"]
    results.check("each save of a script that sleeps", newest == f"1-{ROUNDS}", newest)


def a_mapping(world, results):
    job = world.submit("--", PYTHON, "mapping.py")
    world.stoker("wait", job, timeout=120)
    all_there = checkpoints(world, job)
    results.check("each done mark of a mapping", all_there[0]["id"] == f"1-{ROUNDS}", all_there)
    results.check("three are kept at the end", len(all_there) == 3, all_there)


def many(world, results):
    job = world.submit("--", PYTHON, "many.py")
    world.wait_for("a checkpoint", lambda: checkpoints(world, job), 60)
    world.stoker("cancel", job, check=True)
    world.stoker("wait", job, timeout=60)
    results.check("holes stay holes in the store", allocated(world.store) < 40 << 20,
                  allocated(world.store))
    into = world.root / "got"
    world.stoker("get", job, "checkpoint", into, check=True)
    parts = sorted(p.read_text() for p in into.rglob("part-*"))
    results.check("all files came back", parts == sorted(f"part {n}" for n in range(600)))
    sparse = next(into.rglob("sparse.bin"))
    results.check("holes come back as holes", sparse.stat().st_size == 256 << 20
                  and sparse.stat().st_blocks * 512 < 4 << 20, sparse.stat())


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    results = Results()
    for text, name, run in ((SCRIPT, "script.sh", a_script), (MAPPING, "mapping.py", a_mapping),
                            (MANY, "many.py", many)):
        with World("captures") as world:
            world.program(text, name)
            results.run(run.__name__, run, world, results)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
