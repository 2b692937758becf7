# SPDX-License-Identifier: Apache-2.0
"""Runs that are not as one would like, on the page: values that are not finite, steps that go back,
two hundred series, no metrics at all, failed, in a line, of somebody else."""

import subprocess

from test.page.browser_kit import Views, until

NOT_FINITE = r"""
import json, math, os, pathlib
with open(os.environ["STOKER_METRICS"], "a") as out:
    for step in range(300):
        loss = 2 - step / 100 if step < 150 else float("nan") if step < 200 else float("inf")
        out.write(json.dumps({"step": step, "loss": loss, "none": float("nan"), "flat": 5,
                              "huge": 1e300 * step, "back": math.sin(step / 20)}) + "\n")
    for step in range(100, 200):
        out.write(json.dumps({"step": step, "back": 3}) + "\n")
pathlib.Path("output").mkdir(exist_ok=True)
pathlib.Path("output/rank0.1.pt.trace.json").write_text("{}")
"""

SERIES = r"""
import json, os
with open(os.environ["STOKER_METRICS"], "a") as out:
    for step in range(100):
        row = {"layer%03d/norm" % i: i + step / 100 for i in range(200)}
        out.write(json.dumps({"step": step, **row}) + "\n")
"""


def jobs(world):
    """Submits them; ids by name."""
    other = {"USER": "ada", "LOGNAME": "ada"}
    world.program(NOT_FINITE, "odd.py")
    world.program(SERIES, "series.py")
    ids = {
        "odd": world.submit("--name", "odd", "--", "python3", "odd.py"),
        "series": world.submit("--name", "series", "--", "python3", "series.py"),
        "hello": world.submit("--name", "hello", "--", "echo", "hello", env=other),
        "fails": world.submit("--name", "fails", "--", "python3", "-c", "raise ValueError('of the wrong shape')", env=other),
    }
    for name in ids:
        world.stoker("wait", name, timeout=120)
    return ids


def chart(tab, name):
    return f"[...document.querySelectorAll('.chart')].find(c => c.chart.name === '{name}')"


def curves(results, tab, views, ids):
    views.go(f"#/job/{ids['odd']}", ".chart .state.bad")
    views.drawn(1)
    loss = f"{chart(tab, 'loss')}.querySelectorAll('.odd').length"
    until(tab, f"{loss} > 3")
    ends = tab.evaluate(f"{chart(tab, 'loss')}.chart.graph.xAxisExtremes()")
    results.check("odd: where a curve is not finite is marked, to its end", ends == [0, 299], ends)
    text = tab.inner_text(".chart .state.bad")
    results.check("odd: a curve without a finite value says so", text == "× NaN throughout", text)
    back = tab.evaluate(f"{chart(tab, 'back')}.chart.lines[0]")
    results.check(
        "odd: where steps come again the newest counts, and the band holds both",
        back["x"] == list(range(300)) and back["value"][150] == 3 and back["low"][150] < 1,
        back["value"][148:152],
    )
    views.go(f"#/job/{ids['series']}", ".chart canvas")
    count = "document.querySelector('.charts').children.length"
    until(tab, f"{count} === 200")
    drawn = tab.locator(".chart canvas").count() // 2
    results.check("odd: of 200 series only what is seen is drawn", 0 < drawn < 40, drawn)
    tab.fill("input[type=search]", "layer199")
    until(tab, f"{count} === 1")


def of_git(results, world, views):
    """Two runs of one program, the second with a change that nobody has committed."""
    tab, folder = views.tab, world.root / "repo"
    folder.mkdir()

    def git(*words):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=folder, env=world.env, check=True, capture_output=True
        )

    git("init")
    (folder / "train.py").write_text("print({'loss': 0.5, 'epoch': 1})\n")
    git("add", ".")
    git("commit", "-m", "first")
    made = []
    for change in ("", "print('<b>changed</b>')\n"):
        with open(folder / "train.py", "a") as file:
            file.write(change)
        made.append(world.submit("--name", "of-git", "--", "python3", "train.py", cwd=folder))
        world.stoker("wait", made[-1], timeout=60)
    views.go(f"#/job/{made[1]}/code", "pre .plus")
    line = tab.inner_text("pre .plus")
    results.check("odd: code is shown with its diff", line == "+print('<b>changed</b>')", line)
    views.go(f"#/compare/{','.join(made)}", "table.diff")
    until(tab, "document.querySelector('table.diff').innerText.includes('dirty')")
    row = tab.evaluate("[...document.querySelectorAll('table.diff tr')].filter(r => r.innerText.startsWith('commit'))[0].innerText")
    results.check("odd: comparison says which has a change", row.count("dirty") == 1, row)


def test(results, world, browser, page):
    ids = jobs(world)
    views = Views(browser, page.url)
    tab = views.tab
    curves(results, tab, views, ids)
    views.go(f"#/job/{ids['hello']}", ".log .l")
    results.check("odd: without metrics its log is shown", "hello" in tab.inner_text(".log"))
    views.go(f"#/job/{ids['hello']}/curves", ".holder .note")
    views.go(f"#/job/{ids['fails']}", ".why pre")
    said = tab.inner_text(".why")
    results.check("odd: a failed job says why at once", "exit code 1" in said and "of the wrong shape" in said, said)
    views.go(f"#/job/{ids['odd']}/files", "text=Profiler traces")
    of_git(results, world, views)
    views.go("#/jobs?q=user%3Dada", ".line.job")
    until(tab, "document.querySelectorAll('.line.job').length === 2")
    results.check("odd: jobs of somebody else are found by their user", True)
    waiting = in_line(world)
    views.go(f"#/job/{waiting[1]}", ".why.soft")
    said = tab.inner_text(".why.soft")
    results.check("odd: a job in a line says for what it waits", "queued" in said, said)
    for job in waiting:
        world.stoker("cancel", job, check=True)
    views.calm(results, "odd")


def in_line(world):
    """One that has all of the machine, and one behind it."""
    made = []
    for name in ("holds", "waits"):
        (world.work / "line.yaml").write_text(f"name: {name}\nworkdir: .\nresources: {{cpus: 256}}\nrun: sleep 1000\n")
        made.append(world.submit("line.yaml"))
        if name == "holds":
            world.wait_for("it runs", lambda: world.job(made[0])["state"] == "Running", timeout=60)
    return made
