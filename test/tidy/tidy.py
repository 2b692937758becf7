#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the house over a source tree: tidy.py [ROOT [PASSED]]. There is no list of
exceptions.

Prints "file:line: rule: what" for each breach and exits 1 when there is one. In the file PASSED it
notes what sources held its slowest rules; while such a source, its rules and the list of rooms are
the same, these are not tried on it again. For `./dev check`, between two edits.
"""

import os
import pathlib
import re
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.tidy import cpp, markdown, passed, providers, rooms

SPDX = "SPDX-License-Identifier: Apache-2.0"
MAX_COLUMNS = 100
PYTHON_COLUMNS = 140  # ruff's, in pyproject.toml
MAX_LINES = 600
MAX_TEST_LINES = 800
MAX_FUNCTION = 70
TESTS = "docs/tests.md"
SLOW_CASES = "test/slow_cases.txt"
CASE = re.compile(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
ARCHITECTURE = "docs/architecture.md"
SKIPPED_FOLDERS = {".git", "build", "__pycache__"}
CODE = (".h", ".cc", ".py", ".sh", ".cmake", "CMakeLists.txt", "/dev", ".ci/run")


def files_of(root):
    """What git tracks or would track; without git, everything outside build folders."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-coz", "--exclude-standard"], capture_output=True, check=False)
    if listed.returncode == 0 and os.path.exists(os.path.join(root, ".git")):
        names = {n for n in os.fsdecode(listed.stdout).split("\0") if n}
        return sorted(n for n in names if os.path.isfile(os.path.join(root, n)))
    names = []
    for folder, folders, leaves in os.walk(root):
        folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS]
        names += [os.path.relpath(os.path.join(folder, leaf), root) for leaf in leaves]
    return sorted(names)


def is_test(name):
    return name.endswith("_test.cc") or name.startswith("test/")


def check_shape(name, text):
    """Length, columns and the licence line, for every kind of source."""
    lines = text.splitlines()
    first = lines[1:2] if lines and lines[0].startswith("#!") else lines[:1]
    if not first or SPDX not in first[0]:
        yield 1, "licence", f"the first line must say {SPDX}"
    limit = MAX_TEST_LINES if is_test(name) else MAX_LINES
    if len(lines) > limit:
        yield len(lines), "file length", f"{len(lines)} lines, at most {limit}"
    widest = PYTHON_COLUMNS if name.endswith(".py") else MAX_COLUMNS
    for number, line in enumerate(lines, 1):
        if len(line) > widest:
            yield number, "columns", f"{len(line)} columns, at most {widest}"


def check_code(name, text, layers):
    """The slow rules: what they find in one file depends on nothing else but the list of rooms."""
    code = cpp.blank(text)
    for start, length in cpp.functions(code):
        if length > MAX_FUNCTION:
            yield start, "function length", f"{length} lines, at most {MAX_FUNCTION}"
    for number, word in cpp.banned_names(code):
        yield number, "name", f"{word}: say what it does"
    for number, line in enumerate(code.splitlines(), 1):
        if "__FILE__" in line and name.startswith("src/"):
            yield number, "path", "__FILE__ may name the tree that filled the compiler cache"
    layer = layers.layer_of(name)
    if layer is None or is_test(name):
        return
    if layer <= 3:
        yield from cpp.impure_calls(code, deny_io=layer <= 1)


def rules_of(root):
    """What says whether check_code finds something: these scripts, and the list of rooms."""
    here = os.path.dirname(os.path.abspath(__file__))
    scripts = [os.path.join(here, n) for n in sorted(os.listdir(here)) if n.endswith(".py")]
    return [os.path.join(root, "CMakeLists.txt"), *scripts]


def check_tree(root, passed_path=None):
    names = files_of(root)
    before = passed.Passed(passed_path, rules_of(root))
    layers = rooms.Rooms(os.path.join(root, "CMakeLists.txt"))
    breaches = [("CMakeLists.txt", *b) for b in layers.check_order()]
    known = set(names)
    cases = set()
    for name in names:
        wanted = name.endswith(".md") or ("/" + name).endswith(CODE)
        if not wanted:
            continue
        with open(os.path.join(root, name), encoding="utf-8") as source:
            text = source.read()
        if name.endswith(".md"):
            found = list(markdown.check_links(root, name, text))
            if name == ARCHITECTURE:
                found += layers.check_page(text, known)
            if name == TESTS:
                found += rooms.check_tests_page(text, known)
        else:
            found = list(check_shape(name, text))
            if name.endswith((".h", ".cc")):
                found += layers.check_includes(name, cpp.includes(text))
                found += providers.check(name, text)
                digest = before.digest(name, text.encode())
                slow = [] if before.has(digest) else list(check_code(name, text, layers))
                if not slow:
                    before.note(digest)
                found += slow
                cases |= {f"{suite}.{case}" for suite, case in CASE.findall(text)}
            if re.search(r"(?i)(manager|helper|util)", os.path.basename(name)):
                found.append((1, "name", "a file called manager, helper or util"))
            if name.startswith("src/") and name.count("/") >= 2 and layers.layer_of(name) is None:
                found.append((1, "layer", "its room is not in CMakeLists.txt"))
        breaches += [(name, *breach) for breach in found]
    breaches += [("CMakeLists.txt", *b) for b in layers.check_uses()]
    breaches += rooms.check_folders(names)
    if SLOW_CASES in known:
        with open(os.path.join(root, SLOW_CASES), encoding="utf-8") as listed:
            found = rooms.check_slow_cases(listed.read(), cases)
            breaches += [(SLOW_CASES, *breach) for breach in found]
    before.write()
    return breaches, len(known)


def main(argv):
    root = os.path.abspath(argv[1] if len(argv) > 1 else ".")
    breaches, count = check_tree(root, argv[2] if len(argv) > 2 else None)
    for name, line, rule, what in breaches:
        print(f"{name}:{line}: {rule}: {what}")
    print(f"tidy: {count} files, {len(breaches)} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
