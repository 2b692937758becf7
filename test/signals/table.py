#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who of a program gets SIGTERM, and whether what it saves then is kept: launchers, programs, and a
notice or a cancel, as a table. What is told of signals is what each process noted itself.

    table.py core                  what needs no packages, at a short notice
    table.py [--rows REGEX] [-j N]  everything, with the packages of requirements.txt"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env
from test.e2e.kit.harness import PYTHON, Results, World

TRAINER = HERE / "programs" / "train.py"
PROGRAMS = ("saves", "dies", "passes", "leaves")
EVENTS = ("notice", "cancel")
SHELL = ("bash", "-c")

# name -> words that start `python train.py MODE`, given as one text and as words
PLAIN = {
    "plain": lambda p, t: [p, *t],
    "forked loader": lambda p, t: [p, *t, "--loader"],
    "bash, two lines": lambda p, t: [*SHELL, f"{p} {' '.join(t)}\nsleep 3; echo next line"],
    "trap … EXIT": lambda p, t: ["bash", "train.sh", p, *t],
    "| tee": lambda p, t: [*SHELL, f"{p} {' '.join(t)} 2>&1 | tee log"],
    "make": lambda p, t: ["make", "-s", f"TRAIN={p} {' '.join(t)}"],
    "timeout": lambda p, t: ["timeout", "300", p, *t],
    "timeout, loader": lambda p, t: ["timeout", "300", p, *t, "--loader"],
    "setsid": lambda p, t: [*SHELL, f"setsid {p} {' '.join(t)} & wait; sleep 3; echo next line"],
}
FILES = {
    "train.sh": 'trap "echo the script ends" EXIT\n"$@"\nsleep 3; echo next line\n',
    "Makefile": "all:\n\t@echo begins; $(TRAIN)\n\t@sleep 3; echo next line\n",
}


def launchers(folder):
    """Those of packages, with the ranks that each starts."""
    tools = pathlib.Path(folder) / "bin"
    torchrun = [f"{tools}/torchrun", "--standalone", "--nproc-per-node", "2"]
    accelerate = [f"{tools}/accelerate", "launch", "--num_machines", "1"]
    accelerate += ["--mixed_precision", "no", "--dynamo_backend", "no", "--num_processes"]
    deepspeed = [f"{tools}/deepspeed", "--num_gpus", "2", "--master_port"]
    mpirun = [f"{tools}/mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    return {
        "torch's loader": (1, lambda p, t: [p, *t, "--torch-loader"]),
        "torchrun 2": (2, lambda p, t: [*torchrun, *t]),
        "torchrun 2, loader": (2, lambda p, t: [*torchrun, *t, "--loader"]),
        "accelerate launch": (1, lambda p, t: [*accelerate, "1", *t]),
        "accelerate launch 2": (2, lambda p, t: [*accelerate, "2", "--multi_gpu", *t]),
        "deepspeed 2": (2, lambda p, t: [*deepspeed, "29417", *t]),
        "deepspeed 2, loader": (2, lambda p, t: [*deepspeed, "29418", *t, "--loader"]),
        "mpirun 2": (2, lambda p, t: [*mpirun, p, *t]),
        "mpirun 2, loader": (2, lambda p, t: [*mpirun, p, *t, "--loader"]),
        "uv run": (1, lambda p, t: [f"{tools}/uv", "run", "--no-project", "-p", p, *t]),
    }


class Cell:
    """One job: a launcher, a program, an event."""

    def __init__(self, world, name, ranks, command, program, event, notice):
        self.world, self.name, self.ranks, self.program = world, name, ranks, program
        self.event, self.notice = event, notice
        slug = re.sub(r"[^a-z0-9]+", "-", f"{name} {program} {event}".lower()).strip("-")
        self.slug = slug
        self.evidence = world.evidence / slug
        self.evidence.mkdir()
        self.command = command

    def notes(self, attempt, role=""):
        """[(when, who, what)], in order."""
        out = []
        for path in self.evidence.glob(f"{attempt}-{role}*"):
            for line in path.read_text().splitlines():
                when, what = line.split(" ", 1)
                out.append((float(when), path.name.split("-", 1)[1], what))
        return sorted(out)

    def ready(self):
        return sum(what == "ready" for _, _, what in self.notes(1)) == self.ranks

    def play(self):
        world = self.world
        job = world.submit(
            "--name",
            self.slug,
            "--env",
            f"EVIDENCE={self.evidence}",
            "--env",
            f"SAVE_SECONDS={self.notice / 10}",
            "--env",
            f"TMPDIR={self.evidence}",
            "--cpus",
            "0.1",
            "--",
            *self.command,
            timeout=120,
        )
        try:
            world.wait_for(f"{self.ranks} ranks", self.ready, timeout=90)
        except AssertionError as error:
            raise AssertionError(f"{error}: {world.stoker('logs', job).stdout[-1500:]}") from None
        if self.event == "notice":
            world.stoker("preempt", job, "--in", f"{self.notice}s", check=True)
            world.stoker("wait", job, timeout=self.notice + 90)
            began = [what for _, who, what in self.notes(2, "rank0") if what.startswith("began")]
            self.kept = json.loads(began[0].split(" ", 1)[1]) if began else "no attempt 2"
        else:
            world.stoker("cancel", job, timeout=120, check=True)
            into = world.root / "got" / self.slug
            got = world.stoker("get", job, "checkpoint", into)
            state = into / "state.json"
            self.kept = json.loads(state.read_text()) if state.exists() else got.stderr.strip()
        self.lines = [t for t in said(world, job) if "SIGTERM" in t and "taken in" not in t]
        self.log = world.stoker("logs", job, "--attempt", "1").stdout

    def problems(self):
        """What is wrong with it."""
        saves = [(who, what) for _, who, what in self.notes(1) if what.startswith("saved")]
        by = saves and int(saves[-1][0].rsplit("-", 1)[1])
        wrong = []
        if not isinstance(self.kept, dict) or self.kept["by"] != by:
            wrong.append(f"kept: {self.kept}")
        elif self.program != "dies" and not self.kept["told"]:
            wrong.append("what was kept was saved before")
        # Once rank 0 has saved, its launcher may end the others as it likes.
        end = max((when for when, _, what in self.notes(1) if what.startswith("saved")), default=0)
        until = end if self.program != "dies" else float("inf")
        told = collections.Counter(who for when, who, what in self.notes(1) if what == "SIGTERM" and when < until)
        ranks = [who for who in told if who.startswith("rank")]
        if self.program != "dies" and len(ranks) != self.ranks:
            wrong.append(f"told: {sorted(told)}")
        wrong += [f"{who} got {n}" for who, n in told.items() if n != 1]
        if self.program != "dies" and any(who.startswith("loader") for who in told):
            wrong.append("workers of the loader were told before the save had ended")
        # Where a child of its parent's still saves, that is not over, and the script goes on.
        if self.program != "leaves" and "next line" in self.log:
            wrong.append("the script's next line ran")
        return wrong

    def row(self):
        told = collections.Counter(who.rsplit("-", 1)[0] for _, who, what in self.notes(1) if what == "SIGTERM")
        who = ", ".join(f"{role} {n}x" if n > 1 else role for role, n in sorted(told.items()))
        kept = self.kept
        if isinstance(kept, dict):
            kept = "the save at SIGTERM" if kept["told"] else "the save before"
        first = re.sub(r"\(process \d+\)", "", self.lines[0])[:90] if self.lines else "-"
        return [self.name, self.program, self.event, who or "-", str(kept), first]


def said(world, job):
    """What stoker noted in the log of attempt 1."""
    done = world.stoker("logs", job, "--json", "--attempt", "1", check=True)
    lines = (json.loads(line)["text"] for line in done.stdout.splitlines())
    return [text.removeprefix("stoker: ") for text in lines if text.startswith("stoker: ")]


def table(rows):
    head = ["launcher", "program", "event", "got SIGTERM", "kept", "stoker said"]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())


def play_all(results, cells, at_once):
    def play(cell):
        try:
            cell.play()
            return cell.problems()
        except Exception as error:  # noqa: BLE001  # a cell that breaks has failed
            cell.kept, cell.lines = f"broke: {type(error).__name__}", []
            return [f"{type(error).__name__}: {error}"]

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        found = list(pool.map(play, cells))
    table([cell.row() for cell in cells])
    for cell, wrong in zip(cells, found):
        detail = "; ".join(wrong) + (f"\n{getattr(cell, 'log', '')[-1500:]}" if wrong else "")
        results.check(f"{cell.name}, {cell.program}, {cell.event}", not wrong, detail)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("part", nargs="?", choices=["core"])
    options.add_argument("--rows", default="", help="an expression that finds those to play")
    options.add_argument("-j", type=int, default=12)
    asked = options.parse_args()
    results = Results()
    with World("signals") as world:
        folder = world.work
        (folder / "train.py").write_text(TRAINER.read_text())
        for name, text in FILES.items():
            (folder / name).write_text(text)
        python, rows = PYTHON, {name: (1, words) for name, words in PLAIN.items()}
        if asked.part != "core":
            apart = cloud_env.folder(str(HERE / "requirements.txt"))
            python = f"{apart}/bin/python3"
            rows.update(launchers(apart))
        cells = []
        for name, (ranks, words) in rows.items():
            for program in PROGRAMS if asked.part != "core" else ("saves", "leaves"):
                for event in EVENTS:
                    cell = (name, ranks, words(python, ["train.py", program]), program, event)
                    if re.search(asked.rows, f"{name} {program} {event}"):
                        cells.append(Cell(world, *cell, 6 if asked.part == "core" else 30))
        play_all(results, cells, asked.j)
    results.finish()


main()
