#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a real Chromium: opens, filters, draws, follows, cancels; an export without a server.

Usage: browser.py [--pictures FOLDER] [PART…]; --pictures keeps what the views look like."""

import json
import os
import pathlib
import shutil
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "e2e"))
import cloud_env  # noqa: E402

path = cloud_env.folder(str(HERE / "requirements.txt"))
if os.path.realpath(sys.prefix) != os.path.realpath(path):
    os.execv(f"{path}/bin/python", [f"{path}/bin/python", *sys.argv])

import served  # noqa: E402
from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from kit.harness import Results, World, patience  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

MARKUP = "<img src=x onerror=alert(1)><script>window.hit=1</script>"
BIDI = "abc\u202egnp.exe\u2066\u200f"

# What a program may say: in its log, in names of metrics and hyperparameters.
HOSTILE = r"""
import json, os, sys
print("<img src=x onerror=window.hit=1><script>window.hit=1</script>", flush=True)
print("\x1b]0;title\x07\x1b[2J\x1b[999;999Hescape \x1b[31mred\x1b[0m \x9b31m", flush=True)
print("abc\u202egnp.exe\u2066 \u200f", flush=True)
print("long " + "x" * 1_000_000, flush=True)
with open(os.environ["STOKER_METRICS"], "a") as out:
    for step in range(5):
        out.write(json.dumps({"step": step, "<b onmouseover=window.hit=1>loss</b>": 1 / (step + 1),
                              "abc\u202egnp": step, "__proto__": step, "constructor": step,
                              "n" * 5000: step, "\x1b[31mred": step, "good": step}) + "\n")
"""

# A million points of one series, with one value that must not be lost.
MILLION = r"""
import json, math, os
with open(os.environ["STOKER_METRICS"], "a") as out:
    for first in range(0, 1_000_000, 10_000):
        out.write("".join('{"step": %d, "wave": %.4f}\n' % (s, 99 if s == 777_777 else
                          math.sin(s / 30_000) + s % 7 / 10) for s in range(first, first + 10_000)))
"""


def until(tab, expression, arg=None):
    """Playwright's own wait_for_function needs eval, which the page's policy forbids."""
    end = time.monotonic() + patience(20)
    while not tab.evaluate(expression, arg):
        if time.monotonic() > end:
            raise AssertionError(f"never: {expression} ({arg})")
        time.sleep(0.05)


class Views:
    """A browser on a page; what it complains of is kept."""

    def __init__(self, browser, address, scheme="light", width=1280, height=860):
        self.context = browser.new_context(viewport={"width": width, "height": height},
                                           color_scheme=scheme, accept_downloads=True)
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(patience(20) * 1000)
        self.errors, self.asked = [], []
        self.tab.on("pageerror", lambda e: self.errors.append(str(e)))
        self.tab.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.tab.on("response", lambda r: self.errors.append(f"{r.status} {r.url}")
                    if r.status >= 400 else None)
        self.tab.on("request", lambda r: self.asked.append(r.url))
        self.tab.goto(address)
        self.tab.wait_for_selector("h1")

    def go(self, view, wait):
        self.tab.evaluate("view => { location.hash = view }", view)
        self.tab.wait_for_selector(wait)

    def drawn(self, charts):
        """Waits until so many charts have a canvas."""
        until(
            self.tab, "n => document.querySelectorAll('.chart .dygraph-axis-label').length > 0 && "
            "document.querySelectorAll('.chart canvas').length >= 2 * n", charts)

    def close(self):
        self.context.close()


def submit_sweep(world):
    """Twelve runs with three hyperparameters: a high rate with momentum is best."""
    program = world.program(served.PROGRAM, "train.py")
    for i, (rate, decay, kind) in enumerate(
            (rate, decay, kind) for rate in (0.05, 0.3, 2.0) for decay in (0, 0.01)
            for kind in ("sgd", "adamw")):  # fmt: skip
        (world.work / "job.yaml").write_text(
            f"name: sweep-{i}\nworkdir: .\n"
            f"hyperparameters: {{lr: {rate}, weight_decay: {decay}, optimizer: {kind}}}\n"
            f"command: [python3, {program.name}, '120', '{rate}', '0.002']\n")
        world.submit("job.yaml")
    for i in range(12):
        world.stoker("wait", f"sweep-{i}", timeout=120, check=True)


def train_preempted(world):
    """A run that is interrupted twice."""
    program = world.program(served.PROGRAM, "train.py")
    job = world.submit("--name", "digits", "--", "python3", program.name, "400", "0.6", "0.05")
    for attempt in (1, 2):
        world.wait_for(f"attempt {attempt} trains", lambda: sum(
            p["attempt"] == attempt
            for p in world.json("metrics", job, "lr")["series"].get("lr", [])) > 40, timeout=60)
        world.stoker("preempt", job, "--in", "6s", check=True)
    world.stoker("wait", job, timeout=120, check=True)
    return job


def test_views(results, world, browser, page, job):
    views = Views(browser, page.url)
    tab = views.tab
    tab.wait_for_selector(".line.job")
    results.check("opens: the table has all jobs", "13 jobs" in tab.inner_text(".bar"),
                  tab.inner_text(".bar"))  # fmt: skip
    tab.fill("input[type=search]", "hp.lr=2.0 optimizer=sgd")
    until(tab, "document.querySelectorAll('.line.job').length === 2")
    link = tab.evaluate("location.hash")
    tab.fill("input[type=search]", "no such job")
    tab.wait_for_selector("text=No job is like that")
    results.check("filters by hyperparameters, and the address says so",
                  "lr" in link and "optimizer" in link, link)  # fmt: skip
    tab.evaluate("location.hash = '#/jobs?x'")
    tab.fill("input[type=search]", "")
    tab.wait_for_selector(".line.job")
    tab.keyboard.press("Escape")
    tab.focus(".grid")
    for key in ("ArrowDown", " ", "ArrowDown", " "):
        tab.keyboard.press(key)
    results.check("keys choose two jobs", "Compare 2" in tab.inner_text(".bar"))
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".jobhead")
    results.check("Enter opens one", tab.evaluate("location.hash").startswith("#/job/"))
    views.go(f"#/job/{job}", ".timeline")
    views.drawn(4)
    texts = tab.text_content(".timeline")
    results.check("a job: a time line with three attempts and two interruptions",
                  texts.count("attempt") >= 3 and tab.locator(".timeline .notice").count() == 2,
                  texts)  # fmt: skip
    curve = tab.evaluate(
        "id => stoker.data.series(id, {names: '[\"lr\"]'}).then(r => r.series[0])", job)
    steps = [s for s, again in zip(curve["step"], curve["redone"]) if not again]
    results.check("a job: one curve without a jump or a zigzag",
                  steps == sorted(set(steps)) and len(steps) == 400, steps[-5:])  # fmt: skip
    pale = "[...document.querySelectorAll('.legend')].some(l => l.textContent.includes('again'))"
    before = tab.evaluate(pale)
    tab.click("text=What was done again")
    until(tab, pale)
    results.check("a job: what was done again only on request", before is False)
    results.check("no error so far", not views.errors, views.errors)
    views.close()


def test_faults(results, world, browser, page, job, pictures):
    ids = ",".join(j["id"] for j in world.json("ls") if j["name"].startswith("sweep"))
    looks = (("jobs", "#/jobs", ".line.job", 0), ("job", f"#/job/{job}", ".timeline", 4),
             ("log", f"#/job/{job}/log", ".log .l", 0),
             ("files", f"#/job/{job}/files", "td summary", 0),
             ("code", f"#/job/{job}/code", "pre", 0),
             ("compare", f"#/compare/{ids}", ".plot circle", 0))  # fmt: skip
    for scheme in ("light", "dark"):
        views = Views(browser, page.url, scheme, 1240, 760)
        for name, view, wait, charts in looks:
            views.go(view, wait)
            if charts:
                views.drawn(charts)
            found = Axe().run(views.tab).response["violations"]
            grave = [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found
                     if v["impact"] in ("serious", "critical")]  # fmt: skip
            results.check(f"axe: {name}, {scheme}: no serious fault", not grave, grave)
            if pictures:
                views.tab.screenshot(path=str(pictures / f"{name}-{scheme}.png"))
        results.check(f"{scheme}: no error", not views.errors, views.errors)
        views.close()
    best = "sweep-8 sweep-9 sweep-10 sweep-11"
    views = Views(browser, page.url)
    views.go(f"#/compare/{ids}", ".plot circle")
    until(views.tab, "document.querySelector('main p').innerText.includes('It has')")
    text = views.tab.inner_text("main p")
    results.check("comparison: names the best and what sets it apart",
                  any(name in text for name in best.split()) and "lr = 2" in text, text)
    views.close()
    small = Views(browser, page.url, width=390, height=780)
    small.go(f"#/job/{job}", ".timeline")
    wide = small.tab.evaluate("document.documentElement.scrollWidth")
    results.check("on a phone nothing stands out at the side", wide <= 390, wide)
    if pictures:
        small.drawn(1)
        small.tab.screenshot(path=str(pictures / "phone-light.png"))
    small.close()


def test_live(results, world, browser, page):
    program = world.program(
        "import json, os, time\nout = open(os.environ['STOKER_METRICS'], 'a')\n"
        "for step in range(100000):\n"
        "    out.write(json.dumps({'step': step, 'done': step}) + '\\n'); out.flush()\n"
        "    print('line at', time.time(), flush=True); time.sleep(0.5)\n", "live.py")
    job = world.submit("--name", "live", "--", "python3", program.name)
    views = Views(browser, page.url)
    tab = views.tab
    views.go(f"#/job/{job}/log", ".log .l")
    late = []
    for _ in range(6):
        shown = tab.locator(".log .l").last.inner_text()
        until(
            tab, "was => { const l = document.querySelectorAll('.log .l');"
            " return l.length && l[l.length - 1].innerText !== was }", shown)
        words = tab.locator(".log .l").last.inner_text().split()
        if "at" in words:
            late.append(time.time() - float(words[-1]))
    print(f"    lines were on the page {min(late):.2f} to {max(late):.2f} s after they were "
          f"printed")  # fmt: skip
    results.check("live: lines come by themselves", len(late) >= 3, late)
    views.go(f"#/job/{job}/curves", ".chart canvas")
    many = "document.querySelector('.chart .read').textContent"
    first = tab.evaluate(many)
    until(tab, f"was => {many} !== was", first)
    results.check("live: curves grow by themselves", True)
    tab.click("button.danger")
    tab.wait_for_selector("dialog[open]")
    tab.click("dialog button.danger")
    tab.wait_for_selector('.jobhead .badge[data-state="Cancelled"]')
    results.check("live: it is cancelled from the page",
                  world.json("show", job)["job"]["state"] == "Cancelled")  # fmt: skip
    results.check("live: no error", not views.errors, views.errors)
    views.close()


def test_hostile(results, world, browser, page):
    program = world.program(HOSTILE, "hostile.py")
    (world.work / "job.yaml").write_text(json.dumps({
        "name": "hostile", "workdir": ".", "command": ["python3", program.name],
        "hyperparameters": {"lr": MARKUP, "bidi": BIDI, "__proto__": "y", "constructor": "1",
                            "long": "z" * 10_000}}))  # fmt: skip
    world.stoker("run", "job.yaml", check=True)
    job = world.json("show", "hostile")["job"]["id"]
    views = Views(browser, page.url)
    tab = views.tab
    for view, wait in ((f"#/jobs?cols=name,hp.lr,hp.{BIDI},hp.__proto__", ".line.job"),
                       (f"#/job/{job}", ".chart canvas"), (f"#/job/{job}/log", ".log .l"),
                       (f"#/job/{job}/code", "pre"), (f"#/job/{job}/files", "h2"),
                       (f"#/compare/{job}", "table"),
                       (f"#/job/{MARKUP}", ".grid"), ("#/nonsense/" + MARKUP, ".grid"),
                       ("#/compare/" + MARKUP, "h1")):  # fmt: skip
        views.go(view, wait)
        until(tab, "() => document.readyState === 'complete'")
        text = tab.inner_text("body")
        odd = [hex(ord(c)) for c in text if c in "\u202e\u2066\u200f\x1b\x9b\x07"]
        foreign = tab.evaluate(
            "document.querySelectorAll('main img, main script, main b[onmouseover]').length")
        results.check(f"hostile: {view[:14]}: text stays text",
                      tab.evaluate("window.hit") is None and not foreign and not odd,
                      (foreign, odd))  # fmt: skip
    views.go(f"#/job/{job}/log", ".log .l")
    log = tab.inner_text(".log")
    results.check("hostile: markup of the log is seen as it is", "<img src=x onerror" in log, log)
    results.check("hostile: no error", not views.errors, views.errors)
    views.close()


FRAMES = """
() => new Promise(done => {
  const chart = document.querySelector('.chart').chart, times = [];
  const span = chart.graph.xAxisExtremes(), begun = performance.now();
  let n = 0, last = begun;
  const step = () => {
    const now = performance.now();
    times.push(now - last);
    last = now;
    if (++n > 60) { chart.bus.zoom(null); return done(times.slice(1)); }
    const part = (span[1] - span[0]) * Math.pow(0.95, n) / 2, mid = (span[0] + span[1]) / 2;
    chart.graph.updateOptions({dateWindow: [mid - part, mid + part]});
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})
"""


def test_million(results, world, browser, page):
    program = world.program(MILLION, "million.py")
    world.stoker("run", "--name", "million", "--", "python3", program.name, timeout=300, check=True)
    job = world.json("show", "million")["job"]["id"]
    counted = world.json("show", job)["metrics"]["wave"]["count"]
    views = Views(browser, page.url)
    tab = views.tab
    begun = time.monotonic()
    views.go(f"#/job/{job}", ".chart canvas")
    views.drawn(1)
    took = time.monotonic() - begun
    got = tab.evaluate("document.querySelector('.chart').chart.got[0]")
    frames = sorted(tab.evaluate(FRAMES))
    print(f"    {counted} points, {len(got['step'])} buckets: on the page after {took:.2f} s; "
          f"zooming, a frame takes {frames[len(frames) // 2]:.0f} ms (median), "
          f"{frames[-3]:.0f} ms (95th of 100)")  # fmt: skip
    results.check("million: every point counts", counted == 1_000_000
                  and sum(got["count"]) == 1_000_000, (counted, sum(got["count"])))  # fmt: skip
    results.check("million: no more than the screen can show, and no extreme lost",
                  len(got["step"]) <= 4000 and max(got["max"]) == 99, max(got["max"]))
    views.close()


def test_many(results, world, browser, page):
    """Ten thousand rows, as the page gets them: in an export whose list has so many."""
    folder = world.root / "many"
    world.stoker("ui", "--export", folder, "digits", check=True)
    text = (folder / "data" / "jobs.js").read_text()
    head = text.index("{")
    all_ = json.loads(text[head:text.rindex(")")])
    rows = all_["rows"]
    all_["rows"] = [dict(rows[i % len(rows)], id=f"j{i:07d}", name=f"job {i}")
                    for i in range(10_000)]  # fmt: skip
    (folder / "data" / "jobs.js").write_text(text[:head] + json.dumps(all_) + ");")
    views = Views(browser, (folder / "index.html").as_uri())
    tab = views.tab
    tab.wait_for_selector(".line.job")
    rows = tab.locator(".line.job").count()
    frames = sorted(tab.evaluate(
        "() => new Promise(done => { const g = document.querySelector('.grid'), t = []; let n = 0,"
        " last = performance.now(); const step = () => { const now = performance.now();"
        " t.push(now - last); last = now; g.scrollTop += 900;"
        " if (++n > 90) return done(t.slice(1));"
        " requestAnimationFrame(step) }; requestAnimationFrame(step) })"))
    begun = time.monotonic()
    tab.fill("input[type=search]", "job 9999")
    until(tab, "document.querySelectorAll('.line.job').length === 1")
    print(f"    10,000 rows: {rows} elements; scrolling, a frame takes {frames[45]:.0f} ms "
          f"(median), {frames[-4]:.0f} ms (95th); a filter {time.monotonic() - begun:.2f} s")
    results.check("many: only what is on the screen is drawn", rows < 100, rows)
    views.close()


def test_export(results, world, browser, job):
    folder = world.root / "report"
    world.stoker("ui", "--export", folder, "digits", "sweep-0", check=True)
    views = Views(browser, (folder / "index.html").as_uri())
    tab = views.tab
    tab.wait_for_selector(".line.job")
    for view, wait in ((f"#/job/{job}", ".chart canvas"), (f"#/job/{job}/log", ".log .l"),
                       (f"#/job/{job}/files", "h2"), (f"#/job/{job}/code", "pre")):  # fmt: skip
        views.go(view, wait)
    far = [url for url in views.asked if not url.startswith(folder.as_uri())]
    results.check("export: opens from the disk with no request to anywhere", not far, far)
    buttons = tab.locator(".jobhead button").count()
    results.check("export: nothing to change there", buttons == 0)
    results.check("export: no error", not views.errors, views.errors)
    views.close()


class Pages:
    """A page for each browser, as a link works once."""

    def __init__(self, world):
        self.world = world

    @property
    def url(self):
        return served.Page(self.world).url


def main():
    args = sys.argv[1:]
    pictures = None
    if args[:1] == ["--pictures"]:
        pictures, args = pathlib.Path(args[1]), args[2:]
        pictures.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or sys.exit("no chromium: install the package chromium")
    results = Results()
    with World("browser") as world, sync_playwright() as playwright:
        submit_sweep(world)
        job = train_preempted(world)
        page = Pages(world)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        parts = {"views": lambda: test_views(results, world, browser, page, job),
                 "faults": lambda: test_faults(results, world, browser, page, job, pictures),
                 "live": lambda: test_live(results, world, browser, page),
                 "hostile": lambda: test_hostile(results, world, browser, page),
                 "million": lambda: test_million(results, world, browser, page),
                 "many": lambda: test_many(results, world, browser, page),
                 "export": lambda: test_export(results, world, browser, job)}  # fmt: skip
        for name, part in parts.items():
            if not args or name in args:
                results.run(name, part)
        browser.close()
    results.finish()


main()
