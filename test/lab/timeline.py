# SPDX-License-Identifier: Apache-2.0
"""How machines of a cloud change: the state of one is a list of moments, read at the time of
asking; and a clock for what comes later."""

import threading
import time


class Timeline:
    """`moments` are (time, state), the newest last. Nothing here moves by itself."""

    def __init__(self, first):
        self.born = time.time()
        self.moments = [(self.born, first)]

    def state(self, at=None):
        """The state at that time, as far as is known now."""
        at = time.time() if at is None else at
        seen = self.moments[0][1]
        for moment, state in self.moments:
            if moment <= at:
                seen = state
        return seen

    def move(self, *steps):
        """`steps`: (seconds from now, state). What was to come otherwise, does not."""
        now = time.time()
        self.moments = [each for each in self.moments if each[0] <= now]
        self.moments += [(now + after, state) for after, state in steps]

    def since(self):
        now = time.time()
        return max(moment for moment, _ in self.moments if moment <= now)


class Clock:
    """What is due runs under the lock."""

    def __init__(self, lock):
        self.lock = lock
        self.timers = []

    def after(self, seconds, call, *arguments):
        def run():
            with self.lock():
                call(*arguments)

        timer = threading.Timer(max(seconds, 0), run)
        timer.daemon = True
        self.timers = [each for each in self.timers if each.is_alive()]
        self.timers.append(timer)
        timer.start()
        return timer

    def end(self):
        for each in self.timers:
            each.cancel()
