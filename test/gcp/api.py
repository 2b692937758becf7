#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program against Compute Engine as the lab plays it (test/lab), without machines that boot:
every request and every answer is held against Google's discovery document.
api.py PROGRAM [ARG…]

The program finds the API by gcloud's and Google's own variables, and gives orders to the lab at
$STOKER_TEST_CONTROL: see Orders. It may not ask for anything that the document does not
know."""

import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.lab.gceapi import lifecycle
from test.lab.gceapi.service import CHANGES
from test.lab.unbooted_gce import UnbootedGce


class Orders:
    """Each is GET /NAME?ARGUMENT=VALUE. Methods are named as in the document, without "compute.":
    instances.insert. Machines are named by their names."""

    def __init__(self, lab):
        self.lab = lab
        self.api = lab.api
        self.since = 0
        self.usual = dict(vars(self.api.settings))

    def __call__(self, handler):
        split = urllib.parse.urlsplit(handler.path)
        asked = dict(urllib.parse.parse_qsl(split.query, keep_blank_values=True))
        handler.body()
        try:
            with self.api.world.lock:
                told = getattr(self, split.path[1:])(**asked)
            handler.out(200, told or 'ok')
        except Exception as error:  # noqa: BLE001  # the test is told
            handler.out(500, f'{type(error).__name__}: {error}')

    def reset(self):
        """No machine, no fault, plenty of room; settings as at the beginning."""
        self.since = len(self.lab.log)
        vars(self.api.settings).update(self.usual)
        self.api.forget()

    def setting(self, name, value):
        """One of service.SETTINGS; the value as JSON."""
        if name not in self.usual:
            raise KeyError(name)
        setattr(self.api.settings, name, json.loads(value))

    def refuse(self, method, status, code, words='so it is', count='1000'):
        """An error of HTTP. code: its reason, as quotaExceeded; status=0: no more."""
        self.api.faults.clear()
        if int(status):
            self.api.faults.add(method, 'error', int(count), status=status, code=code, words=words)

    def fault(self, method, way, count='1', seconds='0'):
        """way: lost_answer, lost_request, slow."""
        self.api.faults.add(method, way, int(count), seconds=float(seconds))

    def doom(self, code, words='so it is', count='1', status='503'):
        """Operations of launches and starts that end with this error; count=0: no more."""
        self.api.births.clear()
        if int(count):
            self.api.births.add(code, words, int(count), int(status))

    def capacity(self, slots, zone='*', type='*', market='*'):
        """slots= (empty): there is room again."""
        self.api.capacity.set(int(slots) if slots else None, zone, type, market)

    def quota(self, metric, limit):
        self.api.capacity.quotas[metric] = float(limit)

    def silent(self, zones=''):
        """These do not answer; none: all do."""
        self.api.silent_zones = {each for each in zones.split(',') if each}

    def deny(self, permissions=''):
        """Nobody has them; none: all have all."""
        self.api.denied = {each for each in permissions.split(',') if each}

    def revoke(self):
        """All tokens are bad from now on."""
        self.lab.identity.revoke_all()

    def preempt(self, name, lead=''):
        """lead: seconds of notice before the power button; 0: without any; none: its own."""
        lifecycle.preempt(self.api, self.api.world.named(name), float(lead) if lead else None)

    def host_error(self, name):
        lifecycle.host_error(self.api, self.api.world.named(name))

    def guest_off(self, name):
        """As if it had powered off by itself."""
        lifecycle.guest_off(self.api, self.api.world.named(name))

    def stop(self, name):
        """By hand, as a user of the project."""
        self.by_hand(lifecycle.stop, name)

    def start(self, name):
        self.by_hand(lifecycle.start, name)

    def delete(self, name):
        self.by_hand(lifecycle.delete, name)

    def later(self, order, ms, **asked):
        """The same order, so many milliseconds from now."""

        def run():
            with self.api.world.lock:
                getattr(self, order)(**asked)

        timer = threading.Timer(int(ms) / 1000, run)
        timer.daemon = True
        timer.start()

    def by_hand(self, call, name):
        found = self.api.world.named(name)
        params = {'project': found.project, 'zone': found.zone, 'instance': name}
        somebody = type('Somebody', (), {'email': 'somebody@example.org'})
        call(self.api, params, None, somebody)

    def metadata(self, name):
        """HOST:PORT of its metadata server, which is there until the end."""
        return self.lab.metadata(name)

    def made(self):
        """The changes that were asked for since the reset, by name."""
        made = [e['method'] for e in self.lab.log[self.since :] if e.get('method') in CHANGES]
        return ' '.join(made) or 'nothing'

    def asked(self):
        """All requests since the reset, as JSON."""
        kept = ('method', 'verb', 'path', 'params', 'query', 'body', 'status', 'error', 'email',
                'permissions', 'strange', 'time')  # fmt: skip
        told = [{k: e[k] for k in kept if k in e} for e in self.lab.log[self.since :]]
        return json.dumps(told)

    def instances(self):
        """Names and states of all there are."""
        alive = [each for each in self.api.world.instances if not each.gone]
        return '\n'.join(f'{each.name} {each.zone} {each.state()}' for each in alive) or 'none'

    def disks(self):
        return '\n'.join(f'{each.name} {each.zone}' for each in self.api.world.disks) or 'none'


def main(argv):
    with UnbootedGce() as lab:
        from test.lab.web import Server

        control = Server(Orders(lab))
        env = {'PATH': os.environ['PATH'], 'HOME': '/nonexistent', **lab.env(),
               'STOKER_TEST_CONTROL': control.url}  # fmt: skip
        ran = subprocess.run(argv, env=env, stdout=subprocess.PIPE, text=True)
        control.end()
        print(ran.stdout, end='')
        strange, bugs = lab.front.strange(), lab.bugs
        asked, replies = len(lab.log), lab.front.replies
    for each in strange:
        print(f'FAIL the document does not know: {each}')
    passed = re.search(r'\[  PASSED  \] (\d+) tests?', ran.stdout)
    print(f'api: {passed[1] if passed else 0} cases hold; {asked} requests and {replies} answers '
          'are valid by the discovery document')  # fmt: skip
    return ran.returncode or len(bugs) or len(strange) or not passed


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
