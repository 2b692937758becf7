# SPDX-License-Identifier: Apache-2.0
"""Strings of others through every view: markup, escape sequences, what turns the direction of
writing, and a million letters. They change nothing but text."""

import json

from test.page.browser_kit import Views, until

LONG = 1_000_000
# What a job is given. A million letters come from the program, as a job file has a limit.
STRINGS = {
    "markup": "<img src=x onerror=window.hit=1><script>window.hit=1</script>",
    "attribute": "\" autofocus onfocus=window.hit=1 x='",
    "template": "${window.hit=1}{{window.hit=1}}",
    "ansi": "\x1b[31mred\x1b]0;title\x07\x9b31m",
    "bidi": "abc\u202egnp.exe\u2066 \u200f",
    "prototype": "__proto__",
    "lines": "one\u2028two",
    "long": "z" * 20_000,
}

PROGRAM = r"""
import json, os, pathlib, sys
strings = json.loads(pathlib.Path(sys.argv[1]).read_text())
for text in strings.values():
    print(text, flush=True)
    print(text, file=sys.stderr, flush=True)
print("long " + "x" * 1_000_000, flush=True)
with open(os.environ["STOKER_METRICS"], "a") as out:
    for step in range(5):
        for name in [*strings.values(), "m" * 1_000_000, "constructor", "good"]:
            out.write(json.dumps({"step": step, name: step}) + "\n")
os.makedirs("output", exist_ok=True)
os.makedirs("checkpoints", exist_ok=True)
for text in strings.values():
    name = text.replace("/", "_")[:60]
    pathlib.Path("output", name).write_text(text)
    pathlib.Path("checkpoints", name).write_text(text)
sys.stderr.write(strings["markup"] + strings["bidi"] + "\n")
sys.exit(3)
"""


def submit(world):
    """A job that is full of them, and fails with one on its lips."""
    program = world.program(PROGRAM, "hostile.py")
    (world.work / "strings.json").write_text(json.dumps(STRINGS))
    given = {**STRINGS, "__proto__": "y", "constructor": "1"}
    (world.work / "job.yaml").write_text(
        json.dumps(
            {
                "name": "hostile",
                "workdir": ".",
                "command": ["python3", program.name, "strings.json"],
                "envs": {"HOSTILE": STRINGS["markup"], "BIDI": STRINGS["bidi"]},
                "hyperparameters": given,
            }
        )
    )
    world.stoker("run", "job.yaml", env={"USER": "<b>u</b>", "LOGNAME": "<b>u</b>"})
    job = world.json("show", "hostile")["job"]["id"]
    # Names in a job file are plain; those that programs write into event files are not.
    totals = world.store / "jobs" / job / "metrics.json"
    told = json.loads(totals.read_text())
    told["hyperparameters"] = {text: text for text in STRINGS.values()}
    totals.write_text(json.dumps(told))
    return job


def looks(job):
    """Every view, and every way in which the address brings text into one."""
    markup, bidi = STRINGS["markup"], STRINGS["bidi"]
    columns = ",".join(f"hp.{text[:1000]}" for key, text in STRINGS.items() if key != "lines")
    return (
        ("jobs", f"#/jobs?cols=name,{columns},m.{markup}", ".line.job"),
        ("groups", f"#/jobs?group=hp.{markup}&sort=hp.{bidi}", ".line.group"),
        ("filter", f"#/jobs?q={markup}", ".note"),
        ("curves", f"#/job/{job}/curves?find={markup}", ".charts"),
        ("all curves", f"#/job/{job}/curves", ".chart canvas"),
        ("log", f"#/job/{job}/log", ".log .l"),
        ("files", f"#/job/{job}/files", "td summary"),
        ("code", f"#/job/{job}/code", "pre"),
        ("compare", f"#/compare/{job}", "table"),
        ("compared", f"#/compare/{job}?metric={markup}&all=1", "table"),
        ("an id of markup", f"#/job/{markup}", ".grid"),
        ("a view", "#/x/" + markup, ".grid"),
        ("ids of markup", "#/compare/" + markup, "h1"),
    )


def look(results, tab, name, where):
    until(tab, "() => document.readyState === 'complete'")
    tab.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    text = tab.inner_text("body") + tab.title()
    odd = [hex(ord(c)) for c in text if c in "\u202e\u2066\u200f\u2028\x1b\x9b\x07"]
    foreign = tab.evaluate(
        "document.querySelectorAll('main img, main script, main [onfocus], main [onerror], main b:not(:empty) > *').length"
    )
    wide = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    results.check(
        f"hostile: {where}{name}: text stays text, and in its place",
        tab.evaluate("window.hit") is None and not foreign and not odd and wide <= 0 and len(text) < 200_000,
        (foreign, odd, wide, len(text)),
    )


def test(results, world, browser, page):
    job = submit(world)
    (world.work / "long.yaml").write_text(f"name: {'n' * LONG}\nrun: 'true'\n")
    refused = world.stoker("run", "long.yaml")
    results.check(
        "hostile: a name of a million letters is none", refused.returncode != 0 and len(refused.stderr) < 10_000, refused.stderr[:200]
    )
    views = Views(browser, page.url)
    tab = views.tab
    for name, view, wait in looks(job):
        views.go(view, wait)
        look(results, tab, name, "")
    views.go(f"#/job/{job}", ".why pre")
    said = tab.inner_text(".why")
    results.check("hostile: its last words are seen as they are", "<img src=x onerror" in said, said)
    views.go(f"#/job/{job}/log", ".log .l")
    until(tab, "document.querySelector('.log').innerText.includes('<img src=x onerror')")
    views.calm(results, "hostile")
    exported(results, world, browser, job)


def exported(results, world, browser, job):
    """As a report: scripts hold the text there."""
    folder = world.root / "hostile report"
    world.stoker("ui", "--export", folder, job, check=True)
    views = Views(browser, (folder / "index.html").as_uri())
    for name, view, wait in looks(job):
        views.go(view, wait)
        look(results, views.tab, name, "report: ")
    views.calm(results, "hostile report")
