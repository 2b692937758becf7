#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twelve runs of digits with three hyperparameters: `compare` names the best and what sets it
apart, as the programs' own lines have it; `ls` sorts and chooses by the same."""

import concurrent.futures
import itertools
import pathlib
import re
import shutil
import statistics
import sys

HERE = pathlib.Path(__file__).parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, World

# The first is what matters: with the least nothing is learned, with the greatest nothing stays.
VALUES = {"lr": (0.00001, 0.003, 1), "batch": (32, 256), "epochs": (3, 5)}
AT_ONCE = 2


def runs_of(world):
    """Each job's id with its hyperparameters and the accuracies that its program printed."""
    shutil.copy(HERE.parent.parent / "examples" / "digits" / "train.py", world.work)
    settings = [dict(zip(VALUES, each)) for each in itertools.product(*VALUES.values())]

    def run(at):
        chosen = settings[at]
        values = ", ".join(f"{name}: {value}" for name, value in chosen.items())
        flags = ", ".join(f"--{name}, '{value}'" for name, value in chosen.items())
        (world.work / f"{at}.yaml").write_text(
            f"name: sweep\nworkdir: .\nhyperparameters: {{{values}}}\ncommand: [{PYTHON}, train.py, {flags}]\n"
        )
        done = world.stoker("run", f"{at}.yaml", check=True, timeout=300)
        return [float(x) for x in re.findall(r"accuracy: ([0-9.]+)", done.stdout)]

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        accuracies = list(pool.map(run, range(len(settings))))
    found = {}
    for job in world.json("compare", "--name", "sweep"):
        own = {name: float(value) for name, value in job["hyperparameters"].items()}
        at = settings.index(own)
        found[job["id"]] = (settings[at], accuracies[at])
    return found


def spread(found, name):
    """How far apart the medians of the best accuracies are, by the values of one."""
    by_value = {}
    for chosen, accuracies in found.values():
        by_value.setdefault(chosen[name], []).append(max(accuracies))
    medians = [statistics.median(each) for each in by_value.values()]
    return max(medians) - min(medians)


def test_sweep(results, world):
    found = runs_of(world)
    results.check("twelve runs, each with what it printed", len(found) == 12 and all(a for _, a in found.values()), found)
    top = max(max(a) for _, a in found.values())
    best_of_all = {job for job, (_, a) in found.items() if max(a) == top}
    most = max(VALUES, key=lambda name: spread(found, name))
    told = world.json("compare", "--name", "sweep", "--by", "max.accuracy")
    marked = [job for job in told if "best" in job]
    results.check(
        "compare marks one, and it is the best",
        len(told) == 12 and len(marked) == 1 and marked[0]["id"] in best_of_all and abs(marked[0]["best"]["value"] - top) < 1e-9,
        (marked, top),
    )
    best = marked[0]
    apart = best["best"]["apart"]
    results.check(
        "what sets it apart comes first, with its value",
        apart[0]["name"] == most == "lr"
        and float(apart[0]["value"]) == found[best["id"]][0]["lr"]
        and len(apart) == 3
        and len(apart[0]["groups"]) == 3,
        apart,
    )
    usual = [job["id"] for job in world.json("compare", "--name", "sweep") if "best" in job]
    results.check("so it does when nobody says by what", len(usual) == 1, usual)
    text = world.stoker("compare", "--name", "sweep", "--by", "accuracy").stdout
    print(text[text.index("best:") :])
    results.check(
        "for people, too",
        f"best: {best['id']}, greatest accuracy" in text and re.search(r"\n  lr=0\.003: in the middle 0\.[0-9]+ with 0\.003 ", text),
        text[-600:],
    )
    wrong = world.stoker("compare", "--name", "sweep", "--by", "acuracy")
    results.check("a metric that none has is a mistake", wrong.returncode == 2, wrong)
    sort = world.json("ls", "--all", "--sort", "max.accuracy", "--reverse", "--where", "lr=0.003")
    results.check(
        "ls sorts and chooses by the same",
        len(sort) == 4
        and sort[0]["id"] in best_of_all
        and {job["id"] for job in sort} == {j for j, (s, _) in found.items() if s["lr"] == 0.003},
        sort,
    )


def main():
    results = Results()
    with World("sweep") as world:
        results.run("sweep", test_sweep, results, world)
    results.finish()


main()
