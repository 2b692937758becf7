#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An engine whose client hangs, at each of the questions that a container begins with: the job ends, with
words, in the time that is stated; a cancel is heard at once. No engine: a script that sleeps. And one that
is not there at all."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World

CLIENT = """#!/bin/sh
[ "$1" = --version ] && echo podman version 4.3.1 && exit 0
[ -e {folder}/$1 ] && exec sleep 3600
[ "$1" = image ] && echo sha256:{identity} '[]' && exit 0
exit 0
"""
JOB = "name: hung\ncontainer: {image: 'localhost/py:1', engine: podman}\nrun: 'true'\n"


def main():
    results = Results()
    check = results.check
    with World("hung") as world:
        hangs, programs = world.root / "hangs", world.root / "bin"
        hangs.mkdir()
        programs.mkdir()
        client = programs / "podman"
        client.write_text(CLIENT.format(folder=hangs, identity="a" * 64))
        client.chmod(0o755)
        world.env["PATH"] = f"{programs}:{world.env.get('PATH', '/usr/bin:/bin')}"
        path = world.work / "job.yaml"
        path.write_text(JOB)

        def log(job):
            return world.stoker("logs", job).stdout

        def ends(what, words, most, timeout):
            """`words`: what was not answered; `most`: for how long at least."""
            (hangs / what).touch()
            job = world.submit(str(path))
            world.stoker("wait", job, timeout=timeout)
            (hangs / what).unlink()
            said = log(job)
            check(f"{what}: the job fails", world.job(job)["state"] == "Failed", said)
            check(f"{what}: with what was not answered", f"{words}; so for {most}" in said, said)
            check(f"{what}: once", said.count("; so for ") == 1, said)
            shown = world.stoker("show", job).stdout
            check(f"{what}: and the job tells it", words in shown, shown)
            check(f"{what}: in one attempt", len(world.job(job)["attempts"]) == 1, shown)

        absent = world.work / "absent.yaml"
        absent.write_text(JOB.replace("podman", "docker"))
        done = world.stoker("run", "-d", str(absent), env={"PATH": str(programs)}, timeout=60)
        said = done.stdout + done.stderr
        refused = done.returncode != 0 and "this machine has no docker" in said
        check("an engine that is not here: the job is refused at submit", refused, said)
        check("an engine that is not here: there is no job", not world.json("ls", "--all"), said)
        for what in ("image", "run"):
            (hangs / what).touch()
            job = world.submit(str(path))
            world.wait_for(f"the agent to be at {what}", lambda what=what: hung(programs, what), timeout=120)
            world.stoker("cancel", job, check=True)
            world.stoker("wait", job, timeout=120)
            check(f"{what}: a cancel ends it before the question's own time", world.job(job)["state"] == "Cancelled", log(job))
            check(f"{what}: which it does not wait for", "no answer in" not in log(job), log(job))
            (hangs / what).unlink()
        ends("image", "podman image: no answer in 20s", "1m", 300)
        ends("run", "podman run: no answer in 5m", "5m", 900)
    results.finish()


def hung(programs, verb):
    """Whether the client sleeps at that: the shell has become the sleep, its parent is the agent."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes() != b"sleep\x003600\x00":
                continue
            if f"{programs}:".encode() in (entry / "environ").read_bytes():
                return True
        except OSError:
            continue
    return False


if __name__ == "__main__":
    main()
