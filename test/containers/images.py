#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images of containers, with a real engine and a real registry with TLS and a password:
images.py podman|docker [PART...]."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.containers.engines import Engine, add_busybox
from test.containers.registry import NAME, PASSWORD, ImageRegistry, Stumble, login_file
from test.e2e.kit.harness import Results, World
from test.e2e.kit.job_kit import running, texts

# Tells which image it is of; its first attempt runs until it is told to end.
TELLER = """\
trap 'exit 1' TERM
echo "version $VERSION attempt $STOKER_ATTEMPT"
while [ "$STOKER_ATTEMPT" = 1 ]; do sleep 0.1; done
"""


def small_tree(path):
    """A tar of an image's tree: busybox alone."""
    with tarfile.open(path, "w") as tar:
        add_busybox(tar)


class Lab:
    """An engine, a registry, and the images of a test."""

    def __init__(self, world, engine, check, registry=None):
        self.world, self.engine, self.check = world, engine, check
        self.registry = registry or ImageRegistry(world.root / "registry")
        world.home.joinpath(".config").mkdir(exist_ok=True)
        self.registry.trust(world.home)
        self.tree = world.root / "small.tar"
        small_tree(self.tree)

    def log_in(self, host=None, password=PASSWORD):
        login_file(self.world.home / ".docker" / "config.json", host or self.registry.host, NAME, password)

    def log_out(self):
        (self.world.home / ".docker" / "config.json").unlink(missing_ok=True)

    def push(self, name, version, *words, tree=None):
        """An image that knows its version, in the registry alone; its digest there."""
        archive = self.world.root / "image.tar"
        archive.unlink(missing_ok=True)
        self.engine.run("import", f"--change=ENV VERSION={version}", *words, str(tree or self.tree), "localhost/made:1")
        self.engine.run("save", "-o", str(archive), "localhost/made:1")
        self.engine.run("rmi", "localhost/made:1")
        return self.registry.copy(f"docker-archive:{archive}", name)

    def forget(self, host=""):
        """The engine has none of the registry's images any more."""
        listed = self.engine.run("images", "--format", "{{.Repository}} {{.ID}}").stdout
        for line in listed.splitlines():
            if line.startswith(host or self.registry.host):
                self.engine.run("rmi", "--force", line.split()[1], check=False)

    def file(self, image, run, name="job.yaml", more=""):
        path = self.world.work / name
        path.write_text(f"name: imaged\ncontainer:\n  image: {image}\n  engine: {self.engine.name}\n{more}{run}")
        return str(path)

    def submit(self, image, run, more=""):
        return self.world.submit(self.file(image, run, more=more))

    def ended(self, job, state="Succeeded", timeout=120):
        self.world.stoker("wait", job, timeout=timeout)
        good = self.world.job(job)["state"] == state
        if not good:
            print(self.log(job), self.world.stoker("show", job).stdout, file=sys.stderr)
        return good

    def log(self, job):
        return self.world.stoker("logs", job, check=True).stdout

    def refused(self, what, image, *expected):
        """One clear error, before there is any job."""
        before = self.world.json("ls", "--all")
        done = self.world.stoker("run", "-d", self.file(image, "run: 'true'\n"), timeout=60)
        said = done.stdout + done.stderr
        self.check(f"{what}: it is refused", done.returncode != 0, said)
        self.check(f"{what}: it is said", all(one in said for one in expected), said)
        self.check(f"{what}: in one error", said.count("error") <= 1 and PASSWORD not in said, said)
        self.check(f"{what}: there is no job", self.world.json("ls", "--all") == before, said)


def block():
    return "run: |\n" + "".join(f"  {line}\n" for line in TELLER.splitlines())


def fixed(lab):
    """A tag that moves while a job runs moves nothing of it; a login is docker's file."""
    world, check, image = lab.world, lab.check, f"{lab.registry.host}/team/teller:1"
    digest = lab.push("team/teller:1", "one")
    lab.log_in()
    job = lab.submit(image, block())
    running(world, job, "version one attempt 1")
    shown = world.stoker("show", job).stdout
    check("the record has the digest", f"team/teller@{digest}" in shown, shown)
    moved = lab.push("team/teller:1", "two")
    check("the tag moves", moved != digest)
    lab.forget()
    world.stoker("preempt", job, check=True)
    check("it ends well", lab.ended(job))
    check("the second attempt runs the same image", "version one attempt 2" in texts(world, job), lab.log(job))
    again = lab.submit(image, "run: echo version $VERSION\n")
    check("a new job", lab.ended(again))
    check("has what the tag is now", "version two" in texts(world, again), lab.log(again))
    done = world.json("retry", "--fresh", "--detach", job)
    running(world, done["id"], "version one attempt 1")  # as what it is a retry of
    world.stoker("cancel", done["id"], check=True)
    lab.registry.stop()
    third = lab.submit(f"{lab.registry.host}/team/teller@{moved}", "run: echo version $VERSION\n")
    check("with the image here no registry is asked", lab.ended(third), lab.log(third))
    lab.registry.start()
    lab.log_out()


def mistakes(lab):
    """One clear error each, before any machine is asked for."""
    host = lab.registry.host
    digest = lab.push("team/a:1", "one")
    lab.refused("without a login", f"{host}/team/a:1", "wants a login", "docker login " + host)
    lab.log_in(password="wrong")
    lab.refused("with a wrong one", f"{host}/team/a:1", f"({NAME}) may not pull it")
    lab.log_in()
    lab.refused("a tag that is not there", f"{host}/team/a:9", "the registry has no 9")
    lab.refused("an image that is not there", f"{host}/none/a:1", "the registry has no 1")
    wrong = digest[:-4] + ("0000" if digest[-4:] != "0000" else "1111")
    lab.refused("a wrong digest", f"{host}/team/a@{wrong}", "the registry has no " + wrong)
    if lab.engine.name == "podman":  # docker 20.10 imports for its own alone
        lab.push("team/arm:1", "one", "--arch=arm64")
        lab.refused("of another architecture", f"{host}/team/arm:1", "for linux/arm64, not for linux/amd64")
    lab.log_out()


def away(lab):
    """A registry that is away is said, and the first node finds out, for all of the job."""
    world, check, host = lab.world, lab.check, lab.registry.host
    digest = lab.push("team/late:1", "late")
    lab.log_in()
    lab.forget()
    world.env["STOKER_CAPACITY"] = "cpus=1 memory=0"
    go = world.root / "go"
    first = world.submit("--name", "first", "--", "sh", "-c", f"while [ ! -e {go} ]; do sleep 0.1; done", cwd=str(world.root / "evidence"))
    lab.registry.stop()
    done = world.stoker("run", "-d", lab.file(f"{host}/team/late:1", block(), more="resources: {cpus: 1}\n"))
    check("that it is away is said", "first node finds out" in done.stderr + done.stdout, done.stderr + done.stdout)
    job = world.json("ls")[0]["id"]
    lab.registry.start()
    go.touch()
    check("the first ends", lab.ended(first))
    running(world, job, "version late attempt 1")
    kept = pathlib.Path(world.store, "jobs", job, "image").read_text()
    check("the digest is kept for the job", kept == f"{host}/team/late@{digest}", kept)
    lab.push("team/late:1", "later")
    lab.forget()
    world.stoker("preempt", job, check=True)
    check("it ends well", lab.ended(job))
    check("in the same image", "version late attempt 2" in texts(world, job), lab.log(job))
    world.env["STOKER_CAPACITY"] = "cpus=256 memory=0"
    lab.log_out()


def gone(lab):
    """A registry that stays away: one clear error, after the stated time, which is ten minutes."""
    world, check, host = lab.world, lab.check, lab.registry.host
    lab.registry.stop()
    job = lab.submit(f"{host}/team/gone:1", "run: 'true'\n")
    check("where it stays away the job fails", lab.ended(job, "Failed", timeout=1200))
    said = lab.log(job)
    lines = [one for one in said.splitlines() if "the registry does not answer" in one]
    check("which is said when it begins to wait and in the end", len(lines) == 2, said)
    check("with for how long", "; asked again, for 10m at most" in lines[0] and "; so for 10m" in lines[-1], said)
    shown = world.stoker("show", job).stdout
    check("and told of the job", "the registry does not answer" in shown, shown)
    check("in one attempt", len(world.job(job)["attempts"]) == 1, shown)
    lab.registry.start()


def stumbles(lab):
    """A registry that has a trouble for a while: waited for on a first attempt and on a later one."""
    world, check = lab.world, lab.check
    door = Stumble(lab.registry)
    lab.registry.trust(world.home, door.host)
    lab.log_in(door.host)
    lab.push("team/steady:1", "steady")
    image = f"{door.host}/team/steady:1"

    def waits(job, times):
        """The line that says so is there, and its engine has met it so often."""
        met = door.met
        world.wait_for("the line", lambda: "; asked again" in lab.log(job), timeout=120)
        world.wait_for("more tries", lambda: lab.log(job).count("rror") >= times or door.met > met + 20, timeout=120)

    def line_of(job):
        return [one for one in lab.log(job).splitlines() if "; asked again" in one]

    try:
        for trouble, words, times in (
            (503, "the registry has a trouble of its own", 1),
            (429, "the registry is asked too often", 3),
            ("reset", "the registry ends the connection", 1),
        ):
            lab.forget(door.host)
            door.trouble = trouble
            job = lab.submit(image, block())
            waits(job, times)
            door.trouble = None
            world.wait_for("the program", lambda job=job: "version steady attempt 1" in texts(world, job), timeout=180)
            lines = line_of(job)
            check(f"{trouble}: it is said once, in the registry's words", len(lines) == 1 and words in lines[0], lab.log(job))
            if lab.engine.name == "docker":  # keeps an image that a container has
                world.stoker("cancel", job, check=True)
                check(f"{trouble}: it ends", lab.ended(job, "Cancelled"), lab.log(job))
                continue
            lab.forget(door.host)
            door.trouble = trouble
            world.stoker("preempt", job, check=True)
            world.wait_for("the second attempt's line", lambda job=job: len(line_of(job)) == 2, timeout=120)
            if trouble == "reset":
                world.stoker("cancel", job, check=True)
                check("a cancel ends the waiting", lab.ended(job, "Cancelled") and "; so for" not in lab.log(job), lab.log(job))
                continue
            door.trouble = None
            check(f"{trouble}: the later attempt ends well", lab.ended(job), lab.log(job))
            check(f"{trouble}: of that image", "version steady attempt 2" in texts(world, job), lab.log(job))
    finally:
        door.end()
        lab.log_out()
        lab.forget(door.host)


def local(lab):
    """What is in the engine alone is used as it is, by name and by id."""
    world, check = lab.world, lab.check
    lab.engine.run("import", "--change=ENV VERSION=home", str(lab.tree), "localhost/home:1")
    identity = lab.engine.run("image", "inspect", "--format={{.Id}}", "localhost/home:1").stdout.strip().replace("sha256:", "")
    for image in ("localhost/home:1", "sha256:" + identity):
        job = lab.submit(image, "run: echo version $VERSION\n")
        check(f"{image}: it ends well", lab.ended(job))
        check(f"{image}: it is that image", "version home" in texts(world, job), lab.log(job))


def told_to_processes(word):
    """Which processes of this machine have it among their words."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if word.encode() in words:
            found.append(words)
    return found


def holding(folder, word):
    """Files below `folder` in which it stands."""
    found = []
    for path in folder.rglob("*"):
        try:
            if path.is_file() and word.encode() in path.read_bytes():
                found.append(str(path))
        except OSError:
            continue
    return found


def login(lab):
    """A login of the job's own, by its secrets: in no ledger, no file that stays, no process list."""
    world, check, host = lab.world, lab.check, lab.registry.host
    lab.push("team/mine:1", "mine")
    lab.forget()
    lab.log_out()
    more = f"  login: {{user: {NAME}, password: $REGISTRY_WORD}}\n"
    file = lab.file(f"{host}/team/mine:1", "run: echo version $VERSION\n", more=more)
    seen = []
    process = world.start("run", file, env={"REGISTRY_WORD": PASSWORD})
    while process.poll() is None:
        seen += told_to_processes(PASSWORD)
    out, err = process.communicate()
    job = world.json("ls", "--all")[0]["id"]
    check("with it the job runs", "version mine" in texts(world, job), out + err)
    check("no process is told it", not seen, seen)
    check("it is not in the ledger", not holding(world.store, PASSWORD), holding(world.store, PASSWORD))
    world.wait_for("the machine to be gone", lambda: not world.instances(), timeout=60)
    kept = [one for one in holding(world.home, PASSWORD) if "/private/" not in one]
    check("nor in a file that stays", not kept, kept)
    check("nor with the engine", not holding(lab.engine.folder / "user", PASSWORD) if lab.engine.name == "podman" else True)
    done = world.stoker("run", "-d", file, env={"REGISTRY_WORD": "wrong"})
    check("a wrong one is refused", done.returncode != 0 and f"({NAME}) may not pull it" in done.stderr, done.stderr)


def built(lab):
    """A Dockerfile: built of the packed code, once for the same code."""
    world, check, folder = lab.world, lab.check, lab.world.work / "built"
    folder.mkdir()
    lab.engine.run("import", str(lab.tree), "localhost/base:1")
    (folder / "Dockerfile").write_text("FROM localhost/base:1\nENV VERSION=built\nCOPY words /words\n")
    (folder / "words").write_text("first\n")
    (folder / "job.yaml").write_text(
        f'name: built\nworkdir: .\ncontainer: {{dockerfile: Dockerfile, engine: {lab.engine.name}}}\nrun: echo "$VERSION $(cat /words)"\n'
    )

    def run():
        done = world.stoker("run", "job.yaml", cwd=folder, timeout=240)
        return done.stdout + done.stderr, texts(world, world.json("ls", "--all")[0]["id"])

    out, said = run()
    check("it is built", "building the image" in out and "built first" in said, out)
    out, said = run()
    check("once for the same code", "building the image" not in out and "built first" in said, out)
    (folder / "words").write_text("second\n")
    out, said = run()
    check("and anew for other code", "building the image" in out and "built second" in said, out)
    (folder / "Dockerfile").write_text("FROM localhost/base:1\nRUN false\n")
    out, said = run()
    check("what cannot be built is one error", f"{lab.engine.name} " in out and "could not build Dockerfile" in out, out)
    unused(lab)


def unused(lab):
    """What was built goes once nobody has used it for thirty days, and not before."""
    world, check = lab.world, lab.check

    def built_images():
        listed = lab.engine.run("images", "--format", "{{.Repository}}:{{.Tag}}").stdout.split()
        return [one for one in listed if one.startswith("localhost/stoker-built:")]

    there = built_images()
    notes = sorted((world.state / "built-images").iterdir())
    check("each build is noted", len(there) == 2 and {one.split(":")[1] for one in there} == {one.name for one in notes}, [there, notes])
    done = world.stoker("gc", timeout=120)
    check("young ones stay", built_images() == there, done.stdout)
    os.utime(notes[0], (1, 1))
    done = world.stoker("gc", "--dry-run", timeout=120)
    line = f"image localhost/stoker-built:{notes[0].name}"
    check("--dry-run tells which", f"{line}: would be removed" in done.stdout and built_images() == there, done.stdout)
    done = world.stoker("gc", timeout=120)
    check("an old one goes", f"{line}: removed" in done.stdout and "1 image of containers unused" in done.stdout, done.stdout + done.stderr)
    check("and that alone", built_images() == [one for one in there if not one.endswith(notes[0].name)], built_images())


@contextlib.contextmanager
def small_disk(engine, megabytes):
    """The engine's images lie on a disk that has so much room, and none of them is there."""
    root = engine.folder / "root"
    root.mkdir(exist_ok=True)
    engine.stop()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "small", root], check=True)
    try:
        engine.go_on()
        yield
    finally:
        engine.stop()
        below = [line.split()[1] for line in open("/proc/mounts", encoding="utf-8") if line.split()[1].startswith(f"{root}/")]
        for one in [*reversed(below), root]:
            subprocess.run(["umount", "--lazy", one], check=True)
        engine.go_on()


def full(lab):
    """A disk that is full while an image is pulled, and while one is built: one clear error each."""
    world, check, host = lab.world, lab.check, lab.registry.host
    tree, big = world.root / "big.tar", tarfile.TarInfo("big")
    small_tree(tree)
    big.size = 96 << 20
    with tarfile.open(tree, "a") as tar:
        tar.addfile(big, io.BytesIO(os.urandom(big.size)))
    lab.push("team/big:1", "big", tree=tree)
    tree.unlink()
    lab.log_in()
    lab.forget()
    folder = world.work / "full"
    folder.mkdir()
    (folder / "Dockerfile").write_text(f"FROM {host}/team/big:1\n")
    (folder / "job.yaml").write_text(
        f"name: full\nworkdir: .\ncontainer: {{dockerfile: Dockerfile, engine: {lab.engine.name}}}\nrun: 'true'\n"
    )
    with small_disk(lab.engine, 64):
        job = lab.submit(f"{host}/team/big:1", "run: 'true'\n")
        check("pulled: the job fails", lab.ended(job, "Failed"), lab.log(job))
        said = lab.log(job)
        check("pulled: that room lacks is said before", "it is pulled all the same" in said, said)
        errors = [one for one in said.splitlines() if "could not pull" in one]
        check("pulled: one error", len(errors) == 1 and "the disk has no room for the image" in errors[0], said)
        shown = world.stoker("show", job).stdout
        check("pulled: which is told of the job", "the disk has no room for the image" in shown, shown)
        check("pulled: in one attempt", len(world.job(job)["attempts"]) == 1, shown)
        before = world.json("ls", "--all")
        done = world.stoker("run", "-d", "job.yaml", cwd=folder, timeout=240)
        said = done.stdout + done.stderr
        check("built: it is refused", done.returncode != 0, said)
        check("built: for that", "could not build Dockerfile: the disk has no room for the image" in said, said)
        check("built: there is no job", world.json("ls", "--all") == before, said)
    job = lab.submit(f"{host}/team/big:1", "run: echo version $VERSION\n")
    check("with room the same job runs", lab.ended(job) and "version big" in texts(world, job), lab.log(job))
    lab.forget()
    lab.log_out()


PARTS = {one.__name__: one for one in (fixed, mistakes, away, stumbles, gone, local, login, built, full)}


def main():
    kind, *parts = sys.argv[1:]
    results = Results()
    with World(f"images-{kind}") as world:
        world.root.chmod(0o755)
        engine = Engine(kind, world)
        world.env.update(engine.env)
        lab = Lab(world, engine, results.check)
        try:
            for part in parts or PARTS:
                begun = time.monotonic()
                results.run(part, PARTS[part], lab)
                print(f"{kind} {part}: {time.monotonic() - begun:.1f} s", file=sys.stderr)
        finally:
            lab.registry.stop()
            engine.close()
    results.finish()


if __name__ == "__main__":
    main()
