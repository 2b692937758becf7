#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job made and its store has no room for, when its owner has cancelled it: it stays on this
machine, and nobody takes the job for one that lost nothing. hardship.py runs it beside its own
rows, as nearly all of it is the minute that a node goes on trying after a cancel."""

import contextlib
import os
import pathlib
import re
import signal
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World

SAVES = 2_500_000  # bytes of each file; less room than one of them is left


def fill(where, left):
    """Until so much room is left there."""
    stats = os.statvfs(where)
    (where / "ballast").write_bytes(bytes(max(0, stats.f_bavail * stats.f_frsize - left)))


def says_full(world, job):
    return "No space" in world.stoker("show", job).stdout


class FullStore:
    """Three jobs in a store on a small disk; the machines' folders have all the room they want."""

    def __init__(self, stack, small):
        self.world = stack.enter_context(World("unsaved"))
        self.store = self.world.root / "small-store"
        stack.enter_context(small(self.world, self.store, "size=64m"))
        self.world.stoker("config", "set", "store", self.store, check=True)
        gate = self.world.gate()
        write = f"mkdir out; for i in 1 2 3 4; do yes $i | head -c {SAVES} > out/f$i; done"
        save = f"mkdir checkpoints/s; yes c | head -c {SAVES} > checkpoints/s/model; sleep 1"
        self.notes = ""  # what ls has said so far
        self.jobs = {
            "outputs": self.submit("--output", "out", "--", "sh", "-c", f"{gate}; {write}"),
            "checkpoint": self.submit("--", "sh", "-c", f"{gate}; {save}"),
        }
        spec = self.world.work / "required.yaml"
        spec.write_text(f"outputs: [{{path: out, required: true}}]\nstop_grace: 1s\nrun: |\n  {gate}\n  {write}\n")
        self.jobs["required"] = self.submit(spec)
        fill(self.store, SAVES // 2)
        self.world.open_gate()

    def submit(self, *words):
        grace = [] if len(words) == 1 else ["--stop-grace", "1s"]
        return self.world.submit(*grace, *words)

    def cancel(self):
        for job in self.jobs.values():
            self.world.wait_for("the store is full", lambda j=job: says_full(self.world, j))
        time.sleep(5)  # and it is said in some more tries
        job = self.jobs["outputs"]
        self.saving = {"show": self.world.stoker("show", job).stdout, "ls": self.world.stoker("ls").stderr}
        self.saving_ms = self.world.json("show", job)["saving_ms"]
        self.world.stoker("cancel", "--no-wait", *self.jobs.values(), check=True)

    def said(self, results, name, what):
        """Once, with what it is about, and never by the name of a temporary file."""
        log = self.world.stoker("logs", self.jobs[name]).stdout
        once = [line for line in log.split("\n") if "trying again" in line]
        results.check(
            f"{name}: a full store is said once, with the file and the store",
            len(once) == 1 and what in once[0] and str(self.store) in once[0],
            log,
        )
        results.check(f"{name}: and until when it is tried", "for 1h, or for 1m after" in log, log)
        results.check(f"{name}: no temporary name is said", ".tmp/" not in log, log)

    def kept(self, results, name, files):
        """What lies there, byte for byte, and who says so."""
        world, job = self.world, self.jobs[name]
        done = world.stoker("wait", job, timeout=120)
        place = world.state / "unsaved" / f"{job}-1-0"
        there = {str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()}
        expected = {path: (word * SAVES)[:SAVES] for path, word in files.items()}
        results.check(
            f"{name}: all that is not kept is there", there == expected, ({path: len(text) for path, text in there.items()}, done.stdout)
        )
        many = f"{len(files)} file{'s' * (len(files) > 1)}"
        listed = world.stoker("ls")
        self.notes += listed.stderr
        row = next(line for line in listed.stdout.split("\n") if line.startswith(job))
        for who, text in (("wait", done.stdout), ("show", world.stoker("show", job).stdout), ("ls", self.notes)):  # each job's once
            results.check(f"{name}: {who} names the folder", str(place) in text, text)
        results.check(f"{name}: wait says how many", f"{many} not kept" in done.stdout, done.stdout)
        results.check(f"{name}: ls says how many", f"{many} not kept" in row, row)
        told = world.json("show", job)
        results.check(f"{name}: --json has both", told["unkept"] == {"files": len(files), "path": str(place)}, told["unkept"])
        codes = {done.returncode, told["exit_code"], next(one["exit_code"] for one in world.json("ls") if one["id"] == job)}
        results.check(f"{name}: that is no success", codes == {1}, (codes, done.stdout))
        return done.stdout

    def finish(self, results):
        for who, text in self.saving.items():
            results.check(
                f"{who}: the program has ended, and what it left is being saved", "saving what its program left, for " in text, text
            )
        results.check("show --json: since when", 4000 <= self.saving_ms < 600_000, self.saving_ms)
        outputs = {f"out/f{i}": f"{i}\n".encode() for i in (1, 2, 3, 4)}
        said = self.kept(results, "outputs", outputs)
        results.check("outputs: its program has succeeded", ") Succeeded, 4 files" in said, said)
        results.check("outputs: they came", "never came" not in said, said)
        self.said(results, "outputs", "'out/f1'")
        self.kept(results, "checkpoint", {"checkpoints/s/model": b"c\n"})
        self.said(results, "checkpoint", "'s/model'")
        said = self.world.stoker("cancel", self.jobs["checkpoint"]).stdout
        results.check("cancel says how many", "Succeeded, 1 file not kept" in said, said)
        said = self.kept(results, "required", outputs)
        results.check("required: the job has failed", re.search(r"\) Failed.*'out' was not kept", said, re.DOTALL), said)
        self.collected(results)

    def collected(self, results):
        """gc leaves what is young, and says so; and takes what is old, or of a job that goes."""
        world, folder = self.world, self.world.state / "unsaved"
        fresh = world.stoker("gc", check=True)
        results.check("gc: it is left, and said", len(list(folder.iterdir())) == 3 and str(folder) in fresh.stderr, fresh.stderr)
        old = time.time() - 31 * 86400
        os.utime(folder / f"{self.jobs['outputs']}-1-0", (old, old))
        would = world.json("gc", "--dry-run")["unsaved"]
        gone = world.stoker("gc", check=True).stdout
        results.check(
            "gc: old ones go, and it is said",
            would == 1 and "1 folder of files" in gone and len(list(folder.iterdir())) == 2,
            (would, gone),
        )
        ids = [job["id"] for job in world.json("ls", "--all")]
        world.stoker("rm", "--now", "--yes", *ids, check=True)
        results.check("gc: of jobs that are gone it stays", len(list(folder.iterdir())) == 2)


class FullDisk:
    """All of stoker's lies on one disk, on which not a byte is left."""

    def __init__(self, stack, small):
        self.world = stack.enter_context(World("unsaved-disk"))
        self.home = self.world.root / "small-home"
        stack.enter_context(small(self.world, self.home, "size=100m"))
        self.env = {"HOME": str(self.home)}
        self.job = self.world.submit(
            "--output",
            "out",
            "--stop-grace",
            "1s",
            "--",
            "sh",
            "-c",
            "mkdir out; head -c 30000000 /dev/zero > out/big; " + self.world.gate(),
            env=self.env,
        )
        big = self.home / ".local/share/stoker/instances"
        self.world.wait_for("it has written", lambda: any(p.stat().st_size == 30_000_000 for p in big.glob("*/work/out/big")))
        # What stays with it says so, too, without another look.
        self.waits = self.world.start("wait", self.job, env=self.env)
        fill(self.home, 0)
        self.world.open_gate()
        verbs = [("ls",), ("show", self.job), ("logs", self.job)]
        self.full = [self.world.stoker(*words, env=self.env).stderr for words in verbs]

    def cancel(self):
        # Nothing can be written, so nobody can tell how far it is.
        self.said = self.world.stoker("cancel", "--no-wait", self.job, env=self.env, timeout=120)

    def finish(self, results):
        """The node moves it, or where its end cannot even be noted, who ends it."""
        folder = self.home / ".local/share/stoker/unsaved"
        said = "stoker: the store is full (0 B are free in "
        results.check(
            "a full disk: ls, show and logs say why nothing is heard of the nodes",
            all(text.count(said) == 1 for text in self.full),
            self.full,
        )
        self.world.wait_for(f"it was moved: {self.said}", timeout=150, condition=lambda: list(folder.glob(f"{self.job}-*")))
        place = next(iter(folder.iterdir()))
        big = list(place.rglob("big"))
        results.check("a full disk: what is not kept is moved on it", [p.stat().st_size for p in big] == [30_000_000], big)
        (self.home / "ballast").unlink()
        done = self.world.stoker("wait", self.job, env=self.env)
        waited = self.waits.communicate(timeout=60)[1]
        results.check("a full disk: who waits is told once", waited.count(said) == 1, waited)
        results.check(
            "a full disk: it is said where it lies",
            done.returncode == 1 and str(place) in self.said.stderr + done.stdout,
            (self.said.stderr, done.stdout),
        )


def agent_of(world, job):
    """The process id of the agent on the job's one machine."""
    folder = str(world.state / "instances" / world.job(job)["launches"][0]["instance_id"])
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_text().split("\0")
            if "__agent" in words and folder in words:
                return int(process.name)
    raise AssertionError("the job has no agent")


class DeadAgent:
    """The program has ended, the job is cancelled, and its agent is killed before it has saved."""

    def __init__(self, stack, small):
        self.world = stack.enter_context(World("unsaved-agent"))
        self.store = self.world.root / "small-store"
        stack.enter_context(small(self.world, self.store, "size=64m"))
        self.world.stoker("config", "set", "store", self.store, check=True)
        self.job = self.world.submit(
            "--output", "out", "--", "sh", "-c", f"{self.world.gate()}; mkdir out; yes 1 | head -c {SAVES} > out/f"
        )
        fill(self.store, SAVES // 2)
        self.world.open_gate()

    def cancel(self):
        self.world.wait_for("the store is full", lambda: says_full(self.world, self.job))
        agent = agent_of(self.world, self.job)
        os.kill(agent, signal.SIGSTOP)  # perhaps in the middle of a write that takes all there is
        ballast = self.store / "ballast"
        os.truncate(ballast, ballast.stat().st_size - SAVES // 4)  # room for records alone
        self.world.stoker("cancel", "--no-wait", self.job, check=True)
        os.kill(agent, signal.SIGKILL)

    def finish(self, results):
        done = self.world.stoker("wait", self.job, timeout=120)
        place = self.world.state / "unsaved" / f"{self.job}-1-0"
        left = place / "out" / "f"
        results.check(
            "an agent that dies after a cancel: what the program left is moved",
            left.is_file() and left.stat().st_size == SAVES,
            done.stdout,
        )
        results.check("an agent that dies after a cancel: it is said", str(place) in done.stdout, done.stdout)


def begin(stack, small):
    """Starts all of it; the result is for `finish`, a minute later."""
    rows = [FullStore(stack, small), FullDisk(stack, small), DeadAgent(stack, small)]
    for row in rows:
        row.cancel()
    return rows


def finish(rows, results):
    for row in rows:
        results.run(type(row).__name__, row.finish, results)


def main():
    from test.e2e import hardship

    hardship.enter()
    results = Results()
    with contextlib.ExitStack() as stack:
        finish(begin(stack, hardship.small), results)
    results.finish()


if __name__ == "__main__":
    sys.exit(main())
