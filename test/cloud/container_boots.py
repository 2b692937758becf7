#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job in a container, on machines that boot (test/lab), of EC2 and of Compute Engine: podman is
installed by apt out of a source of packages in the lab or, with STOKER_LAB_IMAGE=engines, is of the
image; the job's image comes out of a real registry. Preempted and resumed, and one whose machine is
shut down by hand.

    container_boots.py ec2|gcp [resumed] [shut] [nowhere] [role] [secret]"""

import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud import packages
from test.lab import lab as lab_of

THERE = os.environ.get("STOKER_LAB_IMAGE") == "engines"
if lab_of.INSIDE not in os.environ:  # while there is a network
    from test.containers.engines import bring
    from test.lab import base_tree

    bring("podman")
    bring("registry")
    packages.of(base_tree.tree(), "podman")
lab_of.enter()
from test.containers.door import Door
from test.containers.engines import Engine, sbin
from test.containers.registry import named
from test.e2e.kit.harness import Results, parts_of
from test.e2e.kit.job_kit import texts
from test.ec2 import lab_world as ec2
from test.gcp import gce_world as gcp
from test.lab import ec2_rooms, gce_rooms
from test.lab.cloud_world import whole

CLOUD, GATE = {"ec2": (ec2, ec2_rooms.GATE), "gcp": (gcp, gce_rooms.GATE)}[sys.argv[1]]
# A registry as the cloud has it, and one of the team's.
CLOUDS = {"ec2": "123456789012.dkr.ecr.us-east-1.amazonaws.com", "gcp": "us-docker.pkg.dev"}[sys.argv[1]]
TEAMS, PASSWORD = "registry.example", "planted-5c1bQ-planted"
STEPS = {"ec2": 160, "gcp": 400}[sys.argv[1]]  # longer than a notice of half a second each
REGISTRY = f"{GATE}:5000"
IMAGE = f"{REGISTRY}/py:1"
# What this kernel lets the lab's root give away (crun asks for more, for its filter of devices), and
# what is a room's: a disk on which podman's layers can lie, as they cannot on one that is an overlay.
SETTINGS = """[containers]
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
[engine]
runtime = "runc"
"""
FSTAB = "tmpfs /var/lib/containers tmpfs size=2g,mode=700 0 0\n"
INSECURE = f'[[registry]]\nlocation = "{REGISTRY}"\ninsecure = true\n'
JOB = """name: boxed
resources: {{infra: {infra}, use_spot: true{of_sky}}}
{container}
workdir: .
outputs: [result]
run: |
  mkdir -p result && cat /proc/1/cmdline | tr '\\0' ' ' >result/first
  ls -d /usr/bin/apt-get 2>/dev/null || echo "another system"
  exec python3 trainer.py {steps} --pause 0.5
"""


def settle(lab):
    """What every machine's disk has from now on."""
    source = packages.serve(packages.of(os.environ["STOKER_LAB_TREE"], "podman"), GATE)
    plain = lab.rooms.cloud.dress
    files = {
        "etc/apt/sources.list": source,
        "etc/containers/containers.conf.d/lab.conf": SETTINGS,
        "etc/containers/registries.conf.d/lab.conf": INSECURE,
        "etc/fstab": FSTAB,
    }

    def dress(disk, instance):
        if plain:
            plain(disk, instance)
        for name, text in files.items():
            (disk / name).parent.mkdir(parents=True, exist_ok=True)
            (disk / name).write_text(text)
        (disk / "usr/sbin").mkdir(parents=True, exist_ok=True)
        shutil.copy(shutil.which("runc", path=sbin()), disk / "usr/sbin/runc")

    lab.rooms.cloud.dress = dress


def lets_in(lab, name, user, password):
    if name == TEAMS:
        return "me" if (user, password) == ("me", PASSWORD) else None
    if sys.argv[1] == "ec2":  # as moto gives it
        return "aws" if (user, password) == ("AWS", "123456789012-auth-token") else None
    token = lab.identity.tokens.get(password)
    return token.email if user == "oauth2accesstoken" and token and token.good else None


def open_door(lab):
    """The same registry under two names, with TLS and logins, for machines and for who submits."""
    folder = pathlib.Path(lab.folder)
    door = Door(folder, GATE, (CLOUDS, TEAMS), REGISTRY, lambda *words: lets_in(lab, *words))
    plain = lab.rooms.cloud.dress

    def dress(disk, instance):
        plain(disk, instance)
        hosts = disk / "etc/hosts"
        before = hosts.read_text() if hosts.exists() else "127.0.0.1 localhost\n"
        hosts.write_text(f"{before}{GATE} {CLOUDS} {TEAMS}\n")
        trust(disk / "etc/containers", door)

    lab.rooms.cloud.dress = dress
    named(folder / "hosts", GATE, CLOUDS, TEAMS)
    return door


def trust(folder, door):
    for name in (CLOUDS, TEAMS):
        where = folder / "certs.d" / name
        where.mkdir(parents=True)
        shutil.copy(door.certificate, where / "ca.crt")


class Registry:
    """Debian's docker-registry, with one image, made of this system's Python and busybox."""

    def __init__(self, lab):
        self.folder = pathlib.Path(lab.folder) / "registry"
        self.folder.mkdir()
        settings = self.folder / "settings.yml"
        settings.write_text(
            f"version: 0.1\nlog: {{level: warn}}\nstorage: {{filesystem: {{rootdirectory: {self.folder}/held}}}}\n"
            f"http: {{addr: '{REGISTRY}'}}\n"
        )
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(["docker-registry", "serve", str(settings)], stdout=log, stderr=log)

    def fill(self, world):
        engine = Engine("podman", world)
        engine.run("tag", "localhost/py:1", IMAGE)
        end = time.monotonic() + 30
        while engine.run("push", "--tls-verify=false", IMAGE, check=False).returncode:
            if time.monotonic() > end:
                raise AssertionError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.2)
        engine.close()

    def end(self):
        self.process.terminate()
        self.process.wait(20)


def submitted(world, steps, image=IMAGE):
    path = world.work / "job.yaml"
    # By SkyPilot's key on the one, by stoker's own on the other.
    sky = sys.argv[1] == "gcp"
    words = {"of_sky": f', image_id: "docker:{image}"' if sky else "", "container": "" if sky else f"container: {image}"}
    path.write_text(JOB.format(infra=world.infra, steps=steps, **words))
    return world.submit(path)


def system_log(world, job):
    return world.stoker("logs", "--stream", "system", job).stdout


def boxed(machine):
    """By the kernel: a process of the room whose root is no room's."""
    for pid in machine.room.pids():
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"trainer.py" in words and not pathlib.Path(f"/proc/{pid}/root/etc/os-release").exists():
                return True
        except OSError:
            continue
    return False


def go_in(world, job, check):
    """By its sshd, whose machine's root has the container."""
    words = ("ssh", job, "--from", GATE, "--", "tr '\\0' ' ' </proc/1/cmdline; ls -d /usr/bin/apt-get; exit 6")
    world.wait_for("its sshd is known", lambda: "has not told" not in world.stoker(*words).stderr, 60, 1)
    done = world.stoker(*words)
    check("a shell is in the container", "__container" in done.stdout and "apt-get" not in done.stdout, done)
    check("which is said, and its code is the command's", "in the container" in done.stderr and done.returncode == 6, done)
    outside = world.stoker("ssh", job, "--from", GATE, "--outside", "--", "ls -d /usr/bin/apt-get")
    check("--outside is the machine", "apt-get" in outside.stdout, outside)


def test_resumed(lab, check):
    with CLOUD.World(lab, "resumed") as world:
        job = submitted(world, STEPS)
        first = world.machine(job, 0)
        world.trained(first, 10, limit=240)
        if sys.argv[1] == "ec2":
            go_in(world, job, check)
        check("nothing of stoker runs outside", not world.outside(), world.outside())
        check("its program runs in a tree of its own", boxed(first))
        world.notice(first)
        world.machine(job, 1, limit=180)
        world.over(job, limit=500)
        state, runs, reasons = world.told(job)
        check("it succeeds on the second machine", (state, len(runs)) == ("Succeeded", 2), (state, runs, reasons))
        check("goes on where it was", not whole(runs, STEPS, 1) and runs[1][1] >= 10, runs)
        check("told ahead", reasons[0] == "Interrupted", reasons)
        said = system_log(world, job)
        check("the engine is named", "in a container of" in said and "by podman " in said, said)
        installed = "installing podman, by apt-get" in said
        check("it is of the image" if THERE else "it was installed, which is said", installed != THERE, said)
        check("the image was pulled", f"the image {IMAGE} is not on this machine" in said, said)
        check("it was another system", texts(world, job).count("another system") == 2, texts(world, job)[:4])
        folder = world.root / "got"
        world.stoker("get", job, "result", folder, check=True)
        told = [each.read_text() for each in folder.glob("**/first")]
        check("stoker was its first process", told and "__container" in told[0], told)


def test_shut(lab, check):
    """Somebody shuts the machine down, without a notice: the agent hears of it, and saves."""
    with CLOUD.World(lab, "shut") as world:
        job = submitted(world, STEPS)
        first = world.machine(job, 0)
        world.trained(first, 10, limit=240)
        before = world.step_on(first)
        first.room.press()
        world.wait_for("it is off", lambda: world.is_off(first), 180, 0.2)
        world.over(job, limit=500)
        state, runs, reasons = world.told(job)
        said = system_log(world, job)
        check("shut: it succeeds", state == "Succeeded", (state, runs, reasons, said))
        check("shut: its program had its time after the notice", runs[0][2][-1] >= before + 8, (before, runs[0]))
        check("shut: goes on where it was", not whole(runs, STEPS, 1), runs)
        check("shut: told ahead", reasons[0] == "Interrupted", reasons)


def test_nowhere(lab, check):
    """An image that the registry has not, and a machine whose packages cannot be had: one clear error
    each."""
    with CLOUD.World(lab, "nowhere") as world:
        job = submitted(world, 5, f"{REGISTRY}/none:1")
        world.over(job)
        told = world.stoker("show", job).stdout + system_log(world, job)
        check("nowhere: it fails for its image", world.job(job)["state"] == "Failed" and "the registry has no such image" in told, told)
        if THERE:
            return
        plain = lab.rooms.cloud.dress

        def without(disk, instance):
            plain(disk, instance)
            (disk / "etc/apt/sources.list").write_text("")

        lab.rooms.cloud.dress = without
        job = submitted(world, 5)
        world.over(job)
        lab.rooms.cloud.dress = plain
        told = world.stoker("show", job).stdout + system_log(world, job)
        check("nowhere: it fails for its engine", "podman could not be installed by apt-get" in told and "image_id" in told, told)


def test_role(lab, check):
    """An image of the cloud's own registry: no login is written anywhere."""
    with CLOUD.World(lab, "role") as world:
        trust(world.home / ".config/containers", lab.door)
        lab.door.seen.clear()
        job = submitted(world, 3, f"{CLOUDS}/py:1")
        world.over(job, limit=500)
        said = system_log(world, job)
        check("role: it succeeds", world.job(job)["state"] == "Succeeded", (world.job(job), said))
        check("role: the login is said", f"a login at {CLOUDS} by this machine's role" in said, said)
        shown = world.stoker("show", job).stdout
        check("role: the record has the digest", f"{CLOUDS}/py@sha256:" in shown, shown)
        who = {each for name, each in lab.door.seen if name == CLOUDS}
        asked = [e for e in lab.log if e.get("action") == "GetAuthorizationToken"]
        if sys.argv[1] == "gcp":
            check("role: who submits and the machine asked, each as itself", len(who) == 2, who)
        else:
            keys = {each["key"] for each in asked}
            check("role: so did both of ECR", len(keys) == 2 and any(world.is_node(each) for each in keys), asked)


def test_secret(lab, check):
    """A login of the job's own at another registry, out of the cloud's vault."""
    with CLOUD.World(lab, "secret") as world:
        trust(world.home / ".config/containers", lab.door)
        world.env["REGISTRY_PASSWORD"] = PASSWORD
        lab.door.seen.clear()
        path = world.work / "secret.yaml"
        login = "{user: me, password: $REGISTRY_PASSWORD}"
        path.write_text(
            f"name: secret\nresources: {{infra: {world.infra}}}\nsecrets: [REGISTRY_PASSWORD]\n"
            f"container: {{image: '{TEAMS}/py:1', login: {login}}}\nrun: echo it runs\n"
        )
        job = world.submit(path)
        world.over(job, limit=500)
        said = system_log(world, job)
        check("secret: it succeeds", world.job(job)["state"] == "Succeeded", (world.job(job), said))
        check("secret: by this login", {each for name, each in lab.door.seen if name == TEAMS} == {"me"}, lab.door.seen[:4])
        machine = world.machines(job)[0]
        files = (pathlib.Path(lab.folder) / machine.id / "disk").rglob("config.json")
        left = [one for one in files if PASSWORD in one.read_text(errors="replace")]
        check("secret: it lies in no file of the machine's", not left, left)


def main():
    results = Results()
    with CLOUD.Lab() as lab:
        settle(lab)
        registry = Registry(lab)
        lab.door = open_door(lab)
        try:
            with CLOUD.World(lab, "registry") as world:
                registry.fill(world)
            for name in sys.argv[2:] or parts_of(globals()):
                begun = time.monotonic()
                results.run(name, parts_of(globals())[name], lab, results.check)
                print(f"      {name}: {time.monotonic() - begun:.1f} s", flush=True)
        finally:
            lab.door.end()
            registry.end()
        results.check("the lab has no bug", not lab.bugs, lab.bugs)
    results.finish()


if __name__ == "__main__":
    os.environ.setdefault("STOKER", "build/release/stoker")
    main()
