# SPDX-License-Identifier: Apache-2.0
"""What goes wrong because the test has said so. Each fault has a count, and goes when it is used
up.

  error        the call is refused, and has no effect: code, words, status
  lost_answer  the call has its effect; the connection is cut before the answer
  lost_request the connection is cut, and there is no effect
  slow         the call is answered after so many seconds

And dead births: the machines of a launch end before they run, with a StateReason."""

import time

from ec2api.errors import THROTTLED, Cut, Refusal

WAYS = ('error', 'lost_answer', 'lost_request', 'slow')


class Faults:
    def __init__(self):
        self.waiting = []
        self.births = []

    def add(self, action, way, count=1, **more):
        """`action`: the name of a call, or '*'."""
        if way not in WAYS:
            raise ValueError(f'{way} is none of {WAYS}')
        self.waiting.append({'action': action, 'way': way, 'count': count, **more})

    def add_birth(self, code, words, count=1):
        self.births.append({'code': code, 'words': words, 'count': count})

    def clear(self):
        self.waiting.clear()
        self.births.clear()

    def birth(self, count):
        """The StateReason of a launch of so many machines, or None where they live."""
        if not self.births:
            return None
        first = self.births[0]
        first['count'] -= 1
        if first['count'] <= 0:
            self.births.pop(0)
        return first['code'], first['words']

    def take(self, action):
        for each in self.waiting:
            if each['action'] in ('*', action):
                each['count'] -= 1
                if each['count'] <= 0:
                    self.waiting.remove(each)
                return each
        return None


def before(fault):
    """Raises what comes before the effect."""
    if fault is None:
        return
    if fault['way'] == 'slow':
        time.sleep(fault['seconds'])
    if fault['way'] == 'lost_request':
        raise Cut
    if fault['way'] == 'error':
        if fault.get('code') in (None, THROTTLED.code):
            raise THROTTLED
        raise Refusal(fault['code'], fault.get('words', fault['code']), fault.get('status', 400))


def after(fault):
    if fault is not None and fault['way'] == 'lost_answer':
        raise Cut
