# SPDX-License-Identifier: Apache-2.0
"""Links of Markdown pages: files and headings inside the repository must exist."""

import os
import re
import urllib.parse

LINK = re.compile(r'!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)')
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.M | re.S)


def anchors(text):
    """The names that GitHub gives to headings."""
    counts = {}
    for title in re.findall(r"^#{1,6}\s+(.+?)\s*#*\s*$", FENCE.sub("", text), re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        seen = counts.get(name, 0)
        counts[name] = seen + 1
        yield name if seen == 0 else f"{name}-{seen}"


def check_links(root, name, text):
    prose = FENCE.sub(lambda m: "\n" * m.group().count("\n"), text)
    for match in LINK.finditer(re.sub(r"`[^`\n]*`", lambda m: " " * len(m.group()), prose)):
        target = match.group(1)
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        line = text.count("\n", 0, match.start()) + 1
        path, _, anchor = target.partition("#")
        path = urllib.parse.unquote(path)
        full = os.path.normpath(os.path.join(root, os.path.dirname(name), path)) if path else None
        if full and not full.startswith(os.path.abspath(root)):
            yield line, "link", f"{target} leaves the repository"
            continue
        if full and not os.path.exists(full):
            yield line, "link", f"{target} does not exist"
            continue
        if anchor and (full is None or full.endswith(".md")):
            page = text
            if full:
                with open(full, encoding="utf-8") as source:
                    page = source.read()
            if anchor not in set(anchors(page)):
                yield line, "link", f"{target}: no such heading"
