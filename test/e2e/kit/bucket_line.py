# SPDX-License-Identifier: Apache-2.0
"""The main line with a bucket as the store: two homes that share nothing else. For tests that bring
a server: something with env(), keys(prefix), read(key) by a client that we did not write."""

import hashlib
import json
import statistics
import time

from test.e2e.kit.harness import PYTHON, World, patience
from test.e2e.kit.job_kit import running, texts, trainer

LAG = 2.0  # seconds that a followed line may be old, at most


def machine(name, server, store):
    world = World(name)
    world.env.update(server.env())
    world.stoker("config", "set", "store", store, check=True)
    return world


def preempted(results, here, there):
    job = running(here, trainer(here, 150, "--pause", "0.1", name="moved"))
    there.wait_for("a checkpoint is seen", lambda: there.json("checkpoints", job), timeout=60)
    here.stoker("preempt", job, "--in", "5s", check=True)
    code = there.stoker("wait", job, timeout=120).returncode
    shown = there.json("show", job)
    results.check(
        "preempted and resumed, as another machine sees it",
        code == 0 and shown["attempts_ran"] == 2,
        shown["job"]["attempts"],
    )
    second = texts(there, job, "--attempt", "2")
    results.check(
        "its log: the second attempt went on from a checkpoint",
        "resume 1 attempt 2" in second[0] and second[-1] == "done",
        second[:3],
    )
    checkpoints = there.json("checkpoints", job)
    results.check("its checkpoints are whole", checkpoints and all(c["whole"] for c in checkpoints),
                  checkpoints)  # fmt: skip
    there.stoker("get", job, "checkpoint", there.work / "fetched", check=True)
    return job


def layout(results, server, here, job):
    record = json.loads(server.read(f"team/records/{job}.json"))
    results.check("another client reads the record", record["state"] == "Succeeded", record)
    for member in ("code_digest", "binary_digest"):
        copies = server.keys(f"team/blobs/{record[member]}-")
        good = copies and hashlib.sha256(server.read(copies[-1])).hexdigest() == record[member]
        results.check(f"another client reads the blob of {member}", good, copies)
    manifests = server.keys(f"team/jobs/{job}/checkpoints/manifests/")
    newest = json.loads(server.read(manifests[-1]))
    files = newest["parts"][0]["files"]
    wrong = [
        f["path"]
        for f in files
        if hashlib.sha256(
            server.read(f"team/jobs/{job}/checkpoints/{f['object']}")
        ).hexdigest() != f["sha256"]
    ]  # fmt: skip
    results.check("another client reads the newest checkpoint", files and not wrong, wrong)
    # Whoever may act for the job's machine clears up after it, once that is off.
    until = time.monotonic() + 30
    while server.keys("team/active/") and time.monotonic() < until:
        here.stoker("ls", check=True)
        time.sleep(0.5)
    results.check("nothing is active", not server.keys("team/active/"), server.keys("team/active/"))


def followed(results, here, there):
    here.program(
        "import time\n"
        "for i in range(40):\n"
        "    print('at', time.time(), flush=True)\n"
        "    time.sleep(0.5)\n"
    )
    job = here.submit("--name", "followed", "--", PYTHON, "prog.py")
    follower = there.start("logs", "-f", job)
    lags = []
    for line in follower.stdout:
        words = line.split()
        if words[:1] == ["at"]:
            lags.append(time.time() - float(words[1]))
    follower.wait()
    results.check("another machine follows to the end", len(lags) == 40, len(lags))
    # The first lines come from before anybody was known to follow.
    later = lags[16:]
    middle, most = statistics.median(later), max(later)
    results.check(
        f"a followed line is {middle:.2f} s old in the middle, {most:.2f} s at most, not over "
        f"{LAG} s",
        middle <= LAG and most <= patience(LAG),
    )


def cancelled(results, here, there):
    job = running(here, here.submit("--name", "endless", "--", "sh", "-c", "sleep 600"))
    listed = {j["id"]: j["state"] for j in there.json("ls")}
    results.check("another machine lists it", listed.get(job) == "Running", listed)
    there.stoker("cancel", job, check=True)
    here.stoker("wait", job)
    ended = here.job(job)
    results.check("another machine cancels it", ended["state"] == "Cancelled", ended)
    here.wait_for("its machine ends", lambda: not here.instances(), timeout=60)


def trouble(results, here, store, cases):
    """`cases`: a name, another store or None, variables, words of the error."""
    for name, other, env, words in cases:
        if other:
            here.stoker("config", "set", "store", other, check=True)
        done = here.stoker("run", "--detach", "--", "true", env=env, timeout=120)
        good = done.returncode == 1 and all(word in done.stderr for word in words)
        results.check(f"trouble: {name}", good and "secret" not in done.stderr, done.stderr)
        here.stoker("config", "set", "store", store, check=True)


def run(results, server, store, cases, name):
    with machine(f"{name}a", server, store) as here, machine(f"{name}b", server, store) as there:
        job = preempted(results, here, there)
        layout(results, server, here, job)
        followed(results, here, there)
        cancelled(results, here, there)
        trouble(results, here, store, cases)
        here.stoker("gc", check=True)
