#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Events of jobs are told, each once, whoever looks and whoever dies: to a web server that fails
each third time, takes its time, or is away."""

import collections
import http.server
import json
import pathlib
import signal
import sys
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, World, play

SECRET = "a-part-of-an-address-that-nobody-may-see"


LOST = -1


class Server(http.server.ThreadingHTTPServer):
    """Keeps what was posted and taken; `answers` has the codes of the next answers, LOST = it is taken,
    and its answer is cut off. `lost`: the ids of those."""

    def __init__(self):
        self.taken, self.seen, self.answers, self.lost = [], [], [], []
        self.lock = threading.Lock()
        self.fails_each = self.loses_each = 0
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"

    def events(self, job):
        return collections.Counter(body["id"] for path, body in self.taken if isinstance(body, dict) and body.get("job") == job)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with self.server.lock:
            self.server.seen.append((self.path, dict(self.headers), text))
            number = len(self.server.seen)
            code = self.server.answers.pop(0) if self.server.answers else 200
            if self.server.fails_each and number % self.server.fails_each == 0:
                code = 503
            elif self.server.loses_each and number % self.server.loses_each == 0:
                code = LOST
            if code in (200, LOST):
                body = json.loads(text) if self.headers["Content-Type"] == "application/json" else text
                self.server.taken.append((self.path, body))
            if code == LOST:
                self.server.lost.append(body["id"])
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
                return
        self.send_response(code)
        self.end_headers()
        self.wfile.write(f"no, not to {self.path}".encode() if code != 200 else b"ok")

    def log_message(self, *_):
        pass


def run(world, notify, program, *more, env=None):
    work = world.root / f"work-{time.monotonic_ns()}"
    work.mkdir()
    (work / "prog.py").write_text(program)
    (work / "job.yaml").write_text(f"workdir: .\nname: told\nnotify:\n{notify}\nrun: {PYTHON} -u prog.py\n")
    return world.submit("job.yaml", *more, cwd=work, env=env)


def test_forms(results, world):
    server = Server()
    env = {**world.env, "HOOK": server.url(f"/{SECRET}?key=1")}
    notify = f"  - {{webhook: $HOOK}}\n  - {{slack: '{server.url('/slack')}'}}\n  - {{ntfy: '{server.url('/topic')}', on: failure}}"
    job = run(world, notify, "import sys\nprint('<b>`oh`', file=sys.stderr)\nsys.exit(3)", env=env)
    world.stoker("wait", job)
    world.wait_for("all three are told", lambda: len(server.taken) == 3, timeout=10)
    got = dict(server.taken)
    hook = got.get(f"/{SECRET}?key=1", {})
    results.check(
        "forms: a webhook's JSON", hook.get("event") == "end" and hook.get("id") == f"{job}-end" and hook.get("state") == "Failed", hook
    )
    results.check(
        "forms: the lines that matter and the next command",
        "<b>`oh`" in hook.get("lines", "") and hook.get("next") == f"stoker logs {job}",
        hook,
    )
    slack = got.get("/slack", {}).get("text", "")
    results.check("forms: Slack's, with its characters escaped", "&lt;b&gt;'oh'" in slack and "UserError, exit code 3" in slack, slack)
    results.check("forms: ntfy's", "exit code 3" in str(got.get("/topic")) and len(server.taken) == 3, server.taken)
    world.wait_for("what became of each is written", lambda: world.stoker("show", job).stdout.count("  told  ") == 3, timeout=10)
    told = world.stoker("show", job).stdout
    results.check("forms: show says whom what was told", "told" in told.lower() and "$HOOK" in told, told)
    found = [p for p in world.store.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]
    results.check("forms: the secret address is in no ledger", not found, found)


def test_refused(results, world):
    server = Server()
    server.answers = [404]
    env = {**world.env, "HOOK": server.url(f"/{SECRET}")}
    job = run(world, "  - webhook: $HOOK", "print('done')", env=env)
    world.stoker("wait", job, check=True)
    world.wait_for("it is given up", lambda: "given up" in world.stoker("show", job).stdout, timeout=10)
    shown = world.stoker("show", job).stdout
    results.check("refused: given up at once, and said", len(server.seen) == 1 and "404" in shown, (server.seen, shown))
    results.check("refused: without the secret", SECRET not in shown and SECRET not in world.stoker("show", job, "--json").stdout, shown)
    world.wait_for("the job is over", lambda: world.stoker("ls") and not (world.store / "active" / job).exists(), timeout=10)


def test_again(results, world):
    server = Server()
    server.answers = [503]
    job = run(world, f"  - webhook: {server.url('/')}", "print('done')")
    world.stoker("wait", job, check=True)
    active = world.store / "active" / job
    results.check("again: what was not told is still looked after", active.exists() and not server.taken, server.taken)
    world.wait_for("it is told", lambda: world.stoker("ls") and server.taken, timeout=60, every=1)
    world.stoker("ls")
    results.check("again: told once, and then it is over", server.events(job) == {f"{job}-end": 1} and not active.exists(), server.taken)


def test_lost(results, world):
    """What was taken, and its answer was cut off: nobody knows, so that it is told again, as the same."""
    server = Server()
    server.answers = [LOST]
    job = run(world, f"  - webhook: {server.url('/')}", "print('done')")
    world.stoker("wait", job, check=True)
    active = world.store / "active" / job
    world.wait_for("it is told again", lambda: world.stoker("ls") and not active.exists(), timeout=60, every=1)
    results.check("lost: told again, with the same id", server.events(job) == {f"{job}-end": 2}, server.taken)
    results.check("lost: and then it is told", "given up" not in world.stoker("show", job).stdout, world.stoker("show", job).stdout)


STEPS = """
import os, pathlib, time
folder = pathlib.Path(os.environ["STOKER_CHECKPOINT_DIR"])
start = max([int(p.name[5:]) for p in folder.glob("step-*")], default=0)
for step in range(start + 1, start + 200):
    (folder / f"new-{step}").write_text(str(step))
    (folder / f"new-{step}").rename(folder / f"step-{step}")
    print("step", step, flush=True)
    time.sleep(0.1)
    if start and step > start + 5:
        break
"""


def test_chaos(results, world):
    """Six jobs, each interrupted once, with agents and lookers that are killed."""
    server = Server()
    server.fails_each = 3
    jobs = [run(world, f"  - webhook: {server.url('/')}", STEPS) for _ in range(6)]
    lookers = [world.start("controller", "--interval", "1s") for _ in range(2)]
    for job in jobs:
        world.wait_for("it saves", lambda job=job: "step 2" in world.stoker("logs", job).stdout, timeout=60)
        world.stoker("preempt", job, "--in", "3s", check=True)
        lookers.pop(0).send_signal(signal.SIGKILL)
        lookers.append(world.start("controller", "--interval", "1s"))
    for job in jobs:
        world.stoker("wait", job, timeout=120)
    over = lambda: not any((world.store / "active" / job).exists() for job in jobs)
    world.wait_for("all is told", lambda: world.stoker("ls") and over(), timeout=120, every=1)
    for looker in lookers:
        looker.terminate()
    for job in jobs:
        want = {f"{job}-end": 1, f"{job}-interruption-1": 1}
        attempts = world.json("show", job)["job"]["attempts"]
        more = {f"{job}-interruption-{a['number']}": 1 for a in attempts[1:-1] if not a.get("not_needed")}
        results.check(f"chaos: {job}: each event once", server.events(job) == {**want, **more}, (server.events(job), attempts))


if __name__ == "__main__":
    play(globals(), World("notify"))
