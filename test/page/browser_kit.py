# SPDX-License-Identifier: Apache-2.0
"""What the browser's tests share. Imported first: goes on in the Python that has Playwright."""

import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).parent
from test import cloud_env

path = cloud_env.folder(str(HERE / "requirements.txt"))
if os.path.realpath(sys.prefix) != os.path.realpath(path):
    os.execv(f"{path}/bin/python", [f"{path}/bin/python", *sys.argv])

from test.e2e.kit.harness import patience
from test.page import served


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
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True)
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(patience(20) * 1000)
        self.errors, self.asked = [], []
        self.tab.on("pageerror", lambda e: self.errors.append(str(e)))
        self.tab.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.tab.on("response", lambda r: self.errors.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        self.tab.on("request", lambda r: self.asked.append(r.url))
        self.tab.goto(address)
        self.tab.wait_for_selector("h1")

    def go(self, view, wait):
        self.tab.evaluate("view => { location.hash = view }", view)
        self.tab.wait_for_selector(wait)

    def drawn(self, charts):
        """Waits until so many charts have a canvas."""
        until(
            self.tab,
            "n => document.querySelectorAll('.chart .dygraph-axis-label').length > 0 && "
            "document.querySelectorAll('.chart canvas').length >= 2 * n",
            charts,
        )

    def calm(self, results, name):
        results.check(f"{name}: no error", not self.errors, self.errors[:5])
        self.close()

    def close(self):
        self.context.close()


class Pages:
    """A page for each browser, as a link works once."""

    def __init__(self, world):
        self.world = world

    @property
    def url(self):
        return served.Page(self.world).url
