#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a machine of EC2 or of Compute Engine is told at its start, judged by those who will read it:
cloud-init, systemd, a shell, Python, shellcheck. Its scripts are run too, with the machine's own
programs replaced; what a VM's ask of the bucket and of Compute Engine is held against Google's
discovery documents: boot.py ec2|gcp DRIVER"""

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

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
import yaml

from test.e2e.kit.harness import Results
from test.google import api_rules, storage_rules
from test.google.aws_request import signed_by
from test.lab.gceapi.discovery import discovery

LIMIT = 86400
SECRETS = {"ASIAX": "sec/ret+"}  # of the role's keys


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **more)


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as source:
        return source.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


class Root:
    """The machine: a folder that stands for its paths, and programs in front of its own."""

    def __init__(self, path, script):
        self.path = path
        for name in ("units", "bin"):
            os.makedirs(f"{path}/{name}")
        self.script = script
        for theirs, ours in (
            ("/opt/stoker", f"{path}/opt/stoker"),
            ("/var/lib/stoker", f"{path}/var/lib/stoker"),
            ("/etc/systemd/system/", f"{path}/units/"),
        ):
            self.script = self.script.replace(theirs, ours)
        self.fake("systemctl", f'echo "$@" >>{path}/systemctl')

    def fake(self, name, body):
        write(f"{self.path}/bin/{name}", f"#!/bin/sh\n{body}\n")
        os.chmod(f"{self.path}/bin/{name}", 0o755)

    def real(self, *names):
        """No longer replaced."""
        for name in names:
            os.unlink(f"{self.path}/bin/{name}")

    def sh(self, *argv, **more):
        env = {"PATH": f"{self.path}/bin:/usr/sbin:/usr/bin:/sbin:/bin", **more}
        return run("/bin/sh", *argv, env=env)

    def boot(self):
        """The script's first half; no service is started."""
        return self.sh("-c", self.script)

    def told(self):
        """What systemctl has been told."""
        return read(f"{self.path}/systemctl")

    def forget(self):
        write(f"{self.path}/systemctl", "")

    def stops(self):
        """What its agent's unit runs behind it."""
        unit = read(f"{self.path}/units/stoker-agent.service")
        return re.search(r"ExecStopPost=/bin/sh -c '(.*)'", unit)[1].replace("$$", "$")


class Cloud(http.server.BaseHTTPRequestHandler):
    """What a machine talks to, in one; it answers only whom it should."""

    blob = b""
    period = 0
    seen = []

    def log_message(self, *_):
        pass

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def served(cloud, program):
    """The cloud on loopback, with that program in its bucket; the newest copy is of a later period.
    Its server and its URL."""
    cloud.blob, cloud.seen = program.encode(), []
    cloud.period = int(time.time()) // 1296000
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), cloud)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


def agent_of(root):
    """A program that tells that it was started, and with what."""
    return f'#!/bin/sh\nenv >{root.path}/agent-env\necho "$@" >{root.path}/agent\n'


def armed(check, root):
    before = int(time.time())
    done = root.boot()
    check("it arms", done.returncode == 0, done.stderr)
    deadline = f"{root.path}/var/lib/stoker/deadline"
    left = int(read(deadline)) - before
    check("the lease is the limit", LIMIT <= left <= LIMIT + 60, left)
    told = root.told()
    check("units are enabled", "enable stoker-guard.service stoker-agent" in told, told)
    write(deadline, "1999999999\n")
    root.boot()
    check("another boot moves no lease", read(deadline) == "1999999999\n", read(deadline))
    return told


def linted(check, root, *scripts):
    slice_of_podman = read(f"{root.path}/units/machine.slice.d/stoker.conf")
    check("podman's containers are not stopped with the machine's units", "DefaultDependencies=no" in slice_of_podman, slice_of_podman)
    there = [f"{root.path}/units/{name}" for name in sorted(os.listdir(f"{root.path}/units")) if name.endswith(".service")]
    check("two units", len(there) == 2, there)
    done = run("systemd-analyze", "verify", "--man=no", *there)
    said = [line for line in done.stderr.split("\n") if "stoker" in line]
    check("systemd takes them", done.returncode == 0 and not said, done.stderr)
    broken = f"{root.path}/units/broken.service"
    write(broken, read(there[0]).replace("ExecStart=", "ExecStrat="))
    done = run("systemd-analyze", "verify", "--man=no", broken)
    check("  and would say if not", "ExecStrat" in done.stderr, done.stderr)
    for name in scripts:
        path = f"{root.path}/opt/stoker/{name}"
        done = run("shellcheck", "-s", "sh", "-S", "warning", "-e", "SC1091", path)
        check(f"shellcheck of {name}", done.returncode == 0, done.stdout)


class Ec2(Cloud):
    """The metadata service, a bucket and those who give tokens for one of Google's, in one, which
    answer only whom they should."""

    exchanged = []  # (form, what its subject is)
    acted = []  # (path, headers, body)
    refuses = False  # to exchange

    def do_PUT(self):
        there = self.path == "/latest/api/token"
        self.answer(200 if there else 404, b"TOKEN==")

    def do_GET(self):
        if self.path.startswith("/latest/"):
            if self.headers.get("X-aws-ec2-metadata-token") != "TOKEN==":
                return self.answer(401)
            if self.path.endswith("/security-credentials/"):
                return self.answer(200, b"the-role")
            keys = '{\n "Code" : "Success",\n "AccessKeyId" : "ASIAX",\n'
            keys += ' "SecretAccessKey" : "sec/ret+",\n "Token" : "to/ken==",\n'
            keys += ' "Expiration" : "x"\n}'
            return self.answer(200, keys.encode())
        Ec2.seen.append((self.path, dict(self.headers)))
        if not self.path.removesuffix("?alt=media").endswith(f"-{Ec2.period:05d}"):
            return self.answer(404)
        return self.answer(200, Ec2.blob)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/v1/token":
            form = dict(urllib.parse.parse_qsl(body))
            Ec2.exchanged.append((form, signed_by(form["subject_token"], SECRETS)))
            if Ec2.refuses:
                return self.answer(403, b'{\n "error": "unauthorized_client",\n "error_description": "not of the pool"\n}')
            return self.answer(200, b'{"access_token": "FEDERATED", "expires_in": 3599}')
        Ec2.acted.append((self.path, dict(self.headers), json.loads(body)))
        self.answer(200, b'{"accessToken": "ACTING", "expireTime": "2037-01-01T00:00:00Z"}')


class Gce(Cloud):
    """The metadata server, a bucket and Compute Engine in one, which answer only whom they
    should."""

    sick = 0  # so many answers of 503 come first
    held = 0
    wrong = []  # of what was asked, by Google's documents
    may_delete = True

    def allowed(self):
        return self.headers.get("Authorization") == "Bearer ya29.TO/KEN-_"

    def note(self, wrong):
        Gce.seen.append((self.command, self.path, self.allowed()))
        Gce.held += 1
        Gce.wrong += [(self.command, self.path, each) for each in wrong]

    def do_GET(self):
        if not self.path.startswith("/computeMetadata/v1/"):
            self.note(storage_rules.Call(self.command, self.path, self.headers.items()).wrong)
            there = self.allowed() and f"-{Gce.period:05d}?alt=media" in self.path
            return self.answer(200 if there else 404, Gce.blob if there else b"no")
        if self.headers.get("Metadata-Flavor") != "Google":
            return self.answer(403)
        if Gce.sick > 0:
            Gce.sick -= 1
            return self.answer(503)
        key = self.path.removeprefix("/computeMetadata/v1/")
        values = {
            "instance/service-accounts/default/token": b'{"access_token":"ya29.TO/KEN-_","expires_in":3599,"token_type":"Bearer"}',
            "instance/name": b"stoker-abcd1234-0123456789abcdef-3",
            "instance/zone": b"projects/123456/zones/us-central1-a",
        }
        return self.answer(200 if key in values else 404, values.get(key, b""))

    def do_DELETE(self):
        compute = discovery("compute.v1")
        path, _, query = self.path.partition("?")
        method, values = compute.find(self.command, path)
        self.note(
            ["no such request"]
            if method is None
            else [*api_rules.of_path(compute, method, values), *api_rules.of_query(compute, method, query)]
        )
        self.answer(200 if Gce.may_delete and self.allowed() else 403, b"{}")


def judged_by_cloud_init(check, user_data, root):
    check("less than 16 KB", len(user_data) < 16 * 1024, len(user_data))
    path = f"{root.path}/user-data"
    write(path, user_data)
    done = run("cloud-init", "schema", "--config-file", path)
    check("cloud-init takes it", "Valid" in done.stdout, done.stdout + done.stderr)
    write(path, user_data + "bootcmd: 7\n")
    done = run("cloud-init", "schema", "--config-file", path)
    check("  and would say if not", done.returncode != 0, done.stdout)
    for secret in ("AWS_SECRET", "Signature=", "X-Amz-"):
        there = [line for line in user_data.split("\n") if secret in line and "%s" not in line]
        check(f"no {secret}", not there, there)
    told = armed(check, root)
    check("and started", "start --no-block stoker-guard" in told, told)
    linted(check, root, "guard", "run")
    done = run("python3", "-m", "py_compile", f"{root.path}/opt/stoker/fetch.py")
    check("fetch.py compiles", done.returncode == 0, done.stderr)


def after_the_agent(check, root):
    """The machine ends with an agent that ended well, and not with one that died."""
    for code, status, ends in (("exited", "0", True), ("killed", "KILL", False), ("exited", "1", False), ("dumped", "SEGV", False)):
        root.forget()
        root.sh("-c", root.stops(), EXIT_CODE=code, EXIT_STATUS=status)
        check(f"after {code} {status}", root.told().startswith("poweroff") == ends, root.told())
    root.forget()


def guarded(check, root):
    """The end of the lease, with a sleep that takes no time and a power that is a file."""
    off, slept = f"{root.path}/off", f"{root.path}/slept"
    root.fake("systemctl", f'echo "$@" >>{off}; kill $PPID')
    root.fake("sleep", f'echo >>{slept}; [ "$(wc -l <{slept})" -lt 50 ] || kill $PPID')

    def until_off(text):
        for path in (off, slept):
            if os.path.exists(path):
                os.unlink(path)
        write(f"{root.path}/var/lib/stoker/deadline", text)
        root.sh(f"{root.path}/opt/stoker/guard")
        return os.path.exists(off)

    check("a lease in the past ends it", until_off(f"{int(time.time()) - 1}\n"))
    check("one in the future does not", not until_off(f"{int(time.time()) + 900}\n"))
    check("nor one that cannot be read", not until_off("x\n"))
    # The clock goes back by years: what counts is the time since boot.
    root.fake("date", f"[ -s {slept} ] && echo 1000000000 || /bin/date +%s")
    root.fake("sleep", f'echo >>{slept}; [ "$(wc -l <{slept})" -lt 400 ] || kill $PPID; /bin/sleep 0.01')
    check("a clock that goes back moves nothing", until_off(f"{int(time.time()) + 2}\n"))
    root.real("date", "sleep")


def script_of(root, url):
    """What fetches the binary, from there."""
    digest = hashlib.sha256(Ec2.blob).hexdigest()
    env = read(f"{root.path}/opt/stoker/env")
    env = re.sub("BASE='[^\n]*", f"BASE='{url}/bucket/blobs/'", env)
    env = re.sub("DIGEST='[^\n]*", f"DIGEST='{digest}'", env)
    env = re.sub("PERIOD='[^\n]*", f"PERIOD='{Ec2.period - 1}'", env)
    write(f"{root.path}/env", env.replace("${IMDS:-http://169.254.169.254}", url))
    root.fake("systemctl", f'echo "$@" >>{root.path}/systemctl')
    root.forget()
    root.fake("sleep", ":")
    script = read(f"{root.path}/opt/stoker/run")
    return script.replace(f". {root.path}/opt/stoker/env", f". {root.path}/env").replace("-ge 30", "-ge 2")


def fetched(check, root, how):
    """The binary, by `how`."""
    server, url = served(Ec2, agent_of(root))
    script = script_of(root, url)
    if how == "python":
        root.fake("curl", "exit 2")
    done = root.sh("-c", script)
    agent = f"{root.path}/agent"
    check(f"{how}: the agent starts", read(agent).startswith("__agent "), done.stdout)
    blob = [head for path, head in Ec2.seen if path.endswith(f"-{Ec2.period:05d}")]
    signed = blob and blob[-1].get("Authorization", "")
    check("  signed", signed and "Credential=ASIAX/" in signed, signed)
    check("  with the session", signed and "x-amz-security-token" in signed, signed)
    os.unlink(agent)
    os.unlink(f"{root.path}/opt/stoker/stoker")
    # Another content than its name says is never run.
    Ec2.blob = b"#!/bin/sh\necho evil >" + agent.encode()
    root.sh("-c", script)
    check("  what is damaged is not run", not os.path.exists(agent))
    check("  and the machine ends", root.told() == "poweroff --no-block\n", root.told())
    server.shutdown()


def told_of_google(check, root, url):
    """Its google.json, whose addresses become those of this test."""
    path = f"{root.path}/opt/stoker/google.json"
    told = read(path)
    google = json.loads(told)
    hidden = [word for word in told.split('"') if "secret" in word.lower() or "key" in word.lower()]
    check("google.json has no secret", not hidden, hidden)
    for name in ("token_url", "service_account_impersonation_url"):
        there = urllib.parse.urlsplit(google[name])
        check(f"  and {name} is of Google", there.scheme == "https" and there.netloc.endswith(".googleapis.com"), google[name])
        google[name] = url + there.path
    write(path, json.dumps(google))
    return path


def fetched_from_google(check, root):
    """The binary, out of a bucket of Google's, which knows the instance's role."""
    server, url = served(Ec2, agent_of(root))
    script = script_of(root, url)
    google = told_of_google(check, root, url)
    done = root.sh("-c", script)
    agent = f"{root.path}/agent"
    check("the agent starts", read(agent).startswith("__agent "), done.stdout)
    form, by = Ec2.exchanged[-1]
    check("what is exchanged is signed by the role", by["good"] and by["by"] == ("ASIAX", "us-east-1", "sts", "to/ken=="), by)
    check(
        "  and is for this provider alone",
        by["for"] == form["audience"] == "//iam.googleapis.com/projects/1234567890/locations/global/workloadIdentityPools/"
        "stoker-pool/providers/aws",
        (by, form["audience"]),
    )
    check(
        "  and asks who one is",
        by["request"]
        == ("POST", "https://sts.us-east-1.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15", "sts.us-east-1.amazonaws.com"),
        by,
    )
    path, headers, body = Ec2.acted[-1]
    check(
        "it acts as the account that it is told",
        path.endswith("/stoker@a-project.iam.gserviceaccount.com:generateAccessToken")
        and headers["Authorization"] == "Bearer FEDERATED"
        and body["scope"][0].endswith("/devstorage.read_write"),
        (path, body),
    )
    carried = {head.get("Authorization") for _, head in Ec2.seen}
    check("the bucket is asked with its token", carried == {"Bearer ACTING"}, carried)
    env = dict(line.split("=", 1) for line in read(f"{root.path}/agent-env").split("\n") if "=" in line)
    goes_by = [env.get(name) for name in ("GOOGLE_APPLICATION_CREDENTIALS", "AWS_REGION")]
    check("the agent goes by the same file", goes_by == [google, "us-east-1"], goes_by)
    os.unlink(agent)
    os.unlink(f"{root.path}/opt/stoker/stoker")
    Ec2.refuses = True
    done = root.sh("-c", script)
    check(
        "who is not known is told so",
        not os.path.exists(agent) and "answered 403" in done.stdout and "not of the pool" in done.stdout,
        done.stdout,
    )
    server.shutdown()


def judged_by_a_shell(check, script, root):
    check("less than 256 KB", len(script) < 256 * 1024, len(script))
    done = run("sh", "-n", "-c", script)
    check("a shell takes it", done.returncode == 0, done.stderr)
    for secret in ("ya29", "Bearer ", "private_key"):
        lines = [line for line in script.split("\n") if secret in line and r"\1" not in line]
        check(f"no {secret.strip()}", not lines, lines)
    armed(check, root)
    launch = read(f"{root.path}/var/lib/stoker/node/gce.json")
    check("it knows its request", '"job":"abcd1234"' in launch, launch)
    linted(check, root, "guard", "run", "off", "end", "metadata")


def fetched_by_a_vm(check, root, url):
    """The addresses of this test instead of Google's."""
    Gce.sick = 1
    env = read(f"{root.path}/opt/stoker/env")
    env = re.sub("BASE='[^\n]*", f"BASE='{url}/storage/v1/b/bucket/o/blobs%2F'", env)
    env = re.sub("DIGEST='[^\n]*", f"DIGEST='{hashlib.sha256(Gce.blob).hexdigest()}'", env)
    env = re.sub("PERIOD='[^\n]*", f"PERIOD='{Gce.period - 1}'", env)
    env = re.sub("COMPUTE_ENDPOINT='[^\n]*", f"COMPUTE_ENDPOINT='{url}/compute/v1/'", env)
    write(f"{root.path}/opt/stoker/env", env)
    host = {"GCE_METADATA_HOST": url.removeprefix("http://")}
    script = read(f"{root.path}/opt/stoker/run").replace("-ge 30", "-ge 2")
    root.fake("sleep", ":")
    done = root.sh("-c", script, **host)
    agent = f"{root.path}/agent"
    check("the agent starts", read(agent).startswith("__agent "), done.stdout)
    got = [each for each in Gce.seen if f"-{Gce.period:05d}?" in each[1]]
    check("  with the VM's token", got and got[-1][2], Gce.seen)
    env = read(f"{root.path}/agent-env")
    check("  and its addresses", f"OVERRIDES_COMPUTE={url}/compute/v1/" in env, env)
    check("  no token in it", "ya29" not in env + done.stdout, env)
    for path in (agent, f"{root.path}/opt/stoker/stoker", f"{root.path}/systemctl"):
        os.unlink(path)
    # Another content than its name says is never run, and the VM deletes itself.
    Gce.blob, Gce.seen = b"#!/bin/sh\necho evil >" + agent.encode(), []
    done = root.sh("-c", script, **host)
    check("what is damaged is not run", not os.path.exists(agent))
    check("  it says so", "the binary cannot be fetched from" in done.stdout, done.stdout)
    gone = [each for each in Gce.seen if each[0] == "DELETE"]
    path = "/compute/v1/projects/my-project/zones/us-central1-a/instances/"
    path += "stoker-abcd1234-0123456789abcdef-3"
    # By the id, those who look tell this from what a person deletes.
    ((method, asked, allowed),) = gone
    own = asked.startswith(path + "?requestId=73746f6b-6572-")
    check("  the VM deletes itself", method == "DELETE" and own and allowed, gone)
    check("  and powers off", root.told().startswith("poweroff"), root.told())


def ended(check, root, url):
    """An agent that ended well takes its VM along; one that may not delete it only powers off."""
    host = {"GCE_METADATA_HOST": url.removeprefix("http://")}
    for code, status, ends in (("exited", "0", True), ("killed", "KILL", False), ("exited", "1", False)):
        Gce.seen = []
        root.forget()
        root.sh("-c", root.stops(), EXIT_CODE=code, EXIT_STATUS=status, **host)
        told = [each[0] for each in Gce.seen]
        check(f"after {code} {status}", root.told().startswith("poweroff") == ends and (told == ["DELETE"]) == ends, told)
    Gce.may_delete = False
    root.forget()
    done = root.sh("-c", root.stops(), EXIT_CODE="exited", EXIT_STATUS="0", **host)
    check("one that may not says so", "lacks compute.instances.delete" in done.stdout, done.stdout)
    check("  and powers off", root.told().startswith("poweroff"), root.told())


def ec2(check, driver):
    for bucket in ([], ["gs://bucket/it's a prefix"]):
        user_data = run(driver, *bucket).stdout
        with tempfile.TemporaryDirectory(prefix="stoker-ec2-boot") as folder:
            root = Root(folder, yaml.safe_load(user_data)["bootcmd"][0][2])
            judged_by_cloud_init(check, user_data, root)
            if bucket:
                base = re.search("BASE='([^\n]*)'", user_data)[1]
                check(
                    "it asks Google itself",
                    base == "https://storage.googleapis.com/storage/v1/b/bucket/o/it%27s%20a%20prefix%2Fblobs%2F",
                    base,
                )
                fetched_from_google(check, root)
            else:
                after_the_agent(check, root)
                guarded(check, root)
                fetched(check, root, "curl")
                fetched(check, root, "python")


def gcp(check, driver):
    script = run(driver).stdout
    with tempfile.TemporaryDirectory(prefix="stoker-gce-boot") as folder:
        root = Root(folder, script)
        judged_by_a_shell(check, script, root)
        server, url = served(Gce, agent_of(root))
        fetched_by_a_vm(check, root, url)
        ended(check, root, url)
        server.shutdown()
    check(f"all {Gce.held} requests are in Google's documents", Gce.held and not Gce.wrong, Gce.wrong)


if __name__ == "__main__":
    results = Results()
    {"ec2": ec2, "gcp": gcp}[sys.argv[1]](results.check, sys.argv[2])
    results.finish()
