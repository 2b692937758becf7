# SPDX-License-Identifier: Apache-2.0
"""How a job's metrics are shown: sections that fold, one point, results of several runs, each
attempt's shade, axes that can be read; the log of all attempts; the table's columns."""

from test.page.browser_kit import Views, until

PROGRAM = r"""
import json, os, sys
with open(os.environ["STOKER_METRICS"], "a") as out:
    for step in range(20):
        row = {"step": step, "train/loss": 1 / (step + 1), "train/grad_norm": 0.98761 + step * 1e-6,
               "eval/loss": 2 / (step + 1), "eval/samples_per_second": step}
        out.write(json.dumps(row) + "\n")
    out.write(json.dumps({"step": 20, "eval/bleu": float(sys.argv[1]), "total_flos": 1e9}) + "\n")
"""


def titles(tab):
    return tab.evaluate("[...document.querySelectorAll('.fold')].map(b => b.innerText)")


def curves(results, views, ids):
    tab = views.tab
    views.go(f"#/job/{ids[0]}", ".chart .single")
    views.drawn(3)
    results.check(
        "shown: sections by prefix, the runtime's is folded",
        titles(tab) == ["▾ eval 2", "▾ train 2", "▸ How it ran 2"] and tab.locator(".holder .chart").count() == 4,
        titles(tab),
    )
    results.check("shown: with what it ran", "Python 3" in tab.inner_text("dt:has-text('Ran with') + dd"))
    tab.click(".fold:has-text('How it ran')")
    tab.click(".fold:has-text('train')")
    until(tab, "document.querySelectorAll('.holder .chart').length === 4")
    results.check("shown: and fold", titles(tab) == ["▾ eval 2", "▸ train 2", "▾ How it ran 2"])
    tab.click(".fold:has-text('train')")
    text = tab.inner_text(".chart:has-text('eval/bleu') .single")
    results.check(
        "shown: a single point is a dot with its value", text == "0.5 at step 20" and tab.locator(".single .dot").first.is_visible(), text
    )
    labels = (
        "[...[...document.querySelectorAll('.chart')].find(c => c.chart.name === "
        "'train/grad_norm').querySelectorAll('.dygraph-axis-label-y')].map(l => l.innerText)"
    )
    until(tab, f"{labels}.length > 2")
    found = tab.evaluate(labels)
    results.check("shown: labels of an axis differ", len(set(found)) == len(found), found)
    views.go("#/compare/" + ",".join(ids), ".chart")
    tab.locator(".chart:has-text('eval/bleu')").scroll_into_view_if_needed()
    tab.wait_for_selector(".chart .bars")
    widths = tab.evaluate("[...document.querySelectorAll('.bars .bar-of')].map(b => b.style.width)")
    results.check("shown: results of several runs are bars", widths == ["50%", "100%"], widths)


def attempts(results, views, job):
    tab = views.tab
    views.go(f"#/job/{job}", ".timeline")
    views.drawn(4)
    colours = tab.evaluate("[...document.querySelectorAll('.chart')].find(c => c.chart.name === 'lr').chart.lines.map(l => l.colour)")
    results.check("shown: each attempt has its shade", len(set(colours)) == 3, colours)
    views.go(f"#/job/{job}/log", ".log .l")
    tab.evaluate("document.querySelector('.log').scrollTop = 0")
    first = "document.querySelector('.log .l .g').innerText"
    until(tab, f"{first} === '1:1'")
    results.check("shown: the log opens with all attempts", True)


def table(results, views):
    tab = views.tab
    views.go("#/jobs", ".line.job")
    heads = tab.evaluate("[...document.querySelectorAll('.line.head [data-column]')].map(h => h.dataset.column)")
    results.check(
        "shown: id and command are in the table, and nothing that is empty",
        {"id", "command"} <= set(heads) and not {"tags", "note"} & set(heads),
        heads,
    )
    count = tab.evaluate("stoker.data.jobs.rows.length")
    tab.click("input[aria-label='Choose all jobs that are shown']")
    results.check("shown: all can be chosen at once", f"Compare {count}" in tab.inner_text(".bar"), tab.inner_text(".bar"))
    tab.click("input[aria-label='Choose all jobs that are shown']")
    results.check("shown: and none", tab.locator("button.primary:disabled").count() == 1)


def test(results, world, browser, page, job):
    world.program(PROGRAM, "shown.py")
    ids = [world.submit("--name", f"shown-{v}", "--", "python3", "shown.py", v) for v in ("0.5", "1")]
    for each in ids:
        world.stoker("wait", each, timeout=60)
    views = Views(browser, page.url)
    table(results, views)
    curves(results, views, ids)
    attempts(results, views, job)
    views.calm(results, "shown")
