# SPDX-License-Identifier: Apache-2.0
"""Verbs against EC2 as the lab plays it, with machines that do not boot, and a bucket, in a network
namespace of their own: stoker refuses endpoints on loopback, which machines could not reach. Needs
root or user namespaces. Call enter() first, in a program of its own."""

import os
import subprocess
import sys

from test import cloud_env

INSIDE = 'STOKER_VERB_LAB'
ADDRESS = '192.0.2.1'  # for documentation alone: nobody else's


def enter():
    cloud_env.enter()
    if INSIDE in os.environ:
        subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
        subprocess.run(['ip', 'address', 'add', f'{ADDRESS}/32', 'dev', 'lo'], check=True)
        return
    os.environ[INSIDE] = '1'
    words = ['unshare', '--net', '--kill-child', '--fork']
    if os.geteuid() != 0:
        words += ['--user', '--map-root-user']
    os.execvp('unshare', [*words, sys.executable, *sys.argv])


class VerbLab:
    """`ec2`, `log`, `keyring`, `front`: see unbooted.py. `world(name)`: who submits."""

    def __enter__(self):
        from test.lab.unbooted import Unbooted
        from test.moto_s3 import MotoS3

        self.below = Unbooted(ADDRESS).__enter__()
        self.s3 = MotoS3(host='0.0.0.0').__enter__()
        self.bucket = self.s3.endpoint.replace('127.0.0.1', ADDRESS)
        self.ec2, self.log, self.front = self.below.ec2, self.below.log, self.below.front
        self.keyring = self.below.keyring
        self.below.profile('stoker')
        self.ec2.settings.boot_delay = 0.01
        self.ec2.settings.stop_delay = 0.01
        return self

    def __exit__(self, *_):
        self.s3.__exit__()
        self.below.__exit__()

    def env(self, keys=None):
        key, secret = keys or self.keyring.own
        return {
            'AWS_ACCESS_KEY_ID': key,
            'AWS_SECRET_ACCESS_KEY': secret,
            'AWS_ENDPOINT_URL': self.below.endpoint,
            'AWS_ENDPOINT_URL_S3': self.bucket,
            'AWS_REGION': 'us-east-1',
        }

    def user(self, name, policy):
        """Keys of somebody who may do what `policy` says."""
        keys = (f'AKIALAB{name.upper():0<13.13}', 'secret-of-' + name)
        self.keyring.known[keys[0]] = (keys[1], None, None)
        self.front.rights.policies[keys[0]] = policy
        return keys

    def world(self, name, keys=None):
        from test.e2e.kit.harness import World
        from test.s3_server import BUCKET

        made = World(name)
        made.env.update(self.env(keys))
        made.stoker('config', 'set', 'store', f's3://{BUCKET}/{name}', check=True)
        made.program('print("x")\n', 'train.py')
        return made

    def machines(self, job=None):
        """Those that live, of all ledgers."""
        with self.ec2.world.lock:
            return [
                each
                for each in self.ec2.world.instances()
                if each.takes_room and (job is None or each.tags.get('stoker-job') == job)
            ]

    def asked(self, since=0):
        """Names of the calls that stoker has made, since the log was so long."""
        return [e['action'] for e in self.log[since:] if 'oto' not in e['agent']]

    def raise_again(self, machine):
        """EC2 tells of it only now: a machine of the same request and index, which lives."""
        machine.move((0, 'running'))
        machine.state_reason = None
        return machine
