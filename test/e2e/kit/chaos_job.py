# SPDX-License-Identifier: Apache-2.0
"""One job of the chaos test: what it is, and the bounded list of violence it will meet. Everything
is drawn from (seed, number) alone, so that a seed always means the same jobs and the same acts;
only their moments depend on the machine."""

import json
import pathlib
import random
import signal
import subprocess
import time

from test.e2e.kit import ledger_view

TRAINER = pathlib.Path(__file__).parents[1] / "programs" / "chaos_trainer.py"
PYTHON = "/usr/bin/python3"
PATIENCE = 4.0  # an act that finds nothing to do violence to for so long is dropped
TARGETS = ("agent", "machine", "program", "init")
ACTS = (
    ["agent"] * 4
    + ["machine"] * 2
    + ["program"] * 2
    + ["init"]
    + ["notice"] * 5
    + ["cli"]
    + ["verb"] * 2
    + ["all", "pause", "pause"]
    + ["notice+agent"] * 2
    + ["agents"]
)
VERBS = (["show"], ["logs", "-f"], ["ls"], ["preempt", "--in", "1s"], ["controller", "--once"], ["gc"], ["wait"], ["checkpoints"])


class Job:
    def __init__(self, world, processes, seed, number):
        rng = self.rng = random.Random(f"{seed}-{number}")
        self.world = world
        self.processes = processes
        self.number = number
        self.name = f"chaos-{number}"
        self.nodes = rng.choice([1, 1, 1, 2, 2, 3])
        self.style = rng.choice(["overwrite", "rename", "folders"])
        self.steps = rng.randint(10, 60)
        self.attached = rng.random() < 0.5
        self.fate = rng.choices(["ends", "crashes", "cancelled"], [85, 10, 5])[0]
        self.packed = rng.random() < 0.3  # with a work directory
        self.keep = rng.choice([0, 0, 1, 3])
        self.ending = rng.choice(["pidns", "pidns", "subreaper"])
        self.kill_submit = rng.random() < 0.15
        self.acts = [rng.choice(ACTS) for _ in range(rng.randint(2, 6))]
        if rng.random() < 0.2:
            self.acts = []  # runs in peace beside the storm
        if self.fate == "cancelled":
            self.acts.insert(rng.randint(0, len(self.acts)), "cancel")
        # Long enough for most of its acts to meet it.
        self.step_ms = int(1000 * (rng.uniform(0.2, 2) + 0.7 * len(self.acts)) / self.steps)
        self.process = None
        self.late = False  # a submitter was killed, and nothing of its job was found
        self.id = None
        self.due = None
        self.done = []  # acts that happened
        self.waiting_since = None
        self.paused = []  # (until, pid)
        self.write_file()

    def write_file(self):
        extra = ""
        if self.packed:
            folder = self.world.work / f"code-{self.number}"
            folder.mkdir()
            (folder / "note.txt").write_text(self.name)
            extra = f"workdir: {folder}\n"
        self.file = self.world.work / f"job-{self.number}.yaml"
        # A program that is killed by -9 is a user's error, and its shell says 137. Nothing else is
        # forgiven: the checks must not have to.
        self.file.write_text(f"""\
name: {self.name}
num_nodes: {self.nodes}
{extra}stop_grace: 2s
config: {{stoker: {{ending: {self.ending}}}}}
checkpoints: {{path: checkpoints, quiet: 100ms, keep: {self.keep}}}
outputs: [output]
job_recovery: {{recover_on_exit_codes: [137]}}
run: |
  {"test -f note.txt || exit 9" if self.packed else ":"}
  exec {PYTHON} {TRAINER} --evidence {self.world.evidence} --steps {self.steps} \
    --step-ms {self.step_ms} --style {self.style} \
    --exit-code {7 if self.fate == "crashes" else 0}
""")

    # ---- submitting ----

    def submit(self, log):
        if self.kill_submit:
            started = self.start_run("--detach")
            time.sleep(self.rng.random() * 0.12)
            started.kill()
            started.wait()
            self.id = self.find()
            self.late = not self.id
            log(self, "submit killed", "in the ledger" if self.id else "nothing in the ledger")
        elif self.attached:
            self.process = self.start_run()
            # It may fail and say why, where the store fails.
            self.world.wait_for(f"{self.name} in the ledger", self.found_or_ended, 60, 0.02)
            self.process = self.process if self.id else None
        if not self.id:
            self.id = self.submit_again(log)
        self.submitted = time.monotonic()
        self.due = self.submitted + self.rng.random() * 1.5
        log(self, "submitted", self.id)

    def found_or_ended(self):
        over = self.process.poll() is not None
        self.id = self.find()
        return self.id or over

    def submit_again(self, log):
        """Where the store fails, a submit may fail and say why; the job may be there anyway."""
        for _ in range(5):
            done = self.world.stoker("run", self.file, "--detach", "--json")
            if done.returncode == 0:
                return json.loads(done.stdout)["id"]
            log(self, "submit failed", done.stdout.strip())
            if isinstance(self.world.store, pathlib.Path):
                break
            if found := self.find():
                return found
        raise AssertionError(f"{self.name}: {done.stdout} {done.stderr}")

    def start_run(self, *more):
        return self.world.start("run", self.file, *more, stdout=subprocess.DEVNULL, stderr=open(self.world.root / "cli.log", "a"))

    def find(self):
        for job in ledger_view.job_ids(self.world.store) - self.world.known:
            record = ledger_view.record(self.world.store, job)
            if record and record["name"] == self.name:
                self.world.known.add(job)
                return job
        return None

    # ---- violence ----

    def storm(self, running, log):
        """The next act, if its time has come; one that finds no victim waits a little for one."""
        now = time.monotonic()
        self.wake(now)
        if not self.acts or now < self.due:
            return
        act = self.acts[0]
        self.waiting_since = self.waiting_since or now
        what = self.act(act, running)
        if what is None and now - self.waiting_since < PATIENCE:
            return
        self.acts.pop(0)
        self.waiting_since = None
        self.due = time.monotonic() + self.rng.random() * 1.5
        log(self, act, "dropped: nothing to meet" if what is None else what)
        if what is not None:
            self.done.append(act)

    def act(self, act, running):
        """Text of what was done, or None."""
        mine = [(pid, kind) for pid, kind, job in running if job == self.id]
        if act in TARGETS:
            pids = [pid for pid, kind in mine if kind == act]
            return self.kill([self.rng.choice(pids)]) if pids else None
        if act == "agents":
            return self.kill([pid for pid, kind in mine if kind == "agent"])
        if act == "all":
            return self.kill([pid for pid, kind in mine if kind in ("agent", "machine")])
        if act == "pause":
            pids = [pid for pid, kind in mine if kind in ("agent", "machine")]
            return self.pause(self.rng.choice(pids)) if pids else None
        if act == "cli":
            if not self.process or self.process.poll() is not None:
                return None
            self.process.kill()
            return "killed"
        if act == "verb":
            return self.kill_verb()
        if act == "cancel":
            done = self.world.stoker("cancel", self.id)
            return f"-> {done.returncode}"
        text = self.notice()
        if text and act == "notice+agent":
            time.sleep(self.rng.random() * 0.3)
            pids = [pid for pid, kind in mine if kind == "agent"]
            killed = self.kill([self.rng.choice(pids)]) if pids else None
            text += f", {killed or 'no agent'}"
        return text

    def kill(self, pids):
        reached = self.processes.send(pids, signal.SIGKILL)
        return f"pid {' '.join(map(str, reached))}" if reached else None

    def pause(self, pid):
        """As when a machine swaps, or is suspended: alive, and silent for a while."""
        seconds = self.rng.uniform(0.2, 3)
        if not self.processes.send([pid], signal.SIGSTOP):
            return None
        self.paused.append((time.monotonic() + seconds, pid))
        return f"pid {pid} for {seconds:.1f} s"

    def wake(self, now):
        for until, pid in [p for p in self.paused if p[0] <= now]:
            self.processes.send([pid], signal.SIGCONT)
            self.paused.remove((until, pid))

    def notice(self):
        lead = self.rng.choice(["0s", "0s", "300ms", "1s", "2s", "5s"])
        node = self.rng.randrange(-1, self.nodes)
        which = ["--node", node] if node >= 0 else []
        done = self.world.stoker("preempt", self.id, "--in", lead, *which)
        return f"{lead} node {node}" if done.returncode == 0 else None

    def kill_verb(self):
        verb = self.rng.choice(VERBS)
        words = [verb[0], *([] if verb[0] in ("ls", "controller", "gc") else [self.id]), *verb[1:]]
        started = self.world.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.rng.random() * 0.15)
        started.kill()
        return f"{' '.join(words)} -> {started.wait()}"

    def ended(self):
        record = ledger_view.record(self.world.store, self.id)
        if record is None or record["state"] not in ledger_view.FINAL:
            return False
        self.seconds = time.monotonic() - self.submitted
        self.wake(float("inf"))
        return True
