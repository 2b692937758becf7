#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What runs beside a program in its container, with a real engine: beside.py podman|rootless|docker
[PART...]. Hooks of the job, and the shell of `stoker ssh`."""

import json
import pathlib
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.containers.containers import SAVER, boxed, children, ended, job_file, log, nothing_left, play_parts
from test.e2e.kit.job_kit import running

HOOKS = """setup: echo made > /tmp/made-by-setup
hooks:
  on_notice: |
    trap 'echo "hook was told"' TERM
    echo "hook begins in $(tr '\\0' ' ' </proc/1/cmdline), $STOKER_NOTICE of $STOKER_NOTICE_SECONDS"
    echo "hook sees what setup $(cat /tmp/made-by-setup)"
    sh -c 'trap "" TERM; sleep 600' &
    while true; do sleep 0.1; done
  on_failure: echo "failed with $STOKER_EXIT_CODE, $(cat /tmp/made-by-setup)"
  on_end: echo "ended with $STOKER_EXIT_CODE, $(cat /tmp/made-by-setup)"
"""


def system(world, job):
    lines = world.stoker("logs", job, "--json", check=True).stdout.splitlines()
    return [one["text"] for one in map(json.loads, lines)]


def hooks(world, engine, check):
    """In the container, as the program; beside it, and no part of it."""
    world.program(SAVER, "saver.py")
    job = world.submit(job_file(world, engine, HOOKS + "workdir: .\ncommand: [python3, saver.py]\n"))
    running(world, job, "step 5")
    world.stoker("preempt", job, "--in", "20s", check=True)
    check("it ends well", ended(world, job), log(world, job))
    said = system(world, job)
    check("on_notice runs in the container", any("hook begins in /.stoker/program __container" in one for one in said), said)
    check("with what setup has made", "hook sees what setup made" in said, said)
    ends = [one for one in said if "hooks: on_notice" in one and "end" in one]
    check("the program's end is none of its", len(ends) == 1 and "its notice or its attempt is over" in ends[0], said)
    check("the program's SIGTERM is none of its", "hook was told" not in said, said)
    check("nor does it count as left behind by the program", not any("behind, which stoker ended" in one for one in said), said)
    check("on_end, too, each attempt that ran to its end", "ended with 0, made" in said, said)
    starts = [one.split() for one in said if one.startswith("start ")]
    check("saved at SIGTERM, resumed from there", len(starts) == 2 and int(starts[1][1]) > 5, said)
    nothing_left(world, engine, check, "hooks")
    job = world.submit(job_file(world, engine, HOOKS + "run: exit 7\n"))
    check("a program that fails", ended(world, job, "Failed"), log(world, job))
    said = system(world, job)
    check("on_failure, then on_end", [one for one in said if "with 7" in one][:2] == ["failed with 7, made", "ended with 7, made"], said)
    nothing_left(world, engine, check, "hooks of a failure")
    text = "hooks:\n  on_end:\n    run: |\n      trap '' TERM\n      sleep 300 & sleep 300\n    limit: 1s\nrun: true\n"
    job = world.submit(job_file(world, engine, text))
    check("a hook over its limit is ended", ended(world, job), log(world, job))
    check("which is said", any("on_end was ended" in one and "its limit" in one for one in system(world, job)), system(world, job))
    nothing_left(world, engine, check, "a hook over its limit")


def shell(world, engine, check):
    """`stoker ssh` is in the container: environment, folder and user of the program."""
    world.program(SAVER, "saver.py")
    text = "workdir: .\nenvs: {ASKED: 'a b'}\nsecrets: [HIDDEN]\nrun: exec python3 saver.py\n"
    job = world.submit(job_file(world, engine, text), env={"HIDDEN": "not-to-be-seen"})
    running(world, job, "step 5")
    line = 'echo "$ASKED $HIDDEN in $(pwd) of $(cat /proc/1/cmdline | tr "\\0" " ") $(id -u)"; ls; exit 5'
    done = world.stoker("ssh", job, "--", line)
    mine = world.user.get("user", 0)
    check("its exit code is the command's", done.returncode == 5, done.stdout + done.stderr)
    check("it has the program's variables and secrets", done.stdout.startswith("a b not-to-be-seen in /"), done.stdout)
    check("in the program's folder", "saver.py" in done.stdout.split(), done.stdout)
    check(
        "beside stoker's first process, as the program's user", f"__container /.stoker/owner/socket  {mine}\n" in done.stdout, done.stdout
    )
    check("and says so", "in the container of the program" in done.stderr, done.stderr)
    done = world.stoker("ssh", job, "--outside", "--", "ls /.stoker; echo $ASKED")
    check("--outside is the machine", "a b" in done.stdout and "program" not in done.stdout, done.stdout + done.stderr)
    typed = "echo at-$((40 + 2)); test -t 0 && echo terminal; exit 3\n"
    done = subprocess.run(
        ["script", "--quiet", "--return", "--command", f"{world.binary} ssh {job}", "/dev/null"],
        input=typed,
        env={**world.env, "TERM": "xterm"},
        cwd=world.work,
        capture_output=True,
        text=True,
        timeout=60,
        **world.user,
    )
    check(
        "a terminal has a shell there",
        "at-42" in done.stdout and "\nterminal" in done.stdout and done.returncode == 3,
        done.stdout + done.stderr,
    )
    shells = world.start("ssh", job, "--", "trap '' TERM; echo here; sleep 600")
    shells.stdout.readline()
    [first] = boxed(world)
    check("a shell is no part of the program", len(children(first)) == 1, children(first))
    world.stoker("preempt", job, check=True)
    check("and does not keep it from its end", ended(world, job), log(world, job))
    check("it ends with the container", shells.wait(30) != 0, shells.returncode)
    check("the program was not told of it", not any("behind, which" in one for one in system(world, job)), log(world, job))
    nothing_left(world, engine, check, "shell")


PARTS = {one.__name__: one for one in (hooks, shell)}

if __name__ == "__main__":
    play_parts(PARTS, PARTS)
