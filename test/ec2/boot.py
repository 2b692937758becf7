#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an instance is told at its start, judged by those who will read it: cloud-init, systemd, a
shell, Python. Its scripts are run too, with the machine's own programs replaced: boot.py DRIVER"""

import hashlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import yaml

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.google.aws_request import signed_by

LIMIT = 86400
SECRETS = {'ASIAX': 'sec/ret+'}  # of the role's keys


def run(*argv, **more):
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **more
    )  # fmt: skip


def files_of(user_data, root):
    """Carries out the script's first half with its paths below `root`; no service is started."""
    script = yaml.safe_load(user_data)['bootcmd'][0][2]
    script = script.replace('/opt/stoker', f'{root}/opt/stoker')
    script = script.replace('/var/lib/stoker', f'{root}/var/lib/stoker')
    script = script.replace('/etc/systemd/system/', f'{root}/units/')
    os.makedirs(f'{root}/units')
    os.makedirs(f'{root}/bin')
    fake(root, 'systemctl', f'echo "$@" >>{root}/systemctl')
    return run('/bin/sh', '-c', script, env=with_path(root))


def fake(root, name, body):
    with open(f'{root}/bin/{name}', 'w', encoding='utf-8') as out:
        out.write(f'#!/bin/sh\n{body}\n')
    os.chmod(f'{root}/bin/{name}', 0o755)


def with_path(root, **more):
    return {'PATH': f'{root}/bin:/usr/sbin:/usr/bin:/sbin:/bin', **more}


class Cloud(http.server.BaseHTTPRequestHandler):
    """The metadata service, a bucket and those who give tokens for one of Google's, in one, which
    answer only whom they should."""

    blob = b''
    period = 0
    seen = []
    exchanged = []  # (form, what its subject is)
    acted = []  # (path, headers, body)
    refuses = False  # to exchange

    def log_message(self, *_):
        pass

    def answer(self, status, body=b''):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        there = self.path == '/latest/api/token'
        self.answer(200 if there else 404, b'TOKEN==')

    def do_GET(self):
        if self.path.startswith('/latest/'):
            if self.headers.get('X-aws-ec2-metadata-token') != 'TOKEN==':
                return self.answer(401)
            if self.path.endswith('/security-credentials/'):
                return self.answer(200, b'the-role')
            keys = '{\n "Code" : "Success",\n "AccessKeyId" : "ASIAX",\n'
            keys += ' "SecretAccessKey" : "sec/ret+",\n "Token" : "to/ken==",\n'
            keys += ' "Expiration" : "x"\n}'
            return self.answer(200, keys.encode())
        Cloud.seen.append((self.path, dict(self.headers)))
        if not self.path.removesuffix('?alt=media').endswith(f'-{Cloud.period:05d}'):
            return self.answer(404)
        return self.answer(200, Cloud.blob)

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length'])).decode()
        if self.path == '/v1/token':
            form = dict(urllib.parse.parse_qsl(body))
            Cloud.exchanged.append((form, signed_by(form['subject_token'], SECRETS)))
            if Cloud.refuses:
                return self.answer(403, b'{\n "error": "unauthorized_client",\n'
                                   b' "error_description": "not of the pool"\n}')  # fmt: skip
            return self.answer(200, b'{"access_token": "FEDERATED", "expires_in": 3599}')
        Cloud.acted.append((self.path, dict(self.headers), json.loads(body)))
        self.answer(200, b'{"accessToken": "ACTING", "expireTime": "2037-01-01T00:00:00Z"}')


class Checks:
    def __init__(self):
        self.failed = 0

    def expect(self, what, holds, found=''):
        print(('ok   ' if holds else 'FAIL ') + what + ('' if holds else f': {found}'))
        self.failed += not holds


def judged(checks, user_data, folder):
    path = f'{folder}/user-data'
    with open(path, 'w', encoding='utf-8') as out:
        out.write(user_data)
    checks.expect('less than 16 KB', len(user_data) < 16 * 1024, len(user_data))
    done = run('cloud-init', 'schema', '--config-file', path)
    checks.expect('cloud-init takes it', 'Valid' in done.stdout, done.stdout + done.stderr)
    with open(path, 'a', encoding='utf-8') as out:
        out.write('bootcmd: 7\n')
    done = run('cloud-init', 'schema', '--config-file', path)
    checks.expect('  and would say if not', done.returncode != 0, done.stdout)
    for secret in ('AWS_SECRET', 'Signature=', 'X-Amz-'):
        there = [line for line in user_data.split('\n') if secret in line and '%s' not in line]
        checks.expect(f'no {secret}', not there, there)


def units(checks, root):
    there = [f'{root}/units/{name}' for name in sorted(os.listdir(f'{root}/units'))]
    checks.expect('two units', len(there) == 2, there)
    done = run('systemd-analyze', 'verify', '--man=no', *there)
    said = [line for line in done.stderr.split('\n') if 'stoker' in line]
    checks.expect('systemd takes them', done.returncode == 0 and not said, done.stderr)
    with open(there[0], encoding='utf-8') as source:
        broken = source.read().replace('ExecStart=', 'ExecStrat=')
    with open(f'{root}/units/broken.service', 'w', encoding='utf-8') as out:
        out.write(broken)
    done = run('systemd-analyze', 'verify', '--man=no', f'{root}/units/broken.service')
    checks.expect('  and would say if not', 'ExecStrat' in done.stderr, done.stderr)
    for name in ('guard', 'run'):
        done = run('shellcheck', '-s', 'sh', '-S', 'warning', f'{root}/opt/stoker/{name}')
        checks.expect(f'shellcheck of {name}', done.returncode == 0, done.stdout)
    done = run('python3', '-m', 'py_compile', f'{root}/opt/stoker/fetch.py')
    checks.expect('fetch.py compiles', done.returncode == 0, done.stderr)


def after_the_agent(checks, root):
    """The machine ends with an agent that ended well, and not with one that died."""
    with open(f'{root}/units/stoker-agent.service', encoding='utf-8') as source:
        line = re.search(r"ExecStopPost=/bin/sh -c '(.*)'", source.read())[1].replace('$$', '$')
    for code, status, ends in (('exited', '0', True), ('killed', 'KILL', False),
                               ('exited', '1', False), ('dumped', 'SEGV', False)):  # fmt: skip
        open(f'{root}/systemctl', 'w', encoding='utf-8').close()
        run('/bin/sh', '-c', line, env=with_path(root, EXIT_CODE=code, EXIT_STATUS=status))
        told = open(f'{root}/systemctl', encoding='utf-8').read()
        checks.expect(f'after {code} {status}', told.startswith('poweroff') == ends, told)


def armed(checks, user_data, root):
    before = int(time.time())
    done = files_of(user_data, root)
    checks.expect('it arms', done.returncode == 0, done.stderr)
    deadline = open(f'{root}/var/lib/stoker/deadline', encoding='utf-8').read()
    left = int(deadline) - before
    checks.expect('the lease is the limit', LIMIT <= left <= LIMIT + 60, left)
    told = open(f'{root}/systemctl', encoding='utf-8').read()
    checks.expect('units are enabled', 'enable stoker-guard.service stoker-agent' in told, told)
    checks.expect('and started', 'start --no-block stoker-guard' in told, told)
    with open(f'{root}/var/lib/stoker/deadline', 'w', encoding='utf-8') as out:
        out.write('1999999999\n')
    script = yaml.safe_load(user_data)['bootcmd'][0][2]
    script = script.replace('/opt/stoker', f'{root}/opt/stoker')
    script = script.replace('/var/lib/stoker', f'{root}/var/lib/stoker')
    script = script.replace('/etc/systemd/system/', f'{root}/units/')
    run('/bin/sh', '-c', script, env=with_path(root))
    deadline = open(f'{root}/var/lib/stoker/deadline', encoding='utf-8').read()
    checks.expect('another boot moves no lease', deadline == '1999999999\n', deadline)


def guarded(checks, root):
    """The end of the lease, with a sleep that takes no time and a power that is a file."""
    off = f'{root}/off'
    fake(root, 'systemctl', f'echo "$@" >>{off}; kill $PPID')
    fake(root, 'sleep', f'echo >>{root}/slept; [ "$(wc -l <{root}/slept)" -lt 50 ] || kill $PPID')
    deadline = f'{root}/var/lib/stoker/deadline'

    def until_off(text):
        for path in (off, f'{root}/slept'):
            if os.path.exists(path):
                os.unlink(path)
        with open(deadline, 'w', encoding='utf-8') as out:
            out.write(text)
        run('/bin/sh', f'{root}/opt/stoker/guard', env=with_path(root))
        return os.path.exists(off)

    checks.expect('a lease in the past ends it', until_off(f'{int(time.time()) - 1}\n'))
    checks.expect('one in the future does not', not until_off(f'{int(time.time()) + 900}\n'))
    checks.expect('nor one that cannot be read', not until_off('x\n'))
    # The clock goes back by years: what counts is the time since boot.
    fake(root, 'date', f'[ -s {root}/slept ] && echo 1000000000 || /bin/date +%s')
    fake(root, 'sleep', f'echo >>{root}/slept; [ "$(wc -l <{root}/slept)" -lt 400 ] || kill $PPID; '
         '/bin/sleep 0.01')  # fmt: skip
    checks.expect('a clock that goes back moves nothing', until_off(f'{int(time.time()) + 2}\n'))
    os.unlink(f'{root}/bin/date')
    os.unlink(f'{root}/bin/sleep')
    os.unlink(off)


def served():
    """The cloud on loopback: its server and its URL."""
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Cloud)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f'http://127.0.0.1:{server.server_port}'


def script_of(root, url):
    """What fetches the binary, from there; the newest copy is of a later period."""
    program = f'#!/bin/sh\nenv >{root}/agent-env\necho "$@" >{root}/agent\n'
    Cloud.blob, Cloud.seen = program.encode(), []
    Cloud.period = int(time.time()) // 1296000
    digest = hashlib.sha256(Cloud.blob).hexdigest()
    env_file = f'{root}/opt/stoker/env'
    with open(env_file, encoding='utf-8') as source:
        env = source.read()
    env = re.sub("BASE='[^\n]*", f"BASE='{url}/bucket/blobs/'", env)
    env = re.sub("DIGEST='[^\n]*", f"DIGEST='{digest}'", env)
    env = re.sub("PERIOD='[^\n]*", f"PERIOD='{Cloud.period - 1}'", env)
    env = env.replace('${IMDS:-http://169.254.169.254}', url)
    with open(f'{root}/env', 'w', encoding='utf-8') as out:
        out.write(env)
    with open(f'{root}/opt/stoker/run', encoding='utf-8') as source:
        script = source.read().replace(f'. {env_file}', f'. {root}/env')
    fake(root, 'systemctl', f'echo "$@" >>{root}/off')
    fake(root, 'sleep', ':')
    return script.replace('-ge 30', '-ge 2')


def fetched(checks, root, how):
    """The binary, by `how`."""
    server, url = served()
    script = script_of(root, url)
    if how == 'python':
        fake(root, 'curl', 'exit 2')
    done = run('/bin/sh', '-c', script, env=with_path(root))
    agent = f'{root}/agent'
    ran = os.path.exists(agent) and open(agent, encoding='utf-8').read()
    checks.expect(f'{how}: the agent starts', ran and ran.startswith('__agent '), done.stdout)
    blob = [head for path, head in Cloud.seen if path.endswith(f'-{Cloud.period:05d}')]
    signed = blob and blob[-1].get('Authorization', '')
    checks.expect('  signed', signed and 'Credential=ASIAX/' in signed, signed)
    checks.expect('  with the session', signed and 'x-amz-security-token' in signed, signed)
    os.unlink(agent)
    os.unlink(f'{root}/opt/stoker/stoker')
    # Another content than its name says is never run.
    Cloud.blob = b'#!/bin/sh\necho evil >' + agent.encode()
    run('/bin/sh', '-c', script, env=with_path(root))
    checks.expect('  what is damaged is not run', not os.path.exists(agent))
    off = open(f'{root}/off', encoding='utf-8').read()
    checks.expect('  and the machine ends', off == 'poweroff\n', off)
    os.unlink(f'{root}/off')
    server.shutdown()


def fetched_from_google(checks, root):
    """The binary, out of a bucket of Google's, which knows the instance's role."""
    server, url = served()
    script = script_of(root, url)
    path = f'{root}/opt/stoker/google.json'
    with open(path, encoding='utf-8') as source:
        told = source.read()
    google = json.loads(told)
    hidden = [word for word in told.split('"') if 'secret' in word.lower() or 'key' in word.lower()]
    checks.expect('google.json has no secret', not hidden, hidden)
    for name in ('token_url', 'service_account_impersonation_url'):
        there = urllib.parse.urlsplit(google[name])
        checks.expect(f'  and {name} is of Google', there.scheme == 'https'
                      and there.netloc.endswith('.googleapis.com'), google[name])  # fmt: skip
        google[name] = url + there.path
    with open(path, 'w', encoding='utf-8') as out:
        json.dump(google, out)
    done = run('/bin/sh', '-c', script, env=with_path(root))
    agent = f'{root}/agent'
    ran = os.path.exists(agent) and open(agent, encoding='utf-8').read()
    checks.expect('the agent starts', ran and ran.startswith('__agent '), done.stdout)
    form, by = Cloud.exchanged[-1]
    checks.expect('what is exchanged is signed by the role', by['good'] and by['by'] ==
                  ('ASIAX', 'us-east-1', 'sts', 'to/ken=='), by)  # fmt: skip
    checks.expect('  and is for this provider alone', by['for'] == form['audience'] ==
                  '//iam.googleapis.com/projects/1234567890/locations/global/workloadIdentityPools/'
                  'stoker-pool/providers/aws', (by, form['audience']))  # fmt: skip
    checks.expect('  and asks who one is', by['request'] == (
        'POST', 'https://sts.us-east-1.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15',
        'sts.us-east-1.amazonaws.com'), by)  # fmt: skip
    path, headers, body = Cloud.acted[-1]
    checks.expect('it acts as the account that it is told', path.endswith(
        '/stoker@a-project.iam.gserviceaccount.com:generateAccessToken')
        and headers['Authorization'] == 'Bearer FEDERATED'
        and body['scope'][0].endswith('/devstorage.read_write'), (path, body))  # fmt: skip
    carried = {head.get('Authorization') for _, head in Cloud.seen}
    checks.expect('the bucket is asked with its token', carried == {'Bearer ACTING'}, carried)
    with open(f'{root}/agent-env', encoding='utf-8') as source:
        env = dict(line.split('=', 1) for line in source.read().split('\n') if '=' in line)
    goes_by = [env.get(name) for name in ('GOOGLE_APPLICATION_CREDENTIALS', 'AWS_REGION')]
    checks.expect('the agent goes by the same file',
                  goes_by == [f'{root}/opt/stoker/google.json', 'us-east-1'], goes_by)  # fmt: skip
    os.unlink(agent)
    os.unlink(f'{root}/opt/stoker/stoker')
    Cloud.refuses = True
    done = run('/bin/sh', '-c', script, env=with_path(root))
    checks.expect('who is not known is told so', not os.path.exists(agent) and
                  'answered 403' in done.stdout and 'not of the pool' in done.stdout, done.stdout)
    server.shutdown()


def of_google(checks, driver):
    user_data = run(driver, "gs://bucket/it's a prefix").stdout
    with tempfile.TemporaryDirectory(prefix='stoker-ec2-boot') as root:
        judged(checks, user_data, root)
        armed(checks, user_data, root)
        units(checks, root)
        base = re.search("BASE='([^\n]*)'", user_data)[1]
        checks.expect('it asks Google itself', base == 'https://storage.googleapis.com/storage/v1'
                      '/b/bucket/o/it%27s%20a%20prefix%2Fblobs%2F', base)  # fmt: skip
        fetched_from_google(checks, root)


def main(argv):
    checks = Checks()
    user_data = run(argv[1]).stdout
    with tempfile.TemporaryDirectory(prefix='stoker-ec2-boot') as root:
        judged(checks, user_data, root)
        armed(checks, user_data, root)
        after_the_agent(checks, root)
        units(checks, root)
        guarded(checks, root)
        fetched(checks, root, 'curl')
        fetched(checks, root, 'python')
    of_google(checks, argv[1])
    print(f'{checks.failed} failed')
    return 1 if checks.failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
