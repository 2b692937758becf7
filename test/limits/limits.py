#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory and CPUs of jobs on one machine, held by the kernel's control groups: on a machine of its
own (machine.py), with systemd, as root and as a user. There inside.py runs jobs that want more than
they asked for.

    limits.py [--console]     also prints what the machine says"""

import json
import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import BINARY, Results, patience
from test.limits import machine

UNIT = """[Unit]
Description=limits
After=multi-user.target systemd-user-sessions.service systemd-logind.service
[Service]
Type=oneshot
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
ExecStart=/bin/sh /opt/limits.sh
"""
SCRIPT = """
chmod 666 /dev/ttyS0
python3 /opt/inside.py root
loginctl enable-linger user
systemctl start user@1000.service
as_user() { setpriv --reuid=1000 --regid=1000 --clear-groups \
  env XDG_RUNTIME_DIR=/run/user/1000 HOME=/home/user "$@"; }
as_user systemd-run --user --scope --quiet -p Delegate=yes python3 /opt/inside.py user
systemd-run --quiet --wait --uid=1000 --setenv=PATH="$PATH" python3 /opt/inside.py bare
echo; echo "RESULT {\\"who\\": \\"machine\\", \\"what\\": \\"end\\"}"
systemctl poweroff --force --force
"""


def lay_out(tree):
    for folder in ("opt", "usr/local/bin", "etc/systemd/system/default.target.wants"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(BINARY, tree / "usr/local/bin/stoker")
    shutil.copy(HERE / "inside.py", tree / "opt/inside.py")
    (tree / "opt/limits.sh").write_text(SCRIPT)
    (tree / "etc/systemd/system/limits.service").write_text(UNIT)
    wants = tree / "etc/systemd/system/default.target.wants/limits.service"
    wants.symlink_to("/etc/systemd/system/limits.service")


def listen(console):
    """{(who, what): facts}, and the last lines of the console."""
    found, last = {}, []
    with tempfile.TemporaryDirectory(prefix="stoker-limits-") as root:
        tree = pathlib.Path(root) / "added"
        tree.mkdir()
        os.chmod(tree, 0o755)
        lay_out(tree)
        for line in machine.boot(tree, "", int(patience(300))):
            last = [*last[-40:], line]
            if console:
                print(line, flush=True)
            if line.startswith("RESULT "):
                facts = json.loads(line.removeprefix("RESULT "))
                found[facts["who"], facts["what"]] = facts
    return found, last


def ended_by_its_limit(facts):
    ending = facts.get("ending") or {}
    return (
        facts.get("state") == "Failed"
        and ending.get("out_of_memory")
        and "over its limit of 100 MB (resources.memory)" in ending.get("why", "")
    )


def cpus(facts):
    words = [line.split() for line in facts.get("out", [])]
    return next((float(word[1]) for word in words if word[0] == "cpus"), -1)


def most(facts):
    words = [line.split() for line in facts.get("out", [])]
    return next((word[1] for word in words if word[0] == "most"), "")


def judge(check, who, found):
    def of(what):
        return found.get((who, what), {})

    held = "memory and CPUs that jobs ask for are held by cgroups"
    check(f"{who}: doctor says that they are held", held in str(of("doctor")), of("doctor"))
    check(f"{who}: what fits runs", of("fits").get("state") == "Succeeded", of("fits"))
    check(f"{who}: and hears of nothing", of("fits").get("said") == [], of("fits"))
    check(f"{who}: what takes more memory is ended, with these words", ended_by_its_limit(of("over")), of("over"))
    check(
        f"{who}: so is one of which a child takes more, as a whole",
        ended_by_its_limit(of("child")) and of("child")["out"] == [],
        of("child"),
    )
    for ending in ("cgroup", "subreaper"):
        facts = of(f"over by {ending}")
        check(f"{who}: whatever ends it ({ending})", ended_by_its_limit(facts), facts)
    one, both = cpus(of("one cpu")), cpus(of("all cpus"))
    check(f"{who}: one CPU is no more than one ({one:.2f})", one < 1.1 and most(of("one cpu")) == "1.0", of("one cpu"))
    check(f"{who}: who asks for none may have all ({both:.2f})", both > 0 and most(of("all cpus")) == "any", of("all cpus"))
    check(f"{who}: and its memory", of("not asked").get("state") == "Succeeded", of("not asked"))
    check(f"{who}: no group is left", of("left").get("groups") == [], of("left"))


def main():
    results = Results()
    check = results.check
    found, last = listen("--console" in sys.argv)
    for who in ("root", "user"):
        judge(check, who, found)
    bare = {what: facts for (who, what), facts in found.items() if who == "bare"}
    over = bare.get("over", {})
    check("where it is not allowed, nothing else changes", over.get("state") == "Succeeded", bare)
    check(
        "and the log says it once, and why",
        len(over.get("said", [])) == 1
        and "memory (100 MB) and CPUs are counted here and not enforced" in over["said"][0]
        and "Delegate=yes" in over["said"][0],
        over,
    )
    check("so does doctor", "counted here, and not held" in str(bare.get("doctor")), bare)
    check("the machine came to its end", ("machine", "end") in found, last)
    results.finish()


if __name__ == "__main__":
    main()
