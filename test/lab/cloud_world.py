# SPDX-License-Identifier: Apache-2.0
"""A World whose jobs run on the lab's machines, whatever cloud moves them. What happens is read from
the disks of the machines and from what the cloud was asked: no stoker runs outside meanwhile."""

import json
import pathlib
import re

TEST = pathlib.Path(__file__).resolve().parents[1]
from test.e2e.kit.harness import World
from test.e2e.kit.job_kit import texts

TRAIN = """import os, runpy
runpy.run_path('trainer.py', run_name='__main__')
os.makedirs('result', exist_ok=True)
open('result/value', 'w').write('42')
"""


def whole(runs, steps, redone=0):
    """'' where every step was made, and at most so many of them twice at each new beginning."""
    at = 0
    for attempt, start, made in runs:
        if not at - redone <= start <= at:
            return f"attempt {attempt} begins at {start} after {at}"
        if made != list(range(start + 1, start + 1 + len(made))):
            return f"attempt {attempt} makes {made} from {start}"
        at = made[-1] if made else start
    return "" if at == steps else f"it ends at {at}, not {steps}"


class CloudWorld(World):
    """A cloud says its `infra`, the URL of its `bucket`, all_machines() of the lab, the
    machines(job) in the order in which they were made, and whether one is_over(machine)."""

    def __init__(self, lab, name):
        super().__init__(name)
        self.lab = lab
        self.env.update(lab.env)
        self.stoker("config", "set", "store", self.bucket, check=True)
        programs = TEST / "e2e" / "programs"
        (self.work / "trainer.py").write_text((programs / "trainer.py").read_text())
        self.program(TRAIN, "train.py")

    def train(self, steps, *flags, pause=0.5):
        return self.submit(
            "--infra", self.infra, *flags, "--output", "result", "--", "/usr/bin/python3", "train.py", str(steps), "--pause", str(pause)
        )

    def machine(self, job, at, limit=60):
        def there():
            return len(self.machines(job)) > at and self.machines(job)[at]

        return self.wait_for(f"machine {at} of {job}", there, limit, 0.2)

    def files_on(self, machine, pattern):
        """Of its disk; none at the moment in which a folder there goes."""
        try:
            return list((pathlib.Path(self.lab.folder) / machine.id / "disk").glob(pattern))
        except OSError:
            return []

    def step_on(self, machine):
        """What its disk says; 0 before there is any."""
        steps = [0]
        for found in self.files_on(machine, "**/state.txt"):
            try:
                steps.append(int(found.read_text() or 0))
            except (OSError, ValueError):
                continue  # it is being replaced
        return max(steps)

    def trained(self, machine, steps, limit=120):
        self.wait_for(f"step {steps} on {machine.id} ({machine.state()})", lambda: self.step_on(machine) >= steps, limit, 0.2)

    def over(self, job, limit=240):
        """Until all its machines are terminated, and it got no other one for a while."""

        def all_over():
            made = self.machines(job)
            return made and all(self.is_over(each) for each in made)

        self.wait_for(f"machines of {job} to end", all_over, limit, 0.5)
        return self.machines(job)

    def told(self, job):
        """(its state, [(attempt, where it began, its steps)], the reasons of the endings)."""
        record = self.job(job)
        runs = []
        for line in texts(self, job):
            if begun := re.match(r"start (\d+) resume \d attempt (\d+)", line):
                runs.append((int(begun[2]), int(begun[1]), []))
            elif step := re.match(r"step (\d+)$", line):
                runs[-1][2].append(int(step[1]))
        reasons = [each.get("ending", {}).get("reason") for each in record["attempts"]]
        return record["state"], runs, reasons

    def noticed(self, job):
        """Where its log says that a machine is to be taken: [(attempt, what it says)]."""
        read = self.stoker("logs", job, "--json", check=True).stdout.splitlines()
        return [(line["attempt"], line["text"]) for line in map(json.loads, read) if line["text"].startswith("stoker: notice: ")]

    def result(self, job):
        """What the bucket has of its output."""
        folder = self.root / f"got-{job}"
        self.stoker("get", job, "result", folder, check=True)
        found = [each.read_text() for each in folder.glob("**/value")]
        return found[0] if found else None

    def outside(self):
        """Processes of stoker that are in no machine."""
        inside = {pid for each in self.all_machines() if each.room for pid in each.room.pids()}
        found = []
        for folder in pathlib.Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) not in inside:
                try:
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                    if words[0] == self.binary.encode() and f"HOME={self.home}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                        found.append(words)
                except OSError:
                    continue
        return found
