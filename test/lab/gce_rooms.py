# SPDX-License-Identifier: Apache-2.0
"""Machines that boot, as Compute Engine's API moves them: systemd with the units of Google's guest
agent that run start-up and shutdown scripts, as Debian ships them (without systemd, the script
runner of these units alone), and no cloud-init."""

import os

from test.lab.gce_dns import Dns, finder
from test.lab.gceapi import lifecycle
from test.lab.gceapi.machines import Machines
from test.lab.gceapi.mds import Mds
from test.lab.gceapi.metadata import host_name
from test.lab.room import METADATA, Cloud
from test.lab.rooms import Rooms

GATE = "10.128.0.1"
UNITS = ("google-startup-scripts.service", "google-shutdown-scripts.service")
HOSTS = f"""127.0.0.1 localhost
{METADATA} metadata.google.internal metadata
"""


def dress(disk, instance):
    """What an image of Google's has beside Debian, and what the guest agent writes there."""
    system = disk / "etc/systemd/system"
    wants = system / "multi-user.target.wants"
    wants.mkdir(parents=True, exist_ok=True)
    for unit in UNITS:
        for link in (system / unit, wants / unit):
            if not os.path.lexists(link):
                link.symlink_to(f"/lib/systemd/system/{unit}")
    (disk / "etc/cloud").mkdir(exist_ok=True)
    (disk / "etc/cloud/cloud-init.disabled").touch()
    own = f"{instance.address} {host_name(instance)} {instance.name}\n"
    (disk / "etc/hosts").write_text(HOSTS + own)
    (disk / "etc/hostname").write_text(instance.name + "\n")
    domain = host_name(instance).split(".", 1)[1]
    (disk / "etc/resolv.conf").write_text(f"search {domain} c.{instance.project}.internal google.internal\nnameserver {METADATA}\n")


class GceRooms(Rooms, Machines):
    """Its machines are moved by `api`, which sets itself."""

    name = "gce"

    def __init__(self, settings, top, tree):
        super().__init__(settings, top, tree)
        self.cloud = Cloud(GATE, lambda instance: instance.name, "google-scripts", dress, names=self.names)
        self.api = None
        self.then = {}  # id -> what is called when it is off

    def lock(self):
        return self.api.world.lock

    def clock(self):
        return self.api.clock

    def instances(self):
        return self.api.world.instances

    def metadata_of(self, instance):
        tries = self.api.settings.boot_tries
        for each in instance.metadata if tries else ():
            # A machine that cannot fetch its binary gives up sooner than after 5 minutes.
            each["value"] = each["value"].replace("-ge 30 ]", f"-ge {tries} ]").replace("  sleep 10\n", "  sleep 1\n")
        return Mds(self.api, instance)

    def names(self, room, bound):
        return Dns(bound, finder(self.api, room.instance))

    def boot(self, instance):
        instance.move((0, "STAGING"))
        self.start(instance)

    def is_coming(self, instance):
        return instance.state() in ("PROVISIONING", "STAGING")

    def is_up(self, instance):
        instance.move((0, "RUNNING"))

    def is_off(self, instance):
        done = self.then.pop(instance.id, None)
        if done:
            done()
        else:
            lifecycle.guest_off(self.api, instance)

    def on(self, instance):
        """Whether a room of it runs, or is about to."""
        return instance.room is not None and instance.state() not in ("TERMINATED",)

    def power_off(self, instance, done):
        up = instance.state() == "RUNNING"
        if not self.leaves(instance, done):
            return
        if up:
            self.button(instance)  # else as soon as it is there

    def cut_off(self, instance, done):
        if self.leaves(instance, done) and instance.room.process:
            instance.room.kill()

    def leaves(self, instance, done):
        """False: there is no room yet."""
        there = self.on(instance)
        instance.move((0, "STOPPING"))
        if not there:
            self.api.clock.after(0, done)
            return False
        self.then[instance.id] = done
        return True
