#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Events of jobs in topics of clouds (moto's SNS; Pub/Sub as Google's discovery document has it),
`notify` of the settings, and `stoker notify --test`.

    topics.py [twenty]      twenty: jobs that are interrupted, with lookers that are killed"""

import base64
import collections
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.e2e.kit.harness import BINARY, PYTHON, Results, World
from test.events.notify import STEPS, Server
from test.lab.gceapi.discovery import Discovery
from test.lab.moto_aws import MotoAws

KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}


class Topic:
    """One of moto's, and a queue that has what was published."""

    def __init__(self, moto, name):
        import boto3

        given = {"endpoint_url": moto.endpoint, "region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
        sns, self.sqs = boto3.client("sns", **given), boto3.client("sqs", **given)
        self.arn = sns.create_topic(Name=name)["TopicArn"]
        self.queue = self.sqs.create_queue(QueueName=name)["QueueUrl"]
        arn = self.sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        sns.subscribe(TopicArn=self.arn, Protocol="sqs", Endpoint=arn)
        self.got = []

    def read(self):
        while True:
            told = self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get("Messages", [])
            if not told:
                return self.got
            for each in told:
                self.got.append(json.loads(each["Body"]))
                self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=each["ReceiptHandle"])

    def events(self, job):
        ids = [each["MessageAttributes"]["id"]["Value"] for each in self.read() if each["MessageAttributes"]["job"]["Value"] == job]
        return collections.Counter(ids)


class PubSub(http.server.ThreadingHTTPServer):
    """With a metadata server for the token."""

    def __init__(self):
        self.discovery, self.taken, self.wrong = Discovery("pubsub.v1"), [], []
        self.denied = False
        super().__init__(("127.0.0.1", 0), PubSubHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.host = f"127.0.0.1:{self.server_port}"
        metadata = {"GCE_METADATA_HOST": self.host, "GCE_METADATA_IP": self.host}
        self.env = {"CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB": f"http://{self.host}/", **metadata}


class PubSubHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def out(self, status, told):
        self.send_response(status)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def do_GET(self):
        token = urllib.parse.urlsplit(self.path).path.endswith("/token")
        self.out(200, b'{"access_token": "a-token", "expires_in": 3599, "token_type": "Bearer"}' if token else b"")

    def do_POST(self):
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, names = self.server.discovery.find("POST", urllib.parse.unquote(self.path))
        if method is None or method.id != "pubsub.projects.topics.publish" or names["projectsId"] != "p":
            faults = [self.path]
        else:
            faults = self.server.discovery.faults(method.request, told)
        if self.headers["Authorization"] != "Bearer a-token":
            faults.append("another token")
        self.server.wrong += faults
        if self.server.denied:
            return self.out(403, b'{"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "not pubsub.topics.publish"}}')
        self.server.taken += told["messages"]
        return self.out(200, b'{"messageIds": ["1"]}')


def run(world, notify, program="print('done')"):
    work = world.root / f"work-{time.monotonic_ns()}"
    work.mkdir()
    (work / "prog.py").write_text(program)
    (work / "job.yaml").write_text(f"workdir: .\nname: told\n{notify}run: {PYTHON} -u prog.py\n")
    return world.submit("job.yaml", cwd=work)


def over(world, *jobs):
    gone = lambda: not any((world.store / "active" / job).exists() for job in jobs)
    world.wait_for("all is told", lambda: world.stoker("ls") and gone(), timeout=120, every=1)


def test_topics(results, world, moto):
    topic, pubsub = Topic(moto, "events"), PubSub()
    world.env.update(KEYS, AWS_ENDPOINT_URL_SNS=moto.endpoint, **pubsub.env)
    job = run(world, f"notify:\n  - sns: {topic.arn}\n  - {{pubsub: projects/p/topics/t, on: end}}\n")
    world.stoker("wait", job, check=True)
    over(world, job)
    results.check("SNS: told once", topic.events(job) == {f"{job}-end": 1}, (topic.got, world.stoker("show", job).stdout))
    mail = topic.got[0]
    results.check("SNS: in words", mail["Subject"] == "told: end" and mail["Message"].endswith(f"stoker show {job}"), mail)
    results.check("Pub/Sub: told once, as the document has it", len(pubsub.taken) == 1 and not pubsub.wrong, (pubsub.taken, pubsub.wrong))
    told = json.loads(base64.b64decode(pubsub.taken[0]["data"]))
    results.check("Pub/Sub: as a webhook's JSON", told["id"] == f"{job}-end" and pubsub.taken[0]["attributes"]["event"] == "end", told)
    return pubsub


def test_settings(results, world, moto):
    server, pubsub = Server(), PubSub()
    world.env.update(KEYS, AWS_ENDPOINT_URL_SNS=moto.endpoint, **pubsub.env)
    world.env["HOOK"] = server.url("/secret-part")
    listed = "[{webhook: $HOOK}, {pubsub: projects/p/topics/t, on: [end]}, {ntfy: '" + server.url("/n") + "'}]"
    world.stoker("config", "set", "notify", listed, check=True)
    shown = world.stoker("config", "get", "notify", check=True).stdout
    world.stoker("config", "set", "notify", shown.strip(), check=True)
    results.check("settings: as they are shown they are set", world.stoker("config", "get", "notify").stdout == shown, shown)
    server.answers = [200, 404]
    pubsub.denied = True
    done = world.stoker("notify", "--test")
    lines = done.stdout.splitlines()
    results.check("test: one line for each, and not 0", len(lines) == 3 and done.returncode == 1, done)
    results.check("test: what was taken", lines[:1] == ["webhook $HOOK: it was taken"] and server.taken[0][1]["event"] == "test", lines)
    results.check("test: what was denied", "pubsub.topics.publish" in lines[1], lines)
    results.check("test: what was refused", "answered 404" in lines[2], lines)
    results.check("test: no secret is said", "secret-part" not in done.stdout + done.stderr, done)
    pubsub.denied = False
    job = run(world, "")
    world.stoker("wait", job, check=True)
    over(world, job)
    told = server.events(job) == {f"{job}-end": 1} and len(pubsub.taken) == 1
    results.check("settings: a job that does not say it tells them", told, server.taken)
    job = run(world, f"notify: {{webhook: '{server.url('/other')}'}}\n")
    world.stoker("wait", job, check=True)
    over(world, job)
    paths = [path for path, body in server.taken if isinstance(body, dict) and body["job"] == job]
    results.check("settings: a job that says it tells those alone", paths == ["/other"] and len(pubsub.taken) == 1, server.taken)
    job = run(world, "notify: []\n")
    world.stoker("wait", job, check=True)
    results.check("settings: or nobody", not server.events(job), server.taken)
    world.stoker("config", "unset", "notify", check=True)


def test_rule(results, world, moto):
    server = Server()
    program = "import time\nfor step in range(1, 30):\n    print(f'step {step} loss {step / 10}', flush=True)\n    time.sleep(0.1)\n"
    notify = f"notify: {{webhook: '{server.url('/')}'}}\nstop_when:\n  - {{rule: loss is above 1, action: warn}}\n"
    job = run(world, notify, program)
    world.stoker("wait", job, check=True, timeout=60)
    over(world, job)
    results.check("a rule that warns is told once", server.events(job) == {f"{job}-rule-1": 1, f"{job}-end": 1}, server.taken)
    text = next((body["text"] for _, body in server.taken if body["event"] == "rule"), "")
    results.check("with its words", "loss" in text, text)


SILENT = """
ip link set lo up && ip link add quiet type veth peer name other && ip address add 192.0.2.2/24 dev quiet
ip link set quiet up && ip link set other up && ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev quiet
mount --bind "$1" /etc/resolv.conf && exec "$2" notify --test
"""


def test_names(results, world, moto):
    """A name server that never answers: what is told is over when its time is."""
    world.stoker("config", "set", "notify", "[{webhook: 'http://somebody.example.org/'}]", check=True)
    names = world.root / "resolv.conf"
    names.write_text("nameserver 192.0.2.1\noptions timeout:30 attempts:5\n")
    words = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    words += ["sh", "-c", SILENT, "sh", str(names), BINARY]
    done = subprocess.run(words, env=world.env, capture_output=True, text=True, timeout=100)
    results.check("names: a look-up is cut off", "no name server answered in time" in done.stdout and done.returncode == 1, done)
    world.stoker("config", "unset", "notify", check=True)


def long_twenty(results, world, moto):
    """Each interrupted once, with a server that fails each third time and whose answer to each seventh
    is lost, and a topic that nobody reads."""
    server, topic = Server(), Topic(moto, "twenty")
    server.fails_each, server.loses_each = 3, 7
    world.env.update(KEYS, AWS_ENDPOINT_URL_SNS=moto.endpoint)
    notify = f"notify:\n  - webhook: {server.url('/')}\n  - sns: {topic.arn}\n"
    lookers = [world.start("controller", "--interval", "1s") for _ in range(2)]
    jobs = []
    for _ in range(4):
        some = [run(world, notify, STEPS) for _ in range(5)]
        jobs += some
        for job in some:
            world.wait_for("it saves", lambda job=job: "step 2" in world.stoker("logs", job).stdout, timeout=120)
            world.stoker("preempt", job, "--in", "3s", check=True)
            lookers.pop(0).send_signal(signal.SIGKILL)
            lookers.append(world.start("controller", "--interval", "1s"))
        for job in some:
            world.stoker("wait", job, timeout=240)
    world.wait_for("all is told", lambda: world.stoker("ls") and not any((world.store / "active" / job).exists() for job in jobs), 400, 1)
    for looker in lookers:
        looker.terminate()
    # A looker that was killed may have lost an answer: what it sent is sent once more, with the same id.
    killed = 20
    for where in (server, topic):
        twice = collections.Counter()
        for job in jobs:
            attempts = world.json("show", job)["job"]["attempts"]
            gone = {f"{job}-interruption-{a['number']}" for a in attempts[:-1] if not a.get("not_needed")}
            got = where.events(job)
            results.check(f"{job}: each event, to {type(where).__name__}", set(got) == {f"{job}-end", *gone}, (got, attempts))
            twice.update({event: count - 1 for event, count in got.items() if count > 1})
        lost = collections.Counter(getattr(where, "lost", []))
        results.check(f"{type(where).__name__}: each whose answer was lost came again", not lost - twice, (lost, twice))
        rest = sum((twice - lost).values())
        results.check(f"{type(where).__name__}: {rest} more came again, for {killed} lookers that were killed", rest <= killed, twice)


def main():
    results = Results()
    parts = {"twenty": long_twenty} if sys.argv[1:] == ["twenty"] else {n: f for n, f in globals().items() if n.startswith("test_")}
    with MotoAws() as moto:
        for name, part in parts.items():
            with World(name.replace("_", "-")) as world:
                results.run(name, part, results, world, moto)
    results.finish()


if __name__ == "__main__":
    main()
