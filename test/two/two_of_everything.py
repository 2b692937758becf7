# SPDX-License-Identifier: Apache-2.0
"""Two of everything: two stores, two users, three homes, two binaries, jobs of which some are
damaged. Each verb that writes or deletes runs for two of the parties side by side, and once more
with kill -9 in between; after each, what belongs to all four is as it was.

Usage: two_of_everything.py [--kills N] [--seed N] [VERB…]"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import BINARY, Results, World
from test.two.parties import Party, another_binary


class Verb:
    """What one party does. `prepare` makes what the verb acts on; `right` says what is wrong with
    what came of it, or nothing."""

    pair = None  # names of who runs it; else they take turns
    takes_own = False
    needs = ()  # verbs that an older binary does not have

    def __init__(self, name):
        self.name = name

    def prepare(self, party):
        return None

    def words(self, party, target):
        raise NotImplementedError

    def right(self, party, target, done):
        """A record that cannot be read is a complaint, and no more."""
        hurt = [job for each in party.all for job in each.damaged]
        named = done.returncode == 1 and any(job in done.stderr for job in hurt)
        return "" if done.returncode == 0 or named else done.stderr


class Run(Verb):
    def words(self, party, target):
        return party.run_words(f"run{time.monotonic_ns()}", "save")

    def right(self, party, target, done):
        if done.returncode != 0:
            return done.stderr
        return party.ended(done.stdout.split()[0], "Succeeded")


class Retry(Verb):
    """Also beside a `gc` of everything that has ended: what it promises is kept."""

    pair = ("ann2", "bob")

    def prepare(self, party):
        return party.saved(f"old{time.monotonic_ns()}")

    def words(self, party, target):
        return ["retry", "--detach", target]

    def right(self, party, target, done):
        if "starts from checkpoint" not in done.stderr:
            return f"promised nothing: {done.stderr}"
        again = done.stdout.split()[0]
        trouble = party.ended(again, "Succeeded")
        begun = party.begun(target)
        if not trouble and begun[-1] != "1":
            trouble = f"it promised a checkpoint and began with {begun[-1]}"
        return trouble


class Cancel(Verb):
    """One of the jobs cannot be read; the other is cancelled all the same."""

    def prepare(self, party):
        hurt, well = (party.waiting(f"{what}{time.monotonic_ns()}") for what in ("hurt", "well"))
        party.damage(hurt)
        return hurt, well

    def words(self, party, target):
        return ["cancel", *target]

    def right(self, party, target, done):
        hurt, well = target
        if done.returncode != 1:
            return f"rc {done.returncode}, and one of them cannot be read"
        trouble = party.ended(well, "Cancelled")
        party.mend(hurt)
        party.stoker("cancel", hurt)
        return trouble


class CancelAll(Verb):
    """Takes what belongs to its own, so it comes last: only others are looked at. Of these two
    ann has the user name in common, and with each of them home or store."""

    pair = ("ann2", "bob")
    takes_own = True

    def words(self, party, target):
        return ["cancel", "--all", "--yes"]

    def right(self, party, target, done):
        return ""


class Preempt(Verb):
    def prepare(self, party):
        return party.waiting(f"taken{time.monotonic_ns()}")

    def words(self, party, target):
        return ["preempt", target]

    def right(self, party, target, done):
        party.stoker("cancel", target)
        return "" if done.returncode == 0 else done.stderr


class Label(Verb):
    needs = ("tag",)

    def prepare(self, party):
        return party.saved(f"toy{time.monotonic_ns()}")

    def words(self, party, target):
        return {
            "rename": ["rename", target, f"toy-{party.name}"],
            "note": ["note", target, f"of {party.name}"],
            "tag": ["tag", target, party.name],
        }[self.name]

    def right(self, party, target, done):
        row = party.row(target)
        said = {"rename": row.get("name"), "note": row.get("note"), "tag": row.get("tags")}
        want = {"rename": f"toy-{party.name}", "note": f"of {party.name}", "tag": [party.name]}
        return "" if said[self.name] == want[self.name] else f"it says {said[self.name]}"


class Get(Verb):
    def words(self, party, target):
        return ["get", party.base, "checkpoint", str(party.folder / "got")]

    def right(self, party, target, done):
        files = list((party.folder / "got").rglob("s-*"))
        shutil.rmtree(party.folder / "got", ignore_errors=True)
        return "" if files else f"nothing came: {done.stderr}"


class Sync(Verb):
    def prepare(self, party):
        source, to = party.folder / "source", party.folder / "to"
        for folder, name in ((source, "new"), (to, "gone")):
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(party.name)
        return source, to

    def words(self, party, target):
        return ["sync", "--delete", *map(str, target)]

    def right(self, party, target, done):
        names = sorted(p.name for p in target[1].iterdir())
        return "" if names == ["new"] else f"{names}: {done.stderr}"


class Remove(Verb):
    needs = ("rm",)

    def prepare(self, party):
        return party.saved(f"unwanted{time.monotonic_ns()}")

    def words(self, party, target):
        return ["rm", target]


class Gc(Verb):
    """In the other store of one home; and where somebody else's records cannot be read."""

    pair = ("ann2", "bob")

    def prepare(self, party):
        for each in party.all:
            each.age()

    def words(self, party, target):
        return ["gc", "--older-than", "0s", "--yes"]


class Plain(Verb):
    """Only that it does no harm."""

    def __init__(self, name, *words):
        super().__init__(name)
        self.given = words

    def words(self, party, target):
        return [word.replace("FOLDER", str(party.folder)) for word in self.given]


VERBS = [
    Run("run"),
    Retry("retry"),
    Cancel("cancel"),
    Preempt("preempt"),
    Label("rename"),
    Label("note"),
    Label("tag"),
    Get("get"),
    Sync("sync"),
    Remove("rm"),
    Plain("ls", "ls", "--all"),
    Plain("controller", "controller", "--once"),
    Plain("config", "config", "set", "shell_env", "X*"),
    Plain("ui", "ui", "--export", "FOLDER/report"),
    Plain("doctor", "doctor"),
    Gc("gc"),
    CancelAll("cancel --all"),
]


class Trial:
    def __init__(self, results, parties, seed):
        self.results, self.parties = results, parties
        self.random = random.Random(seed)
        self.before = {party.name: party.belongings() for party in parties}

    def untouched(self, what, verb, actors):
        """Nobody has lost anything, also once the time of what was doomed is over."""
        for party in (self.parties[0], self.parties[3]):
            if party.an_hour_later():
                party.stoker("gc")
        for party in self.parties:
            if verb.takes_own and party in actors:
                self.before[party.name] = party.belongings()
                continue
            lost = party.changed(self.before[party.name])
            self.results.check(f"{what}: what belongs to {party.name} is untouched", not lost, lost)
            if lost:  # once is enough
                self.before[party.name] = party.belongings()

    def beside(self, verb, actors):
        """Side by side; returns how long it takes."""
        targets = [verb.prepare(party) for party in actors]
        begun = time.monotonic()
        started = [party.start(*verb.words(party, target)) for party, target in zip(actors, targets)]
        if verb.name == "retry":
            started.append(actors[0].start("gc", "--older-than", "0s", "--yes"))
        done = [finished(process) for process in started]
        took = time.monotonic() - begun
        for party, target, one in zip(actors, targets, done):
            wrong = verb.right(party, target, one)
            self.results.check(f"{verb.name} of {party.name}, beside the other: is right", not wrong, wrong)
        self.untouched(verb.name, verb, actors)
        return took

    def killed(self, verb, actor, took):
        target = verb.prepare(actor)
        process = actor.start(*verb.words(actor, target))
        try:
            process.wait(self.random.uniform(0, took))
        except subprocess.TimeoutExpired:
            process.kill()
        finished(process)
        what = f"{verb.name} of {actor.name}, killed"
        self.untouched(what, verb, [actor])
        wrong = verb.right(actor, target, finished(actor.start(*verb.words(actor, target))))
        self.results.check(f"{what} and again: is right", not wrong, wrong)


def finished(process):
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--kills", type=int, default=1)
    words.add_argument("--seed", type=int, default=int(time.time()))
    words.add_argument("verbs", nargs="*")
    given = words.parse_args()
    print(f"seed {given.seed}", flush=True)
    results = Results()
    # A: a machine with two stores. B: another one, whose user is called the same. C: another user.
    with World("two-a") as a, World("two-b") as b, World("two-c") as c:
        two = another_binary(a.root / "stoker")
        stores = [a.root / "store-1", a.root / "store-2"]
        parties = [
            Party("ann", a, BINARY, stores[0], "ubuntu"),
            Party("bob", b, two, stores[0], "ubuntu"),
            Party("carl", c, BINARY, stores[0], "carl"),
            Party("ann2", a, two, stores[1], "ubuntu", like="ann"),
        ]
        for party in parties:
            party.all = parties
            party.settle()
        parties[0].damage(parties[0].on)  # the record of a job that runs
        parties[3].suspect()
        trial = Trial(results, parties, given.seed)
        overview = parties[0].stoker("--help").stdout
        for i, verb in enumerate(v for v in VERBS if not given.verbs or v.name in given.verbs):
            if any(f"\n  {need} " not in overview for need in verb.needs):
                print(f"-     {verb.name}: this stoker has no such verb", flush=True)
                continue
            pair = [parties[i % 4], parties[(i + 1 + i // 4 % 3) % 4]]
            if verb.pair:
                pair = [party for name in verb.pair for party in parties if party.name == name]
            took = trial.beside(verb, pair)
            for kill in range(given.kills):
                trial.killed(verb, pair[kill % 2], took)
        for party in parties:
            trains = party.alive(party.run) and party.alive(party.on)
            results.check(
                f"the end: what {party.name} has running still trains",
                trains or (verb.takes_own and party in pair),
                "its heart stands still",
            )
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
