#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each engine that is installed where it lacks, on machines of EC2 that boot: docker by apt; by dnf docker on
Amazon Linux, podman there where the job asks for it, and podman on another system. rpm_source.py says
what of dnf's is real. (container_boots.py has podman by apt.)

    installed_boots.py ec2 [debian] [amzn] [fedora]"""

import json
import os
import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

if lab_of.INSIDE not in os.environ:  # while there is a network
    from test.cloud import packages, rpm_source
    from test.lab import base_tree

    packages.of(base_tree.tree(), "docker.io")
    rpm_source.of(base_tree.tree())
from test.cloud import packages, rpm_source
from test.cloud.container_boots import CLOUD, GATE, IMAGE, REGISTRY, Registry, settle, system_log
from test.e2e.kit.harness import Results
from test.e2e.kit.job_kit import texts

TREE = os.environ["STOKER_LAB_TREE"]
# The system, by its ID; what the job asks for; what it gets, and by what.
CASES = (
    ("debian", "docker", "docker", "apt-get"),
    ("amzn", "", "docker", "dnf"),
    ("amzn", "podman", "podman", "dnf"),
    ("fedora", "", "podman", "dnf"),
)
# A room's network is not for docker's daemon to change; its layers want a disk that is no overlay.
DAEMON = json.dumps({"insecure-registries": [REGISTRY], "iptables": False, "bridge": "none"})
FSTAB = "tmpfs /var/lib/docker tmpfs size=2g,mode=700 0 0\n"
JOB = "name: boxed\nresources: {{infra: {infra}}}\ncontainer: {container}\nrun: ls -d /usr/bin/dpkg || echo another system\n"


def dressed(plain, system, sources):
    def dress(disk, instance):
        plain(disk, instance)
        (disk / "etc/docker").mkdir(parents=True, exist_ok=True)
        (disk / "etc/docker/daemon.json").write_text(DAEMON)
        with (disk / "etc/fstab").open("a") as out:
            out.write(FSTAB)
        if system == "debian":
            (disk / "etc/apt/sources.list").write_text(sources["apt"])
        else:
            rpm_source.dress(disk, rpm_source.of(TREE), system, sources["dnf"])

    return dress


def installed(lab, check, case):
    system, asked, gets, tool = case
    name = f"{gets} on {system}"
    with CLOUD.World(lab, f"{system}-{gets}") as world:
        path = world.work / "job.yaml"
        container = {"image": IMAGE, **({"engine": asked} if asked else {})}
        if gets == "docker":
            container["run_options"] = "--cap-drop=MKNOD"  # docker gives it to everybody; the lab has none to give (room.sh)
        path.write_text(JOB.format(infra=world.infra, container=json.dumps(container)))
        job = world.submit(path)
        world.over(job, limit=500)
        said = system_log(world, job)
        check(f"{name}: it succeeds", world.job(job)["state"] == "Succeeded", said)
        check(f"{name}: its program ran in a tree of its own", "another system" in texts(world, job), texts(world, job))
        check(f"{name}: it was installed, which is said", f"installing {gets}, by {tool}" in said, said)
        check(f"{name}: and began the container", f"by {gets} " in said, said)


def main():
    results = Results()
    with CLOUD.Lab() as lab:
        settle(lab)
        registry = Registry(lab)
        try:
            with CLOUD.World(lab, "registry") as world:
                registry.fill(world)
            sources = {"apt": packages.serve(packages.of(TREE, "docker.io"), GATE)}
            sources["dnf"] = packages.address(rpm_source.of(TREE), GATE)
            plain = lab.rooms.cloud.dress
            for case in CASES:
                if sys.argv[2:] and case[0] not in sys.argv[2:]:
                    continue
                begun = time.monotonic()
                lab.rooms.cloud.dress = dressed(plain, case[0], sources)
                results.run(" ".join(case), installed, lab, results.check, case)
                print(f"      {' '.join(case)}: {time.monotonic() - begun:.1f} s", flush=True)
        finally:
            registry.end()
        results.check("the lab has no bug", not lab.bugs, lab.bugs)
    results.finish()


if __name__ == "__main__":
    os.environ.setdefault("STOKER", "build/release/stoker")
    main()
