# SPDX-License-Identifier: Apache-2.0
"""What a job begins from: a retry of a retry, 'run --from', and what a program left."""

import pathlib
import re
import sqlite3
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, World

# Saves once, a number; fails for as long as there is a file that says so.
COUNTS = """
import json, os, sys, time
path = 'checkpoints/count.json'
count = json.load(open(path)) if os.path.exists(path) else 0
print('begins at', count, 'by', 'VERSION', 'with', os.environ.get('LR', 'no rate'), flush=True)
if os.path.exists(sys.argv[1]):
    sys.exit(4)
if count == 0:
    os.makedirs('checkpoints', exist_ok=True)
    with open(path, 'w') as out:
        out.write('7')
    open('checkpoints/.stoker-done', 'w').close()
    time.sleep(float(sys.argv[2]))
    sys.exit(3)
"""


def program(world, version):
    text = COUNTS.replace("VERSION", version).replace("'LR'", "'STOKER_HP_lr'")
    world.program(text, "count.py")


def ended(world, job):
    world.stoker("wait", job, timeout=60)
    return world.job(job)


def begins(job):
    return [attempt.get("restore", "") for attempt in job["attempts"]]


def test_retry_of_retry(results, world):
    """first saves and fails; its retry fails before it saves; the next goes on from first's."""
    program(world, "one")
    flag = world.root / "broken"
    first = world.submit("--name", "first", "--hp", "lr=0.5", "--", PYTHON, "count.py", flag, "3")
    results.check("it saved, and failed", ended(world, first)["state"] == "Failed")
    flag.touch()
    second = world.json("retry", first, "--detach")["id"]
    job = ended(world, second)
    results.check("its retry failed at once", job["state"] == "Failed" and begins(job) == [f"{first}/1-1", ""], job["attempts"])
    listed = world.json("checkpoints", second)
    results.check(
        "checkpoints of the retry: those of the job before, and whose they are",
        [(c["id"], c["job"], c["suspect"]) for c in listed] == [(f"{first}/1-1", first, True)],
        listed,
    )
    told = world.stoker("checkpoints", second)
    results.check("said in words", f"goes on from: {first}" in told.stderr, told.stderr)
    got = world.stoker("get", second, "checkpoint", "got")
    results.check(
        "get JOB checkpoint finds it",
        got.returncode == 0 and f"of job {first}" in got.stderr and (world.work / "got" / "count.json").read_text() == "7",
        got.stderr,
    )
    flag.unlink()
    third = world.stoker("retry", second, "--detach")
    job = ended(world, third.stdout.strip())
    results.check(
        "the retry of the retry goes on from it", begins(job) == [f"{first}/1-1"] and job["state"] == "Succeeded", job["attempts"]
    )
    results.check("and says so", f"starts from checkpoint 1-1 of job {first}" in third.stderr, third.stderr)
    return first


def test_from(results, world, first):
    """Other code, the same work."""
    program(world, "two")
    done = world.stoker("run", "--from", first)
    results.check(
        "run --from JOB: today's folder, that job's run, parameters and checkpoint",
        done.returncode == 0 and "begins at 7 by two with 0.5" in done.stdout,
        done.stdout + done.stderr,
    )
    results.check("said", f"goes on from checkpoint 1-1 of job {first}" in done.stderr, done.stderr)
    flag = world.root / "broken"
    done = world.stoker("run", "--from", f"{first}/1-1", "--hp", "lr=0.1", "--", PYTHON, "count.py", flag, "1")
    results.check(
        "run --from JOB/CHECKPOINT -- COMMAND, with a parameter of its own",
        done.returncode == 0 and "begins at 7 by two with 0.1" in done.stdout,
        done.stdout + done.stderr,
    )
    again = world.json("retry", first, "--detach")["id"]
    ended(world, again)
    program(world, "three")
    done = world.stoker("run", "--from", again)
    results.check(
        "run --from a retry: today's folder as well", done.returncode == 0 and "by three with 0.5" in done.stdout, done.stdout + done.stderr
    )
    program(world, "two")
    job = world.json("ls", "--all")["jobs"] if isinstance(world.json("ls", "--all"), dict) else world.json("ls", "--all")
    results.check("ls knows whence", any(one.get("retry_of") == first for one in job), job)
    (world.work / "job.yaml").write_text(f"workdir: .\nrun: {PYTHON} count.py {flag} 1\n")
    done = world.stoker("run", "job.yaml", "--from", first)
    results.check(
        "run --from JOB job.yaml",
        done.returncode == 0 and f"from job {first}: --hp lr=0.5" in done.stderr and "begins at 7 by two with 0.5" in done.stdout,
        done.stdout + done.stderr,
    )


def test_refusals(results, world, first):
    bare = world.submit("--name", "bare", "--", "true")
    ended(world, bare)
    for word, code, part in (
        ("nobody", 1, "no job"),
        (bare, 1, "has no checkpoint to go on from"),
        (f"{first}/1-9", 1, "1-9"),
        (f"{first}/as-left", 1, "nothing was kept as left"),
        (f"{first}/what", 2, "is not the name of a checkpoint"),
        ("s3://bucket/there", 2, "can only go on from one of this store"),
    ):
        done = world.stoker("run", "--from", word, "--", "true")
        results.check(
            f"--from {word.replace(first, 'JOB').replace(bare, 'BARE')} is refused",
            done.returncode == code and part in done.stderr,
            done.stderr,
        )


def test_running(results, world):
    """Of a job that runs still: its newest whole checkpoint, and that is said."""
    flag = world.root / "broken"
    job = world.submit("--name", "runs", "--", PYTHON, "count.py", flag, "600")
    world.wait_for("a checkpoint", lambda: world.json("checkpoints", job))
    done = world.stoker("run", "--from", job)
    results.check(
        "--from a job that runs",
        done.returncode == 0 and "begins at 7" in done.stdout and f"job {job} is still Running" in done.stderr,
        done.stdout + done.stderr,
    )
    world.stoker("cancel", job)


# Keeps a database open for as long as it runs: never at rest, never whole.
DATABASE = """
import os, sqlite3, sys, time
os.makedirs('checkpoints', exist_ok=True)
if len(sys.argv) > 1 and os.path.exists('checkpoints/state.db'):
    sys.exit(5)  # before it has opened it: what it closed would be at rest, and a new checkpoint
base = sqlite3.connect('checkpoints/state.db', isolation_level=None)
base.execute('pragma journal_mode=wal')
base.execute('create table if not exists steps(step int)')
step = begun = base.execute('select count(*) from steps').fetchone()[0]
print('begins at', begun, flush=True)
while True:
    step += 1
    if step == 31 and not begun:
        os._exit(7)
    base.execute('insert into steps values(?)', (step,))
    print('step', step, flush=True)
    time.sleep(0.05)
"""


def at(world, job):
    """Where each attempt says that it begins."""
    words = [line.split() for line in world.stoker("logs", job).stdout.splitlines()]
    return [int(line[-1]) for line in words if line[:1] == ["begins"]]


def test_as_left(results, world):
    """A program that is never at rest finds what it left, and that is said."""
    world.program(DATABASE, "database.py")
    job = world.submit("--name", "open", "--max-restarts", "1", "--", PYTHON, "database.py")
    world.wait_for("it crashes, and begins again", lambda: len(at(world, job)) == 2)
    results.check("the next attempt begins where the last one ended", at(world, job)[1] == 30, at(world, job))
    record = world.job(job)
    results.check(
        "the record says from what",
        begins(record) == ["", "as-left-1"] and record["attempts"][0]["as_left"] == "as-left-1",
        record["attempts"],
    )
    log = world.stoker("logs", job, "--stream", "system").stdout
    results.check(
        "the log says what was kept, and as what",
        "left no whole checkpoint, but files: kept as they are, as as-left-1" in log
        and "restoring as-left-1, as a program left it: not known to be whole" in log,
        log,
    )
    told = world.stoker("show", job).stdout
    results.check("show says so", "from what attempt 1 left (as-left-1: as it was, not known to be whole)" in told, told)
    listed = [(c["id"], c["as_left"], c["whole"]) for c in world.json("checkpoints", job)]
    results.check("checkpoints names it", listed == [("as-left-1", True, False)], listed)
    got = world.stoker("get", job, "as-left", "left")
    base = sqlite3.connect(world.work / "left" / "state.db")
    count = base.execute("select count(*) from steps").fetchone()[0]
    results.check("get JOB as-left: a database with all its rows", got.returncode == 0 and count == at(world, job)[1], (got.stderr, count))
    world.stoker("cancel", job, check=True)
    left = [c["id"] for c in world.json("checkpoints", job)]
    results.check("a cancel keeps what was left, too", left == ["as-left-2", "as-left-1"], left)
    other = world.submit("--from", f"{job}/as-left", "--name", "asked", "--", PYTHON, "database.py")
    world.wait_for("it runs", lambda: at(world, other))
    results.check(
        "run --from JOB/as-left", at(world, other)[0] > count and begins(world.job(other)) == [f"{job}/as-left-2"], at(world, other)
    )
    world.stoker("cancel", other, check=True)


# One whole save; a second later another file that is never closed.
NEWER = """
import os, time
for name in ('step-1.json', 'step-2.json'):
    with open('checkpoints/new', 'w') as out:
        out.write('{}')
    os.rename('checkpoints/new', 'checkpoints/' + name)
    time.sleep(1)
held = open('checkpoints/state.bin', 'w')
held.write('half')
held.flush()
print('held', flush=True)
time.sleep(600)
"""


def test_newer(results, world):
    """What a program left after its newest checkpoint is said wherever its owner looks."""
    world.program(NEWER, "newer.py")
    job = world.submit("--name", "newer", "--", PYTHON, "newer.py")
    world.wait_for("its checkpoint", lambda: world.json("checkpoints", job))
    world.wait_for("its last file", lambda: "held" in world.stoker("logs", job).stdout)
    time.sleep(1)
    world.stoker("cancel", job, check=True)
    ended(world, job)
    words = r"as-left-1, which is \d+m?s? ?\S* ?newer than checkpoint 1-\d"
    command = f"stoker run --from {job}/as-left"
    log = world.stoker("logs", job, "--stream", "system").stdout
    results.check("newer: the log says by how much", re.search(r"newer than checkpoint 1-\d by \d+\S*: kept as they are", log), log)
    listed = world.stoker("ls").stderr
    results.check("newer: ls names it", re.search(words, listed) and command in listed, listed)
    shown = world.stoker("wait", job).stdout
    results.check("newer: the end names it", re.search(words, shown) and command in shown, shown)
    again = world.stoker("retry", job, "--detach")
    results.check(
        "newer: retry says what it does not begin from",
        "starts from checkpoint" in again.stderr and re.search(words, again.stderr),
        again.stderr,
    )
    world.stoker("cancel", again.stdout.strip(), check=True)


# Each node holds a file open for as long as it lives.
HELD = """
import os, time
held = open('checkpoints/state.bin', 'w')
held.write('half of node ' + os.environ['STOKER_NODE_RANK'])
held.flush()
print('held', flush=True)
time.sleep(600)
"""


def test_left_by_several(results, world):
    """What each of several nodes left can be fetched, and nothing begins from it."""
    world.program(HELD, "held.py")
    job = world.submit("--name", "several", "--num-nodes", "2", "--", PYTHON, "held.py")
    world.wait_for("both hold their file", lambda: world.stoker("logs", job).stdout.count("held") == 2)
    time.sleep(1)
    world.stoker("cancel", job, check=True)
    ended(world, job)
    names = [f"as-left-1-node{rank}" for rank in (0, 1)]
    listed = [(c["id"], c["as_left"], c["whole"]) for c in world.json("checkpoints", job)]
    results.check("several: checkpoints names both", listed == [(name, True, False) for name in names], listed)
    log = world.stoker("logs", job, "--stream", "system").stdout
    results.check(
        "several: the log says for what",
        all(f"for 'stoker get {job} {name}' alone: several nodes write checkpoints" in log for name in names),
        log,
    )
    got = [world.stoker("get", job, name, name) for name in names]
    texts = [(world.work / name / "state.bin").read_text() for name in names if (world.work / name).exists()]
    results.check("several: get fetches each", texts == ["half of node 0", "half of node 1"], (got, texts))
    refused = world.stoker("run", "--from", f"{job}/{names[0]}", "--", "true")
    results.check(
        "several: no job goes on from one", refused.returncode == 2 and "what one of several nodes left" in refused.stderr, refused.stderr
    )


def test_fails_on_it(results, world):
    """A program that cannot use what it left begins at the beginning, and is not blamed."""
    job = world.submit("--name", "fails", "--max-restarts", "1", "--", PYTHON, "database.py", "x")
    record = ended(world, job)
    results.check("it falls back", begins(record) == ["", "as-left-1", ""] and "as-left-1" in record["suspects"], record["attempts"])
    results.check("and ends as it began", record["result"]["exit_code"] == 7, record["result"])


# Saves far more files than can be kept in the half second that a short notice leaves for it.
MANY = """
import os, time
if os.environ['STOKER_ATTEMPT'] == '1':
    held = open('checkpoints/held', 'w')
    for at in range(12000):
        with open(f'checkpoints/part-{at}', 'w') as out:
            out.write(f'part {at}')
    print('saved', flush=True)
    time.sleep(600)
"""


def test_no_time(results, world):
    """What a notice leaves no time for is lost; it is said while somebody is there to say it."""
    world.program(MANY, "many.py")
    job = world.submit("--name", "many", "--", PYTHON, "many.py")
    world.wait_for("its save", lambda: "saved" in world.stoker("logs", job).stdout, 60)
    world.stoker("preempt", job, "--in", "3s", check=True)
    record = ended(world, job)
    results.check("no time: it begins at the beginning", begins(record) == ["", ""], record)
    log = world.stoker("logs", job, "--stream", "system").stdout
    results.check(
        "no time: the log says so",
        ("they could not be kept: " in log and "there was no time" in log) or "the last checkpoint: there was no time to save it" in log,
        log,
    )


def main():
    results = Results()
    with World("lineage") as world:
        first = test_retry_of_retry(results, world)
        test_from(results, world, first)
        test_refusals(results, world, first)
        test_running(results, world)
        test_as_left(results, world)
        test_newer(results, world)
        test_left_by_several(results, world)
        test_fails_on_it(results, world)
        test_no_time(results, world)
    results.finish()


if __name__ == "__main__":
    main()
