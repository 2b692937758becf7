#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in podman's containers on the nodes of a real Slurm: preempted and resumed, cancelled with
Slurm's own tool, killed with their agent; and on a node that has not the engine that they ask for.
As root, whose podman needs no more than this machine has."""

import os
import pathlib
import signal
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.containers.containers import boxed
from test.containers.engines import Engine
from test.e2e.kit.harness import Results, parts_of
from test.slurm.kit.lab import Lab
from test.slurm.kit.slurm_world import SlurmWorld, whole

JOB = """name: boxed
resources: {{infra: {where}}}
container: {{image: "localhost/py:1", engine: {engine}}}
workdir: .
run: exec python3 trainer.py {steps} --pause 0.2
"""


def submitted(world, steps, where="slurm", engine="podman"):
    path = world.work / "job.yaml"
    path.write_text(JOB.format(where=where, engine=engine, steps=steps))
    return world.submit(path)


def nothing_left(world, engine, job, check, name):
    """By Slurm, by the kernel, and by the engine, which may have a dead one in its books for a moment."""
    world.nothing_left(job)
    check(f"{name}: no process is left", not boxed(world), boxed(world))
    try:
        world.wait_for("no container", lambda: not engine.containers() and not engine.left(), 20)
    except AssertionError:
        pass
    check(f"{name}: no container, no mount is left", not engine.containers() and not engine.left(), (engine.containers(), engine.left()))


def test_preempted(lab, world, engine, check):
    job = submitted(world, 120, "slurm/low")
    world.running(job, 120)
    world.wait_for("some steps", lambda: world.step_of(job) >= 10, 60, 0.5)
    check("it is in a container, which stoker's own process begins", len(boxed(world)) == 1, boxed(world))
    lab.out("sbatch", "--parsable", "-p", "high", "-N1", "--exclusive", "--output=/dev/null", "--wrap=sleep 5")
    state = world.ended(job, 240)
    runs = world.runs(job)
    check("a job that is preempted goes on", state == "Succeeded" and len(runs) == 2, (state, runs))
    check("where it was", not whole(runs, 120, redone=1), runs)
    said = world.stoker("logs", "--stream", "system", job).stdout
    check("its engine is named", "in a container of localhost/py:1" in said and "by podman " in said, said)
    nothing_left(world, engine, job, check, "preempted")


def test_shell(lab, world, engine, check):
    """`stoker ssh` goes into the container, as a step beside the job's."""
    path = world.work / "waits.yaml"
    path.write_text(
        "name: waits\nresources: {infra: slurm}\ncontainer: {image: localhost/py:1, engine: podman}\nenvs: {ASKED: 'a b'}\n"
        'run: "echo here; while [ ! -e go ]; do sleep 0.1; done"\n'
    )
    job = world.submit(path)
    world.running(job, 120)
    world.wait_for("its line", lambda: "here" in world.stoker("logs", job).stdout, 60, 0.5)
    line = "tr '\\0' ' ' </proc/1/cmdline; echo; echo \"$ASKED\"; touch go; exit 6"
    done = world.stoker("ssh", job, "--", line)
    check("shell: it is in the container, with the program's environment", "__container" in done.stdout and "a b" in done.stdout, done)
    check("shell: which is said, and its code is the command's", "in the container" in done.stderr and done.returncode == 6, done)
    check("shell: the program sees what it does", world.ended(job, 120) == "Succeeded", world.job(job))
    late = world.stoker("ssh", job, "--", "true")
    check("shell: once it has ended that is said", late.returncode != 0 and late.stderr, late)
    nothing_left(world, engine, job, check, "shell")


def test_cancelled(lab, world, engine, check):
    job = submitted(world, 2000)
    number = world.running(job, 120)
    world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
    lab.out("scancel", number)
    state = world.ended(job, 120)
    check("scancel is a cancel", state == "Cancelled", world.job(job))
    nothing_left(world, engine, job, check, "cancelled")


def test_killed(lab, world, engine, check):
    """Its agent dies: whatever runs in the container does, too."""
    job = submitted(world, 60)
    world.running(job, 120)
    world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
    [first] = boxed(world)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes()
        except OSError:
            continue  # it has just ended
        if b"__agent" in words.split(b"\0") and str(world.root).encode() in words:
            os.kill(int(entry), signal.SIGKILL)
    world.wait_for("its end", lambda: not os.path.exists(f"/proc/{first}"), 20)
    state = world.ended(job, 240)
    runs = world.runs(job)
    check("and the job goes on", state == "Succeeded" and not whole(runs, 60, redone=1), (state, runs))
    nothing_left(world, engine, job, check, "killed")


def test_images(lab, world, engine, check):
    """What stoker has loaded there and nobody has used for a month goes when a job ends by itself."""
    notes = world.state / "built-images"
    notes.mkdir(parents=True, exist_ok=True)
    for name, days in (("old", 31), ("young", 29)):
        engine.run("tag", "localhost/py:1", f"localhost/stoker-built:{name}")
        (notes / name).touch()
        used = time.time() - days * 86400
        os.utime(notes / name, (used, used))
    engine.run("tag", "localhost/py:1", "localhost/another:old")
    job = submitted(world, 3)
    check("images: its job ends well", world.ended(job, 120) == "Succeeded", world.job(job))
    world.nothing_left(job)
    has = engine.run("images", "--format", "{{.Repository}}:{{.Tag}}").stdout.split()
    check("images: one that nobody has used goes", "localhost/stoker-built:old" not in has, has)
    stays = {"localhost/stoker-built:young", "localhost/another:old", "localhost/py:1"}
    check("images: others stay", stays <= set(has), has)
    check("images: so does its note alone", sorted(one.name for one in notes.iterdir()) == ["young"], list(notes.iterdir()))


def test_without(lab, world, engine, check):
    """A node that has not the engine which the job names: it fails there, by name."""
    world.env["DOCKER_HOST"] = f"unix://{world.root}/none.sock"
    job = submitted(world, 5, engine="docker")
    state = world.ended(job, 120)
    said = world.stoker("show", job).stdout + world.stoker("logs", "--stream", "system", job).stdout
    check("without: it fails, and docker is named", state == "Failed" and "docker" in said and "daemon does not answer" in said, said)
    nothing_left(world, engine, job, check, "without")


def main():
    results = Results()
    with Lab() as lab, SlurmWorld(lab, "slurm-boxed") as world:
        engine = Engine("podman", world)
        world.env.update({name: engine.env[name] for name in engine.env if name not in ("HOME", "TMPDIR")})
        try:
            for name in sys.argv[1:] or parts_of(globals()):
                results.run(name, parts_of(globals())[name], lab, world, engine, results.check)
        finally:
            engine.close()
    results.finish()


if __name__ == "__main__":
    main()
