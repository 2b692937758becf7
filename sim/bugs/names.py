#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The deliberate bugs are where they should be, and nowhere else: names.py SIM_BUGS.

Every BugIsOn("name") below src/ stands in a room that sim_bugs compiles with the switch and in
its table, and the other way round; the rules of the table are those that sim/ checks, and
docs/guarantees-why.md says how many bugs break each; the release binary ($STOKER) has none of the
names in it.
"""

import os
import re
import subprocess
import sys


def sources(folder, ending):
    for where, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(ending):
                path = os.path.join(where, name)
                with open(path, encoding="utf-8") as source:
                    yield path, source.read()


def main(argv):
    listed = subprocess.run([argv[1], "--list"], capture_output=True, check=True, text=True)
    table = [line.split(" | ") for line in listed.stdout.splitlines()]
    names = {row[0] for row in table}
    rules = {rule for row in table for rule in row[1].split(", ")}
    wrong = []

    with open("sim/bugs/CMakeLists.txt", encoding="utf-8") as source:
        compiled = re.search(r"foreach\(room ([^)]*)\)", source.read())[1].split()
    placed = set()
    for path, text in sources("src", (".cc", ".h")):
        found = set(re.findall(r'\bBugIsOn\("([^"]*)"\)', text))
        placed |= found
        if found and os.path.relpath(os.path.dirname(path), "src") not in compiled:
            wrong.append(f"{path} has bugs, and sim/bugs/CMakeLists.txt does not name its room")
    wrong += [f"{name} is in src/ and not in sim/bugs/bugs.cc" for name in placed - names]
    wrong += [f"{name} is in sim/bugs/bugs.cc and not in src/" for name in names - placed]

    checked = set()
    for path, text in sources("sim", ".cc"):
        if path.endswith("_test.cc"):
            continue  # rules of its own
        checked |= set(re.findall(r'\bBreach\(\s*"([a-z-]+)"', text))
    wrong += [f"{rule} is checked, and no bug breaks it" for rule in checked - rules]
    wrong += [f"{rule} is broken by a bug, and nobody checks it" for rule in rules - checked]

    with open("docs/guarantees-why.md", encoding="utf-8") as page:
        told = dict(re.findall(r"^\| ([a-z-]+) \|.*\| (\d+): ", page.read(), re.M))
    for rule in sorted(rules | told.keys()):
        bugs = len({row[0] for row in table if rule in row[1].split(", ")})
        if told.get(rule) != str(bugs):
            wrong.append(f"{rule} has {bugs} bugs; docs/guarantees-why.md says {told.get(rule)}")

    with open(os.environ["STOKER"], "rb") as binary:
        shipped = binary.read()
    wrong += [f"{name} is in the release binary" for name in names if name.encode() in shipped]

    for line in sorted(wrong):
        print(line)
    print(f"{len(names)} bugs, {len(checked)} rules, {len(wrong)} breaches")
    return 1 if wrong or len(names) < 16 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
