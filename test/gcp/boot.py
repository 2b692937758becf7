#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a VM is told at its start, judged by those who will read it: a shell, systemd, shellcheck.
Its scripts are run too, with the machine's own programs replaced; what they ask of the bucket and
of Compute Engine is held against Google's discovery documents: boot.py DRIVER"""

import hashlib
import http.server
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.google import api_rules, storage_rules
from test.lab.gceapi.discovery import discovery

LIMIT = 86400


def run(*argv, **more):
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **more
    )  # fmt: skip


def read(path):
    if not os.path.exists(path):
        return ''
    with open(path, encoding='utf-8') as source:
        return source.read()


class Root:
    """The machine: a folder that stands for its paths, and programs in front of its own."""

    def __init__(self, path, script):
        self.path = path
        for name in ('units', 'bin'):
            os.makedirs(f'{path}/{name}')
        self.script = script
        for theirs, ours in (('/opt/stoker', f'{path}/opt/stoker'),
                             ('/var/lib/stoker', f'{path}/var/lib/stoker'),
                             ('/etc/systemd/system/', f'{path}/units/')):  # fmt: skip
            self.script = self.script.replace(theirs, ours)
        self.fake('systemctl', f'echo "$@" >>{path}/systemctl')

    def fake(self, name, body):
        with open(f'{self.path}/bin/{name}', 'w', encoding='utf-8') as out:
            out.write(f'#!/bin/sh\n{body}\n')
        os.chmod(f'{self.path}/bin/{name}', 0o755)

    def sh(self, *argv, **more):
        env = {'PATH': f'{self.path}/bin:/usr/sbin:/usr/bin:/sbin:/bin', **more}
        return run('/bin/sh', *argv, env=env)

    def boot(self):
        return self.sh('-c', self.script)


class Cloud(http.server.BaseHTTPRequestHandler):
    """The metadata server, a bucket and Compute Engine in one, which answer only whom they
    should."""

    blob = b''
    period = 0
    sick = 0  # so many answers of 503 come first
    seen = []
    held = 0
    wrong = []  # of what was asked, by Google's documents
    may_delete = True

    def log_message(self, *_):
        pass

    def answer(self, status, body=b''):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def allowed(self):
        return self.headers.get('Authorization') == 'Bearer ya29.TO/KEN-_'

    def note(self, wrong):
        Cloud.seen.append((self.command, self.path, self.allowed()))
        Cloud.held += 1
        Cloud.wrong += [(self.command, self.path, each) for each in wrong]

    def do_GET(self):
        if not self.path.startswith('/computeMetadata/v1/'):
            self.note(storage_rules.Call(self.command, self.path, self.headers.items()).wrong)
            there = self.allowed() and f'-{Cloud.period:05d}?alt=media' in self.path
            return self.answer(200 if there else 404, Cloud.blob if there else b'no')
        if self.headers.get('Metadata-Flavor') != 'Google':
            return self.answer(403)
        if Cloud.sick > 0:
            Cloud.sick -= 1
            return self.answer(503)
        key = self.path.removeprefix('/computeMetadata/v1/')
        values = {
            'instance/service-accounts/default/token':
                b'{"access_token":"ya29.TO/KEN-_","expires_in":3599,"token_type":"Bearer"}',
            'instance/name': b'stoker-abcd1234-0123456789abcdef-3',
            'instance/zone': b'projects/123456/zones/us-central1-a',
        }  # fmt: skip
        return self.answer(200 if key in values else 404, values.get(key, b''))

    def do_DELETE(self):
        compute = discovery('compute.v1')
        path, _, query = self.path.partition('?')
        method, values = compute.find(self.command, path)
        self.note(['no such request'] if method is None else [
            *api_rules.of_path(compute, method, values),
            *api_rules.of_query(compute, method, query)])  # fmt: skip
        self.answer(200 if Cloud.may_delete and self.allowed() else 403, b'{}')


class Checks:
    def __init__(self):
        self.failed = 0

    def expect(self, what, holds, found=''):
        print(('ok   ' if holds else 'FAIL ') + what + ('' if holds else f': {found}'))
        self.failed += not holds


def judged(checks, script):
    checks.expect('less than 256 KB', len(script) < 256 * 1024, len(script))
    done = run('sh', '-n', '-c', script)
    checks.expect('a shell takes it', done.returncode == 0, done.stderr)
    for secret in ('ya29', 'Bearer ', 'private_key'):
        lines = [line for line in script.split('\n') if secret in line and r'\1' not in line]
        checks.expect(f'no {secret.strip()}', not lines, lines)


def armed(checks, root):
    before = int(time.time())
    done = root.boot()
    checks.expect('it arms', done.returncode == 0, done.stderr)
    deadline = f'{root.path}/var/lib/stoker/deadline'
    left = int(read(deadline)) - before
    checks.expect('the lease is the limit', LIMIT <= left <= LIMIT + 60, left)
    told = read(f'{root.path}/systemctl')
    checks.expect('units are enabled', 'enable stoker-guard.service stoker-agent' in told, told)
    with open(deadline, 'w', encoding='utf-8') as out:
        out.write('1999999999\n')
    root.boot()
    checks.expect('another boot moves no lease', read(deadline) == '1999999999\n', read(deadline))
    launch = read(f'{root.path}/var/lib/stoker/node/gce.json')
    checks.expect('it knows its request', '"job":"abcd1234"' in launch, launch)


def linted(checks, root):
    units = [f'{root.path}/units/{name}' for name in sorted(os.listdir(f'{root.path}/units'))]
    done = run('systemd-analyze', 'verify', '--man=no', *units)
    said = [line for line in done.stderr.split('\n') if 'stoker' in line]
    checks.expect('systemd takes its units', done.returncode == 0 and not said, done.stderr)
    for name in ('guard', 'run', 'off', 'end', 'metadata'):
        path = f'{root.path}/opt/stoker/{name}'
        done = run('shellcheck', '-s', 'sh', '-S', 'warning', '-e', 'SC1091', path)
        checks.expect(f'shellcheck of {name}', done.returncode == 0, done.stdout)


def served():
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Cloud)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def set_up(root, url, digest):
    """The addresses of this test instead of Google's."""
    env = read(f'{root.path}/opt/stoker/env')
    env = re.sub("BASE='[^\n]*", f"BASE='{url}/storage/v1/b/bucket/o/blobs%2F'", env)
    env = re.sub("DIGEST='[^\n]*", f"DIGEST='{digest}'", env)
    env = re.sub("PERIOD='[^\n]*", f"PERIOD='{Cloud.period - 1}'", env)
    env = re.sub("COMPUTE_ENDPOINT='[^\n]*", f"COMPUTE_ENDPOINT='{url}/compute/v1/'", env)
    with open(f'{root.path}/opt/stoker/env', 'w', encoding='utf-8') as out:
        out.write(env)


def fetched(checks, root, server):
    url = f'http://127.0.0.1:{server.server_port}'
    program = f'#!/bin/sh\nenv >{root.path}/agent-env\necho "$@" >{root.path}/agent\n'
    Cloud.blob, Cloud.seen = program.encode(), []
    Cloud.period = int(time.time()) // 1296000
    Cloud.sick = 1
    set_up(root, url, hashlib.sha256(Cloud.blob).hexdigest())
    host = {'GCE_METADATA_HOST': f'127.0.0.1:{server.server_port}'}
    script = read(f'{root.path}/opt/stoker/run').replace('-ge 30', '-ge 2')
    root.fake('sleep', ':')
    done = root.sh('-c', script, **host)
    agent = f'{root.path}/agent'
    checks.expect('the agent starts', read(agent).startswith('__agent '), done.stdout)
    got = [each for each in Cloud.seen if f'-{Cloud.period:05d}?' in each[1]]
    checks.expect("  with the VM's token", got and got[-1][2], Cloud.seen)
    env = read(f'{root.path}/agent-env')
    checks.expect('  and its addresses', f'OVERRIDES_COMPUTE={url}/compute/v1/' in env, env)
    checks.expect('  no token in it', 'ya29' not in env + done.stdout, env)
    for path in (agent, f'{root.path}/opt/stoker/stoker', f'{root.path}/systemctl'):
        os.unlink(path)
    # Another content than its name says is never run, and the VM deletes itself.
    Cloud.blob, Cloud.seen = b'#!/bin/sh\necho evil >' + agent.encode(), []
    done = root.sh('-c', script, **host)
    checks.expect('what is damaged is not run', not os.path.exists(agent))
    checks.expect('  it says so', 'the binary cannot be fetched from' in done.stdout, done.stdout)
    gone = [each for each in Cloud.seen if each[0] == 'DELETE']
    path = '/compute/v1/projects/my-project/zones/us-central1-a/instances/'
    path += 'stoker-abcd1234-0123456789abcdef-3'
    checks.expect('  the VM deletes itself', gone == [('DELETE', path, True)], gone)
    off = read(f'{root.path}/systemctl')
    checks.expect('  and powers off', off.startswith('poweroff'), off)


def ended(checks, root, server):
    """An agent that ended well takes its VM along; one that may not delete it only powers off."""
    host = {'GCE_METADATA_HOST': f'127.0.0.1:{server.server_port}'}
    line = re.search(r"ExecStopPost=/bin/sh -c '(.*)'",
                     read(f'{root.path}/units/stoker-agent.service'))[1].replace('$$', '$')
    for code, status, ends in (('exited', '0', True), ('killed', 'KILL', False),
                               ('exited', '1', False)):  # fmt: skip
        Cloud.seen = []
        open(f'{root.path}/systemctl', 'w', encoding='utf-8').close()
        root.sh('-c', line, EXIT_CODE=code, EXIT_STATUS=status, **host)
        off = read(f'{root.path}/systemctl').startswith('poweroff')
        told = [each[0] for each in Cloud.seen]
        checks.expect(f'after {code} {status}', off == ends and (told == ['DELETE']) == ends, told)
    Cloud.may_delete = False
    open(f'{root.path}/systemctl', 'w', encoding='utf-8').close()
    done = root.sh('-c', line, EXIT_CODE='exited', EXIT_STATUS='0', **host)
    off = read(f'{root.path}/systemctl')
    checks.expect('one that may not says so', 'lacks compute.instances.delete' in done.stdout,
                  done.stdout)  # fmt: skip
    checks.expect('  and powers off', off.startswith('poweroff'), off)


def main(argv):
    checks = Checks()
    script = run(argv[1]).stdout
    server = served()
    with tempfile.TemporaryDirectory(prefix='stoker-gce-boot') as folder:
        root = Root(folder, script)
        judged(checks, script)
        armed(checks, root)
        linted(checks, root)
        fetched(checks, root, server)
        ended(checks, root, server)
    server.shutdown()
    checks.expect(f"all {Cloud.held} requests are in Google's documents",
                  Cloud.held and not Cloud.wrong, Cloud.wrong)  # fmt: skip
    print(f'{checks.failed} failed')
    return 1 if checks.failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
