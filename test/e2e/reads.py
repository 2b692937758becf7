#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is read is wrong for good: files of a ledger that somebody cut, changed, deleted or put
there. Each costs what it holds and no more, is named, and has a way out."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import World, lock_holder, patience, play
from test.e2e.kit.job_kit import running


def current(world, key):
    """The file that is the object's data now, in either form."""
    folder = world.store / f"{key}.rev"
    if not folder.is_dir():
        return world.store / key
    return max(p for p in folder.iterdir() if p.name[0].isdigit())


def record(world, job):
    return current(world, f"records/{job}.json")


def change(world, job, edit):
    path = record(world, job)
    text = json.loads(path.read_text())
    edit(text)
    path.write_text(json.dumps(text))


def ended(world, *words):
    world.stoker("run", *words, check=True)
    return world.json("ls")[0]["id"]


def test_spec(results, world):
    job = ended(world, "--name", "spec", "--", "true")
    spec = world.store / "jobs" / job / "spec.yaml"
    whole = spec.read_text()
    spec.write_text(whole.replace("true", "echo other"))
    done = world.stoker("retry", job)
    results.check(
        "spec: one that was changed is not obeyed",
        done.returncode == 1 and "spec.yaml" in done.stderr and "not what was submitted" in done.stderr and "stoker run" in done.stderr,
        done,
    )
    shown = world.stoker("show", job)
    results.check(
        "spec: show still tells the story, and says so",
        shown.returncode == 0 and "Succeeded" in shown.stdout and "not what was submitted" in shown.stderr,
        shown,
    )
    spec.write_text(whole)
    results.check("spec: put back, all is well", world.stoker("retry", job).returncode == 0)
    live = running(world, world.submit("--stop-grace", "1s", "--", "sleep", "60"))
    spec = world.store / "jobs" / live / "spec.yaml"
    spec.write_text(spec.read_text() + "\n# mine\n")
    waited = world.stoker("wait", live, "--timeout", "20s")
    results.check(
        "spec: of a job that runs: who looks is told", waited.returncode == 1 and f"stoker cancel {live}" in waited.stderr, waited
    )
    done = world.stoker("cancel", live)
    results.check("spec: and cancel ends it", done.returncode == 0 and world.job(live)["state"] == "Cancelled", done)


def test_ledger_id(results, world):
    path = world.store / "ledger.json"
    whole = path.read_text()
    path.write_text(whole[:20])
    done = world.stoker("ls")
    results.check(
        "ledger.json cut: says what it is, and how it is written again",
        done.returncode == 1
        and "ledger.json" in done.stderr
        and '"id":"ID"' in done.stderr
        and "not damaged" in done.stderr
        and "emove the file" not in done.stderr,
        done.stderr,
    )
    path.write_text(json.dumps({"format": 1, "id": json.loads(whole)["id"]}) + "\n")
    results.check("ledger.json written as told: all is back", world.json("ls"))


def test_old_time(results, world):
    job = ended(world, "--name", "old", "--", "true")
    other = ended(world, "--name", "young", "--", "true")
    world.wait_for("both in the index", lambda: world.json("ls") and not list((world.store / "active").glob("*")))

    def edit(text):
        text["attempts"][0]["running"] = "1969-12-31T23:59:58.000Z"
        text["ended"] = "1969-12-31T23:59:59.000Z"

    change(world, job, edit)
    shutil.rmtree(world.store / "index")
    first = world.stoker("ls", "--all")
    again = world.stoker("ls", "--all")
    results.check(
        "a time before 1970: costs no line",
        all(one in first.stdout and one in again.stdout for one in (job, other)) and "cannot be read" not in again.stderr,
        [first, again],
    )
    # Lines that an older stoker wrote so.
    segment = next((world.store / "index").iterdir())
    lines = segment.read_text().split("\n")[:-2]
    at = next(i for i, line in enumerate(lines) if f'"{job}"' in line)
    parts = lines[at].split(",")
    parts[9] = "-2000"
    lines[at] = ",".join(parts)
    body = "".join(line + "\n" for line in lines)
    digest = subprocess.run(["sha256sum"], input=body.encode(), capture_output=True).stdout[:64]
    end = {"format": 1, "lines": len(lines), "sha256": digest.decode()}
    segment.write_text(body + json.dumps(end, separators=(",", ":")) + "\n")
    mended = world.stoker("ls", "--all")
    again = world.stoker("ls", "--all")
    results.check(
        "a line that cannot be read: is said, and made again from the record",
        "1 of" in mended.stderr and job in again.stdout and other in again.stdout and "cannot be read" not in again.stderr,
        [mended, again],
    )


def test_records(results, world):
    good = running(world, world.submit("--stop-grace", "1s", "--", "sleep", "60"))
    bad = running(world, world.submit("--stop-grace", "1s", "--", "sleep", "60"))
    path = record(world, bad)
    whole = path.read_text()
    machine = lock_holder(world.instances()[0] / "lock")
    path.write_text(whole[: len(whole) // 2])
    rows = {row["id"]: row for row in world.json("ls")}
    results.check(
        "ls --json: a damaged job is in it, with what is wrong",
        rows[bad]["state"] is None
        and rows[bad]["unreadable"]["code"] == "corrupt"
        and bad in rows[bad]["unreadable"]["message"]
        and rows[good]["state"] == "Running",
        rows,
    )
    os.unlink(path)
    os.mkfifo(path)
    began = time.monotonic()
    for words in (("ls",), ("show", bad), ("logs", bad), ("ls", "--all", "--json")):
        world.stoker(*words, timeout=20)
    results.check("a pipe among the revisions hangs no verb", time.monotonic() - began < patience(20), time.monotonic() - began)
    said = world.stoker("show", bad)
    results.check("and is named", said.returncode == 1 and "plain file" in said.stderr and "copy" in said.stderr, said.stderr)
    os.unlink(path)
    path.write_text(whole)
    results.check("put back, the job goes on", machine and world.job(bad)["state"] == "Running")
    (world.store / "active" / good).unlink()
    results.check("active/: a job without its marker is in no list", good not in world.stoker("ls").stdout)
    done = world.stoker("ls", "--all")
    results.check(
        "active/: ls --all finds it again, and says so",
        good in done.stdout and good in done.stderr and good in world.stoker("ls").stdout,
        done,
    )
    (world.store / "active" / good).unlink()
    done = world.stoker("gc")
    results.check("active/: so does gc", good in done.stderr and good in world.stoker("ls").stdout, done)
    for job in (good, bad):
        world.stoker("cancel", job, check=True)


def test_log_end(results, world):
    script = "for i in 1 2 3 4; do echo line $i; sleep 0.5; done"
    job = ended(world, "--name", "cut", "--", "sh", "-c", script)
    segments = sorted((world.store / "jobs" / job / "log" / "1-0").iterdir())
    whole = world.stoker("logs", job).stdout
    segments[-1].unlink()
    done = world.stoker("logs", job)
    results.check(
        "logs: the end of a log that is gone is said, with how many lines",
        "missing" not in whole and "line 4" in whole and "missing" in done.stdout and "its node counted" in done.stdout,
        [whole, done.stdout],
    )


def test_screen(results, world):
    job = ended(world, "--name", "screen", "--", "printf", "\\033[31mred\\033[0m\\033[2J\n")
    evil = "lo\x1b]0;owned\x07\x1b[2Jcal\u202e\u009b31m"

    def edit(text):
        text["requests"][0]["provider"] = evil
        text["workdir_note"] = evil

    change(world, job, edit)
    shutil.rmtree(world.store / "index")
    for words in (("show", job), ("ls", "--all"), ("ls", "--all", "--json"), ("show", job, "--json")):
        done = world.stoker(*words)
        said = done.stdout + done.stderr
        results.check(
            f"screen: nothing of a record drives it: {words[0]} {words[-1]}",
            done.returncode == 0 and not any(c in said for c in "\x1b\x07\u202e\u009b"),
            repr(said),
        )
    told = world.json("show", job)["job"]["launches"][0]["provider"]
    results.check("screen: --json loses nothing", told == evil, repr(told))
    results.check(
        "screen: a program's own bytes stay as they are on a pipe", "\x1b[31mred\x1b[0m\x1b[2J" in world.stoker("logs", job).stdout
    )


def test_rights(results, world):
    store = world.root / "elsewhere"
    store.mkdir(mode=0o755)
    world.stoker("config", "set", "store", store, check=True)
    ended(world, "--name", "mine", "--", "echo", "secret")

    def open_to_others(path, top):
        try:  # a spool file may end while it is looked at
            mode = path.stat().st_mode
            below = [p for p in path.parents if p == top or top in p.parents]
            return mode & 0o077 and all(p.stat().st_mode & 0o011 for p in below)
        except FileNotFoundError:
            return False

    # os.walk takes no offence at a folder that is gone meanwhile; rglob does.
    made = [(top, pathlib.Path(at, n)) for top in (store, world.state) for at, folders, files in os.walk(top) for n in (*folders, *files)]
    seen = [p for top, p in made if not p.is_symlink() and open_to_others(p, top)]
    results.check("rights: nobody else reads what stoker makes", not seen, seen[:5])
    world.stoker("config", "unset", "store", check=True)


def test_full(results, world):
    """gc where nothing can be written: needs a file system of its own, or /dev/full's like."""
    store = world.root / "full"
    store.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", store]).returncode:
        return print("note  gc on a full disk: no right to mount one here", flush=True)
    try:
        world.stoker("config", "set", "store", store / "ledger", check=True)
        job = running(world, world.submit("--stop-grace", "1s", "--", "sleep", "60"))
        lock = world.state / "instances" / world.job(job)["launches"][0]["instance_id"] / "lock"
        os.kill(lock_holder(lock), signal.SIGKILL)
        world.wait_for("its machine is dead", lambda: not lock_holder(lock))
        time.sleep(0.5)  # its agent, which writes reports, dies with it
        fill = subprocess.run(["dd", "if=/dev/zero", f"of={store}/fill", "bs=1k"], capture_output=True)
        done = world.stoker("gc")
        results.check(
            "gc on a full disk: says so, names the job, and fails",
            fill.returncode and done.returncode == 1 and job in done.stderr and "space" in done.stderr.lower(),
            done,
        )
        (store / "fill").unlink()
        results.check("gc with room again", world.stoker("gc").returncode == 0)
        world.stoker("cancel", job, check=True)
    finally:
        world.stoker("config", "unset", "store", check=True)
        subprocess.run(["umount", "-l", store])


if __name__ == "__main__":
    play(globals(), World("reads"))
