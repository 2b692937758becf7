#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The file with a job's secrets, on this machine and on a box that ssh reaches: for its owner alone while
the job lives, and gone with it, however it ends; by its node, by who looks, or by `gc`.

    ends.py [local] [orphans] [box]"""

import contextlib
import os
import pathlib
import signal
import sys
import tempfile
import time

sys.path[0] = str(pathlib.Path(__file__).parents[3])

from test import cloud_env

cloud_env.enter()
from test import go_tools, versity_s3
from test.e2e.kit import apart
from test.e2e.kit.harness import Results, World, parts_of
from test.e2e.kit.pool import Pool

VALUE = "sesame-planted-9731"
HOUR = 3600


def files(*states):
    return [file for state in states for file in (pathlib.Path(state) / "private").glob("*")]


def read(pid, file):
    try:
        return pathlib.Path(f"/proc/{pid}/{file}").read_bytes()
    except OSError:
        return b""


def above(job, verb):
    """The processes `verb` above the job's program."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        at = pid if f"STOKER_JOB_ID={job}".encode() in read(pid, "environ").split(b"\0") else "0"
        while int(at) > 1:
            if read(at, "cmdline").split(b"\0")[1:2] == [verb.encode()]:
                found.add(int(at))
            at = (read(at, "stat").rpartition(b") ")[2].split() + [b"0", b"0"])[1].decode()
    return found


def kill(world, job, *verbs):
    found = {verb: world.wait_for(f"{verb} of {job}", lambda verb=verb: above(job, verb), 30) for verb in verbs}
    for verb in verbs:
        for pid in found[verb]:
            with contextlib.suppress(ProcessLookupError):  # an agent goes with its machine
                os.kill(pid, signal.SIGKILL)


def ends(world):
    """{how: (words, program, what is done while it runs, the state that it ends in)}."""
    gate = f"echo up; {world.gate()}"
    return {
        "succeeds": ((), gate, None, "Succeeded"),
        "fails": ((), f"{gate}; exit 3", None, "Failed"),
        "cannot be set up": ((world.work / "setup.yaml",), "", None, "Failed"),
        "is cancelled": ((), gate, lambda job: world.stoker("cancel", job, check=True), "Cancelled"),
        "loses its agent": ((), gate, lambda job: kill(world, job, "__agent"), "Succeeded"),
        "loses its machine": ((), gate, lambda job: kill(world, job, "__machine", "__agent"), "Succeeded"),
        "is preempted": ((), gate, lambda job: world.stoker("preempt", job, "--in", "1s", check=True), "Succeeded"),
    }


def all_ends(world, check, states, *where):
    """All at once, as they mostly wait."""
    world.env["TOKEN"] = VALUE
    jobs = {}
    (world.work / "setup.yaml").write_text("setup: exit 4\nrun: 'true'\n")
    for how, (words, program, act, state) in ends(world).items():
        command = ("--", "sh", "-c", program) if program else ()
        job = world.submit(*where, "--secret", "TOKEN", "--stop-grace", "1s", *words, *command)
        jobs[job] = (how, act, state)
    seen = files(*states)
    check("a file each, for its owner alone", seen and {file.stat().st_mode & 0o777 for file in seen} == {0o600}, seen)
    for job, (how, act, _) in jobs.items():
        if act:
            world.wait_for(f"{how}: it runs", lambda job=job: "up" in world.stoker("logs", job).stdout, 60, 0.2)
            act(job)
    world.open_gate()
    for job, (how, _, state) in jobs.items():
        world.stoker("wait", job, timeout=60)
        check(f"one that {how} is {state}", world.job(job)["state"] == state, world.job(job)["state"])
    try:
        world.wait_for("the files to go", lambda: not files(*states), 30, 0.2)
    except AssertionError:
        left = {jobs[job][0] for job in jobs for file in files(*states) if job in file.name}
        check("each has gone with its job", False, left)
    else:
        check("each has gone with its job", True)


def test_local(check):
    with World("ends") as world:
        all_ends(world, check, [world.state], "--infra", "local")


def aged(*paths):
    for path in paths:
        os.utime(path, (time.time() - HOUR,) * 2)


def test_orphans(check):
    """Who submits is killed before the record is there; and a record goes before its file."""
    with World("orphans") as world:
        world.env["TOKEN"] = VALUE
        job = world.submit("--infra", "local", "--secret", "TOKEN", "--", "sh", "-c", world.gate())
        (file,) = files(world.state)
        unborn = file.with_name(file.name.replace(job, "z9z9z9z9"))
        half = file.with_name(".tmp-half")
        for each in (unborn, half):
            each.write_bytes(file.read_bytes())
        world.stoker("gc")
        check("what may still become a job's stays", unborn.exists() and half.exists() and file.exists())
        aged(unborn, half, file)
        world.stoker("gc")
        check("gc removes what became none's, and not a living job's", files(world.state) == [file], files(world.state))
        world.open_gate()
        world.stoker("wait", job, check=True)
        check("which goes with its job", not files(world.state))


def test_box(check):
    with tempfile.TemporaryDirectory(prefix="stoker-pool-") as scratch, versity_s3.VersityS3(host="0.0.0.0") as server:
        pool = Pool(server, scratch, boxes=1, capacity="cpus=8 memory=0")
        try:
            with pool.submitter("here") as world:
                # Boxes see no folder of the submitter's.
                world.evidence = pool.scratch / "evidence"
                world.evidence.mkdir()
                states = [world.state, pool.boxes[0].sshd.state]
                all_ends(world, check, states, "--infra", "ssh/lab", "--cpus", "1")
                gone = pool.boxes[0].sshd.state / "private" / "x"
                check("and on the box nothing is left", not gone.parent.exists(), files(*states))
        finally:
            pool.close()


def main():
    go_tools.tool(versity_s3.MODULE)  # made, where it is not there, while there is a network
    apart.enter()
    results, parts = Results(), parts_of(globals())
    for name in sys.argv[1:] or parts:
        results.run(name, parts[name], results.check)
    results.finish()


if __name__ == "__main__":
    main()
