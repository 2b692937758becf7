# SPDX-License-Identifier: Apache-2.0
"""A machine that hangs while its provider says that it runs, and nobody looks but a timer: each
look is a process of its own, and the time between them is moved by hand."""

import datetime
import json
import os
import pathlib
import signal
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World, lock_holder
from test.e2e.kit.job_kit import folder_of_trainer, running


def family(pid):
    """`pid` and all that descend from it."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        parent = int(stat.rsplit(")", 1)[1].split()[1])
        children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def backdate(path, seconds):
    """As if the first look had been so long ago."""
    looks = json.loads(path.read_text())
    for node in looks["nodes"]:
        since = datetime.datetime.fromisoformat(node["since"].replace("Z", "+00:00"))
        since -= datetime.timedelta(seconds=seconds)
        node["since"] = since.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    path.write_text(json.dumps(looks) + "\n")


def test_silent(results, world):
    work = folder_of_trainer(world)
    words = ("--name", "hangs", "--", sys.executable, "trainer.py", "80", "--pause", "0.1")
    job = running(world, world.submit(*words, cwd=work))
    world.wait_for("a checkpoint", lambda: world.json("checkpoints", job))
    looks = world.store / "jobs" / job / "looks.json"
    report = world.store / "reports" / job / "1-0.json"
    record = lambda: world.json("show", job)["job"]
    instance = record()["launches"][0]["instance_id"]
    world.json("controller", "--once")
    results.check("nothing is kept while its node reports", not looks.exists())

    stopped = family(lock_holder(world.state / "instances" / instance / "lock"))
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    long_ago = time.time() - 400
    os.utime(report, (long_ago, long_ago))
    passed = world.json("controller", "--once")
    results.check(
        "the first look gives nobody up, and is kept",
        looks.exists() and not passed["changed"] and not record()["launches"][0].get("closed"),
        passed,
    )
    backdate(looks, 300)
    passed = world.json("controller", "--once")
    notes = json.dumps(passed["changed"])
    results.check("a later one finds it silent", "silent" in notes, passed)

    def ended():
        world.json("controller", "--once")
        return record()["state"] == "Succeeded"

    world.wait_for("the job's end, by single looks", ended, timeout=60, every=0.3)
    attempts = record()["attempts"]
    results.check(
        "the job goes on in a new attempt, from its checkpoint",
        len(attempts) == 2 and attempts[0]["ending"]["reason"] == "NodeLost" and attempts[1].get("restore"),
        attempts,
    )
    left = [pid for pid in stopped if pathlib.Path(f"/proc/{pid}").exists()]
    results.check("the machine that hung is gone", not left, left)


def main():
    results = Results()
    with World("silent") as world:
        results.run("silent", test_silent, results, world)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
