#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what a terminal showed as an SVG: ./dev demo | python3 docs/picture.py >docs/demo.svg

Of a run of similar lines (epochs), only the first and the last two are drawn.
"""

import html
import re
import sys

WIDTH, LINE, MARGIN, MAX_COLUMNS = 8.4, 20, 16, 120


def shortened(lines):
    """`lines` with the middle of each long run of lines of one first word replaced by a mark."""
    out, run = [], []
    for line in lines + [""]:
        if run and line.split(" ")[0] != run[0].split(" ")[0]:
            out += run if len(run) < 5 else [run[0], "\u22ee", *run[-2:]]
            run = []
        if re.match(r"\w+ \d", line):
            run.append(line)
        else:
            out.append(line)
    return out[:-1]


def main():
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sys.stdin.read())
    lines = [line.split("\r")[-1][:MAX_COLUMNS].rstrip() for line in text.strip("\n").split("\n")]
    lines = shortened(lines)
    width = int(max(len(line) for line in lines) * WIDTH + 2 * MARGIN)
    height = len(lines) * LINE + 2 * MARGIN
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14">'
    )
    print(f'<rect width="{width}" height="{height}" rx="8" fill="#16181d"/>')
    for number, line in enumerate(lines):
        colour = "#8fd18f" if line.startswith("$ ") else "#d8dbe2"
        print(f'<text xml:space="preserve" x="{MARGIN}" y="{MARGIN + 14 + number * LINE}" fill="{colour}">{html.escape(line)}</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
