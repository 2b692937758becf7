#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twelve runs of three kinds, half of them interrupted, some when they seemed to do best:
`compare`, `ls --sort`, `stop_when` and the page name what a script over the tools' own files
names."""

import concurrent.futures
import pathlib
import re
import shutil
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.page.browser_kit import Pages, Views  # first: it chooses the Python

# isort: split
from playwright.sync_api import sync_playwright

from test.metrics.frameworks import Results, World, await_step, submit, told

# A rule about what comes behind every interruption.
AFTER, BELOW = 300, 0.06
PROGRAMS = {
    "lightning": ("lightning_both.py", ("tensorboard",), "tensorboard", 100),
    "writer": ("loop.py", ("writer",), "tensorboard", 100),
    "printed": ("loop.py", ("plain",), "jsonl", 100),
}
# The best is none of those that seemed to be; and no two are alike.
RATES = {"lightning": (0.004, 0.001, 0.002, 0.0005), "writer": (0.4, 0.1, 0.2, 0.05), "printed": (0.35, 0.15, 0.25, 0.06)}


def one(world, kind, number):
    program, words, _, step = PROGRAMS[kind]
    name = f"{kind}-{number}"
    again = number % 2 == 1
    lucky = ["lucky"] if again and program == "loop.py" else []
    rule = {"rule": f"val_loss is below {BELOW} after step {AFTER}", "action": "warn"}
    job = submit(
        world, name, program, *words, RATES[kind][number], 0.02, *lucky, stop_when=[rule], envs={"HOLD": str(step + 100) if again else ""}
    )
    if again:
        await_step(world, name, 1, step)
        world.stoker("preempt", job, "--in", "2s", check=True)
    world.stoker("wait", job, "--timeout", "240s", check=True, timeout=260)
    return name


def page_names_the_best(results, world, jobs, order, best):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        views = Views(browser, Pages(world).url)
        views.go(f"#/compare/{','.join(jobs)}?metric=val_loss", "p:has-text('Best by')")
        said = views.tab.inner_text("p:has-text('Best by')")
        results.check("best: the page names the best", said.startswith("Best by val_loss (lowest):") and best in said, (said, best))
        ranked = views.tab.locator(".ranks tbody a").all_inner_texts()
        results.check("best: the page has them in the order of their files", ranked == order, (ranked, order))
        views.calm(results, "best: the page")
        browser.close()


def test_best(results, world):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(one, world, kind, number) for number in range(4) for kind in PROGRAMS]
        names = [run.result() for run in runs]
    curves = {name: told(world, name, PROGRAMS[name.split("-")[0]][2])["val_loss"] for name in names}
    least = {name: min(value for _, value in points) for name, points in curves.items()}
    order = sorted(names, key=least.get)
    print(f"      {[(name, round(least[name], 4)) for name in order]}", flush=True)
    attempts = {job["name"]: len(world.job(job["id"])["attempts"]) for job in world.json("ls")}
    results.check("best: half of them were interrupted", sorted(attempts.values()) == [1] * 6 + [2] * 6, attempts)
    for name in names:
        found = world.json("metrics", name, "val_loss")["series"]["val_loss"]
        results.check(
            f"best: {name}: its curve is that of its files",
            [point["step"] for point in found] == [step for step, _ in curves[name]],
            (found, curves[name]),
        )
    listed = [job["name"] for job in world.json("ls", "--sort", "min.val_loss")]
    results.check("best: ls --sort has them in the order of their files", listed == order, (listed, order))
    compared = world.stoker("compare", *names, "--by", "min.val_loss").stdout
    best = re.search(r"^best: (\w+),", compared, re.M)
    ids = {job["name"]: job["id"] for job in world.json("ls")}
    results.check("best: compare names the best", best and best[1] == ids[order[0]], (order, ids, compared))
    page_names_the_best(results, world, [ids[name] for name in names], order, ids[order[0]])
    warned = {name for name in names if world.json("show", name).get("metrics_warnings")}
    below = {name for name in names if any(step > AFTER and value < BELOW for step, value in curves[name])}
    results.check("best: stop_when finds those that its rule is about", warned == below and below and below != set(names), (warned, below))


def main():
    results = Results()
    with World("best") as world:
        results.run("best", test_best, results, world)
    results.finish()


main()
