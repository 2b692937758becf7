# SPDX-License-Identifier: Apache-2.0
"""docs/trouble.md quotes messages: each part of one between two '…' is in the sources."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def literals():
    """All text of the sources between quotes; what stands in several lines is one."""
    out = []
    for path in sorted((ROOT / "src").rglob("*.cc")) + sorted((ROOT / "src").rglob("*.h")):
        if path.name.endswith("_test.cc"):
            continue
        text = re.sub(r'(?<!\\)"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
        out += [re.sub(r'\\(["\\])', r"\1", found) for found in LITERAL.findall(text)]
    return "\n".join(out)


def main():
    said = literals()
    quoted, bad = 0, []
    for line in (ROOT / "docs" / "trouble.md").read_text(encoding="utf-8").splitlines():
        row = re.match(r"\| `([^`]+)` \| ", line)
        if not row:
            continue
        quoted += 1
        parts = [part.strip(" .") for part in row[1].split("…") if len(part.strip(" '.:,")) > 3]
        bad += [f"{row[1]}: nothing says {part!r}" for part in parts if part not in said]
        if not any(len(part) >= 10 for part in parts):
            bad.append(f"{row[1]}: too little of it is quoted to tell")
    print("\n".join(bad) or f"{quoted} messages of docs/trouble.md are in the sources")
    sys.exit(bool(bad) or quoted < 40)


main()
