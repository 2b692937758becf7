#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of programs with habits: a script that sleeps between its saves, a mapping, many
files with few descriptors, a file with holes. What the second attempt finds: names in the order in
which they were saved, times, modes, several names of one file, the step. And what is said of a
program that does not look at it, or that saves where nobody keeps it."""

import json
import pathlib
import resource
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, World

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

# Nothing of it proves itself or rests, and the two files of a save are seconds apart.
TELLING = f"""
cd checkpoints
for n in $(seq {ROUNDS}); do
  echo "begin $n checkpoints/model.bin" >> $STOKER_SAVES
  echo "begin $n checkpoints/optim.bin" >> $STOKER_SAVES
  echo "model of $n" > model.bin
  sleep 2.5
  echo "optim of $n" > optim.bin
  echo "end $n" >> $STOKER_SAVES
  sleep 0.5
done
echo "begin last model.bin" >> $STOKER_SAVES
echo half > model.bin
echo begun
sleep 600
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


def a_telling(world, results):
    job = world.submit("--", "bash", "telling.sh")
    world.wait_for("the last save to begin", lambda: "begun" in log_of(world, job), 60)
    world.stoker("cancel", job, check=True)
    world.stoker("wait", job, timeout=60)
    all_there = checkpoints(world, job)
    results.check("each save that is told", all_there[0]["id"] == f"1-{ROUNDS}", all_there)
    results.check("by its program's word", all_there[0]["recognised_by"] == "told", all_there)
    into = world.root / "got"
    world.stoker("get", job, "checkpoint", into, check=True)
    texts = {p.name: p.read_text() for p in into.rglob("*.bin")}
    results.check("both files are of one save", texts == {"model.bin": f"model of {ROUNDS}\n", "optim.bin": f"optim of {ROUNDS}\n"}, texts)


def many(world, results):
    job = world.submit("--", PYTHON, "many.py")
    world.wait_for("a checkpoint", lambda: checkpoints(world, job), 60)
    world.stoker("cancel", job, check=True)
    world.stoker("wait", job, timeout=60)
    results.check("holes stay holes in the store", allocated(world.store) < 40 << 20, allocated(world.store))
    into = world.root / "got"
    world.stoker("get", job, "checkpoint", into, check=True)
    parts = sorted(p.read_text() for p in into.rglob("part-*"))
    results.check("all files came back", parts == sorted(f"part {n}" for n in range(600)))
    sparse = next(into.rglob("sparse.bin"))
    results.check("holes come back as holes", sparse.stat().st_size == 256 << 20 and sparse.stat().st_blocks * 512 < 4 << 20, sparse.stat())


# Saves under names in no order, and notes how they lie there; the second attempt compares.
ORDER = """
import json, os, sys, time
os.chdir('checkpoints')
def facts():
    found = {}
    for folder, _, names in os.walk('.'):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name))
            info = os.stat(path)
            found[path] = {'mode': info.st_mode, 'mtime': info.st_mtime_ns,
                           'ctime': info.st_ctime_ns}
    return found
if os.path.exists('zz-facts.json'):
    before = json.load(open('zz-facts.json'))
    now = facts()
    del now['zz-facts.json']
    wrong = [p for p in before if now.get(p, {}).get('mode') != before[p]['mode']
             or now[p]['mtime'] != before[p]['mtime']]
    by_time = lambda f: sorted(f, key=lambda p: (f[p]['ctime'], p))
    pairs = list(zip(by_time(before), by_time(before)[1:]))
    swapped = [(a, b) for a, b in pairs
               if (before[a]['ctime'] < before[b]['ctime']) != (now[a]['ctime'] < now[b]['ctime'])]
    same = os.path.samefile('last.pt', 'step-200/model.pt')
    print('found', json.dumps({'wrong': wrong, 'swapped': swapped, 'same': same,
                               'others': sorted(set(now) ^ set(before))}), flush=True)
    sys.exit(0)
for path, mode in (('z.pt', 0o640), ('step-200/model.pt', 0o600), ('best-val_loss=0.31.pt', 0o755),
                   ('version_7/a.pt', 0o644)):
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    open(path, 'w').write(path * 1000)
    os.chmod(path, mode)
    time.sleep(0.05)
os.link('step-200/model.pt', 'last.pt')
saved = facts()
open('zz-facts.json', 'w').write(json.dumps(saved))
print('saved', flush=True)
time.sleep(600)
"""

# Saves a state again and again. argv[1]: how it begins, or 'never' for one that looks at nothing.
SAVES = """
import mmap, os, subprocess, sys, time
path = 'checkpoints/last.pt'
count = 0
if os.path.exists(path):
    print('it is there', flush=True)
    if sys.argv[1] == 'child':
        out = subprocess.run([sys.executable, '-c', 'print(open(%r).read(9))' % path],
                             capture_output=True, text=True)
        count = int(out.stdout)
    elif sys.argv[1] == 'mapped':
        with open(path, 'rb') as file:
            count = int(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)[:9])
for turn in range(100):
    count += 1
    how = 'w' if sys.argv[1] != 'renames' else 'x'
    with open(path if how == 'w' else path + '.new', how) as out:
        out.write('%09d' % count + 'x' * 100000)
    if how == 'x':
        os.rename(path + '.new', path)
    print('saved', count, flush=True)
    time.sleep(4)
"""

STRAY = """
import os, time
os.makedirs('out')
open('out/ckpt.pt', 'w').write('model')
print('saved', flush=True)
time.sleep(600)
"""


def log_of(world, job):
    return world.stoker("logs", job).stdout


def interrupted(world, job, kept):
    """Once a checkpoint of `job` is kept and it has begun anew."""
    world.wait_for(f"{job} has kept {kept}", lambda: len(world.json("checkpoints", job)) >= kept, timeout=60)
    world.json("preempt", job, "--in", "2s")
    world.wait_for(f"{job} begins anew", lambda: world.json("show", job)["attempts_ran"] >= 2, timeout=60)


def test_order(results, world, job):
    interrupted(world, job, 1)
    world.stoker("wait", job, timeout=60)
    log = log_of(world, job)
    lines = [line.split("found ", 1)[1] for line in log.split("\n") if "found {" in line]
    found = [json.loads(line) for line in lines]
    results.check("the second attempt finds all of it", len(found) == 1, log)
    for what in ("wrong", "swapped", "others"):
        results.check(f"order: nothing is {what}", found and found[0][what] == [], found)
    results.check("one file under two names is that again", found and found[0]["same"], found)
    steps = [c["step"] for c in world.json("checkpoints", job)]
    results.check("the step is the one that a name tells", set(steps) == {200}, steps)


def said(world, job):
    """What the log, ls and show say of it."""
    words = "began at 0 although checkpoint 1-"
    return [words in log_of(world, job), f"{job}: {words}" in world.stoker("ls").stderr, words in world.stoker("show", job).stdout]


def test_not_used(results, world, how, job):
    """Each says so once the program has saved over it without a look."""
    interrupted(world, job, 1)
    world.wait_for(
        f"{how}: a checkpoint of attempt 2", lambda: any(c["id"].startswith("2-") for c in world.json("checkpoints", job)), timeout=60
    )
    if how in ("never", "renames"):
        world.wait_for(f"{how}: it is said", lambda: all(said(world, job)))
        log = log_of(world, job)
        results.check(f"{how}: the log asks once", log.count("does saves.py load it?") == 1, log)
    else:
        results.check(f"{how}: nothing is said", not any(said(world, job)), log_of(world, job))
    world.stoker("cancel", job, timeout=60)


def test_stray(results, world, job):
    words = "out/ckpt.pt is not kept: --checkpoints out"
    world.wait_for("the log says it", lambda: words in log_of(world, job), timeout=60)
    world.wait_for("ls and show say it", lambda: words in world.stoker("ls").stderr and words in world.stoker("show", job).stdout)
    results.check("once", log_of(world, job).count(words) == 1, log_of(world, job))
    world.stoker("cancel", job, timeout=60)


def restored(world, results):
    for name, text in (("order.py", ORDER), ("saves.py", SAVES), ("stray.py", STRAY)):
        world.program(text, name)
    habits = ("never", "renames", "child", "mapped")
    jobs = {how: world.submit("--name", how, "--", PYTHON, "saves.py", how) for how in habits}
    order, stray = (world.submit("--", PYTHON, name) for name in ("order.py", "stray.py"))
    results.run("stray", test_stray, results, world, stray)
    results.run("order", test_order, results, world, order)
    for how, job in jobs.items():
        results.run(how, test_not_used, results, world, how, job)


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    results = Results()
    for text, name, run in (
        (SCRIPT, "script.sh", a_script),
        (MAPPING, "mapping.py", a_mapping),
        (TELLING, "telling.sh", a_telling),
        (MANY, "many.py", many),
    ):
        with World("captures") as world:
            world.program(text, name)
            results.run(run.__name__, run, world, results)
    with World("restored") as world:
        restored(world, results)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
