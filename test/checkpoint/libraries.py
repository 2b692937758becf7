#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real libraries that save each three seconds, through five ends: kill -9 of all that the job has
on this machine, and notices. Each goes on by its own code. What was saved, kept and restored is
told by the programs' own notes (programs/evidence.py) and by the store, never by stoker.

Each also saves under strace, without stoker, and its trace is held against the table of layouts
(layouts_hold.py).

    libraries.py JUDGE [--only REGEX] [--part kills|layouts|forged] [-j N] [--seed N]

JUDGE is the program of layout_judge.cc."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env
from test.checkpoint import layouts_hold
from test.e2e.kit.harness import Results, World
from test.outside import sight

PROGRAMS = HERE / "programs"
KILLS = 5
EACH = 3.0  # seconds between two saves
SAVES = 4  # of an attempt before it is ended
# A save that nothing followed for so long was at rest: `quiet`, and a look.
RESTS = 2.5


def torchrun(folder):
    return [f"{folder}/bin/torchrun", "--standalone", "--nproc-per-node", "2"]


def libraries():
    """{name: words that start its program}"""
    torch = cloud_env.folder(str(HERE.parent / "signals" / "requirements.txt"))
    jax = cloud_env.folder(str(HERE / "requirements.txt"))
    return {
        "transformers": [f"{torch}/bin/python3", "train_transformers.py"],
        "lightning": [f"{torch}/bin/python3", "train_lightning.py"],
        "dcp": [*torchrun(torch), "train_dcp.py"],
        "deepspeed": [*torchrun(torch), "train_deepspeed.py"],
        "orbax": [f"{jax}/bin/python3", "train_orbax.py"],
        "xgboost": [f"{jax}/bin/python3", "train_xgboost.py"],
    }


def environment():
    # DeepSpeed builds a part of itself when it is first used: half a minute, once.
    built = os.path.join(cloud_env.cache_root(), "torch-extensions")
    return {"OMP_NUM_THREADS": "1", "TORCH_EXTENSIONS_DIR": built}


class Save:
    """One of a library's, by its notes."""

    def __init__(self, attempt, note):
        self.attempt, self.step, self.hash = attempt, note["step"], note["hash"]
        self.begin, self.end, self.unit, self.also = note["at"], None, {}, {}

    def is_in(self, files):
        mine = {**self.unit, **self.also}
        return bool(mine) and all(files.get(path) == sha for path, sha in mine.items())


class Trial:
    """A library, its job, and what becomes of its saves."""

    def __init__(self, world, name, words, seed):
        self.world, self.name, self.words = world, name, words
        self.random = random.Random(f"{seed}-{name}")
        self.evidence = world.evidence / name
        self.evidence.mkdir()
        self.ends = {}  # attempt -> (when, what)
        self.wrong = []

    def notes(self, attempt):
        path = self.evidence / f"{attempt}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def saves(self, attempt):
        """In order; `end` is None of one that was cut off."""
        found = []
        for note in self.notes(attempt):
            if note["what"] == "saves":
                found.append(Save(attempt, note))
            elif note["what"] == "saved":
                found[-1].end, found[-1].unit, found[-1].also = (note["end"], note["unit"], note["also"])
        return found

    def play(self):
        work = self.world.root / f"work-{self.name}"
        work.mkdir()
        for path in PROGRAMS.glob("*.py"):
            (work / path.name).write_text(path.read_text())
        variables = {"EVIDENCE": self.evidence, "SAVE_SECONDS": EACH, **environment()}
        spec = {
            "name": self.name,
            "workdir": ".",
            "command": self.words,
            "envs": {key: str(value) for key, value in variables.items()},
            "checkpoints": {"keep": 0},
        }
        (work / "job.yaml").write_text(json.dumps(spec))
        self.job = self.world.submit("job.yaml", cwd=work, timeout=120)
        for number in range(1, KILLS + 1):
            self.await_saves(number, SAVES)
            time.sleep(self.random.uniform(0, EACH))
            self.end(number, "kill -9" if number % 2 else "notice")
        self.await_saves(KILLS + 1, 2)
        (self.evidence / "stop").touch()
        done = self.world.stoker("wait", self.job, "--timeout", "180s", timeout=200)
        if done.returncode != 0:
            self.wrong.append(f"it ended with {done.returncode}: {done.stderr[-500:]}")

    def await_saves(self, attempt, count):
        """Whoever waits looks after the job, too."""

        def enough():
            self.world.stoker("show", self.job)
            ended = [one for one in self.saves(attempt) if one.end]
            return len(ended) >= count

        try:
            self.world.wait_for(f"{count} saves in attempt {attempt}", enough, 150, every=0.5)
        except AssertionError as error:
            story = self.world.stoker("show", self.job).stdout
            log = self.world.stoker("logs", self.job).stdout
            raise AssertionError(f"{error}\n{story}\n{log[-3000:]}") from None

    def end(self, attempt, how):
        self.ends[attempt] = time.time(), how
        if how == "notice":
            self.world.stoker("preempt", self.job, "--in", "6s", check=True)
            return
        mine = sight.of_job(sight.processes(self.world.root), self.job)
        sight.kill([one.pid for one in mine])  # its machine first: nobody is left to tell

    def manifests(self):
        """[(id, reason, {path: sha256})], as they lie in the store."""
        folder = self.world.store / "jobs" / self.job / "checkpoints" / "manifests"
        found = []
        for path in sorted(folder.glob("*.json")):
            attempt, seq = map(int, path.stem.split("-"))
            if not path.stat().st_size:
                continue  # only takes the number
            manifest = json.loads(path.read_text())
            files = {one["path"]: one["sha256"] for part in manifest["parts"] for one in part["files"] if one.get("kind", "file") == "file"}
            found.append(((attempt, seq), manifest["reason"], files))
        return sorted(found)

    def judge(self):
        self.kept_in = self.manifests()
        self.all = {n: self.saves(n) for n in range(1, KILLS + 2)}
        self.kept = {n: [one for one in saves if self.is_kept(one)] for n, saves in self.all.items()}
        for attempt in self.all:
            kept, rested = self.kept[attempt], self.rested(attempt)
            lost = [one.step for one in rested if one not in kept]
            if len(lost) > 1:
                self.wrong.append(f"attempt {attempt}: of {len(rested)} saves at rest, these are lost: {lost} ({self.how(attempt)})")
            self.judge_restore(attempt)
        self.judge_mixed()

    def how(self, attempt):
        return self.ends[attempt][1] if attempt in self.ends else "ended well"

    def is_kept(self, save):
        return any(attempt >= save.attempt and save.is_in(files) for (attempt, _), _, files in self.kept_in)

    def rested(self, attempt):
        """Saves that nothing followed for RESTS."""
        saves = list(self.all[attempt])
        until = [one.begin for one in saves[1:]]
        until.append(self.ends[attempt][0] if attempt in self.ends else float("inf"))
        return [one for one, then in zip(saves, until) if one.end and then - one.end >= RESTS]

    def judge_restore(self, attempt):
        began = [note for note in self.notes(attempt) if note["what"] == "began"]
        if attempt == 1 or not began:
            return
        step, digest = began[-1]["step"], began[-1]["hash"]
        before = [one for n in range(1, attempt) for one in self.all[n]]
        same = [one for one in before if one.step == step]
        if step and not any(one.hash == digest for one in same):
            self.wrong.append(f"attempt {attempt} begins at {step} with a state that was never saved")
        # The newest that is whole in the store of the time before it.
        known = [files for (n, _), _, files in self.kept_in if n < attempt]
        newest = [one for one in before if any(one.is_in(files) for files in known)]
        if newest and step < newest[-1].step:
            self.wrong.append(f"attempt {attempt} begins at {step}, and {newest[-1].step} was kept")

    def judge_mixed(self):
        """In a checkpoint each unit is as one save left it."""
        all_saves = [one for saves in self.all.values() for one in saves]
        cut = {one.step for one in all_saves if not one.end}
        for (attempt, seq), reason, files in self.kept_in:
            for unit in {tuple(sorted(one.unit)) for one in all_saves if one.unit}:
                there = {path: files[path] for path in unit if path in files}
                steps = {one.step for one in all_saves if tuple(sorted(one.unit)) == unit}
                alike = [one for one in all_saves if one.unit == there]
                if there and not alike and not steps & cut:
                    self.wrong.append(f"checkpoint {attempt}-{seq} ({reason}) has {sorted(there)} as no save left it")

    def rows(self):
        out = []
        for attempt, saves in self.all.items():
            made = [one for one in saves if one.end]
            kept = self.kept[attempt]
            began = [note["step"] for note in self.notes(attempt) if note["what"] == "began"]
            out.append(
                [
                    self.name,
                    attempt,
                    began[-1] if began else "-",
                    len(made),
                    len(self.rested(attempt)),
                    len(kept),
                    len([one for one in made if one not in kept]),
                    self.how(attempt),
                ]
            )
        return out

    def reasons(self):
        counted = {}
        for _, reason, _ in self.kept_in:
            counted[reason] = counted.get(reason, 0) + 1
        return ", ".join(f"{reason} {n}" for reason, n in sorted(counted.items()))


HEAD = ["library", "attempt", "from", "made", "at rest", "kept", "lost", "ended by"]


def table(rows):
    widths = [max(len(str(row[i])) for row in [HEAD, *rows]) for i in range(len(HEAD))]
    for row in [HEAD, *rows]:
        print("  ".join(str(word).ljust(width) for word, width in zip(row, widths)).rstrip())


def play(results, world, name, words, seed):
    trial = Trial(world, name, words, seed)
    try:
        trial.play()
    except Exception as error:  # noqa: BLE001  # what there is of it is judged
        trial.wrong.append(f"{type(error).__name__}: {error}")
    if hasattr(trial, "job"):
        trial.judge()
    results.check(f"{name}: saves at rest are kept, and what is restored was saved", not trial.wrong, "\n".join(trial.wrong))
    return trial


def kills(results, world, pool, chosen, seed):
    begun = [pool.submit(play, results, world, name, words, seed) for name, words in chosen.items()]
    judged = [one for one in [each.result() for each in begun] if hasattr(one, "kept")]
    table([row for one in judged for row in one.rows()])
    for one in judged:
        made = sum(1 for saves in one.all.values() for save in saves if save.end)
        kept = sum(map(len, one.kept.values()))
        print(
            f"{one.name}: {made} saves made, {kept} kept, {made - kept} lost; {len(one.kept_in)} checkpoints, by: {one.reasons()}",
            flush=True,
        )


def main():
    options = argparse.ArgumentParser()
    options.add_argument("judge")
    options.add_argument("--part", choices=["kills", "layouts", "forged"])
    options.add_argument("--only", default="", help="an expression that finds the libraries")
    options.add_argument("-j", type=int, default=3)
    options.add_argument("--seed", default="1")
    asked = options.parse_args()
    results = Results()
    layouts_hold.forged(results, asked.judge)
    if asked.part == "forged":
        results.finish()
    chosen = {name: words for name, words in libraries().items() if re.search(asked.only, name)}
    with World("libraries") as world, concurrent.futures.ThreadPoolExecutor(asked.j) as pool:
        if asked.part != "layouts":
            kills(results, world, pool, chosen, asked.seed)
        if asked.part != "kills":
            for done in [
                pool.submit(layouts_hold.check, results, world, asked.judge, name, words, environment()) for name, words in chosen.items()
            ]:
                done.result()
    results.finish()


main()
