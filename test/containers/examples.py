#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples in containers of a real engine, as they are but for their section `container`:
examples.py podman|rootless|docker [here|box]. Begun, preempted half-way, resumed, on this machine and on a
box that ssh reaches. With apptainer: apptainer.py here box. The image's /usr is this machine's, mounted: python3-torch is there."""

import pathlib
import pwd
import re
import shutil
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import sshd
from test.containers.containers import ended, log, nothing_left, play_parts
from test.containers.engines import HOST_IMAGE, host_container
from test.e2e.kit.job_kit import texts

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPOCHS = 24


def section(engine):
    """Who is in another system than this one says where this one's programs are."""
    return host_container(engine.name, **getattr(engine, "of_host", {}))


def epochs(world, job, attempt):
    found = [re.match(r"epoch (\d+)/\d+", one) for one in texts(world, job, "--attempt", str(attempt))]
    return [int(one[1]) for one in found if one]


def train(world, engine, check, example, *words):
    """One example, preempted half-way."""
    what = f"{example} {' '.join(words)}".strip()
    work = world.root / f"{example}{len(words)}"
    shutil.copytree(ROOT / "examples" / example, work)
    with (work / "job.yaml").open("a") as out:
        out.write(section(engine))
    world.own(work, *work.rglob("*"))
    job = world.submit("job.yaml", *words, "--env", f"EPOCHS={EPOCHS}", "--env", "PAUSE=0.35", cwd=work)
    world.wait_for(f"{what}: half of the epochs", lambda: len(epochs(world, job, 1)) >= EPOCHS // 2, timeout=120, every=0.5)
    world.stoker("preempt", job, "--in", "3s", check=True)
    check(f"{what}: ends well", ended(world, job), log(world, job))
    shown = world.job(job)
    check(f"{what}: the first attempt was interrupted", shown["attempts"][0]["ending"]["reason"] == "Interrupted", shown["attempts"][0])
    last = shown["attempts"][-1]
    first, second = epochs(world, job, 1), epochs(world, job, last["number"])
    check(f"{what}: the last goes on from a checkpoint", last.get("restore") and second and second[0] > EPOCHS // 2 - 3, [first, second])
    check(f"{what}: every epoch is there", sorted({*first, *second}) == list(range(1, EPOCHS + 1)), [first, second])
    check(f"{what}: in a container of the engine", f"by {engine.name} " in log(world, job), log(world, job)[:2000])


def here(world, engine, check):
    for example in ("digits", "ddp"):
        train(world, engine, check, example)
    nothing_left(world, engine, check, "here")


def box(world, engine, check):
    """A real sshd, whose sessions have the engine and a home of their own."""
    env = {name: value for name, value in engine.env.items() if name != "HOME"}
    client = sshd.Client(world.root / "client")
    one = sshd.Sshd(world.root, "box1", {**env, "STOKER_CAPACITY": "cpus=64 memory=0"})
    client.know(one)
    user = pwd.getpwuid(world.user.get("user", 0)).pw_name
    client.config.write_text(re.sub(r"(?m)^  User .*$", f"  User {user}", client.config.read_text()))
    world.own(one.root, one.home, client.root, *client.root.rglob("*"))
    one.start(client.authorized)
    try:
        world.env["PATH"] = f"{client.bin}:{world.env['PATH']}"
        world.stoker("config", "set", "pools.lab", "box1", check=True)
        for example in ("digits", "ddp"):
            train(world, engine, check, example, "--infra", "ssh/lab")
        shell(world, engine, check, one)
        world.wait_for("the box to be rid of its machines", lambda: not one.instances(), timeout=60)
        nothing_left(world, engine, check, "box")
    finally:
        one.stop()


def shell(world, engine, check, one):
    """A shell on the box, beside a program that waits for it."""
    program = "echo $$; while [ ! -e go ]; do sleep 0.1; done"
    path = world.work / "waits.yaml"
    path.write_text(f"name: waits\nenvs: {{ASKED: 'a b'}}\nrun: |\n  {program}\n" + section(engine))
    job = world.submit(path, "--infra", "ssh/lab")
    world.wait_for("its line", lambda: texts(world, job), timeout=60)
    if engine.name == "apptainer":
        refused = world.stoker("ssh", job, "--", "true")
        check("no shell is begun in its container, which is said", refused.returncode and "--outside" in refused.stderr, refused.stderr)
        world.stoker("ssh", job, "--outside", "--", "touch", str(one.state / "work" / f"{job}-0" / "go"), check=True)
        check("it ends well", ended(world, job), log(world, job))
        return
    done = world.stoker("ssh", job, "--", "cat /proc/1/cmdline | tr '\\0' ' '; echo; echo \"$ASKED\"; touch go; exit 6")
    check("a shell on the box is in the container", "__container" in done.stdout and "a b" in done.stdout, done.stdout + done.stderr)
    check("which is said, and its code is the command's", "in the container" in done.stderr and done.returncode == 6, done.stderr)
    check("whose program sees what it does", ended(world, job), log(world, job))


PARTS = {one.__name__: one for one in (here, box)}

if __name__ == "__main__":
    play_parts(PARTS, PARTS, HOST_IMAGE)
