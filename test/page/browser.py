#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a real Chromium: opens, filters, draws, follows, cancels; an export without a server.

Usage: browser.py [--pictures FOLDER] [PART…]; --pictures keeps what the views look like."""

import pathlib
import shutil
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.page import browser_kit  # noqa: F401  # first: it chooses the Python

# isort: split
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from test.e2e.kit.harness import Results, World
from test.page import hostile, odd, served, shown
from test.page.browser_kit import Pages, Views, until

# A million points of one series, with one value that must not be lost.
MILLION = r"""
import json, math, os
with open(os.environ["STOKER_METRICS"], "a") as out:
    for first in range(0, 1_000_000, 10_000):
        out.write("".join('{"step": %d, "wave": %.4f}\n' % (s, 99 if s == 777_777 else
                          math.sin(s / 30_000) + s % 7 / 10) for s in range(first, first + 10_000)))
"""


def submit_sweep(world):
    """Twelve runs with three hyperparameters: a high rate with momentum is best."""
    program = world.program(served.PROGRAM, "train.py")
    for i, (rate, decay, kind) in enumerate(
        (rate, decay, kind) for rate in (0.05, 0.3, 2.0) for decay in (0, 0.01) for kind in ("sgd", "adamw")
    ):
        (world.work / "job.yaml").write_text(
            f"name: sweep-{i}\nworkdir: .\n"
            f"hyperparameters: {{lr: {rate}, weight_decay: {decay}, optimizer: {kind}}}\n"
            f"envs: {{WORKERS: '{2 + i % 3}'}}\n"
            f"command: [python3, {program.name}, '120', "
            f"'{rate * (1 - 20 * decay) * (1.2 if kind == 'adamw' else 1):.3f}', '0.002']\n"
        )
        world.submit("job.yaml")
    for i in range(12):
        world.stoker("wait", f"sweep-{i}", timeout=120, check=True)


def train_preempted(world):
    """A run that is interrupted twice."""
    program = world.program(served.PROGRAM, "train.py")
    job = world.submit("--name", "digits", "--", "python3", program.name, "400", "0.6", "0.05")
    for attempt in (1, 2):
        world.wait_for(
            f"attempt {attempt} trains",
            lambda: sum(p["attempt"] == attempt for p in world.json("metrics", job, "lr")["series"].get("lr", [])) > 40,
            timeout=60,
        )
        world.stoker("preempt", job, "--in", "6s", check=True)
    world.stoker("wait", job, timeout=120, check=True)
    return job


def test_views(results, world, browser, page, job):
    views = Views(browser, page.url)
    tab = views.tab
    tab.wait_for_selector(".line.job")
    results.check("opens: the table has all jobs", "13 jobs" in tab.inner_text(".under"), tab.inner_text(".under"))
    tab.fill("input[type=search]", "hp.lr=2.0 optimizer=sgd")
    until(tab, "document.querySelectorAll('.line.job').length === 2")
    link = tab.evaluate("location.hash")
    tab.fill("input[type=search]", "no such job")
    tab.wait_for_selector("text=No job is like that")
    results.check("filters by hyperparameters, and the address says so", "lr" in link and "optimizer" in link, link)
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
    test_table(results, tab)
    views.go(f"#/job/{job}", ".timeline")
    views.drawn(4)
    texts = tab.text_content(".timeline")
    results.check(
        "a job: a time line with three attempts and two interruptions",
        texts.count("attempt") >= 3 and tab.locator("svg[role=img] .notice").count() == 2,
        texts,
    )
    curve = tab.evaluate("id => stoker.data.series(id, {names: '[\"lr\"]'}).then(r => r.series[0])", job)
    steps = [s for s, again in zip(curve["step"], curve["redone"]) if not again]
    results.check("a job: one curve without a jump or a zigzag", steps == sorted(set(steps)) and len(steps) == 400, steps[-5:])
    pale = "[...document.querySelectorAll('.legend')].some(l => l.textContent.includes('again'))"
    before = tab.evaluate(pale)
    tab.click("text=What was done again")
    until(tab, pale)
    results.check("a job: what was done again only on request", before is False)
    test_charts(results, tab)
    test_parts(results, views, job)
    views.calm(results, "views")


def test_table(results, tab):
    tab.evaluate("location.hash = '#/jobs'")
    tab.wait_for_selector("select[aria-label='Group by']")
    tab.select_option("select[aria-label='Group by']", "hp.lr")
    until(tab, "document.querySelectorAll('.line.group').length === 4")
    groups = tab.evaluate("[...document.querySelectorAll('.line.group')].map(g => g.innerText)")
    results.check("groups by a hyperparameter", "lr 0.05" in groups[0] and "4 jobs" in groups[0] and "not given" in groups[3], groups)
    tab.locator(".line.group").first.click()
    until(tab, "document.querySelectorAll('.line.job').length === 9")
    tab.select_option("select[aria-label='Group by']", "")
    head = "[data-column='m.val/accuracy']"
    tab.focus(head)
    tab.keyboard.press("Enter")
    until(tab, f"document.querySelector(\"{head}\").getAttribute('aria-sort') === 'ascending'")
    tab.keyboard.press("Enter")
    until(tab, f"document.querySelector(\"{head}\").getAttribute('aria-sort') === 'descending'")
    # Where digits stands is chance: its values depend on the step at which it was interrupted.
    lines = [one for one in tab.locator(".line.job").all_inner_texts() if "digits" not in one]
    results.check("sorts by a metric with the keyboard alone", "sweep-9" in lines[0], lines[:2])
    tab.click("text=Columns")
    tab.click(".drop label:has-text('checkpoint')")
    until(tab, "!!document.querySelector(\"[data-column='checkpoint']\")")
    tab.keyboard.press("Escape")
    results.check("columns are chosen, and the address says so", "checkpoint" in tab.evaluate("location.hash"))


def test_charts(results, tab):
    """Zoom, smoothing and one cursor, with the mouse."""
    ranges = "[...document.querySelectorAll('.chart')].slice(0, 4).map(c => c.chart.graph.xAxisRange())"
    canvas = tab.locator(".chart .canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    middle = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + 200, middle)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 300, middle, steps=5)
    tab.mouse.up()
    until(tab, f"{ranges}.every(r => r[1] - r[0] < 200 && r[0] > 10)")
    results.check("a range drawn in one chart zooms all", True)
    tab.mouse.move(box["x"] + 250, middle)
    cursors = "document.querySelectorAll('.chart .cursor:not([hidden])').length"
    until(tab, f"{cursors} >= 5")
    titles = tab.evaluate(
        "[...document.querySelectorAll('.chart')].filter(c => c.querySelector("
        "'.cursor:not([hidden])')).map(c => c.querySelector('h3').innerText)"
    )
    results.check("the cursor stands in the machine's curves, too", "CPU cores" in titles and "Network of the machine" in titles, titles)
    tab.click("text=All of it")
    until(tab, f"{ranges}.every(r => r[1] - r[0] > 390)")
    lines = "document.querySelector('.chart').chart.graph.numColumns() - 1"
    before = tab.evaluate(lines)
    tab.locator("input[type=range]").fill("0.9")
    until(tab, f"{lines} === {before + 1}")
    results.check("behind a smoothed curve its raw values are pale", True)
    tab.locator("input[type=range]").fill("0")


def test_parts(results, views, job):
    tab = views.tab
    views.go(f"#/job/{job}/log", ".log .l")
    tab.fill("input[type=search]", "loss")
    until(tab, "document.querySelectorAll('.log .c3 mark').length > 3")
    results.check("log: hits are marked, in the colours of the program", "hits" in tab.inner_text(".bar"), tab.inner_text(".bar"))
    views.go(f"#/job/{job}/files", "td summary")
    tab.locator("td summary").first.click()
    for what, link in (("an output", "text=output/model.bin"), ("a checkpoint", "details a")):
        with tab.expect_download() as waited:
            tab.locator(link).first.click()
        size = pathlib.Path(waited.value.path()).stat().st_size
        results.check(f"files: {what} is downloaded", size in (300_000, 3), size)
    views.go(f"#/job/{job}/code", "pre")
    results.check("code: the job file is there", "train.py" in tab.inner_text("pre"))


def test_links(results, browser, page, job):
    """One stream for all tabs; and a link to a view, from anywhere, leads there for a day."""
    views = Views(browser, page.url)
    base = views.tab.url.split("#")[0]
    seen = []
    views.context.on("request", lambda r: seen.append(r.url))
    other = views.context.new_page()
    other.goto(f"{base}#/jobs?q=sweep-1")
    until(other, "document.querySelectorAll('.line.job').length === 3")
    results.check("links: the address leads another tab to the same view", True)
    until(other, "document.querySelector('.live').classList.contains('on')")
    streams = [url for url in seen + views.asked if url.endswith("/api/events")]
    results.check(
        "links: one event stream for all tabs of a browser",
        len(set(streams)) == 1 and not [u for u in seen if u.endswith("/api/events")],
        streams,
    )
    site = served.Site(f'<a href="{base}#/job/{job}/log">a link</a>')
    third = views.context.new_page()
    third.goto(site.url)
    third.click("a")
    third.wait_for_selector(".log .l")
    results.check("links: one on another site's page leads there", job in third.url, third.url)
    site.close()
    stranger = browser.new_context().new_page()
    answer = stranger.goto(f"{base}#/job/{job}/log")
    results.check("links: but nobody else in", answer.status == 401 and job not in stranger.content(), answer.status)
    views.calm(results, "links")


def test_faults(results, world, browser, page, job, pictures):
    ids = ",".join(j["id"] for j in world.json("ls") if j["name"].startswith("sweep"))
    looks = (
        ("jobs", "#/jobs", ".line.job", 0),
        ("job", f"#/job/{job}", ".timeline", 4),
        ("log", f"#/job/{job}/log", ".log .l", 0),
        ("files", f"#/job/{job}/files", "td summary", 0),
        ("code", f"#/job/{job}/code", "pre", 0),
        ("compare", f"#/compare/{ids}", ".plot circle", 0),
    )
    for scheme in ("light", "dark"):
        views = Views(browser, page.url, scheme, 1240, 760)
        for name, view, wait, charts in looks:
            views.go(view, wait)
            if charts:
                views.drawn(charts)
            found = Axe().run(views.tab).response["violations"]
            grave = [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found if v["impact"] in ("serious", "critical")]
            results.check(f"axe: {name}, {scheme}: no serious fault", not grave, grave)
            if pictures and name == "compare":
                views.tab.set_viewport_size({"width": 1240, "height": 1560})
            if pictures:
                views.tab.screenshot(path=str(pictures / f"{name}-{scheme}.png"))
        views.calm(results, scheme)
    views = Views(browser, page.url)
    views.go(f"#/compare/{ids}", ".plot circle")
    until(views.tab, "document.querySelector('main p').innerText.includes('lr = ')")
    text = views.tab.inner_text("main p")
    results.check(
        "comparison: names the best and what sets it apart", "sweep-9" in text and "lr = 2" in text and "optimizer = adamw" in text, text
    )
    until(views.tab, "document.querySelector('table.diff').innerText.includes('WORKERS')")
    rows = views.tab.evaluate("[...document.querySelectorAll('table.diff td:first-child')].map(c => c.innerText)")
    results.check(
        "comparison: code, environment and machine, where they differ", {"command", "WORKERS"} <= set(rows) and "nodes" not in rows, rows
    )
    views.tab.click("text=Also what is the same")
    until(views.tab, "document.querySelector('table.diff').innerText.includes('nodes')")
    views.close()
    small = Views(browser, page.url, width=390, height=780)
    small.go(f"#/job/{job}", ".timeline")
    for name, view, wait, _ in looks:
        small.go(view, wait)
        wide = small.tab.evaluate("document.documentElement.scrollWidth")
        results.check(f"phone: {name}: nothing stands out at the side", wide <= 390, wide)
    small.go(f"#/job/{job}", ".timeline")
    if pictures:
        small.drawn(1)
        small.tab.screenshot(path=str(pictures / "phone-light.png"))
    small.calm(results, "phone")


def test_live(results, world, browser, page):
    program = world.program(
        "import json, os, time\nout = open(os.environ['STOKER_METRICS'], 'a')\n"
        "for step in range(100000):\n"
        "    out.write(json.dumps({'step': step, 'done': step}) + '\\n'); out.flush()\n"
        "    print('line at', time.time(), flush=True); time.sleep(0.5)\n",
        "live.py",
    )
    job = world.submit("--name", "live", "--", "python3", program.name)
    views = Views(browser, page.url)
    tab = views.tab
    views.go(f"#/job/{job}/log", ".log .l")
    late = []
    for _ in range(6):
        shown = tab.locator(".log .l").last.inner_text()
        until(tab, "was => { const l = document.querySelectorAll('.log .l'); return l.length && l[l.length - 1].innerText !== was }", shown)
        words = tab.locator(".log .l").last.inner_text().split()
        if "at" in words:
            late.append(time.time() - float(words[-1]))
    print(f"    lines were on the page {min(late):.2f} to {max(late):.2f} s after they were printed")
    results.check("live: lines come by themselves", len(late) >= 3, late)
    views.go(f"#/job/{job}/curves", ".chart canvas")
    many = "document.querySelector('.chart .read').textContent"
    first = tab.evaluate(many)
    until(tab, f"was => {many} !== was", first)
    results.check("live: curves grow by themselves", True)
    tab.click("button:has-text('Preempt')")
    tab.wait_for_selector("dialog[open]")
    tab.click("dialog button.primary")
    until(tab, "document.querySelectorAll('svg[role=img] .notice').length > 0")
    tab.wait_for_selector("dialog", state="detached")
    noticed = world.json("show", job)["job"]["attempts"][0]["noticed"]
    results.check("live: it is preempted from the page, and its time line says so", noticed)
    tab.click("button.danger")
    tab.wait_for_selector("dialog[open]")
    tab.keyboard.press("Escape")
    tab.wait_for_selector("dialog", state="detached")
    results.check("live: nothing is done without a yes", world.json("show", job)["job"]["state"] == "Running")
    tab.click("button.danger")
    tab.wait_for_selector("dialog[open]")
    tab.click("dialog button.danger")
    tab.wait_for_selector('.jobhead .badge[data-state="Cancelled"]')
    results.check("live: it is cancelled from the page", world.json("show", job)["job"]["state"] == "Cancelled")
    tab.click("button:has-text('Retry')")
    tab.click("dialog button.primary")
    tab.click(".toast a")
    tab.wait_for_selector(f".factline a[href='#/job/{job}']")
    again = tab.evaluate("location.hash").split("/")[2]
    results.check("live: and begun again, which leads to the new job", world.json("show", again)["job"]["retry_of"] == job)
    world.stoker("cancel", again, check=True)
    views.calm(results, "live")


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
    print(
        f"    {counted} points, {len(got['step'])} buckets: on the page after {took:.2f} s; "
        f"zooming, a frame takes {frames[len(frames) // 2]:.0f} ms (median), "
        f"{frames[-3]:.0f} ms (95th of 100)"
    )
    results.check("million: every point counts", counted == 1_000_000 and sum(got["count"]) == 1_000_000, (counted, sum(got["count"])))
    results.check(
        "million: no more than the screen can show, and no extreme lost",
        len(got["step"]) <= 4000 and max(got["max"]) == 99,
        max(got["max"]),
    )
    views.close()


SCROLL = """
() => new Promise(done => {
  const grid = document.querySelector('.grid'), times = [], begun = performance.now();
  let last = begun;
  const stamps = new Set();
  const step = () => {
    const now = performance.now();
    times.push(now - last);
    last = now;
    grid.scrollTop += 400;
    stamps.add(stoker.data.jobs.stamp);
    if (now - begun > 6000) return done({times: times.slice(1), stamps: stamps.size});
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})
"""


def test_many(results, browser):
    """Ten thousand rows while jobs run: the table is told of changes each second."""
    with World("many") as world:
        world.stoker("run", "--name", "one", "--", "python3", "-c", "print({'loss': 0.5, 'epoch': 1})", check=True)
        served.fill(world, world.json("show", "one")["job"]["id"], 10_000)
        program = world.program(
            "import json, os, time\nout = open(os.environ['STOKER_METRICS'], 'a')\n"
            "for step in range(100000):\n"
            "    out.write(json.dumps({'step': step, 'loss': 1 / (step + 1)}) + '\\n')\n"
            "    out.flush(); time.sleep(0.2)\n",
            "live.py",
        )
        for i in range(4):
            world.submit("--name", f"live-{i}", "--", "python3", program.name)
        begun = time.monotonic()
        views = Views(browser, served.Page(world).url)
        tab = views.tab
        tab.wait_for_selector(".line.job")
        first = time.monotonic() - begun
        until(tab, "stoker.data.jobs.rows.filter(r => r.hp).length > 10000")
        rows = tab.locator(".line.job").count()
        got = tab.evaluate(SCROLL)
        frames = sorted(got["times"])
        begun = time.monotonic()
        tab.fill("input[type=search]", "j0009999")
        until(tab, "document.querySelectorAll('.line.job').length === 1")
        print(
            f"    10,005 live rows on the page after {first:.2f} s, {rows} elements; scrolling "
            f"while {got['stamps']} changes come, a frame takes "
            f"{frames[len(frames) // 2]:.0f} ms (median), "
            f"{frames[len(frames) * 95 // 100]:.0f} ms (95th), {frames[-1]:.0f} ms (longest); "
            f"a filter {time.monotonic() - begun:.2f} s"
        )
        results.check("many: only what is on the screen is drawn", rows < 100, rows)
        results.check("many: it lives while it is scrolled", got["stamps"] > 2, got["stamps"])
        views.calm(results, "many")


def test_export(results, world, browser, job):
    folder = world.root / "report"
    world.stoker("ui", "--export", folder, "digits", "sweep-0", check=True)
    views = Views(browser, (folder / "index.html").as_uri())
    tab = views.tab
    tab.wait_for_selector(".line.job")
    for view, wait in (
        (f"#/job/{job}", ".chart canvas"),
        (f"#/job/{job}/log", ".log .l"),
        (f"#/job/{job}/files", "h2"),
        (f"#/job/{job}/code", "pre"),
    ):
        views.go(view, wait)
    far = [url for url in views.asked if not url.startswith(folder.as_uri())]
    results.check("export: opens from the disk with no request to anywhere", not far, far)
    buttons = tab.locator(".jobhead button").count()
    results.check("export: nothing to change there", buttons == 0)
    views.calm(results, "export")
    touch = browser.new_context(viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True)
    phone = touch.new_page()
    phone.goto((folder / "index.html").as_uri())
    linked = []
    for name in ("sweep-1", "sweep-0", "digits"):
        phone.fill("input[type=search]", name)
        until(phone, "name => [...document.querySelectorAll('.line.job')].every(line => line.innerText.includes(name))", name)
        linked.append(phone.locator(".line.job a.name").count())
    results.check("export: only jobs that have a page are links", linked == [0, 1, 1], linked)
    phone.tap(".line.job a.name")
    phone.wait_for_selector(".jobhead")
    phone.goto((folder / "index.html").as_uri() + f"#/job/{job}/curves")
    until(phone, "document.querySelectorAll('.chart .dygraph-axis-label').length > 0")
    phone.locator(".chart .canvas").first.tap()
    until(phone, "document.querySelectorAll('.chart .cursor:not([hidden])').length > 0")
    wide = phone.evaluate("document.documentElement.scrollWidth")
    results.check("export: usable on a phone, with a finger", wide <= 390, wide)
    touch.close()


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
        parts = {
            "views": lambda: test_views(results, world, browser, page, job),
            "faults": lambda: test_faults(results, world, browser, page, job, pictures),
            "live": lambda: test_live(results, world, browser, page),
            "links": lambda: test_links(results, browser, page, job),
            "shown": lambda: shown.test(results, world, browser, page, job),
            "odd": lambda: odd.test(results, world, browser, page),
            "hostile": lambda: hostile.test(results, world, browser, page),
            "million": lambda: test_million(results, world, browser, page),
            "many": lambda: test_many(results, browser),
            "export": lambda: test_export(results, world, browser, job),
        }
        for name, part in parts.items():
            if not args or name in args:
                results.run(name, part)
        browser.close()
    results.finish()


main()
