# SPDX-License-Identifier: Apache-2.0
"""Machines that boot, whatever cloud moves them: each is a Room (room.py) with a thread that waits
for its end."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import traceback

from test.lab import base_tree, held
from test.lab.room import Room

REBOOT = signal.SIGRTMIN + 5  # systemd's, in a container


class Rooms:
    """`top`: the lab's folder, in which these machines' disks get one of their own. A cloud says
    its `name` and `cloud` (room.py), lock(), clock() and instances(); the metadata_of(instance);
    whether one is_coming(instance) up; what follows when one is_up(instance) and is_off(instance).
    """

    def __init__(self, settings, top, tree):
        self.settings = settings
        self.folder = os.path.join(top, self.name)
        os.mkdir(self.folder)
        self.tree = tree
        self.more = []  # of room.sh's options, for rooms that are made from now on
        self.top = os.path.join(os.path.basename(top), self.name)  # in cgroups
        self.threads = []
        self.closed = False
        self.bugs = []

    def start(self, instance):
        if instance.room is None:
            instance.room = Room(
                os.path.join(self.folder, instance.id),
                self.tree,
                instance,
                held.of_room(self.top, instance.id),
                self.metadata_of(instance),
                self.cloud,
                base_tree.disk(),
            )
            instance.room.more = self.more
        thread = threading.Thread(target=self.life, args=(instance,), daemon=True)
        self.threads.append(thread)
        thread.start()

    def life(self, instance):
        """From a start to the next end."""
        room = instance.room
        try:
            again = True
            while again and not self.closed:
                room.boot()
                with self.lock():
                    if self.is_coming(instance):
                        self.is_up(instance)
                    elif not room.pressed:
                        self.button(instance)  # it was asked for while there was none yet
                again = room.wait()
        except Exception:  # noqa: BLE001  # it is of the lab, and the test is told
            if not room.killed:  # else its power went while it was being set up
                self.bugs.append(traceback.format_exc())
                print(self.bugs[-1], file=sys.stderr, flush=True)
        with self.lock():
            self.is_off(instance)

    def button(self, instance):
        try:
            instance.room.press()
        except (OSError, IndexError):
            return  # it is going off by itself
        self.clock().after(self.settings.power_button, self.cut, instance, instance.room.process)

    def cut(self, instance, process):
        if instance.room.process is process and process.poll() is None:
            process.kill()

    def kill(self, instance):
        instance.room.kill()

    def reboot(self, instance):
        os.kill(instance.room.init(), REBOOT)

    def console(self, instance):
        return instance.room.console() if instance.room else b""

    def end(self):
        """Everything goes, disks too."""
        self.closed = True
        for each in self.instances():
            process = each.room and each.room.process
            if process and process.poll() is None:
                process.kill()
        for thread in self.threads:
            thread.join(60)
        if not held.bare():
            held.remove_cgroups(held.cgroups() / self.top)
        for each in self.instances():
            if each.room and os.path.ismount(each.room.folder):
                subprocess.run(["umount", "--lazy", each.room.folder], check=True)
        shutil.rmtree(self.folder)
