#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sets up and takes away a job of Cloud Run is killed after each of its requests, to Google's
services and to the registry. From each state that it leaves (which kills between two reads leave the
same) the same verb makes all that an undisturbed one does, and the opposite one is right as well.

    away_killed.py [PART…]      first, again, other, gone; PART/N: at its Nth request alone"""

import copy
import json
import pathlib
import re
import shutil
import signal
import sys
import threading

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.gcp.away import WORDS, submit  # which enters the lab's namespace

# isort: split
from test.cloud.verb_lab import play
from test.e2e.kit.harness import parts_of
from test.gcp.cloud_run import AwayLab

INSTALL = [*WORDS, "--yes"]
OTHER = [*INSTALL, "--identity", "nodes@lab-project.iam.gserviceaccount.com"]
UNINSTALL = ["controller", "--uninstall", "gcp"]
TIMES = ("createTime", "userUpdateTime", "etag", "installed")


class Kept:
    """All that is there of it, to be put back: at Google's services, in the registry, in the ledger."""

    def __init__(self, lab, world):
        self.lab, self.key = lab, f"{world.name}/away/gce.json"
        with lab.serverless.lock:
            self.held, self.policies = copy.deepcopy((lab.serverless.held, lab.serverless.policies))
        self.note = lab.gcs.read(self.key) if lab.lists(self.key) else b""
        self.images = pathlib.Path(lab.holder.name) / f"kept-{id(self)}"
        if lab.registry.repositories.exists():
            shutil.copytree(lab.registry.repositories, self.images)

    def back(self):
        with self.lab.serverless.lock:
            self.lab.serverless.held, self.lab.serverless.policies = copy.deepcopy((self.held, self.policies))
        shutil.rmtree(self.lab.registry.repositories, ignore_errors=True)
        if self.images.exists():
            shutil.copytree(self.images, self.lab.registry.repositories)
        if self.note:
            self.lab.write(self.key, self.note.decode())
        else:
            self.lab.lose(self.key)

    def told(self):
        """The same for all that differ in times, order and random names alone."""
        files = sorted(str(each.relative_to(self.images)) for each in self.images.rglob("*")) if self.images.exists() else []
        files = [re.sub(r"_uploads/[^/]+", "_uploads/U", each) for each in files]
        return json.dumps([plain(self.held), plain(self.policies), files, plain(json.loads(self.note or "{}"))])

    def drop(self):
        shutil.rmtree(self.images, ignore_errors=True)


def plain(told):
    if isinstance(told, dict):
        return {name: plain(each) for name, each in sorted(told.items()) if name not in TIMES}
    return sorted(map(plain, told), key=json.dumps) if isinstance(told, list) else told


def run(lab, world, words, number=0):
    """How many requests it made; killed when its `number`th has taken effect and is not answered."""
    lock, count, process = threading.Lock(), 0, None

    def after(entry):
        nonlocal count
        with lock:
            count += 1
            if count == number:
                process.send_signal(signal.SIGKILL)

    lab.serverless.after = lab.registry.after = after
    try:
        with lock:
            process = world.start(*words)
        _, said = process.communicate(timeout=600)
    finally:
        lab.serverless.after = lab.registry.after = lambda entry: None
    assert process.returncode == (-signal.SIGKILL if number else 0), (words, number, process.returncode, said)
    return count


class Killing:
    """`base`: as it is before `words`, which make `whole` of it. `opposite`: the other verb's words."""

    def __init__(self, lab, world, words, opposite):
        self.lab, self.world, self.words, self.opposite = lab, world, words, opposite
        self.ledger = lab.ledger(world)
        self.base = Kept(lab, world)
        self.count = run(lab, world, words)
        self.whole = self.told()
        run(lab, world, opposite)
        self.other = self.told()

    def told(self):
        now = Kept(self.lab, self.world)
        now.drop()
        return now.told()

    def is_gone(self):
        left = self.lab.serverless.left(self.ledger), self.lab.lists(f"{self.world.name}/away/"), self.lab.registry.images()
        return not any(left)

    def is_right(self, words, whole):
        """After it was said again, or the opposite. Where all goes, roles that never were leave no names."""
        return self.is_gone() if words == UNINSTALL else self.told() == whole

    def at(self, number):
        """The state that a kill at that request leaves, and faults of what comes of it; None where that
        state is known."""
        self.base.back()
        run(self.lab, self.world, self.words, number)
        left = Kept(self.lab, self.world)
        told = left.told()
        if told in self.seen:
            left.drop()
            return []
        self.seen.add(told)
        bad = []
        for words, whole in ((self.words, self.whole), (self.opposite, self.other)):
            left.back()
            done = self.world.stoker(*words, timeout=600)
            if done.returncode != 0 or not self.is_right(words, whole):
                bad.append((number, words[1], done.returncode, done.stderr[-500:], self.lab.serverless.left(self.ledger)))
        left.drop()
        return bad

    def all(self, check, only):
        self.seen, bad = set(), []
        for number in [int(only)] if only else range(1, self.count + 1):
            bad += self.at(number)
        name = f"{' '.join(self.words[:2])}: killed at each of {self.count} requests, right from {len(self.seen)} states"
        check(name, (only or (self.count > 10 and len(self.seen) > 3)) and not bad, bad[:3])
        self.base.back()


def test_first(lab, check, only=""):
    """In a project where nothing of it has been."""
    with lab.world("first") as world:
        submit(world)
        Killing(lab, world, INSTALL, UNINSTALL).all(check, only)
        world.stoker("cancel", "-")


def test_again(lab, check, only=""):
    """Under names that Google keeps."""
    with lab.world("again") as world:
        submit(world)
        for words in (INSTALL, UNINSTALL):
            run(lab, world, words)
        Killing(lab, world, INSTALL, UNINSTALL).all(check, only)
        world.stoker("cancel", "-")


def test_other(lab, check, only=""):
    """Over one that is for other machines."""
    with lab.world("other") as world:
        submit(world)
        run(lab, world, INSTALL)
        Killing(lab, world, OTHER, UNINSTALL).all(check, only)
        run(lab, world, UNINSTALL)
        world.stoker("cancel", "-")


def test_gone(lab, check, only=""):
    """What takes it away; or, half way, sets it up after all."""
    with lab.world("gone") as world:
        submit(world)
        run(lab, world, INSTALL)
        Killing(lab, world, UNINSTALL, INSTALL).all(check, only)
        run(lab, world, UNINSTALL)
        world.stoker("cancel", "-")


if __name__ == "__main__":
    play(AwayLab, parts_of(globals()), sys.argv[1:])
