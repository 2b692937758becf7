# SPDX-License-Identifier: Apache-2.0
"""docs/verbs.md is what the binary's --help says, of every verb. --write makes the page anew.
Usage: STOKER=build/stoker verbs_page.py [--write]"""

import os
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "verbs.md"
MARK = "<!-- Below: test/static/verbs_page.py --write -->\n"
ROW = re.compile(r"  (\S.*?)(?:\s{2,}(\S.*))?")


def said(*words):
    done = subprocess.run([os.environ["STOKER"], *words], capture_output=True, text=True, timeout=30, check=True)
    return done.stdout


def sections(text):
    """The parts of a help text: title to its lines; what comes first has the title ''."""
    parts, title = {"": []}, ""
    for line in text.splitlines():
        head = re.fullmatch(r"(Usage|Positionals|Options|Exit codes|Examples|Verbs):(.*)", line)
        if head:
            title = head[1]
            parts[title] = [head[2]] if head[2] else []
        elif line:
            parts[title].append(line)
    return parts


def rows(lines):
    """Two columns; what is too wide for the first one has its text on the next line."""
    out = []
    for line in lines:
        row = ROW.fullmatch(line)
        if line.startswith(" " * 10) and out and not out[-1][1]:
            out[-1] = (out[-1][0], line.strip())
        elif row:
            out.append((row[1], row[2] or ""))
        else:
            sys.exit(f"not understood: {line!r}")
    missing = [name for name, text in out if not text]
    if missing:
        sys.exit(f"without a text: {missing}")
    return out


def table(lines, head):
    out = [f"| {head} | |", "|---|---|"]
    for name, text in rows(lines):
        name = re.sub(r" REQUIRED", "", name).replace(",--", "`, `--")
        cells = (f"`{name}`", text)
        out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(out)


def fenced(lines):
    return "```\n" + "\n".join(re.sub(r"^  (\$ )?", "", line) for line in lines) + "\n```"


def page():
    verbs = rows([line for line in sections(said("--help"))["Verbs"] if re.match(r"  [a-z]", line)])
    parts = [" · ".join(f"[{verb}](#{verb})" for verb, _ in verbs)]
    for verb, summary in verbs:
        help_text = sections(said(verb, "--help"))
        usage = help_text["Usage"][0].strip()
        parts += [f"## {verb}", f"{summary}.", "\n".join(help_text[""]), fenced([usage])]
        if "Positionals" in help_text:
            parts.append(table(help_text["Positionals"], "what"))
        parts += [table(help_text["Options"], "flag"), table(help_text["Exit codes"], "exit code")]
        parts += ["Examples:", fenced(help_text["Examples"])]
    return "\n\n".join(parts) + "\n"


def main():
    text = PAGE.read_text(encoding="utf-8")
    intro = text[: text.index(MARK) + len(MARK)]
    now = intro + "\n" + page()
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(now, encoding="utf-8")
    elif text != now:
        old, new = set(text.splitlines()), set(now.splitlines())
        print("\n".join([f"-{line}" for line in old - new] + [f"+{line}" for line in new - old]))
        sys.exit(f"{PAGE.name} is not what --help says: verbs_page.py --write makes it anew")
    else:
        print(f"{PAGE.name} is what --help says")


main()
