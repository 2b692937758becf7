# SPDX-License-Identifier: Apache-2.0
"""Two nodes, names without a number, and one that has saved once more than the other: every
checkpoint that is kept is of one step."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, World

STEPS = 6
PAUSE = 4  # seconds; twice `quiet`

# Rank 0 saves a model in three files, rank 1 its own state, both at the same time; argv[1] has
# saved what it begins with, alone. argv[2] is where they meet.
SAVES = f"""
import os, pathlib, sys, time
rank = int(os.environ['STOKER_NODE_RANK'])
names = ['model-%d-of-3.pt' % i for i in (1, 2, 3)] if rank == 0 else ['rank1.pt']
meet = pathlib.Path(sys.argv[2])
def save(step):
    os.makedirs('checkpoints', exist_ok=True)
    for name in names:
        with open('checkpoints/.' + name, 'w') as out:
            out.write('%d\\n' % step + 'x' * 10000)
        os.rename('checkpoints/.' + name, 'checkpoints/' + name)
if rank == int(sys.argv[1]):
    save(0)
    time.sleep({PAUSE})
for step in range(1, {STEPS} + 1):
    (meet / ('%d-%d' % (step, rank))).touch()
    while not all((meet / ('%d-%d' % (step, r))).exists() for r in (0, 1)):
        time.sleep(0.02)
    save(step)
    time.sleep({PAUSE})
"""


def steps_of(world, job, checkpoint):
    got = f"got-{job}-{checkpoint}"
    world.stoker("get", job, checkpoint, f"./{got}", check=True)
    return {path.name: int(path.read_text().split()[0]) for path in sorted((world.work / got).iterdir())}


def begin(world, who):
    meet = world.root / f"meet-{who}"
    meet.mkdir()
    return world.submit("--num-nodes", "2", "--keep", "0", "--name", f"alone-{who}", "--", PYTHON, "saves.py", str(who), str(meet))


def test_alone(results, world, who, job):
    """`who` has saved once alone; each of the later saves is kept, and of one step."""
    ended = world.stoker("wait", job, timeout=60 + STEPS * PAUSE)
    results.check(f"{who}: it ends well", ended.returncode == 0, ended.stderr)
    kept = {c["id"]: steps_of(world, job, c["id"]) for c in world.json("checkpoints", job)}
    both = {name: steps for name, steps in kept.items() if len(steps) == 4}
    results.check(f"{who}: each is of one step", both and all(len(set(steps.values())) == 1 for steps in both.values()), kept)
    found = {steps["rank1.pt"] for steps in both.values()}
    results.check(f"{who}: what was saved from the third on is kept", found >= set(range(3, STEPS + 1)), kept)


def main():
    results = Results()
    with World("saved-alone") as world:
        world.program(SAVES, "saves.py")
        jobs = {who: begin(world, who) for who in (0, 1)}
        for who, job in jobs.items():
            results.run(f"alone {who}", test_alone, results, world, who, job)
    results.finish()


if __name__ == "__main__":
    main()
