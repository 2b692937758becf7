# SPDX-License-Identifier: Apache-2.0
"""Verbs against Compute Engine as the lab plays it, with machines that do not boot, and a bucket,
in a network namespace of their own (test/ec2/verb_lab.py). Call enter() first, in a program of its
own."""


from test.ec2.verb_lab import ADDRESS, enter  # noqa: F401


class GceVerbLab:
    """`api`, `log`, `front`, `identity`: see unbooted_gce.py. `world(name)`: who submits."""

    def __enter__(self):
        from test.fake_gcs import FakeGcs
        from test.lab.unbooted_gce import UnbootedGce

        self.below = UnbootedGce(ADDRESS).__enter__()
        self.gcs = FakeGcs(ADDRESS).__enter__()
        self.api, self.log, self.front = self.below.api, self.below.log, self.below.front
        self.identity = self.below.identity
        return self

    def __exit__(self, *_):
        self.below.__exit__()
        self.gcs.__exit__()

    def world(self, name):
        from test.e2e.kit.harness import World
        from test.fake_gcs import BUCKET

        made = World(name)
        made.env.update({**self.below.env(), **self.gcs.env()})
        made.stoker('config', 'set', 'store', f'gs://{BUCKET}/{name}', check=True)
        made.program('print("x")\n', 'train.py')
        return made

    def machines(self, job=None):
        """Those that live and for which there was room, of all ledgers."""
        with self.api.world.lock:
            return [each for each in self.api.world.instances
                    if each.admitted and not each.gone
                    and (job is None or each.labels.get('stoker-job') == job)]  # fmt: skip

    def asked(self, since=0):
        """Names of the calls since the log was so long."""
        return [each['method'] for each in self.log[since:] if 'method' in each]

    def judge(self, check):
        check('every request is in the discovery document', not self.front.strange(),
              self.front.strange())  # fmt: skip
        check(f'{self.front.replies} answers are too, and the lab has no bug', not self.front.bugs,
              self.front.bugs)  # fmt: skip
