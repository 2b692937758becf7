# SPDX-License-Identifier: Apache-2.0
"""Passes on what ctest prints, and says before its summary which tests passed at their second try
only: such a test is not green, it is lucky."""

import re
import sys

RESULT = re.compile(
    r"^\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*(\*\*\*\S+|Passed)|"
    r"^\s*Test\s+#\d+: (\S+) \.*\s*(\*\*\*\S+|Passed)"
)
SUMMARY = re.compile(r"^\d+% tests passed")


def main():
    failed, second, held = set(), [], []
    for line in sys.stdin:
        found = RESULT.match(line)
        if found:
            name, outcome = (group for group in found.groups() if group)
            if outcome == "Passed" and name in failed:
                second.append(name)
            elif outcome != "Passed":
                failed.add(name)
        if held or SUMMARY.match(line):
            held.append(line)
            continue
        print(line, end="", flush=True)
    if second:
        print(f"\npassed at the second try only ({len(second)}): {' '.join(second)}\n")
    print("".join(held), end="")


main()
