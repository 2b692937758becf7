#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Old copies of stoker on a box: gone after a month without use, unless a machine runs them. What a
connection by ssh starts there, `stoker __box`, is asked directly."""

import json
import os
import pathlib
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World

DAY = 24 * 3600


def age(folder, days):
    then = time.time() - days * DAY
    os.utime(folder, (then, then))


def connect(world):
    """As ssh does, whose first word is hello."""
    done = subprocess.run(
        [world.binary, "__box", str(world.state)], env=world.env, text=True, input='{"verb":"hello"}\n', stdout=subprocess.PIPE, timeout=60
    )
    return json.loads(done.stdout)


def run(check):
    with World("copies") as world:
        go = world.root / "go"
        job = world.submit("--", "sh", "-c", f"while [ ! -e {go} ]; do sleep 0.1; done")
        world.wait_for("it to run", lambda: world.job(job)["state"] == "Running")
        copies = world.state / "bin"
        [running] = copies.iterdir()
        old, young = copies / ("a" * 64), copies / ("b" * 64)
        for folder in (old, young):
            folder.mkdir()
            (folder / "stoker").write_bytes(b"x" * 1000)
        age(old, 40)
        age(young, 20)
        age(running, 40)
        said = connect(world)
        check("the box answers", "host" in json.dumps(said), said)
        check("an old copy goes", not old.exists())
        check("one of this month stays", young.exists())
        check("so does one that a machine runs", (running / "stoker").exists())
        # One whose description cannot be read may run any of them.
        [machine] = world.instances()
        boot = machine / "boot.json"
        age(young, 40)
        whole = boot.read_bytes()
        boot.write_bytes(b"{")
        connect(world)
        check("where it is not known what runs, nothing goes", young.exists())
        boot.write_bytes(whole)
        go.touch()
        world.stoker("wait", job, timeout=60)
        check("the job ends", world.job(job)["state"] == "Succeeded", world.job(job))
        world.wait_for("its machine to be gone", lambda: not world.instances())
        connect(world)
        check("then it goes, too", not running.exists() and not young.exists(), list(copies.iterdir()))


def main():
    results = Results()
    results.run("copies", run, results.check)
    results.finish()


if __name__ == "__main__":
    main()
