# SPDX-License-Identifier: Apache-2.0
"""What a new user meets in the first hour: a name that several jobs have, a job file without a
workdir, Ctrl-C before anything has begun, a Python without venv, an old environment."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, World, patience, play
from test.e2e.kit.job_kit import running


def test_names(results, world):
    """An older job of the name runs, the newest has ended."""
    sleeper = ("--name", "twin", "--stop-grace", "1s", "--", "sleep", "60")
    first = running(world, world.submit(*sleeper))
    second = world.submit("--name", "twin", "--", "true")
    world.stoker("wait", second, check=True)
    meant = f"{first} of 2 jobs named 'twin': the one that has not ended"
    shown = world.stoker("show", "twin")
    results.check(
        "names: looking means the newest, and says what runs",
        second in shown.stdout.split("\n")[0] and f"the newest; {first} has not ended" in shown.stderr,
        shown.stdout + shown.stderr,
    )
    waited = world.stoker("wait", "twin", "--timeout", "1s")
    results.check(
        "names: wait means the one that runs", waited.returncode == 1 and first in waited.stderr and meant in waited.stderr, waited.stderr
    )
    taken = world.stoker("preempt", "twin", "--node", "7")
    results.check(
        "names: preempt means the one that runs", "the job has nodes 0 to 0" in taken.stderr and meant in taken.stderr, taken.stderr
    )
    follower = world.start("logs", "-f", "twin")
    done = world.stoker("cancel", "twin")
    results.check(
        "names: cancel means the one that runs, and says so",
        done.returncode == 0 and f"twin ({first}) Cancelled" in done.stdout and meant in done.stderr,
        done.stdout + done.stderr,
    )
    _, errors = follower.communicate(timeout=patience(30))
    results.check("names: logs -f means the one that runs", meant in errors, errors)
    again = world.stoker("cancel", "twin")
    results.check(
        "names: of ended ones, cancel says plainly that there was nothing to do",
        again.returncode == 0 and f"twin ({second}) Succeeded: nothing to cancel, it had ended already" in again.stdout,
        again.stdout + again.stderr,
    )


def test_cancel_all(results, world):
    jobs = {world.submit("--stop-grace", "1s", "--", "sleep", "60") for _ in "ab"}
    refused = world.stoker("cancel", "--all")
    results.check(
        "cancel --all: names them and asks",
        refused.returncode == 2 and all(job in refused.stderr for job in jobs) and "--yes" in refused.stderr,
        refused.stderr,
    )
    done = world.json("cancel", "--all", "--yes")
    results.check(
        "cancel --all --yes: all of them, and no other",
        {j["id"] for j in done} == jobs and all(j["state"] == "Cancelled" for j in done),
        done,
    )
    none = world.stoker("cancel", "--all")
    results.check("cancel --all: none is left", none.returncode == 0 and "no job that has not ended" in none.stderr, none.stderr)


def test_no_workdir(results, world):
    (world.work / "train.py").write_text("print('trained')\n")
    (world.work / "job.yaml").write_text("run: python3 train.py\n")
    before = world.stoker("ls", "--all", "--ids").stdout
    done = world.stoker("run", "job.yaml")
    results.check(
        "no workdir: a file that runs what lies beside it is refused",
        done.returncode == 1
        and "job.yaml:1:6: 'run' starts train.py" in done.stderr
        and "Write 'workdir: .'" in done.stderr
        and world.stoker("ls", "--all", "--ids").stdout == before,
        done.stderr,
    )
    done = world.stoker("run", "job.yaml", "--workdir", ".")
    results.check("no workdir: --workdir takes it along", "trained" in done.stdout, done.stderr)
    (world.work / "job.yaml").write_text("run: |\n  true\n  cat train.py || echo none\n")
    done = world.stoker("run", "job.yaml")
    results.check(
        "no workdir: else one line says that no code goes along",
        done.returncode == 0 and done.stderr.count("no code goes along") == 1 and "train.py" in done.stderr and "none" in done.stdout,
        done.stderr,
    )
    (world.work / "job.yaml").write_text("run: echo r > result.txt\noutputs: result.txt\n")
    done = world.stoker("run", "job.yaml")
    results.check("outputs: one path needs no list", "kept 1 file" in done.stderr, done.stderr)


def press(world, when, *words, env=None):
    """Ctrl-C after `when`(): exit code and what was said."""
    process = world.start(*words, env=env)
    when()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=patience(30))
    return process.returncode, errors


def test_ctrl_c(results, world):
    slow = world.root / "slow"
    slow.mkdir()
    (slow / "git").write_text(f"#!/bin/sh\ntouch '{slow}/asked'\nexec sleep 30\n")
    (slow / "git").chmod(0o755)
    before = set(world.stoker("ls", "--all", "--ids").stdout.split())
    subprocess.run(["git", "init", "-q", world.work], check=True)
    code, said = press(
        world,
        lambda: world.wait_for("git is asked", (slow / "asked").exists),
        "run",
        "--",
        "sleep",
        "9",
        env={"PATH": f"{slow}:{world.env['PATH']}"},
    )
    results.check(
        "Ctrl-C while packing: nothing was submitted, and it is said",
        code == 130 and "stopped: no job was submitted" in said and set(world.stoker("ls", "--all", "--ids").stdout.split()) == before,
        [code, said],
    )
    shutil.rmtree(world.work / ".git")
    wrong = []
    for step in range(8):
        code, said = press(world, lambda n=step: time.sleep(0.01 + n * 0.02), "run", "--", "sleep", "2")
        now = set(world.stoker("ls", "--all", "--ids").stdout.split())
        made = bool(now - before)
        before = now
        silent = not said and code < 0  # before its first instruction
        if not silent and made != ("the job goes on" in said) or (not silent and made == ("no job was submitted" in said)):
            wrong.append((step, code, made, said))
    results.check("Ctrl-C at any moment: it says whether there is a job", not wrong, wrong)
    world.stoker("cancel", "--all", "--yes", check=True)


def test_failed(results, world):
    world.program(
        "import os, sys, time\nos.makedirs('checkpoints/1')\n"
        "open('checkpoints/1/c', 'w').write('c')\nopen('checkpoints/1/.complete', 'w')\n"
        "time.sleep(4)\nsys.exit(3)\n"
    )
    done = world.stoker("run", "--", PYTHON, "prog.py")
    job = world.json("ls")[0]["id"]
    results.check(
        "after an error of the code: fix it, then go on",
        f"fix it, then stoker run --from {job}" in done.stderr and f"stoker retry {job} runs the same code" in done.stderr,
        done.stderr,
    )
    done = world.stoker("run", "--", "false")
    results.check(
        "after one without a checkpoint: run it again",
        "fix it, then stoker run again" in done.stderr and "--from" not in done.stderr,
        done.stderr,
    )


def test_suspect(results, world):
    """A restart that uses up none, and why; what `ls --json` says of a job that was stopped."""
    world.program(
        "import os, sys, time\nn = os.environ['COUNT']\n"
        "with open(n, 'a') as f:\n    f.write('x')\nruns = os.path.getsize(n)\n"
        "if runs == 1:\n    open('checkpoints/a', 'w').write('a')\n"
        "    open('checkpoints/.stoker-done', 'w')\n    time.sleep(4)\n"
        "sys.exit(0 if runs == 3 else 5)\n"
    )
    done = world.stoker("run", "--max-restarts", "1", "--env", f"COUNT={world.root}/count", "--", PYTHON, "prog.py")
    why = "the cause may be checkpoint 1-1, from which it began"
    results.check(
        "a suspect: one more attempt, and it is said why",
        done.returncode == 0 and "3 attempts" in done.stderr and why in done.stderr,
        done.stderr,
    )
    shown = world.stoker("show", "-").stdout
    results.check("a suspect: show says it too", shown.count(why) == 1, shown)
    world.stoker("run", "--max-duration", "1s", "--", "sleep", "20")
    last = world.json("ls")[0]
    results.check("ls --json: a job that was stopped did not end with 0", last["reason"] == "TimedOut" and last["exit_code"] == 1, last)


def test_python(results, world):
    bare = world.root / "bare"
    bare.mkdir()
    (bare / "python3").write_text("#!/bin/sh\necho no module named ensurepip >&2\nexit 1\n")
    (bare / "python3").chmod(0o755)
    for path, level in ((str(bare), "note"), (os.path.dirname(PYTHON), "ok")):
        found = {one["what"]: one for one in world.json("doctor", env={"PATH": path}, ok=(0, 1))}
        one = found["python3 -m venv"]
        results.check(
            f"doctor: venv is {level}", one["level"] == level and ("apt install python3-venv" in one["text"]) == (level == "note"), one
        )
    envs = world.home / ".cache" / "stoker" / "venv"
    for name, days in (("old", 31), ("young", 2)):
        (envs / name / "lib").mkdir(parents=True)
        marker = envs / name / ".stoker-complete"
        marker.touch()
        os.utime(marker, (time.time() - days * 86400,) * 2)
        uv = envs / f"uv-{name}"
        uv.touch()
        os.utime(uv, (time.time() - days * 86400,) * 2)
    done = world.stoker("gc", check=True)
    results.check("gc: a fetched uv that no job has used goes too", [p.name for p in envs.glob("uv-*")] == ["uv-young"], done.stdout)
    results.check(
        "gc: an environment unused for a month goes, and it says so",
        "1 Python environment unused for 30 days" in done.stdout and {p.name for p in envs.iterdir() if p.is_dir()} == {"young"},
        done.stdout,
    )


def test_gc_says_why(results, world):
    # A job that has just ended is kept until its machine is gone, which may take it a second.
    active = world.store / "active"
    world.wait_for("the machines of the jobs before are gone", lambda: world.stoker("gc", check=True) and not list(active.glob("*")))
    busy = running(world, world.submit("--stop-grace", "1s", "--", "sleep", "60"))
    done = world.stoker("gc", "--older-than", "0s", "--yes")
    results.check(
        "gc --older-than: says which it keeps, and why",
        done.returncode == 0 and re.search(rf"kept jobs: 1 \({busy}\) that have not ended", done.stderr),
        done.stdout + done.stderr,
    )
    kept = world.json("gc", "--older-than", "30d")["kept"]
    results.check("gc --json: the same", kept["active"] == [busy], kept)
    world.stoker("cancel", busy, check=True)


def test_said(results, world):
    """What is said when a word names nothing that is there."""
    job = world.submit("--name", "keeps", "--", "sh", "-c", "echo hi > model/model.json")
    done = world.stoker("wait", job, check=True)
    results.check("wait: ends with what was kept, as run does", f"kept 1 file, 3 B: stoker get {job}" in done.stdout, done.stdout)
    kept = world.json("wait", job)["kept"]
    results.check("wait --json: the same", kept == {"files": 1, "bytes": 3, "profiles": 0}, kept)
    done = world.stoker("get", job, "/sys/kernel")
    results.check(
        "get: into a folder that one may not write",
        done.returncode == 1 and "cannot make the folder '/sys/kernel/model'" in done.stderr and "missing" not in done.stderr,
        done.stderr,
    )
    for words in (("run", "--from", "keeps/9-9"), ("get", "keeps", "9-9")):
        done = world.stoker(*words)
        results.check(
            f"{' '.join(words)}: no such checkpoint",
            done.returncode == 1 and f"job {job} has no checkpoint 9-9" in done.stderr and f"'stoker checkpoints {job}'" in done.stderr,
            done.stderr,
        )
    done = world.stoker("config", "get", "checkpoints.keep")
    results.check(
        "config get: what is not set",
        done.returncode == 0 and not done.stdout and "checkpoints.keep is not set; the default is " in done.stderr,
        done.stderr,
    )
    done = world.stoker("controller", "--uninstall")
    results.check(
        "controller --uninstall: there was none", done.returncode == 0 and "there was no timer to remove" in done.stderr, done.stderr
    )


if __name__ == "__main__":
    play(globals(), World("newcomer"))
