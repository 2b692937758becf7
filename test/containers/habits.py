#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images as people have them, with a real engine: habits.py podman|rootless|docker [PART...], or
habits.py crun for the groups with it. Whose groups the program has; images that lack what others have; an init of
their own; two jobs beside each other."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.containers import engines
from test.containers.containers import SAVER, ended, job_file, log, nothing_left, play_parts
from test.containers.engines import Engine, bring, make_user, remove_user
from test.e2e.kit.harness import Results, World
from test.e2e.kit.job_kit import running, texts

GROUP = 54321  # of nobody here
OF_CRUN = engines.SETTINGS.replace('"runc"', '"crun"')
ONE_VERSION = 'umount -R -l /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec "$@"'


def lab_folder(world):
    """Of a group that the world's user is in from here on; closed to all others."""
    folder = world.root / "lab"
    folder.mkdir()
    (folder / "file").write_text("for the lab\n")
    for path, mode in ((folder / "file", 0o640), (folder, 0o750)):
        os.chown(path, 0, GROUP)
        path.chmod(mode)
    world.user["extra_groups"] = [GROUP]
    return folder


def groups(world, engine, check):
    """What only the submitter's other groups may read; where the engine cannot keep them it is said."""
    if not world.user:
        return  # root reads without: as a user in groups_of
    folder = lab_folder(world)
    text = f"  volumes: ['{folder}:/lab:ro']\nrun: cat /lab/file; id\n"
    job = world.submit(job_file(world, engine, text))
    check("a job of a user with groups ends well", ended(world, job), log(world, job))
    said, told = texts(world, job), log(world, job)
    kept = engine.name != "podman" or engines.SETTINGS == OF_CRUN
    check("it reads what its group may read", ("for the lab" in said) == kept, told)
    check("or the log says which are lost", (f"is not in the groups {GROUP} of" in told) != kept, told)
    nothing_left(world, engine, check, "groups")


def groups_of(kind):
    """As a user, whom docker's daemon heeds; or whose podman has crun, in a mount namespace with cgroups of version 2
    alone: crun wants no other beside them."""
    if kind == "crun":
        engines.SETTINGS = OF_CRUN
        bring("crun")
    uid, results = make_user(), Results()
    try:
        with World(f"habits-{kind}", uid=uid) as world:
            world.root.chmod(0o755)
            engine = Engine("docker" if kind == "docker" else "rootless", world)
            world.env.update(engine.env)
            try:
                results.run("groups", groups, world, engine, results.check)
            finally:
                engine.close()
    finally:
        remove_user()
    return results


def bare(world, engine, check):
    """An image of one static program: no shell, no user, no folder for what is temporary."""
    image = engine.build("bare", "FROM scratch\nCOPY busybox /busybox\n", {"busybox": shutil.which("busybox")})
    job = world.submit(job_file(world, engine, "command: [/busybox, echo, from, nothing]\n", image))
    check("a program alone runs", ended(world, job) and "from nothing" in texts(world, job), log(world, job))
    job = world.submit(job_file(world, engine, "run: echo shell\n", image))
    check("a line for a shell fails", ended(world, job, "Failed"), log(world, job))
    said = log(world, job) + world.stoker("show", job).stdout
    check("and it is said what is missing", "/bin/sh" in said, said)
    nothing_left(world, engine, check, "bare")


def pythonless(world, engine, check):
    """A requirements.txt in the work directory, and an image without any Python."""
    files = {"busybox": shutil.which("busybox")}
    image = engine.build("pythonless", 'FROM scratch\nCOPY busybox /bin/sh\nSHELL ["/bin/sh", "-c"]\n', files)
    world.program("tomli\n", "requirements.txt")
    job = world.submit(job_file(world, engine, "workdir: .\nrun: echo ran\n", image))
    done = ended(world, job, "Failed")
    said = log(world, job) + world.stoker("show", job).stdout
    check("it fails", done, said)
    check("and says that the image has no Python", "requirements.txt: python3" in said and "no such program in the container" in said, said)
    (world.work / "requirements.txt").unlink()
    nothing_left(world, engine, check, "pythonless")


def nameless(world, engine, check):
    """A user whom the image's /etc/passwd does not know; programs ask for its name, and for a home."""
    text = "command: [python3, -c, 'import getpass, os; print(getpass.getuser(), os.access(os.path.expanduser(\"~\"), os.W_OK))']\n"
    asked = "" if world.user else "  user: 4321:4322\n"
    job = world.submit(job_file(world, engine, asked + text))
    check("its program ends well", ended(world, job), log(world, job))
    said = texts(world, job)
    check("and has a name and a home", any(one.endswith(" True") for one in said), said)
    nothing_left(world, engine, check, "nameless")


def inits(world, engine, check):
    """An init as the image's entry point, beneath stoker's own: it hands signals on, and is no part of what is saved."""
    bring("inits")
    world.program(SAVER, "saver.py")
    for name, words in (("tini", '["/init", "--"]'), ("dumb-init", '["/init"]')):
        program = shutil.which("tini-static" if name == "tini" else name)
        image = engine.build(name, f"FROM {engine.image}\nCOPY init /init\nENTRYPOINT {words}\n", {"init": program})
        job = world.submit(job_file(world, engine, "  entrypoint: image\nworkdir: .\ncommand: [python3, saver.py]\n", image))
        running(world, job, "step 5")
        world.stoker("preempt", job, check=True)
        check(f"{name}: it is preempted, and ends well", ended(world, job), log(world, job))
        said = texts(world, job)
        saves = [one.split()[1] for one in said if one.startswith("saved")]
        starts = [one.split()[1] for one in said if one.startswith("start")]
        check(f"{name}: saved at SIGTERM, resumed from there", len(starts) == 2 and starts[1] == saves[0], said)
    nothing_left(world, engine, check, "inits")


def beside(world, engine, check):
    """Two jobs at once in one image: each its own container and files; the end of one is none of the other's."""
    world.program(SAVER, "saver.py")
    file = job_file(world, engine, "workdir: .\nrun: echo $STOKER_JOB_ID > /tmp/mine; exec python3 saver.py\n")
    first, second = world.submit(file), world.submit(file)
    running(world, first, "step 3")
    running(world, second, "step 3")
    check("there are two containers", len(engine.containers()) == 2, engine.containers())
    world.stoker("cancel", first, check=True)
    check("one is cancelled", ended(world, first, "Cancelled"), log(world, first))
    at = len(texts(world, second))
    world.wait_for("more lines of the other", lambda: len(texts(world, second)) > at + 10)
    pathlib.Path(world.state, "work", f"{second}-0", "go").touch()
    check("the other ends well", ended(world, second), log(world, second))
    nothing_left(world, engine, check, "beside")


PARTS = {one.__name__: one for one in (bare, pythonless, nameless, inits, beside)}

if __name__ == "__main__":
    if sys.argv[1:] == ["docker", "groups"]:
        groups_of("docker").finish()
    elif sys.argv[1:] == ["crun"]:
        again = [sys.executable, sys.argv[0], "crun", "inside"]
        sys.exit(subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", ONE_VERSION, "sh", *again]).returncode)
    elif sys.argv[1:] == ["crun", "inside"]:
        groups_of("crun").finish()
    else:
        play_parts({**PARTS, "groups": groups}, {**PARTS, "groups": groups})
