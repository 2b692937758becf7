#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines that boot and cannot reach their bucket: the bucket denies them, as where the role has no
policy, or does not answer them, as in an outage. How many are asked for until the job says why, and
what it says. The time that a machine tries is short here: three tries, a second apart.

    no_way.py ec2|gcp [denied] [outage]"""

import http.client
import http.server
import os
import pathlib
import socketserver
import sys
import threading
import time
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results, World, parts_of
from test.lab import ec2_rooms, gce_rooms
from test.lab.gce_lab import GceLab

NO = b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>'


class Door(http.server.BaseHTTPRequestHandler):
    """The bucket, as the submitter sees it; machines are told `server.how`."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        inside = self.client_address[0] not in ("127.0.0.1", self.server.gate)
        if inside and self.server.how == "outage":
            self.close_connection = True
            return
        if inside and self.server.how == "denied":
            self.out(403, [], NO)
            return
        line = http.client.HTTPConnection(self.server.behind, timeout=60)
        line.request(self.command, self.path, body, dict(self.headers))
        answer = line.getresponse()
        kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in ("connection", "transfer-encoding", "content-length")]
        length = answer.getheader("Content-Length")
        self.out(answer.status, kept, answer.read(), length)

    def out(self, status, headers, body, length=None):
        self.send_response_only(status)
        for key, value in headers:
            self.send_header(key, value)
        self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # who asked has gone

    request_queue_size = 128


class Ec2:
    lab, gate, infra = lab_of.Lab, ec2_rooms.GATE, ("aws/us-east-1", "--instance-type", "m5.large")
    bucket, variable, fix = "s3", "AWS_ENDPOINT_URL_S3", "aws iam put-role-policy"

    @staticmethod
    def of(lab):
        return lab.ec2

    @staticmethod
    def ended(machine):
        return machine.state() == "terminated"


class Google:
    lab, gate, infra = GceLab, gce_rooms.GATE, ("gcp/us-central1/us-central1-a", "--instance-type", "e2-standard-2")
    bucket, variable, fix = "gs", "STORAGE_EMULATOR_HOST", "doctor --iam --infra gcp"

    @staticmethod
    def of(lab):
        return lab.api

    @staticmethod
    def ended(machine):
        return machine.gone


CLOUD = {"ec2": Ec2, "gcp": Google}[sys.argv[1]]


def machines_of(lab):
    told = CLOUD.of(lab).world.instances
    return list(told() if callable(told) else told)


def goes(lab, world, until, most, seconds):
    """A job on such machines, looked at each second: (its record, machines, seconds)."""
    job = world.json("run", "--detach", "--json", "--infra", *CLOUD.infra, "--", "true")["id"]
    begun = time.time()
    while time.time() - begun < seconds:
        told = world.job(job)
        machines = machines_of(lab)
        if until(told) or len(machines) > most:
            break
        time.sleep(1)
    took = round(time.time() - begun)
    said = world.stoker("show", job).stdout
    world.stoker("cancel", "--no-wait", job)
    return told, len(machines), took, said


def world_of(lab, name, how):
    server = Server((CLOUD.gate, 0), Door)
    server.how, server.gate = how, CLOUD.gate
    server.behind = urllib.parse.urlsplit(lab.env[CLOUD.variable]).netloc
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made = World(name)
    made.env.update(lab.env, **{CLOUD.variable: f"http://{CLOUD.gate}:{server.server_port}"})
    made.stoker("config", "set", "store", f"{CLOUD.bucket}://stoker-test/{name}", check=True)
    return made


def test_denied(lab, check):
    with world_of(lab, "denied", "denied") as world:
        told, machines, took, said = goes(lab, world, lambda job: job["state"] == "Failed", 3, 300)
        print(f"      denied: {machines} machines, {took} s until the job says why")
        check("two machines, and the job has ended", told["state"] == "Failed" and machines == 2, (told["state"], machines))
        check("it says what the bucket said", "cannot be fetched" in said and "403" in said, said)
        check("and what to type", CLOUD.fix in said, said)
        world.wait_for("nothing to be left", lambda: world.stoker("ls") and all(map(CLOUD.ended, machines_of(lab))), 60, 1)


def test_outage(lab, check):
    before = len(machines_of(lab))
    with world_of(lab, "outage", "outage") as world:
        told, machines, _, said = goes(lab, world, lambda _: False, before + 3, 300)
        check("an outage does not end the job", told["state"] not in ("Failed", "Succeeded"), told["state"])
        check("others are asked for", machines > before + 3, machines)
        check("and it says why", "cannot be fetched" in said, said)


def main():
    results = Results()
    with CLOUD.lab() as lab:
        CLOUD.of(lab).settings.boot_tries = int(os.environ.get("BOOT_TRIES", "3"))
        parts = parts_of(globals())
        for name in sys.argv[2:] or parts:
            results.run(name, parts[name], lab, results.check)
    results.finish()


main()
