# SPDX-License-Identifier: Apache-2.0
"""Machines that do not boot: they run because time has passed."""


class Machines:
    """`api` is set by the service that moves them."""

    def __init__(self, settings):
        self.settings = settings
        self.api = None

    def boot(self, instance):
        delay = self.settings.boot_delay
        instance.move((0, "PROVISIONING"), (delay / 2, "STAGING"), (delay, "RUNNING"))

    def power_off(self, instance, done):
        """Presses its power button. `done` is called once it is off."""
        instance.move((0, "STOPPING"))
        self.api.clock.after(self.settings.stop_delay, done)

    def cut_off(self, instance, done):
        """Takes its power without a word."""
        self.api.clock.after(0, done)

    def reboot(self, instance):
        """As by its own word."""

    def console(self, instance):
        return instance.console

    def forget(self, instance):
        """It is deleted, and its disk with it."""

    def end(self):
        """Of all."""
