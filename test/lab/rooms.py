# SPDX-License-Identifier: Apache-2.0
"""Machines that boot, as EC2's API moves them: each is a Room (room.py)."""

import os
import shutil
import signal
import sys
import threading
import traceback

from ec2api import lifecycle
from ec2api.imds import Imds
from ec2api.machines import Machines
from room import Room, cgroups, remove_cgroups

REBOOT = signal.SIGRTMIN + 5  # systemd's, in a container


class Rooms(Machines):
    """`folder`: of the disks. Give it `ec2` before the first launch."""

    def __init__(self, settings, keyring, folder, tree):
        super().__init__(settings)
        self.keyring = keyring
        self.folder = folder
        self.tree = tree
        self.ec2 = None
        self.cgroup = cgroups() / os.path.basename(folder)
        self.threads = []
        self.closed = False
        self.bugs = []

    def boot(self, instance):
        instance.move((0, 'pending'))
        if instance.room is None:
            instance.room = Room(
                os.path.join(self.folder, instance.id), self.tree, instance,
                self.cgroup / instance.id, Imds(self.ec2, self.keyring, instance),
            )  # fmt: skip
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
                with self.ec2.world.lock:
                    if instance.state() == 'pending':
                        instance.move((0, 'running'))
                    elif not room.pressed:
                        self.button(instance)  # it was asked for while there was none yet
                again = room.wait()
        except Exception:  # noqa: BLE001: it is of the lab, and the test is told
            self.bugs.append(traceback.format_exc())
            print(self.bugs[-1], file=sys.stderr, flush=True)
        with self.ec2.world.lock:
            self.off(instance)

    def off(self, instance):
        state = instance.state()
        if state in ('running', 'pending'):
            instance.state_reason = lifecycle.GUEST
            instance.reason = f'User initiated {lifecycle.stamp()}'
            state = 'shutting-down' if instance.shutdown == 'terminate' else 'stopping'
        instance.move((0, 'stopped' if state == 'stopping' else 'terminated'))

    def power_off(self, instance, then):
        was = instance.state()
        instance.move((0, 'stopping' if then == 'stopped' else 'shutting-down'))
        if was == 'stopped':
            instance.move((0, then))
        elif was == 'running':
            self.button(instance)

    def button(self, instance):
        try:
            instance.room.press()
        except (OSError, IndexError):
            return  # it is going off by itself
        self.ec2.clock.after(self.settings.power_button, self.cut, instance, instance.room.process)

    def cut(self, instance, process):
        if instance.room.process is process and process.poll() is None:
            process.kill()

    def kill(self, instance):
        instance.room.kill()

    def reboot(self, instance):
        os.kill(instance.room.init(), REBOOT)

    def console(self, instance):
        return instance.room.console() if instance.room else b''

    def end(self):
        """Everything goes, disks too."""
        self.closed = True
        for each in self.ec2.world.instances():
            process = each.room and each.room.process
            if process and process.poll() is None:
                process.kill()
        for thread in self.threads:
            thread.join(60)
        if self.cgroup.exists():
            remove_cgroups(self.cgroup)
        shutil.rmtree(self.folder)
