# SPDX-License-Identifier: Apache-2.0
"""One job of the storm: what it is, the violence that it meets, and what it is judged by. All that
it does is drawn from (seed, number) alone; only the moments depend on the machine."""

import json
import random
import shutil
import signal
import subprocess
import time

from test.e2e.kit.harness import patience
from test.outside import jobs, oracle, sight

ACT_PATIENCE = 6.0  # an act that finds nobody for so long is dropped
LIMIT = 240.0  # seconds in which a job must end, on a quiet machine
LEADS = ("0s", "300ms", "1s", "2s", "5s", "10s")
ACTS = ["kill"] * 6 + ["stop"] * 3 + ["preempt"] * 5 + ["all", "cli", "verb", "verb"]
VERBS = (["show"], ["logs", "-f"], ["ls"], ["checkpoints"], ["wait"], ["controller", "--once"], ["get"], ["gc"], ["preempt", "--in", "1s"])
FINAL = ("Succeeded", "Failed", "Cancelled")


class Job:
    def __init__(self, world, seed, number):
        self.rng = rng = random.Random(f"{seed}-{number}")
        self.world, self.number, self.name = world, number, f"outside-{number}"
        # Each habit once before any comes again.
        names = sorted(jobs.HABITS)
        random.Random(f"{seed}").shuffle(names)
        self.habit = names[(number - 1) % len(names)]
        traits = jobs.HABITS[self.habit]
        self.fate = rng.choices(["ends", "fails", "cancelled"], [80, 8, 12])[0]
        self.nodes = 2 if rng.random() < 0.2 else 1
        self.quiet = rng.choice([1.0, 2.0])
        self.attached = rng.random() < 0.4
        odd = rng.sample(range(jobs.ODD_NAMES), 5)
        self.odd = odd if traits.get("odd", True) and rng.random() < 0.5 else []
        self.kept = rng.choice(["out", "output", "results"])
        quick = traits.get("quick", 1)
        self.saves = rng.randint(6, 12) * quick
        self.pause = rng.uniform(0.3, 1.4) / quick
        self.keep = rng.choice([0, 1, 3, 3])
        self.acts = [self.draw() for _ in range(rng.randint(1, 4))]
        if rng.random() < 0.1:
            self.acts = []
        if self.fate == "cancelled":
            self.acts.insert(rng.randint(0, len(self.acts)), ("cancel", 0, 0, None))
        # The first comes when something has been saved, most of the time; gaps are popped.
        self.gaps = [*(rng.uniform(0.5, 4) for _ in self.acts), rng.uniform(1.5, 6)]
        self.id = self.process = self.shown = self.waiting = None
        self.done, self.listed, self.taken, self.stopped = [], [], {}, []
        self.state, self.due, self.look = "", 0.0, 0.0

    def draw(self):
        """(act, who, how long, words): the last three mean what the act makes of them."""
        rng = self.rng
        act = rng.choice(ACTS)
        words = [rng.choice(LEADS)] if act == "preempt" else rng.choice(VERBS)
        return act, rng.random(), rng.uniform(0.2, 3), words

    def text(self):
        return (
            f"job {self.number} {self.id} ({self.habit}, {self.fate}, {self.nodes} nodes, "
            f"{self.saves} saves each {self.pause:.1f} s"
            f"{', odd names' if self.odd else ''}; {'; '.join(self.done) or 'in peace'})"
        )

    def submit(self):
        path = self.world.work / f"{self.name}.yaml"
        path.write_text(
            jobs.job_file(
                self.world,
                self.name,
                self.habit,
                self.saves,
                self.pause,
                quiet=self.quiet,
                keep=self.keep,
                nodes=self.nodes,
                kept=self.kept,
                odd=self.odd,
                exit_code=7 if self.fate == "fails" else 0,
            )
        )
        if self.attached:
            self.process = self.world.start("run", path, stdout=subprocess.DEVNULL, stderr=open(self.world.root / "attached.log", "a"))
            named = self.world.wait_for(f"{self.name} in the list", lambda: self.world.json("ls", "--all", "--name", self.name), 60, 0.1)
            self.id = named[0]["id"]
        else:
            self.id = self.world.submit(path)
        self.begun = time.monotonic()
        self.due = self.begun + self.gaps.pop()

    # ---- violence ----

    def storm(self, everybody, log):
        now = time.monotonic()
        self.wake(now)
        if now >= self.look:
            self.look = now + 1.0
            self.list_checkpoints()
        if not self.acts or now < self.due:
            return
        self.waiting = self.waiting or now
        act = self.acts[0]
        what = self.act(act, sight.of_job(everybody, self.id))
        if what is None and now - self.waiting < ACT_PATIENCE:
            return
        log(f"{self.name} {self.id} {act[0]}: {what or 'dropped, there is nobody'}")
        if what is not None:
            self.done.append(what)
        self.waiting = None
        self.acts.pop(0)
        self.due = time.monotonic() + self.gaps.pop()

    def list_checkpoints(self):
        """What anybody may count on from this moment on."""
        when = time.time()
        done = self.world.stoker("checkpoints", self.id, "--json")
        if done.returncode == 0:
            self.listed.append((when, json.loads(done.stdout)))

    def act(self, drawn, mine):
        """What was done, in words, or None."""
        act, who, how_long, words = drawn
        if act == "cancel":
            done = self.world.stoker("cancel", self.id, "--no-wait")
            return f"cancel -> {done.returncode}"
        if act == "cli":
            if not self.process or self.process.poll() is not None:
                return None
            self.process.kill()
            return "kill the command line"
        if act == "verb":
            return self.kill_verb(words, who)
        # All others need a program that has begun.
        if not any(one.is_program() and not one.kind().startswith("__") for one in mine):
            return None
        if act == "preempt":
            done = self.world.stoker("preempt", self.id, "--in", words[0])
            if done.returncode == 0 and words[0] in LEADS[:3]:
                self.took(f"notice of {words[0]}")
            return f"preempt --in {words[0]}" if done.returncode == 0 else None
        one = mine[int(who * len(mine))]
        if act == "stop":
            return self.stop(one, how_long)
        targets = mine if act == "all" else [one]
        if not sight.kill([target.pid for target in targets]):
            return None
        if act == "all" or not one.is_program():
            self.took("killed")
        return "kill all" if act == "all" else f"kill {one.kind()}"

    def took(self, how):
        """The attempt that runs now may lose what had not left its machine."""
        started = [e["attempt"] for events in jobs.evidence(self.world, self.id).values() for e in events if e["e"] == "begin"]
        if started:
            self.taken[max(started)] = how

    def kill_verb(self, words, moment):
        many = words[0] in ("ls", "controller", "gc")
        place = self.world.root / f"got-{self.number}-{len(self.done)}"
        more = [place] if words[0] == "get" else []
        started = self.world.start(
            words[0], *([] if many else [self.id]), *more, *words[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(moment * 0.2)
        started.kill()
        started.wait()
        return f"kill 'stoker {' '.join(words)}'"

    def stop(self, one, how_long):
        # A program that stands still between two files of its first save for longer than `quiet`
        # is what docs/checkpoints.md calls unknowable.
        if one.is_program():
            how_long = min(how_long, 0.4 * self.quiet)
        if not sight.send([one.pid], signal.SIGSTOP):
            return None
        self.stopped.append((time.monotonic() + how_long, one.pid))
        return f"stop {one.kind()} for {how_long:.1f} s"

    def wake(self, now):
        for until, pid in [one for one in self.stopped if one[0] <= now]:
            sight.send([pid], signal.SIGCONT)
            self.stopped.remove((until, pid))

    # ---- the end ----

    def ended(self, states):
        """True when it has, or when it should have long since."""
        self.state = states.get(self.id, self.state)
        if self.state in FINAL:
            self.wake(float("inf"))
            return True
        return time.monotonic() - self.begun > patience(LIMIT)

    def facts(self):
        """All that the oracle goes by."""
        world = self.world
        shown = world.json("show", self.id)
        told = world.stoker("logs", self.id, "--json").stdout
        logs = [json.loads(line) for line in told.splitlines()]
        folder = world.root / f"outputs-{self.number}"
        folder.mkdir()
        done = world.stoker("get", self.id, folder)
        got = sight.tree(folder) if done.returncode == 0 else None
        shutil.rmtree(folder)
        met = self.fate != "cancelled" or any("cancel" in one for one in self.done)
        return oracle.Facts(
            jobs.evidence(world, self.id),
            shown,
            logs,
            self.listed,
            got,
            self.fate if met else "ends",
            self.quiet,
            self.taken,
            self.world.ships,
            self.keep,
        )
