#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compute Engine's machines that boot, without stoker: what Google's guest agent, as Debian ships
it, makes of the lab (test/lab).

    rooms.py [NAME…]     only these parts"""

import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from google.cloud import compute_v1 as v1

from test.e2e.kit.harness import Results, parts_of, patience
from test.lab.gce_lab import NODES, GceLab
from test.lab.gceapi import lifecycle
from test.lab.gceapi.service import PROJECT

ZONE = "us-central1-a"
IMAGE = "projects/debian-cloud/global/images/family/debian-12"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
STARTUP = """#!/bin/bash
md() {
  curl -s -f -H 'Metadata-Flavor: Google' "http://metadata.google.internal/computeMetadata/v1/$1"
}
hostname >/var/hostname
md instance/service-accounts/default/token >/var/token
md instance/attributes/word >/var/word
getent hosts other "other.us-central1-a.c.lab-project.internal" nobody >/var/names
getent hosts example.org >>/var/names
md 'instance/preempted?wait_for_change=true' >>/var/preempted &
disown
echo "start $(cat /proc/sys/kernel/random/boot_id)" >>/var/boots
"""
SHUTDOWN = """#!/bin/bash
for each in 1 2 3; do echo "stop $each" >>/var/stops; sleep 0.3; done
"""
AGENT = """#!/bin/bash
timeout -k 1 8 google_guest_agent >/var/agent 2>&1
echo done >>/var/agent
"""


class Machine:
    def __init__(self, lab, name):
        self.lab = lab
        self.name = name
        self.calls = lab.client("InstancesClient")
        self.operations = lab.client("ZoneOperationsClient")

    def make(self, items, **scheduling):
        disk = v1.AttachedDisk(boot=True, auto_delete=True)
        disk.initialize_params.source_image = IMAGE
        self.done(
            self.calls.insert_unary(
                project=PROJECT,
                zone=ZONE,
                instance_resource=v1.Instance(
                    name=self.name,
                    machine_type=f"zones/{ZONE}/machineTypes/e2-standard-2",
                    disks=[disk],
                    network_interfaces=[v1.NetworkInterface()],
                    service_accounts=[v1.ServiceAccount(email=NODES, scopes=[SCOPE])],
                    metadata=v1.Metadata(items=[v1.Items(key=k, value=v) for k, v in items.items()]),
                    scheduling=v1.Scheduling(**scheduling) if scheduling else None,
                ),
            )
        )
        self.it = self.lab.api.world.named(self.name)
        self.disk = pathlib.Path(self.lab.folder) / self.it.id / "disk"
        return self

    def act(self, verb):
        call = getattr(self.calls, f"{verb}_unary")
        return call(project=PROJECT, zone=ZONE, instance=self.name)

    def done(self, operation):
        while operation.status != v1.Operation.Status.DONE:
            operation = self.operations.wait(project=PROJECT, zone=ZONE, operation=operation.name)
        return operation

    def read(self, path):
        try:
            return (self.disk / path).read_text()
        except OSError:
            return ""

    def lines(self, path, count):
        self.wait(f"{count} lines in {path}", lambda: self.read(path).count("\n") >= count)
        return self.read(path).splitlines()

    def wait(self, what, holds):
        end = time.monotonic() + patience(30)
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"{what}: {self.it.state()} {self.it.room.console()[-2000:]}")
            time.sleep(0.05)

    def is_state(self, state):
        self.wait(state, lambda: self.it.state() == state)


def test_power(lab, check):
    """A disk outlives stop, start and reset; scripts run at each boot and each end."""
    words = {"startup-script": STARTUP, "shutdown-script": SHUTDOWN, "word": "hello there"}
    other = Machine(lab, "other").make({})
    machine = Machine(lab, "power").make(words)
    machine.lines("var/boots", 1)
    names = [line.split()[0] for line in machine.read("var/names").splitlines()]
    check("power: names of its network", names == [other.it.address] * 2, names)
    other.done(other.act("delete"))
    name, word = machine.read("var/hostname"), machine.read("var/word")
    check("power: its name", name == "power\n", name)
    check("power: an attribute", word == "hello there", word)
    check("power: a token", '"access_token": "ya29.lab' in machine.read("var/token"))
    machine.done(machine.act("stop"))
    check("power: the shutdown script ran to its end", machine.read("var/stops") == "stop 1\nstop 2\nstop 3\n", machine.read("var/stops"))
    check("power: it is off", machine.it.state() == "TERMINATED", machine.it.state())
    check("power: no process is left", not machine.it.room.pids(), machine.it.room.pids())
    machine.done(machine.act("start"))
    machine.lines("var/boots", 2)
    machine.is_state("RUNNING")
    machine.act("reset")
    boots = machine.lines("var/boots", 3)
    check("power: each boot has an id of its own", len(set(boots)) == 3, boots)
    machine.done(machine.act("delete"))
    check("power: deleted", machine.it.gone)


def test_preempted(lab, check):
    """With a notice: the metadata says so first, the power button comes after."""
    lab.api.settings.notices = (120.0, 3.0)
    words = {"startup-script": STARTUP, "shutdown-script": SHUTDOWN}
    notice = v1.Duration(seconds=3)
    machine = Machine(lab, "notice").make(
        words, provisioning_model="SPOT", instance_termination_action="STOP", preemption_notice_duration=notice
    )
    machine.lines("var/boots", 1)
    machine.wait("it asks", lambda: any("wait_for_change" in p for _, p in asked(machine)))
    with lab.api.world.lock:
        lifecycle.preempt(lab.api, machine.it)
    machine.wait("the notice", lambda: machine.read("var/preempted") == "TRUE")
    check("notice: it still runs then", machine.it.state() == "RUNNING")
    check("notice: its power button was not pressed", not machine.it.room.pressed)
    machine.is_state("TERMINATED")
    check("notice: and its shutdown script ran", machine.read("var/stops").count("\n") == 3)
    machine.done(machine.act("start"))
    machine.lines("var/boots", 2)
    check("notice: the next start is not preempted", not machine.it.preempted)
    with lab.api.world.lock:
        lifecycle.preempt(lab.api, machine.it, 0)
    machine.is_state("TERMINATED")
    check("notice: without any, nothing runs", machine.read("var/stops").count("\n") == 3)
    machine.done(machine.act("delete"))


def asked(machine):
    return machine.it.room.metadata.asked


def test_button(lab, check):
    """One that goes on is cut off; one that goes off by itself is stopped."""
    lab.api.settings.power_button = 3.0
    words = {"startup-script": STARTUP, "shutdown-script": "#!/bin/sh\nsleep 600\n"}
    machine = Machine(lab, "stubborn").make(words)
    machine.lines("var/boots", 1)
    machine.done(machine.act("stop"))
    check("button: cut off", machine.it.state() == "TERMINATED", machine.it.state())
    lab.api.settings.power_button = 30.0
    machine.done(machine.act("delete"))
    off = Machine(lab, "off").make({"startup-script": "#!/bin/sh\npoweroff\n"})
    off.is_state("TERMINATED")
    kinds = [e.kind for e in lab.api.world.operations if e.target.endswith("/off")]
    check("button: by its own word", kinds == ["insert", "compute.instances.guestTerminate"], kinds)
    off.done(off.act("delete"))


def test_agent(lab, check):
    """Google's own agent, for some seconds: it understands all that the metadata server says."""
    machine = Machine(lab, "agent").make({"startup-script": AGENT, "ssh-keys": ""})
    machine.wait("it ends", lambda: machine.read("var/agent").endswith("done\n"))
    said = machine.read("var/agent")
    check("agent: it began", "GCE Agent Started" in said, said)
    bad = [line for line in said.splitlines() if "etadata" in line and "rror" in line]
    check("agent: it has no trouble with the metadata", not bad, bad)
    wanted = "timeout_sec=60&last_etag="
    polls = [path for _, path in asked(machine) if wanted in path and "recursive=true" in path]
    check("agent: it waits for changes", polls, asked(machine))
    machine.done(machine.act("delete"))


def main(names):
    results, parts = Results(), parts_of(globals())
    with GceLab() as lab:
        for name in names or parts:
            results.run(name, parts[name], lab, results.check)
        results.check("every request is in the document", not lab.front.strange(), lab.front.strange())
        results.check("no disk is left", not lab.api.world.disks, lab.api.world.disks)
        results.check("the lab has no bug", not lab.bugs, lab.bugs)
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
