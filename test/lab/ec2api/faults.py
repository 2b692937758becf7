# SPDX-License-Identifier: Apache-2.0
"""What goes wrong on EC2 beside calls (../going_wrong.py): dead births. The machines of a launch
end before they run, with a StateReason."""

from test.lab import going_wrong
from test.lab.ec2api.errors import THROTTLED, Refusal


class Faults(going_wrong.Faults):
    def __init__(self):
        super().__init__()
        self.births = []

    def add_birth(self, code, words, count=1):
        self.births.append({"code": code, "words": words, "count": count})

    def clear(self):
        super().clear()
        self.births.clear()

    def birth(self, count):
        """The StateReason of a launch of so many machines, or None where they live."""
        if not self.births:
            return None
        first = self.births[0]
        first["count"] -= 1
        if first["count"] <= 0:
            self.births.pop(0)
        return first["code"], first["words"]


def refusal(fault):
    if fault.get("code") in (None, THROTTLED.code):
        return THROTTLED
    return Refusal(fault["code"], fault.get("words", fault["code"]), fault.get("status", 400))
