#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C++ source is as clang-format 14 writes it (./dev format): format.py [ROOT [PASSED]].

In the file PASSED it notes what passed; while such a source and .clang-format are the same, it is
not looked at again, which is said.
"""

import os
import pathlib
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.tidy import passed, tidy


def main(argv):
    root = os.path.abspath(argv[1] if len(argv) > 1 else ".")
    before = passed.Passed(argv[2] if len(argv) > 2 else None, [os.path.join(root, ".clang-format"), __file__])
    names = [n for n in tidy.files_of(root) if n.endswith((".h", ".cc"))]
    wanted = []
    for name in names:
        with open(os.path.join(root, name), "rb") as source:
            digest = before.digest(name, source.read())
        before.note(digest)
        if not before.has(digest):
            wanted.append(os.path.join(root, name))
    print(f"format: {len(names)} files, of which {len(names) - len(wanted)} had passed already")
    for first in range(0, len(wanted), 200):
        command = ["clang-format-14", "--dry-run", "-Werror", "--", *wanted[first : first + 200]]
        if subprocess.run(command, check=False).returncode:
            return 1
    before.write()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
