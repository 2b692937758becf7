# SPDX-License-Identifier: Apache-2.0
"""A World whose jobs run on a Lab, and what the tests of Slurm ask of it."""

import json
import pathlib
import re
import shutil

from test.e2e.kit import ledger_view
from test.e2e.kit.harness import World
from test.slurm.kit.lab import Lab

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "e2e" / "programs"
ENDS = ("Succeeded", "Failed", "Cancelled")

SQUEUE = """#!/bin/sh
# squeue, as it is while Slurm's controller is behind (hold: what it said last) or away.
here=$(dirname "$0")
if [ -e "$here/away" ]; then
  echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2
  exit 1
fi
if [ ! -e "$here/hold" ]; then
  {squeue} "$@" >"$here/.$$" || exit
  if [ -e "$here/hold" ]; then rm "$here/.$$"; else mv "$here/.$$" "$here/last"; fi
fi
cat "$here/last"
"""


def job_of(name):
    """Whose it is, of stoker's: "train:fmqmq2am.75869c17"; '' = of none."""
    found = re.fullmatch(r"[\w.-]+:(\w+)\.[\w-]+", name)
    return found[1] if found else ""


class SlurmWorld(World):
    def __init__(self, lab, name="slurm"):
        super().__init__(name)
        self.lab = lab
        self.env["SLURM_CONF"] = str(lab.conf)
        self.env["TMPDIR"] = str(self.root)
        (self.work / "trainer.py").write_text((PROGRAMS / "trainer.py").read_text())

    def train(self, steps, *flags, where="slurm", pause=0.2):
        return self.submit("--infra", where, *flags, "--", "/usr/bin/python3", "trainer.py", str(steps), "--pause", str(pause))

    def slurm_jobs(self, job):
        """{number: state} of all jobs of Slurm that were made for it, as far as Slurm remembers."""
        rows = self.lab.all_jobs()
        return {number: state for number, name, state in rows if job_of(name) == job}

    def own_squeue(self):
        """The folder of a squeue of its own, which stands before the real one for all of stoker: a
        file `hold` or `away` in it makes it behave so (SQUEUE)."""
        folder = self.root / "programs"
        folder.mkdir()
        (folder / "squeue").write_text(SQUEUE.format(squeue=shutil.which("squeue")))
        (folder / "squeue").chmod(0o755)
        self.env["PATH"] = f"{folder}:{self.env['PATH']}"
        return folder

    def running(self, job, limit=60):
        """The number of the job of Slurm in which it trains."""

        def one():
            attempts = self.job(job)["attempts"]
            live = [n for n, state in self.slurm_jobs(job).items() if state == "RUNNING"]
            trains = attempts and attempts[-1]["state"] == "Running"
            return live[0] if trains and len(live) == 1 else None

        return self.wait_for(f"{job} to run", one, limit, 0.2)

    def ended(self, job, limit=120):
        """The state in which it ends. Reads the record in the store, without stoker: nobody but its
        nodes looks after it."""

        def over():
            record = ledger_view.record(self.store, job)
            return record["state"] if record and record["state"] in ENDS else None

        return self.wait_for(f"{job} to end", over, limit, 0.5)

    def lines(self, job):
        text = self.stoker("logs", job, "--json", check=True).stdout
        records = [json.loads(line) for line in text.splitlines()]
        return [(r["attempt"], r["text"]) for r in records if r["stream"] == "o"]

    def runs(self, job):
        """[(attempt, where it began, [steps])] of a trainer."""
        found = {}
        for attempt, text in self.lines(job):
            if begun := re.match(r"start (\d+) ", text):
                found[attempt] = (int(begun[1]), [])
            elif step := re.match(r"step (\d+)$", text):
                found[attempt][1].append(int(step[1]))
        return [(attempt, *found[attempt]) for attempt in sorted(found)]

    def step_of(self, job):
        runs = self.runs(job)
        return runs[-1][2][-1] if runs and runs[-1][2] else 0

    @staticmethod
    def programs(job):
        """Pids of its program, by its own variables: it has none of Slurm's."""
        return [
            int(p.name)
            for p in pathlib.Path("/proc").iterdir()
            if p.name.isdigit() and f"STOKER_JOB_ID={job}".encode() in Lab.environ(p.name)
        ]

    def nothing_left(self, job, limit=60):
        """Whoever looks tidies up; then Slurm has no job of it, the nodes no process, the state
        folder no request."""
        requests = self.state / "slurm" / "requests"

        def gone():
            self.stoker("show", job)
            live = [s for s in self.slurm_jobs(job).values() if s not in self.lab.OVER]
            return not (live or list(requests.glob(f"*-{job}.*")) or self.programs(job))

        self.wait_for(f"nothing to be left of {job}", gone, limit, 0.5)


def whole(runs, steps, redone=0):
    """Each step was made, in order, and at most `redone` of them twice at each new beginning.
    "" = so it was, else what was not."""
    at = 0
    for attempt, start, made in runs:
        if start > at + 1 or start < at - redone:
            return f"attempt {attempt} begins at {start} after step {at}: {runs}"
        if made != list(range(start + 1, start + 1 + len(made))):
            return f"attempt {attempt} makes {made} from {start}"
        at = made[-1] if made else start
    return "" if at == steps else f"it ends at step {at}, not {steps}: {runs}"
