# SPDX-License-Identifier: Apache-2.0
"""Runs benchmarks on two builds of stoker in turns, and prints what each figure was with both, and
their ratio: `./dev bench --against REF [NAME…]`, which says where the builds lie:
against.py NAME_OF_THE_OTHER OTHER_BUILD THIS_BUILD SCRIPT…"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = int(os.environ.get("ROUNDS", "3"))
# Of each round: short ones, in turns, say more on a machine that others use than a long one.
SHORT = {"RUNS": "6", "SECONDS_EACH": "4"}


class Figure:
    def __init__(self):
        self.unit, self.beside = "", ""
        self.values, self.other = [], []

    def add(self, one):
        self.unit, self.beside = one["unit"], one["beside"]
        self.values += one["values"]
        self.other += one["other"]

    def text(self):
        least = f"(least {min(self.values):.2f}) {self.unit}"
        line = f"{statistics.median(self.values):9.2f} {least}"
        if self.other and statistics.median(self.other) > 0:
            line += f", {ratio(self.values, self.other)} times {self.beside}"
        return line


def ratio(values, other):
    return f"{statistics.median(values) / statistics.median(other):.2f}"


def run(script, build, figures):
    """Adds the figures of one run to `figures`, by name. What it printed, if it failed."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as file:
        env = {
            **SHORT,
            **os.environ,
            "STOKER": os.path.abspath(build) + "/stoker",
            "BENCH_BIN": os.path.abspath(build) + "/bench",
            "BENCH_FIGURES": file.name,
        }
        done = subprocess.run([os.path.abspath(script)], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        for line in file:
            one = json.loads(line)
            figures.setdefault(one["name"], Figure()).add(one)
    # One that cannot do all that the script asks has figures all the same.
    return "" if done.returncode == 0 else done.stdout[-400:]


def compare(script, names, builds):
    figures = [{}, {}]
    failed = ["", ""]
    for number in range(ROUNDS):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            failed[side] = run(script, builds[side], figures[side]) or failed[side]
    print(os.path.basename(script))
    for name, why in zip(names, failed):
        if why:
            print(f"  {name} did not come to its end:\n{why}")
    for name, here in figures[1].items():
        there = figures[0].get(name)
        print(f"  {name}")
        if there:
            print(f"    {names[0]:<14}{there.text()}")
        print(f"    {names[1]:<14}{here.text()}")
        if there and statistics.median(there.values) > 0:
            print(f"    ratio         {ratio(here.values, there.values):>9}")
    if not figures[1]:
        print("  has no figures to compare")
    sys.stdout.flush()
    return not failed[1]


def main():
    name, other, this, *scripts = sys.argv[1:]
    good = [compare(script, (name, "here"), (other, this)) for script in scripts]
    raise SystemExit(0 if all(good) else 1)


main()
