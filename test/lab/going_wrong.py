# SPDX-License-Identifier: Apache-2.0
"""What goes wrong because the test has said so. Each fault has a count, and goes when it is used
up.

  error        the call is refused, and has no effect: with what the service makes of the fault
  lost_answer  the call has its effect; the connection is cut before the answer
  lost_request the connection is cut, and there is no effect
  slow         the call is answered after so many seconds"""

import time

WAYS = ("error", "lost_answer", "lost_request", "slow")


class Cut(Exception):
    """The connection ends without an answer."""


class Faults:
    def __init__(self):
        self.waiting = []

    def add(self, action, way, count=1, **more):
        """`action`: the name of a call, or '*'."""
        if way not in WAYS:
            raise ValueError(f"{way} is none of {WAYS}")
        self.waiting.append({"action": action, "way": way, "count": count, **more})

    def clear(self):
        self.waiting.clear()

    def take(self, action):
        for each in self.waiting:
            if each["action"] in ("*", action):
                each["count"] -= 1
                if each["count"] <= 0:
                    self.waiting.remove(each)
                return each
        return None


def before(fault, refusal):
    """Raises what comes before the effect; `refusal` makes a service's own of a fault."""
    if fault is None:
        return
    if fault["way"] == "slow":
        time.sleep(fault["seconds"])
    if fault["way"] == "lost_request":
        raise Cut
    if fault["way"] == "error":
        raise refusal(fault)


def after(fault):
    if fault is not None and fault["way"] == "lost_answer":
        raise Cut
