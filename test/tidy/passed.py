# SPDX-License-Identifier: Apache-2.0
"""What held its rules before need not be tried again, for `./dev check`, between two edits."""

import hashlib
import os


class Passed:
    """Sources that held, in the file `path`, by a digest of each and of `rules` (files). Without a
    path nothing has held and nothing is noted."""

    def __init__(self, path, rules):
        self.path = path
        self.held = set()
        self.now = set()
        self.rules = hashlib.sha256()
        if not path:
            return
        for name in rules:
            with open(name, "rb") as rule:
                self.rules.update(rule.read())
        if os.path.exists(path):
            with open(path, encoding="ascii") as lines:
                self.held = set(lines.read().split())

    def digest(self, name, content):
        rules = self.rules.copy()
        rules.update(os.fsencode(name) + b"\0" + content)
        return rules.hexdigest()

    def has(self, digest):
        return digest in self.held

    def note(self, digest):
        self.now.add(digest)

    def write(self):
        if not self.path:
            return
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        with open(self.path, "w", encoding="ascii") as out:
            out.write("\n".join(sorted(self.now)))
