# SPDX-License-Identifier: Apache-2.0
"""Machines that do not boot: they run because time has passed. Those that boot are in rooms.py."""

from test.lab.ec2api import lifecycle


class Machines:
    def __init__(self, settings):
        self.settings = settings

    def launch(self, instance):
        """Of one that is pending; also the next time that it starts."""
        if instance.born_dead:
            instance.state_reason = instance.born_dead
            instance.reason = instance.born_dead[0]
            after = self.settings.boot_delay
            instance.move((0, "pending"), (after, "shutting-down"), (after, "terminated"))
            return
        self.boot(instance)

    def boot(self, instance):
        instance.move((0, "pending"), (self.settings.boot_delay, "running"))

    def power_off(self, instance, then):
        on_the_way = "stopping" if then == "stopped" else "shutting-down"
        instance.move((0, on_the_way), (self.settings.stop_delay, then))

    def kill(self, instance):
        """No time to say anything."""

    def reboot(self, instance):
        pass

    def console(self, instance):
        return instance.console

    def end(self):
        pass


def reclaim(ec2, instance):
    """The market takes a machine back, with or without a notice before."""
    if not instance.over:
        lifecycle.end(ec2, instance, lifecycle.SPOT, "Server.SpotInstanceTermination")
