#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job's lines in the clouds' own logs: CloudWatch Logs as moto has it, behind a relay that holds
requests to AWS's limits, and Cloud Logging by a server held to Google's discovery document. Each
line once and in order, whatever is away, lost or killed meanwhile.

    cloud_log.py [long]      long: killed again and again, and a service that is away for two minutes"""

import http.client
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.e2e.kit.harness import Results, parts_of
from test.lab.gceapi.logs import Entries
from test.lab.moto_aws import MotoAws

DRIVER = os.environ["STOKER_CLOUD_LOG"]
GROUP, STREAM = "/stoker/0123456789abcdef", "told-1/1-0"
DAY = 24 * 3600 * 1000


class Service(http.server.ThreadingHTTPServer):
    """`away`: it answers 503. `loses`: of so many calls more, what they did stands and no answer comes.
    `wrong`: what no such service would take."""

    daemon_threads = True

    def __init__(self, handler):
        self.away, self.loses, self.wrong, self.calls = False, 0, [], []
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # a driver that was killed


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def out(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def loses(self):
        with self.server.lock:
            lost = self.server.loses > 0
            self.server.loses -= lost
        return lost


class CloudWatchRelay(Handler):
    def do_POST(self):
        body = self.body()
        action = self.headers["X-Amz-Target"].rpartition(".")[2]
        if self.server.away:
            return self.out(503, b"{}")
        with self.server.lock:
            self.server.calls.append((action, body))
        if action == "PutLogEvents":
            self.judge(json.loads(body))
        below = http.client.HTTPConnection(urllib.parse.urlsplit(self.server.moto).netloc, timeout=60)
        below.request("POST", self.path, body, dict(self.headers))
        answer = below.getresponse()
        told = answer.read()
        if action == "PutLogEvents" and self.loses():
            self.close_connection = True
            return None
        return self.out(answer.status, told, answer.headers["Content-Type"])

    def judge(self, told):
        """The limits of PutLogEvents, which moto does not hold."""
        events = told["logEvents"]
        sizes = [len(event["message"].encode()) + 26 for event in events]
        times = [event["timestamp"] for event in events]
        for good, what in (
            (1 <= len(events) <= 10_000, f"{len(events)} events"),
            (sum(sizes) <= 1_048_576, f"{sum(sizes)} bytes"),
            (max(sizes) <= 262_144 and min(sizes) > 26, f"an event of {max(sizes)} or {min(sizes)} bytes"),
            (times == sorted(times) and times[-1] - times[0] < DAY, "their times"),
        ):
            if not good:
                self.server.wrong.append(what)


class LoggingServer(Handler):
    def do_GET(self):
        held = {"instance/id": b"7777777777777777777", "instance/service-accounts/default/email": b"node@a-project.iam"}
        held["instance/service-accounts/default/token"] = b'{"access_token": "a-token", "expires_in": 3599, "token_type": "Bearer"}'
        held["project/project-id"] = b"a-project"
        path = urllib.parse.urlsplit(self.path).path.removeprefix("/computeMetadata/v1/")
        told = held.get(path)
        self.send_response(200 if told is not None or path in ("", "/") else 404)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Length", str(len(told or b"")))
        self.end_headers()
        self.wfile.write(told or b"")

    def do_POST(self):
        text = self.body()
        server = self.server
        if server.away:
            return self.out(503, b'{"error": {"code": 503, "status": "UNAVAILABLE", "message": "away"}}')
        faults = server.entries.write("POST", self.path, text)
        if self.headers["Authorization"] != "Bearer a-token":
            faults.append("another token")
        with server.lock:
            server.wrong += faults
            server.calls.append(("write", text))
        if self.loses():
            self.close_connection = True
            return None
        return self.out(200, b"{}")


class CloudWatch:
    provider, title = "ec2", "CloudWatch Logs"

    def __enter__(self):
        self.moto = MotoAws().__enter__()
        self.service = Service(CloudWatchRelay)
        self.service.moto = self.moto.endpoint
        self.env = {
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS": self.service.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        import boto3

        self.client = boto3.client(
            "logs", endpoint_url=self.moto.endpoint, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
        )
        return self

    def __exit__(self, *_):
        self.service.shutdown()
        self.moto.__exit__()

    def lines(self):
        got, token = [], None
        while True:
            more = {"nextToken": token} if token else {}
            page = self.client.get_log_events(logGroupName=GROUP, logStreamName=STREAM, startFromHead=True, **more)
            if page["nextForwardToken"] == token:
                return got
            got += [event["message"] for event in page["events"]]
            token = page["nextForwardToken"]

    def forget(self):
        if self.client.describe_log_groups(logGroupNamePrefix=GROUP)["logGroups"]:
            self.client.delete_log_group(logGroupName=GROUP)

    def judge(self, check):
        (group,) = self.client.describe_log_groups(logGroupNamePrefix=GROUP)["logGroups"]
        check("its retention is set", group.get("retentionInDays") == 30, group)


class CloudLogging:
    provider, title = "gce", "Cloud Logging"

    def __enter__(self):
        self.service = Service(LoggingServer)
        self.service.entries = Entries()
        at = self.service.url.removeprefix("http://")
        self.env = {"CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING": self.service.url, "GCE_METADATA_HOST": at, "GCE_METADATA_IP": at}
        return self

    def __exit__(self, *_):
        self.service.shutdown()

    def lines(self):
        return [each["textPayload"] for each in self.service.entries.listed()]

    def forget(self):
        self.service.entries.held.clear()

    def judge(self, check):
        written = self.service.entries.listed()[-1]
        check("of which VM it is", written["resource"]["labels"]["instance_id"] == "7777777777777777777", written["resource"])
        check("of which job it is", written["labels"]["stoker-job"] == "told-1", written["labels"])


class Node:
    """The driver in a folder of its own."""

    def __init__(self, cloud):
        self.cloud = cloud
        self.folder = tempfile.TemporaryDirectory(prefix="stoker-cloud-log-")
        self.store = pathlib.Path(self.folder.name, "store")
        self.disk = pathlib.Path(self.folder.name, "node")
        self.store.mkdir()
        self.disk.mkdir()

    def __enter__(self):
        self.cloud.forget()
        self.cloud.service.calls.clear()
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def start(self, lines, pause=0):
        words = [DRIVER, "run", self.cloud.provider, str(self.store), str(self.disk), str(lines), str(pause)]
        env = {"PATH": os.environ["PATH"], "HOME": self.folder.name, **self.cloud.env}
        return subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)

    def run(self, lines, pause=0, limit=60):
        with self.start(lines, pause) as process:
            process.wait(limit)
        return process.returncode

    def stored(self):
        read = subprocess.run([DRIVER, "read", str(self.store)], capture_output=True, text=True, check=True, timeout=60)
        return [bytes.fromhex(line).decode(errors="replace") or " " for line in read.stdout.splitlines()]

    def same(self, check, at_least, said=""):
        want, got = self.stored(), self.cloud.lines()
        first = next((i for i, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
        detail = (len(want), len(got), first, *([each[:80] for each in all_of[first : first + 2]] for all_of in (want, got)))
        check(f"{self.cloud.title}: each line once, in order", want == got and len(want) >= at_least, detail)
        told = [line for line in got if line.startswith("stoker: ") and "reach" in line]
        check(f"{self.cloud.title}: what is said of it", len(told) == (2 if said else 0) and said in "".join(told), told)
        check(f"{self.cloud.title}: no limit is passed", not self.cloud.service.wrong, self.cloud.service.wrong[:3])


def wait_for(what, condition, limit=30):
    until = time.monotonic() + limit
    while not condition():
        if time.monotonic() > until:
            raise RuntimeError(f"never came: {what}")
        time.sleep(0.05)


def test_flood(cloud, check):
    """More than one call may have."""
    with Node(cloud) as node:
        check(f"{cloud.title}: it ends", node.run(12_000 if cloud.provider == "ec2" else 3000) == 0)
        node.same(check, 3000)
        cloud.judge(check)


def test_killed(cloud, check, again=0):
    """Its agent, while it sends, with an answer that never came: what the call did stands."""
    with Node(cloud) as node:
        for times in range(1, 2 + again):
            process = node.start(100_000, 5)
            cloud.service.loses = 1
            before = len(cloud.service.calls)
            wait_for("a call", lambda before=before: len(cloud.service.calls) > before + 1 and cloud.service.loses == 0)
            time.sleep(0.1 * times)
            process.send_signal(signal.SIGKILL)
            with process:
                process.wait()
        cloud.service.loses = 0
        held = len(node.stored())
        check(f"{cloud.title}: it ends", node.run(held + 50, 1) == 0)
        node.same(check, held + 50)


def long_killed(cloud, check):
    test_killed(cloud, check, again=3)


def long_away(cloud, check, seconds=120):
    with Node(cloud) as node:
        process = node.start(seconds * 20, 50)
        wait_for("the first lines", lambda: cloud.service.calls)
        cloud.service.away = True
        written = process.stdout.readline()
        check(f"{cloud.title}: no line waits for a service that is away", written == "written\n", written)
        wait_for("that is said", lambda: any("do not reach" in line for line in node.stored()), 60)
        cloud.service.away = False
        with process:
            process.wait(60)
        check(f"{cloud.title}: it ends", process.returncode == 0)
        node.same(check, seconds * 20, said="again, all in order")


LONG = {"killed": long_killed, "away": long_away}


def main():
    parts = LONG if sys.argv[1:] == ["long"] else parts_of(globals())
    results = Results()

    def play(made):
        with made() as cloud:
            for name, part in parts.items():
                results.run(f"{name} {made.__name__}", part, cloud, results.check)

    both = [threading.Thread(target=play, args=(made,)) for made in (CloudWatch, CloudLogging)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    results.finish()


if __name__ == "__main__":
    main()
