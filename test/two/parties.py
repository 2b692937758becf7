# SPDX-License-Identifier: Apache-2.0
"""A party of test/two: a home, a store, a user and a binary, and what belongs to it."""

import hashlib
import json
import os
import pathlib
import shutil
import time

from test.e2e.kit.harness import BINARY, PYTHON

PROGRAM = """\
import glob, os, signal, sys, time
evidence = sys.argv[1]
def add(kind, text):
    with open(evidence + '.' + kind, 'a') as file:
        file.write(text)
def told(*_):
    add('told', 'x')
    sys.exit(0)
signal.signal(signal.SIGTERM, told)
os.makedirs('checkpoints', exist_ok=True)
begun = len(glob.glob('checkpoints/s-*'))
add('begun', f'{begun}\\n')
mode = open(evidence + '.mode').read()
if mode != 'wait':
    with open('checkpoints/new', 'w') as file:
        file.write(evidence * 100)
    os.rename('checkpoints/new', f'checkpoints/s-{begun + 1}')
    while mode == 'fail' and not os.path.exists(f'{evidence}.kept-{begun}'):
        time.sleep(0.05)
    sys.exit(mode == 'fail')
while True:
    add('beat', '.')
    time.sleep(0.1)
"""


def another_binary(path):
    """The same program with another digest."""
    shutil.copy(BINARY, path)
    with open(path, "ab") as file:
        file.write(b"\0another")
    return str(path)


def tree(root):
    """How many files there are, and a digest of all."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    whole = hashlib.sha256()
    for path in files:
        whole.update(str(path).encode() + b"\0" + path.read_bytes())
    return f"{len(files)} files, {whole.hexdigest()[:12]}"


class Party:
    def __init__(self, name, world, binary, store, user, like=""):
        """`like`: a party of the same home, whose settings it has but for the store."""
        self.name, self.world, self.binary, self.store = name, world, binary, store
        self.folder = world.root / name
        self.folder.mkdir()
        (self.folder / "work").mkdir()
        (self.folder / "work" / "prog.py").write_text(PROGRAM)
        self.config = self.folder / "config"
        if like:
            shutil.copytree(world.root / like / "config", self.config)
        self.env = {"USER": user, "LOGNAME": user, "XDG_CONFIG_HOME": str(self.config)}
        self.evidence = {}
        self.damaged = {}
        self.stoker("config", "set", "store", str(store), check=True)

    def stoker(self, *args, **kwargs):
        world, before = self.world, self.world.binary
        world.binary = self.binary
        try:
            return world.stoker(*args, cwd=self.folder / "work", env=self.env, **kwargs)
        finally:
            world.binary = before

    def start(self, *args):
        world, before = self.world, self.world.binary
        world.binary = self.binary
        try:
            return world.start(*args, cwd=self.folder / "work", env=self.env)
        finally:
            world.binary = before

    # ---- jobs ----
    def run_words(self, name, mode):
        evidence = self.folder / name
        pathlib.Path(f"{evidence}.mode").write_text(mode)
        return ["run", "--detach", "--name", name, "--stop-grace", "2s", "--", PYTHON, "prog.py", str(evidence)]

    def submit(self, name, mode):
        done = self.stoker(*self.run_words(name, mode), check=True)
        job = done.stdout.split()[0]
        self.evidence[job] = self.folder / name
        return job

    def saved(self, name, mode="save"):
        """A job that has ended, with a checkpoint."""
        job = self.submit(name, mode)
        self.stoker("wait", job)
        return job

    def kept(self, job, begun):
        """The job fails once its save is in the store."""
        manifests = self.store / "jobs" / job / "checkpoints" / "manifests"
        self.world.wait_for(f"{job} has saved", lambda: list(manifests.glob("*.json")))
        pathlib.Path(f"{self.evidence[job]}.kept-{begun}").touch()
        self.stoker("wait", job)

    def waiting(self, name):
        """A job whose program runs."""
        job = self.submit(name, "wait")
        self.world.wait_for(f"{name} of {self.name} runs", lambda: self.alive(job))
        self.settled(job)
        return job

    def settled(self, job):
        self.world.wait_for(f"{job} is Running", lambda: self.record(job)["state"] == "Running")

    def alive(self, job=None):
        beat = pathlib.Path(f"{self.evidence[job or self.on]}.beat")
        size = beat.stat().st_size if beat.exists() else 0
        end = time.monotonic() + 2
        while time.monotonic() < end:
            if beat.exists() and beat.stat().st_size > size:
                return True
            time.sleep(0.02)
        return False

    def told(self, job):
        return pathlib.Path(f"{self.evidence[job]}.told").exists()

    def begun(self, job):
        return pathlib.Path(f"{self.evidence[job]}.begun").read_text().split()

    def ended(self, job, state):
        """ "" or what it is instead."""
        done = self.stoker("wait", job, "--timeout", "10s")
        now = self.record(job)["state"]
        return "" if now == state else f"{job} is {now}: {done.stdout} {done.stderr}"

    def row(self, job):
        rows = json.loads(self.stoker("ls", "--all", "--json").stdout)
        return next((row for row in rows if row["id"] == job), {})

    def retire(self, *jobs):
        """Until they are only looked at any more: somebody of their own computer has seen that
        their machines are gone."""

        def over():
            left = [job for job in jobs if (self.store / "active" / job).exists()]
            if left:
                self.stoker("ls")
            return not left

        self.world.wait_for(f"{jobs} are over", over)

    # ---- records, by hand ----
    def newest(self, job):
        """Raises FileNotFoundError where it is gone."""
        folder = self.store / "records" / f"{job}.json.rev"
        return max((p for p in folder.iterdir() if p.name[0].isdigit()), key=lambda p: p.name)

    def has_record(self, job):
        try:
            return self.newest(job).exists()
        except (FileNotFoundError, ValueError):
            return False

    def record(self, job):
        """As somebody who reads the folder sees it: it is being replaced now and then."""
        for _ in range(1 if job in self.damaged else 50):
            try:
                return json.loads(self.newest(job).read_text())
            except (OSError, ValueError):
                time.sleep(0.02)
        return {"state": "unreadable"}

    def damage(self, job):
        path = self.newest(job)
        whole = path.read_bytes()
        self.damaged[job] = (path, whole)
        path.write_bytes(whole[: len(whole) // 2])

    def mend(self, job):
        path, whole = self.damaged.pop(job)
        path.write_bytes(whole)

    def suspect(self):
        """The only save of a job that failed is one that is not restored any more: what runs, and
        goes on from it, needs what that one went on from."""
        self.root = self.submit("root", "fail")
        self.kept(self.root, 0)
        weak = self.stoker("retry", "--detach", self.root, check=True).stdout.split()[0]
        self.evidence[weak] = self.evidence[self.root]
        self.kept(weak, 1)
        self.retire(self.root, weak)
        path = self.newest(weak)
        record = json.loads(path.read_text())
        record["suspects"] = [record["attempts"][-1]["newest_checkpoint"]]
        path.write_text(json.dumps(record))
        pathlib.Path(f"{self.evidence[weak]}.mode").write_text("wait")
        third = self.stoker("retry", "--detach", weak, check=True).stdout.split()[0]
        self.settled(third)
        self.needed.append(self.root)

    def an_hour_later(self):
        """What was doomed in its store is due; False: nothing was."""
        folder = self.store / "doomed"
        lists = [p for p in folder.rglob("*") if p.is_file()] if folder.exists() else []
        for path in lists:
            text = path.read_text()
            if '"at"' in text:
                path.write_text(json.dumps({**json.loads(text), "at": "2020-01-01T00:00:00.000Z"}))
            os.utime(path, (path.stat().st_mtime - 7200,) * 2)
        return bool(lists)

    # ---- what belongs to it ----
    def settle(self):
        self.base = self.saved("base")
        # It goes on from the base, and has not saved anything of its own.
        pathlib.Path(f"{self.evidence[self.base]}.mode").write_text("wait")
        self.on = self.stoker("retry", "--detach", self.base, check=True).stdout.split()[0]
        self.evidence[self.on] = self.evidence[self.base]
        self.world.wait_for(f"the retry of {self.name} runs", self.alive)
        self.settled(self.on)
        self.needed = [self.base]
        self.run = self.waiting("run")
        self.retire(self.base)
        self.agent = self.world.state / "bin" / self.record(self.on)["binary_digest"]

    def age(self):
        """Nobody has used this binary for long, except the job."""
        long_ago = time.time() - 40 * 86400
        if self.agent.exists():
            os.utime(self.agent, (long_ago, long_ago))

    def belongings(self):
        on = self.record(self.on)
        all_of = {f"jobs/{job}": tree(self.store / "jobs" / job) for job in self.needed}
        all_of.update((f"record {job}", self.has_record(job)) for job in self.needed)
        blobs = [p.name for p in (self.store / "blobs").iterdir()]
        for digest in (on.get("code_digest"), on.get("binary_digest")):
            all_of[f"blob {digest}"] = any(name.startswith(digest or "-") for name in blobs)
        all_of["the binary that its agent is"] = (self.agent / "stoker").exists()
        for job in (self.on, self.run):
            now = self.record(job)
            all_of[f"job {job}"] = (now["state"], "cancel" in now, len(now.get("attempts", [])))
            all_of[f"the program of {job} was told to end"] = self.told(job)
        all_of["its settings name its store"] = str(self.store) in "".join(p.read_text() for p in self.config.rglob("*") if p.is_file())
        return all_of

    def changed(self, before):
        now = self.belongings()
        return ", ".join(f"{what}: {value} -> {now.get(what)}" for what, value in before.items() if now.get(what) != value)
