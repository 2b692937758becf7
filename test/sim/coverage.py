#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which branches a simulation reached: coverage.py --reasons FILE [--at-least 95] < export.json

Reads what `llvm-cov export` prints. A branch is one outcome, true or false, of one condition as it
stands in the source (each operand of && and || is a condition of its own, each case of a switch
too); what the compiler makes for exceptions is none. Prints a table per room and file, then every
branch that was never taken, with the reason that FILE gives for it.

FILE holds a line for each branch that no world reaches:
    src/ledger/claims.cc ClaimAttempt: `put.ok()` false: the reason
Exits 1 when fewer than --at-least percent were taken, when a branch that was not taken has no
reason, or when one with a reason was taken after all, unless that begins with "rare": some worlds
take it, but not surely one of these.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict

SETTLED = re.compile(r"^(true|false)$")  # when it is compiled
BUG = "BugIsOn("  # false in everything that ships, at compile time: so is what it guards
EXPANSION = 1  # kind of a region that stands for a macro's text
ROOMS = ("src/reconcile", "src/policy", "src/ledger", "src/agent")
REASON = re.compile(r"^(\S+) (\S+): `(.+)` (true|false): (\S.*)$")


def root_of_tree():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Source:
    """The text of files, to name a condition by what it says."""

    def __init__(self, root):
        self.root = root
        self.lines = {}

    def text(self, file, place):
        if file not in self.lines:
            with open(os.path.join(self.root, file), encoding="utf-8") as source:
                self.lines[file] = source.read().split("\n")
        first, start, last, end = place
        lines = self.lines[file][first - 1 : last]
        lines[-1] = lines[-1][: end - 1]
        lines[0] = lines[0][start - 1 :]
        text = re.sub(r"\s+", " ", " ".join(lines)).strip()
        if text == ":" or re.fullmatch("[A-Z_]+", text):  # of a loop over a range; a macro's name
            return self.lines[file][first - 1].strip()
        return text

    def is_bug(self, file, place):
        return any(BUG in line for line in self.lines[file][place[0] - 1 : place[2]])


class Branch:
    """Both outcomes of one condition, over all copies of its code."""

    def __init__(self, function, text):
        self.function = function
        self.text = text
        self.taken = {"true": 0, "false": 0}


def short_names(mangled):
    """'stoker::LogReader::Next()::{lambda...}' -> 'Next': what a reader looks for."""
    names = [name.split(":", 1)[-1] if ":_Z" in name else name for name in mangled]
    plain = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.split("\n")
    short = {}
    for name, full in zip(mangled, plain):
        full = full.replace("(anonymous namespace)", "").split("::{lambda")[0].split("::'lambda")[0]
        full = full.split("::$_")[0]
        while re.search(r"<[^<>]*>", full):
            full = re.sub(r"<[^<>]*>", "", full)
        full = re.sub(r"\[abi:\w+\]", "", full)
        while re.search(r"\([^()]*\)", full):
            full = re.sub(r"\([^()]*\)", "", full)
        short[name] = full.split("::")[-1].split("(")[0] or full
    return short


def place_of(function, region_file, place, files):
    """Where the outermost macro that made this text was written."""
    while region_file != 0:
        for region in function["regions"]:
            if region[7] == EXPANSION and region[6] == region_file:
                place, region_file = tuple(region[:4]), region[5]
                break
        else:
            break
    return files[region_file], place


def read_branches(export, root):
    source = Source(root)
    functions = [f for data in export["data"] for f in data["functions"]]
    short = short_names([f["name"] for f in functions])
    branches = {}
    for function in functions:
        files = [os.path.relpath(name, root) for name in function["filenames"]]
        for first, start, last, end, yes, no, region_file, _, _ in function["branches"]:
            inner = (first, start, last, end)
            file, place = place_of(function, region_file, inner, files)
            if not file.startswith(ROOMS):
                continue
            text = source.text(file, place)
            if SETTLED.search(source.text(files[region_file], inner)) or source.is_bug(file, place):
                continue
            key = (file, place, inner)
            branch = branches.setdefault(key, Branch(short[function["name"]], text))
            branch.taken["true"] += yes
            branch.taken["false"] += no
    return without_sums(branches)


def without_sums(branches):
    """Leaves out `a || b` where `a` and `b` are there for themselves."""
    ends = defaultdict(list)
    for file, place, inner in branches:
        ends[(file, inner[:2], place[:2])].append(inner[2:])
    return {
        (file, place, inner): branch
        for (file, place, inner), branch in branches.items()
        if inner[2:] == min(ends[(file, inner[:2], place[:2])])
    }


def read_reasons(path):
    reasons = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            match = REASON.match(line)
            if not match:
                raise SystemExit(f"{path}:{number}: not FILE FUNCTION: `CONDITION` OUTCOME: REASON")
            reasons[match.group(1, 2, 3, 4)] = match.group(5)
    return reasons


def row(name, taken, total):
    print(f"  {name:<32} {taken:>6} {total:>6} {100 * taken / total if total else 100:>7.1f} %")


def print_table(branches):
    """Returns taken and total."""
    by_file = defaultdict(lambda: [0, 0])
    for (file, _, _), branch in branches.items():
        by_file[file][0] += sum(1 for count in branch.taken.values() if count)
        by_file[file][1] += 2
    print(f"  {'branches':<32} {'taken':>6} {'all':>6}")
    for room in ROOMS:
        files = sorted(f for f in by_file if f.startswith(room + "/"))
        for file in files:
            row(file, *by_file[file])
        if len(files) > 1:
            row(f"{room}/", sum(by_file[f][0] for f in files), sum(by_file[f][1] for f in files))
    taken = sum(counts[0] for counts in by_file.values())
    total = sum(counts[1] for counts in by_file.values())
    row("all", taken, total)
    return taken, total


def print_missed(branches, reasons):
    """Returns how many of the missed have no reason, and the reasons that are wrong."""
    unexplained = 0
    stale = {key: why for key, why in reasons.items() if not why.startswith("rare")}
    print("\nNever taken:")
    for (file, place, _), branch in sorted(branches.items(), key=lambda item: item[0]):
        for outcome, count in branch.taken.items():
            if count:
                continue
            key = (file, branch.function, branch.text, outcome)
            stale.pop(key, None)
            unexplained += key not in reasons
            why = reasons.get(key, "NO REASON GIVEN")
            print(f"  {file}:{place[0]} {branch.function}: `{branch.text}` {outcome}: {why}")
    return unexplained, stale


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--reasons", required=True)
    parser.add_argument("--at-least", type=float, default=95)
    options = parser.parse_args()
    branches = read_branches(json.load(sys.stdin), root_of_tree())
    reasons = read_reasons(options.reasons)
    taken, total = print_table(branches)
    unexplained, stale = print_missed(branches, reasons)
    good = total > 0 and taken >= total * options.at_least / 100
    if not good:
        print(f"\ncoverage: {taken} of {total} branches are not {options.at_least} %")
    if unexplained > 0:
        print(f"\ncoverage: {unexplained} branches were never taken and have no reason")
        good = False
    for file, function, text, outcome in stale:
        print(
            f"\ncoverage: taken, or gone, though {os.path.basename(options.reasons)} says otherwise: {file} {function}: `{text}` {outcome}"
        )
        good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
