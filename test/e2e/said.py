# SPDX-License-Identifier: Apache-2.0
"""What is said aloud: what packing leaves behind, why pip failed, where an attempt ends, how to
have a timer where nothing can install one, why a job with choices waits."""

import json
import pathlib
import re
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import World, play


def git(folder, *words):
    subprocess.run(["git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, capture_output=True)


def test_left_behind(results, world):
    work = world.work / "repository"
    (work / "data").mkdir(parents=True)
    (work / "__pycache__").mkdir()
    (work / "node_modules").mkdir()
    (work / ".gitignore").write_text("data/\n*.pt\n__pycache__\nnode_modules\n")
    (work / "train.py").write_text("print(1)\n")
    git(work, "init", "-q")
    done = world.stoker("run", "--", "true", cwd=work, check=True)
    results.check("nothing is left behind, nothing is said", "left behind" not in done.stderr, done.stderr)
    for name in ("data/a.bin", "data/b.bin", "model.pt", "__pycache__/x.pyc", "node_modules/big"):
        (work / name).write_bytes(b"x" * (9000 if "big" in name else 1000))
    done = world.stoker("run", "--", "true", cwd=work, check=True)
    results.check(
        "what git ignores is counted aloud",
        "left behind, because git ignores it: 3 files, 3.0 kB; the largest is data/ with 2.0 kB. '--include PATH'" in done.stderr,
        done.stderr,
    )
    done = world.stoker("run", "--", "cat", "data/a.bin", cwd=work)
    hint = "data/a.bin was left behind: git ignores it; --include data"
    results.check(
        "a program that fails for want of it: the end says so",
        done.returncode == 1 and hint in done.stderr and hint in world.stoker("show", "-").stdout,
        done.stderr,
    )
    (work / "p.sh").write_text("#!/bin/sh\ncat data/a.bin | tee copy\n")
    (work / "weights").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12000000\n")
    done = world.stoker("run", "--include", "data", "--", "sh", "p.sh", cwd=work, check=True)
    results.check(
        "--include takes it along",
        "1 file, 1.0 kB: model.pt" in done.stderr and "3 files" not in done.stderr.split("left behind")[1],
        done.stderr,
    )
    results.check("a script that ends in a pipe", "p.sh ends in a pipe: its exit code is that of 'tee'" in done.stderr, done.stderr)
    results.check(
        "files that are only pointers of git LFS are counted aloud",
        "12.0 MB: 1 file is only a pointer of git LFS: weights" in done.stderr,
        done.stderr,
    )


def test_left_running(results, world):
    """What a script leaves in the background is told before it is killed, and its owner, too."""
    script = "(trap 'echo told > checkpoints/told; exit' TERM; touch up; while :; do sleep 0.1; done) & until [ -e up ]; do sleep 0.1; done"
    said = world.json("run", "--", "sh", "-c", script)
    found = [t for t in said["troubles"] if re.search(r"left [12] process(es)? behind", t)]
    results.check("a program in the background: the end says so", len(found) == 1, said)
    shown = world.stoker("show", said["job"]["id"]).stdout
    results.check("so does show", "the program has ended and left " in shown, shown)
    into = world.work / "left"
    world.stoker("get", said["job"]["id"], "checkpoint", into)
    results.check("it got SIGTERM, and what it saved is kept", (into / "told").exists(), said)


def test_pip(results, world):
    work = world.work / "pip"
    work.mkdir()
    (work / "requirements.txt").write_text("--no-index\nnot-there-at-all\n")
    done = world.stoker("run", "--", "true", cwd=work, timeout=120)
    shown = world.stoker("show", "-").stdout
    for where, text in (("run", done.stdout + done.stderr), ("show", shown)):
        results.check(
            f"{where}: pip's own last words",
            "pip install -r requirements.txt failed with exit code 1: ERROR: " in text
            and "not-there-at-all" in text.split("exit code 1: ERROR: ")[1],
            text,
        )


def test_attempts(results, world):
    job = world.submit("--max-restarts", "1", "--", "sh", "-c", "echo a line; exit 3")
    done = world.stoker("logs", "-f", job, timeout=60)
    mark = [line for line in done.stdout.split("\n") if line.startswith("stoker: ----")]
    results.check(
        "logs -f marks where an attempt ends and the next begins",
        len(mark) == 1
        and "attempt 1 ended: UserError" in mark[0]
        and "attempt 2 starts at the beginning" in mark[0]
        and done.stdout.index("a line") < done.stdout.index("----") < done.stdout.rindex("a line"),
        done.stdout,
    )
    last = world.stoker("logs", job, "--attempt", "2").stdout
    results.check("logs of one attempt have no mark", "----" not in last and "a line" in last, last)


def test_timer(results, world):
    bare = {"PATH": "/nothing", "XDG_RUNTIME_DIR": "/nothing"}
    done = world.stoker("controller", "--install", env=bare)
    results.check(
        "controller --install says what to do without systemd and cron",
        done.returncode == 1
        and "controller --once" in done.stderr
        and "every minute" in done.stderr
        and "keep this running" in done.stderr,
        f"{done.returncode} {done.stderr}",
    )
    done = world.stoker("doctor", env=bare)
    results.check("doctor says so, too", "controller --install" not in done.stdout and "keep running" in done.stdout, done.stdout)
    done = world.stoker("run", "--detach", "--", "true", env=bare)
    results.check(
        "and is not advertised there",
        "controller --install" not in done.stderr and done.stderr.splitlines()[-1].endswith(" · no timer"),
        done.stderr,
    )
    world.stoker("cancel", "-", check=True)


def test_other_nodes(results, world):
    """Only node 0's undeclared files are kept: what others made is said, once, in each place."""
    script = "echo r > result-$NODE_RANK.txt; echo o > output/o-$NODE_RANK; mkdir -p .cache; echo c > .cache/c"
    told = world.json("run", "--num-nodes", "2", "--", "sh", "-c", script)
    line = (
        "not kept: result-1.txt: without 'outputs' in the job file only node 0's files are "
        "kept; write into $STOKER_OUTPUT_DIR or name them under 'outputs'"
    )
    results.check(
        "other nodes: the result says what of theirs is not kept", told["troubles"] == ["attempt 1, node 1: " + line], told["troubles"]
    )
    job = told["job"]["id"]
    kept = sorted(one["path"] for one in world.json("get", job, "--list"))
    results.check("other nodes: what is kept", kept == ["node-1/output/o-1", "output/o-0", "result-0.txt"], kept)
    for where, text in (("show", world.stoker("show", job).stdout), ("the log", world.stoker("logs", job, "--stream", "system").stdout)):
        results.check(f"other nodes: {where} says so once", text.count(line) == 1, text)
    same = world.json("run", "--num-nodes", "2", "--output", "result-*", "--", "sh", "-c", script)
    results.check("other nodes: nothing where 'outputs' is given", same["troubles"] == [], same["troubles"])


def test_notice(results, world):
    """How long a script that saves at SIGTERM has, and a signal that comes at once."""
    (world.work / "told.yaml").write_text(
        "checkpoints: {signal: SIGALRM}\nrun: |\n"
        "  trap 'echo asked' ALRM; trap 'echo ending; exit 1' TERM\n"
        "  echo running; while :; do sleep 0.1; done\n"
    )
    job = world.submit("told.yaml")
    log = ("logs", job, "--attempt", "1")
    world.wait_for("the program", lambda: "running" in world.stoker(*log).stdout)
    world.stoker("preempt", job, "--in", "8s", check=True)
    world.wait_for("SIGTERM", lambda: "ending" in world.stoker(*log).stdout)
    world.wait_for("the next attempt", lambda: "running" in world.stoker("logs", job, "--attempt", "2").stdout)
    world.stoker("cancel", job, check=True)
    text = world.stoker("logs", job).stdout
    results.check(
        "notice: a job that never saved is told where its saves were looked for",
        "attempt 2 starts at the beginning: no checkpoint was saved in checkpoints/ ('--checkpoints' names another folder) ----" in text,
        text,
    )
    text = world.stoker(*log).stdout
    said = re.search(r"taken in [78]s: SIGTERM in ([56]\.\d)s, then (0\.[4-6])s to end", text)
    results.check("notice: the log says when SIGTERM comes and how long is left then", said, text)
    # The command itself, in which both words stand, is in the log, too.
    results.check(
        "notice: a signal of the program's own comes before",
        "\nasked" in text and text.index("taken in") < text.index("\nending") and text.index("\nasked") < text.index("\nending"),
        text,
    )


def test_hints(results, world):
    job = world.submit("--", "sleep", "60")
    for words, said in (
        (("logs", job, "--attempt", "7"), "--attempt 7: the job has had "),
        (("logs", job, "--node", "3"), "the job has nodes 0 to 0"),
        (("get", job), "has kept no outputs yet: it has not ended"),
    ):
        done = world.stoker(*words)
        results.check(
            f"{words[0]} {' '.join(words[2:])}: what there is",
            done.returncode in (1, 2) and said in done.stderr,
            f"{done.returncode} {done.stderr}",
        )
    world.stoker("cancel", job, check=True)
    job = world.submit("--", "sh", "-c", "echo 1 > made")
    world.stoker("wait", job, check=True)
    (world.work / "mine").mkdir()
    done = world.stoker("get", job, "mine")
    results.check(
        "get: a folder's name where an output's belongs", done.returncode == 1 and f"stoker get {job} ./mine" in done.stderr, done.stderr
    )


def test_full(results, world):
    """Of a job that has choices, all of which are full: why it waits, once."""
    all_cpus = [{"infra": "local", "cpus": 256}, {"infra": "local", "cpus": 255}]
    file = world.work / "choices.yaml"
    file.write_text(json.dumps({"run": "true", "resources": {"any_of": all_cpus}}))
    holder = world.submit("--cpus", "200", "--", "sleep", "8")
    world.wait_for("it runs", lambda: world.job(holder)["state"] == "Running")
    done = world.stoker("run", file, timeout=150)
    told = re.findall(r"stoker: local refuses \(capacity\): .*in use by " + holder, done.stderr)
    results.check(
        "run says why it waits, a line for each choice and no more",
        done.returncode == 0 and 1 <= len(told) == len(set(told)) <= 2,
        done.stderr,
    )


def test_last_choice(results, world):
    """All but one of its choices are left out: it stands in line there, though nobody looks."""
    choices = [{"infra": "local", "cpus": 100_000}, {"infra": "local", "cpus": 255}]
    file, ran = world.work / "last.yaml", world.work / "ran"
    file.write_text(json.dumps({"run": f"touch {ran}", "resources": {"any_of": choices}}))
    holder = world.submit("--cpus", "200", "--", "sleep", "4")
    world.wait_for("it runs", lambda: world.job(holder)["state"] == "Running")
    job = world.submit(file)
    results.check("it waits", not ran.exists(), "it has run")
    world.wait_for("it has run", ran.exists, 60)
    done = world.stoker("wait", job)
    results.check("it has run by itself", done.returncode == 0, done.stderr)


if __name__ == "__main__":
    play(globals(), World("said"))
