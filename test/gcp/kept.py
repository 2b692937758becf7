#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""VMs of a job that failed (keep_failed), and `stoker ssh` to them, with VMs that do not boot: this
test says what their nodes would say. Judged by what the lab has and was asked, and by a gcloud of
the test's own, which tells what it was called with. By itself, as only a VM that boots can, one
ends in test/cloud/boots.py gcp kept.

    kept.py [PART…]"""

import json
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.gcp.gce_verb_lab import GceVerbLab, enter

enter()
from test.e2e.kit.harness import Results

GCLOUD = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done >"$EVIDENCE/words"
exit 7
"""
KEPT = ('--keep-failed', '30m')


def fails(lab, world, *words):
    """A job of which the node of rank 0 has reported that its program failed; and its VM."""
    job = world.submit('--infra', 'gcp/us-central1', '--instance-type', 'e2-standard-2', *words,
                       '--', 'false')  # fmt: skip
    machine = lab.machines(job)[0]
    told = {
        'format': 1, 'job': job, 'attempt': 1, 'rank': 0, 'launch': 1, 'seq': 1, 'phase': 'Ended',
        'instance_id': machine.name, 'incarnation': 'test', 'address': '10.128.0.9',
        'end': {'reason': 'UserError', 'exit_code': 3,
                'why': 'the program ended with exit code 3'}, 'end_checked': True,
    }  # fmt: skip
    blob = lab.gcs.client().bucket('stoker-test').blob(f'{world.name}/reports/{job}/1-0.json')
    blob.upload_from_string(json.dumps(told))
    world.wait_for('its end', lambda: world.stoker('show', job).returncode == 0
                   and world.job(job)['state'] == 'Failed')  # fmt: skip
    return job, machine


def test_kept(lab, check):
    with lab.world('kept') as world:
        world.name = 'kept'
        job, machine = fails(lab, world, *KEPT)
        launch = world.job(job)['launches'][0]
        check('in the write that ends the job its launch is closed as kept',
              launch['close_reason'] == 'kept', launch)  # fmt: skip
        shown = world.stoker('show', job).stdout
        check('show says until when, and how to end it',
              'is kept until' in shown and f'stoker cancel {job}' in shown, shown)  # fmt: skip
        told = world.json('gc')['cloud']['things']
        over = [each for each in told if each['id'] == machine.name and each['over']]
        check('gc does not end it', not over and not machine.gone, told)
        done = world.stoker('cancel', job)
        check('cancel ends it, and says so', done.returncode == 0
              and 'kept no longer' in done.stdout, done.stdout + done.stderr)  # fmt: skip
        world.wait_for('it is ended', lambda: world.stoker('show', job).returncode == 0
                       and machine.gone, 100, 0.5)  # fmt: skip
        check('and the job stays as it ended', world.job(job)['state'] == 'Failed')
        plain, machine = fails(lab, world)
        check('without the key nothing is kept',
              world.job(plain)['launches'][0]['close_reason'] == 'done')  # fmt: skip
        world.wait_for('it is ended', lambda: world.stoker('show', plain).returncode == 0
                       and machine.gone, 100, 0.5)  # fmt: skip


def test_over(lab, check):
    """Its time is over and its VM, which hangs, does not end: whoever clears up next ends it."""
    with lab.world('over') as world:
        world.name = 'over'
        job, machine = fails(lab, world, '--keep-failed', '1m')
        check('over: it is kept', not machine.gone
              and world.job(job)['launches'][0]['close_reason'] == 'kept')  # fmt: skip

        def named():
            return [each['over'] for each in world.json('gc', '--dry-run')['cloud']['things']
                    if each['id'] == machine.name]  # fmt: skip

        world.wait_for('its time is over', lambda: named() not in ([], ['']), 120, 2)
        check('over: who only looks ends nothing', not machine.gone)
        world.stoker('gc', check=True)
        world.wait_for('it is ended', lambda: machine.gone, 20)
        check('over: gc ends it', machine.gone)


def test_ssh(lab, check):
    with lab.world('door') as world:
        world.name = 'door'
        job, machine = fails(lab, world, *KEPT)
        since = len(lab.log)
        empty = world.root / 'empty'
        empty.mkdir()
        none = world.stoker('ssh', job, env={'PATH': str(empty)})
        check('without gcloud that is said', none.returncode == 1 and 'gcloud' in none.stderr,
              (none.returncode, none.stderr))  # fmt: skip
        tools = world.root / 'tools'
        tools.mkdir()
        (tools / 'gcloud').write_text(GCLOUD)
        (tools / 'gcloud').chmod(0o755)
        env = {'PATH': f'{tools}:{world.env["PATH"]}', 'EVIDENCE': str(world.evidence)}
        done = world.stoker('ssh', job, '--', 'ls', 'a b', env=env)
        words = (world.evidence / 'words').read_text().splitlines()
        check('gcloud is called with its VM, project and zone, through IAP',
              words[:2] == ['compute', 'ssh'] and words[2].split('@')[-1] == machine.name
              and words[words.index('--project') + 1] == machine.project
              and words[words.index('--zone') + 1] == machine.zone
              and '--tunnel-through-iap' in words, words)  # fmt: skip
        check('with the command', words[-1] == "--command='ls' 'a b'", words)
        check('its exit code is that of gcloud', done.returncode == 7, done.stderr)
        changed = [each for each in lab.asked(since) if each.endswith(('nsert', 'delete'))]
        check('stoker itself changes nothing for that', not changed, changed)
        world.stoker('cancel', job, check=True)
        world.wait_for('it is ended', lambda: world.stoker('show', job).returncode == 0
                       and machine.gone, 100, 0.5)  # fmt: skip
        late = world.stoker('ssh', job, env=env)
        check('once it is not kept any more, that is said', late.returncode == 1
              and 'not there any more' in late.stderr, late.stderr)  # fmt: skip


PARTS = {name[5:]: part for name, part in list(globals().items()) if name.startswith('test_')}


def main(names):
    results = Results()
    with GceVerbLab() as lab:
        for name in names or PARTS:
            results.run(name, PARTS[name], lab, results.check)
            lab.api.forget()
        lab.judge(results.check)
    results.finish()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
