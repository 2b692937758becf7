# SPDX-License-Identifier: Apache-2.0
"""Verbs that look after jobs and the machine: controller, its timer, config, doctor, gc."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, World, lock_holder, patience
from test.e2e.kit.job_kit import folder_of_trainer, lines, running, texts


def test_controller(results, world):
    """The machine is killed; a controller with another PATH (a timer has one) brings it back."""
    tools = world.root / "tools"
    tools.mkdir()
    (tools / "teach").write_text(f'#!/bin/sh\nexec {PYTHON} trainer.py "$@"\n')
    (tools / "teach").chmod(0o755)
    work = folder_of_trainer(world)
    job = running(
        world,
        world.submit("--name", "orphaned", "--", "teach", "80", "--pause", "0.1", cwd=work, env={"PATH": f"{tools}:{world.env['PATH']}"}),
    )
    world.wait_for("a checkpoint", lambda: world.json("checkpoints", job))
    timer = {"PATH": "/usr/bin:/bin"}
    instance = world.job(job)["launches"][0]["instance_id"]
    machine = lock_holder(world.state / "instances" / instance / "lock")
    os.kill(machine, signal.SIGKILL)
    passed = {}
    end = time.monotonic() + 30
    while len(record_now(world, job).get("attempts", [])) < 2:
        passed = world.json("controller", "--once", env=timer)
        if time.monotonic() > end:
            break
        time.sleep(0.2)
    results.check(
        "controller --once --json",
        set(passed) == {"time", "active", "passed", "failed", "changed", "trouble"}
        and passed["failed"] == 0
        and [one["id"] for one in passed["changed"]] in ([], [job]),
        passed,
    )
    daemon = world.start("controller", "--interval", "200ms", env=timer)
    world.wait_for("ended, by the daemon", lambda: "result" in record_now(world, job), timeout=40)
    daemon.send_signal(signal.SIGTERM)
    _, errors = daemon.communicate(timeout=patience(10))
    results.check("controller: a daemon ends when told", daemon.returncode == 0, errors)
    record = world.job(job)
    results.check(
        "controller: the job went on where it was, with its own PATH",
        record["state"] == "Succeeded" and texts(world, job, "--attempt", "2")[0].split()[1] != "0",
        world.stoker("logs", job).stdout[-500:],
    )
    told = [
        one
        for one in map(json.loads, lines(world.stoker("logs", job, "--json").stdout))
        if one.get("note") and "may be missing" in one["text"]
    ]
    results.check(
        "of an attempt whose machine was killed, logs and show say that its end may be missing",
        [(one["attempt"], one["node"]) for one in told] == [(1, 0)]
        and world.json("show", job)["cut_off"] == [{"attempt": 1, "node": 0}]
        and world.stoker("show", job).stdout.count("gone before its last word") == 1,
        told,
    )


def test_controller_json(results, world):
    """A line for each pass that changed something, none for those that did not."""
    daemon = world.start("controller", "--interval", "100ms", "--json")
    job = running(world, world.submit("--", "sleep", "60"))
    machine = lock_holder(world.state / "instances" / world.job(job)["launches"][0]["instance_id"] / "lock")
    os.kill(machine, signal.SIGKILL)
    world.wait_for("a second attempt, by the daemon", lambda: len(record_now(world, job).get("attempts", [])) >= 2)
    world.stoker("cancel", job, check=True)
    time.sleep(2)
    daemon.send_signal(signal.SIGTERM)
    output, errors = daemon.communicate(timeout=patience(10))
    passes = [json.loads(line) for line in lines(output)]
    told = [one for line in passes for one in line["changed"] if one["id"] == job]
    results.check(
        "controller --json: a line for each pass that changed something",
        any(one["notes"] and one["attempt"] >= 1 for one in told)
        and len({line["time"] for line in passes if line["changed"]}) <= 15
        and all(line["passed"] + line["failed"] == line["active"] for line in passes)
        and daemon.returncode == 0
        and not errors,
        [output, errors],
    )


def record_now(world, job):
    """The record as it lies in the store: looking at it with a verb would help it along."""
    revisions = world.store / "records" / f"{job}.json.rev"
    try:
        return json.loads(max(p for p in revisions.iterdir() if p.name[0].isdigit()).read_text())
    except (FileNotFoundError, ValueError):
        return {}  # replaced in this moment


FAKES = {
    "crontab": 'case $1 in -l) cat "$TABLE" 2>/dev/null ;; *) cp "$1" "$TABLE" ;; esac',
    "systemctl": 'test -n "$SYSTEMD" && echo "$@" >> "$SYSTEMD"',
}


def test_timer(results, world):
    """With a crontab and a systemctl that only note what they are told."""
    fakes = world.root / "fakes"
    fakes.mkdir()
    for name, text in FAKES.items():
        (fakes / name).write_text(f"#!/bin/sh\n{text}\n")
        (fakes / name).chmod(0o755)
    table, told = world.root / "crontab", world.root / "systemctl"
    env = {"PATH": f"{fakes}:{world.env['PATH']}", "TABLE": str(table), "XDG_DATA_HOME": str(world.root / "data 100%")}
    table.write_text("0 5 * * * /usr/bin/true\n")
    for _ in "ab":  # twice is harmless
        said = world.json("controller", "--install", env=env)
    rows = lines(table.read_text())
    results.check(
        "controller --install: one line in the crontab, the others stay",
        said == {"timer": True} and len(rows) == 2 and rows[0] == "0 5 * * * /usr/bin/true",
        rows,
    )
    # What only a command on the same folders can write again.
    world.stoker("run", "--", "true", env=env, check=True)
    ledger = world.root / "data 100%" / "stoker" / "ledger" / "ledger.json"
    ledger.unlink()
    command = rows[-1].removeprefix("* * * * * ").replace("\\%", "%")  # as cron reads it
    done = subprocess.run(["sh", "-c", command], env={"HOME": str(world.home), "PATH": "/usr/bin:/bin"}, capture_output=True)
    results.check("controller --install: the line works, on the same folders", done.returncode == 0 and ledger.exists(), [command, done])
    timer = next(f for f in world.json("doctor", env=env) if f["what"] == "recovery timer")
    results.check("doctor: sees the timer", timer["level"] == "ok", timer)
    world.json("controller", "--uninstall", env=env)
    results.check("controller --uninstall", table.read_text() == "0 5 * * * /usr/bin/true\n", table.read_text())
    env["SYSTEMD"] = str(told)
    said = world.json("controller", "--install", env=env)
    units = world.home / ".config" / "systemd" / "user"
    service = (units / "stoker-controller.service").read_text()
    results.check(
        "controller --install: systemd",
        said == {"timer": True}
        and "enable --now stoker-controller.timer" in told.read_text()
        and f'"{world.binary}" controller --once' in service.replace("%%", "%")
        and "data 100%%" in service,
        service,
    )
    world.json("controller", "--uninstall", env=env)
    results.check("controller --uninstall: systemd", "disable" in told.read_text() and not list(units.iterdir()), told.read_text())


def edit_time(paths):
    """An hour and more ago, also for a list that somebody has taken a job off."""
    for path in paths:
        if path.is_file() and "jobs" in path.read_text():
            text = json.loads(path.read_text())
            text["at"] = "2026-01-01T00:00:00.000Z"
            path.write_text(json.dumps(text))


def test_gc(results, world):
    world.wait_for("instances cleared away", lambda: not world.instances(), timeout=20)
    busy = running(world, world.submit("--name", "busy", "--stop-grace", "1s", "--", "sleep", "60"))
    time.sleep(1.1)  # so that all ended ones are old enough
    ended = {j["id"] for j in world.json("ls", "--all")} - {busy}
    dry = world.json("gc", "--dry-run", "--older-than", "1s")
    results.check(
        "gc --dry-run: names them, removes nothing",
        set(dry["doomed"]["jobs"]) == ended
        and dry["dry_run"]
        and not dry["jobs"]
        and {j["id"] for j in world.json("ls", "--all")} == ended | {busy},
        dry,
    )
    results.check("gc: by itself keeps every job", world.json("gc")["jobs"] == [] and len(world.json("ls", "--all")) == len(ended) + 1)
    copies = world.state / "bin"
    used = [p.name for p in copies.iterdir()]
    for name in ["0" * 64, *used]:
        (copies / name).mkdir(exist_ok=True)
        os.utime(copies / name, (1, 1))
    results.check(
        "gc: old copies of stoker go, one in use stays",
        world.json("gc")["copies"] == 1 and [p.name for p in copies.iterdir()] == used,
        used,
    )
    # Nor does it go by another store's jobs alone, and a marker without a record keeps nothing.
    (world.store / "active" / "0rphan00").touch()
    for store in ("", world.root / "second"):
        if store:
            world.stoker("config", "set", "store", store, check=True)
            world.stoker("run", "--", "true", check=True)
        for name in ["1" * 64, *used]:
            (copies / name).mkdir(exist_ok=True)
            os.utime(copies / name, (1, 1))
        one = world.json("gc")
        results.check(
            "gc: the copy that a machine of any store runs stays", one["copies"] == 1 and [p.name for p in copies.iterdir()] == used, one
        )
    world.stoker("config", "unset", "store", check=True)
    (world.store / "active" / "0rphan00").unlink()
    asked = world.stoker("gc", "--older-than", "1s")
    results.check(
        "gc --older-than: without a terminal it needs --yes, and says what would go",
        asked.returncode == 2
        and f"would remove {len(ended)} jobs, " in asked.stderr
        and "add --yes" in asked.stderr
        and {j["id"] for j in world.json("ls", "--all")} == ended | {busy},
        asked.stderr,
    )
    doomed = world.json("gc", "--older-than", "1s", "--yes")
    rows = {j["id"]: j["goes"] for j in world.json("ls", "--all")}
    results.check(
        "gc --older-than: writes down what goes in an hour, and how much that is",
        set(doomed["doomed"]["jobs"]) == ended
        and not doomed["jobs"]
        and doomed["doomed"]["job_bytes"] == dry["doomed"]["job_bytes"] > 100
        and {job for job, goes in rows.items() if goes} == ended
        and doomed["doomed"]["goes"],
        (doomed, rows),
    )
    kept = sorted(ended)[0]
    again = world.json("retry", "--detach", kept)["id"]
    world.stoker("cancel", again, check=True)
    world.wait_for("its machines are gone", lambda: world.json("ls") and not (world.store / "active" / again).exists())
    lists = list((world.store / "doomed").rglob("*"))
    for path in lists:
        os.utime(path, (1, 1))
    edit_time(lists)
    done = world.stoker("controller", "--once")
    left = {j["id"] for j in world.json("ls", "--all")}
    results.check(
        "controller: removes it then, but for what somebody goes on from",
        left == {busy, kept, again} and sorted(ended)[1] in done.stderr,
        (left, done),
    )
    asked = world.stoker("rm", busy, kept, again, "--now")
    results.check(
        "rm --now: without a terminal it needs --yes; what runs is named, and stays",
        asked.returncode == 2 and "add --yes" in asked.stderr and f"{busy} has not ended" in asked.stderr,
        asked,
    )
    gone = world.json("rm", busy, kept, again, "--now", "--yes", ok=(1,))
    results.check(
        "rm --now",
        set(gone["removed"]) == {kept, again} and list(gone["kept"]) == [busy] and [j["id"] for j in world.json("ls", "--all")] == [busy],
        gone,
    )
    # A node that was killed over a write may have made a folder for it, in which nothing lies.
    jobs = world.store / "jobs"
    left = {p.relative_to(jobs).parts[0] for p in jobs.rglob("*") if p.is_file()}
    results.check("gc: only the active job's files are left", left == {busy}, left)
    results.check("gc: the active job goes on", world.job(busy)["state"] == "Running")
    world.stoker("cancel", busy, check=True)
    results.check("gc: --older-than nonsense", world.stoker("gc", "--older-than", "old").returncode == 2)


def test_config(results, world):
    store = world.root / "elsewhere"
    results.check("config: built-in", world.json("config")["store"] is None)
    world.stoker("config", "set", "store", store, check=True)
    results.check(
        "config set, get",
        world.stoker("config", "get", "store").stdout == f"{store}\n"
        and world.json("config", "get", "store") == str(store)
        and world.json("config", "list")["store"] == str(store),
    )
    said = world.json("config", "set", "stop_grace", "5s")
    results.check(
        "config set --json",
        (said["key"], said["value"]) == ("stop_grace", "5s") and world.stoker("config", "get", "stop_grace").stdout.strip() == "5s",
    )
    spec = world.stoker("run", "--dry-run", "--", "true").stdout
    results.check("config: a default is used", "stop_grace: 5s" in spec, spec)
    done = world.stoker("run", "--", "true")
    results.check("config: the other store is used", done.returncode == 0 and any((store / "records").iterdir()), done.stderr)
    results.check("config: and only that", len(world.json("ls")) == 1)
    mode = (world.home / ".config" / "stoker" / "config.yaml").stat().st_mode & 0o777
    results.check("config: the file is one's own", mode == 0o600, oct(mode))
    for key in ("store", "stop_grace"):
        world.stoker("config", "unset", key, check=True)
    results.check("config unset", world.json("config", "get", "store") in ("", None) and len(world.json("ls")) > 1)
    results.check("config get of no key", world.stoker("config", "get", "stor").returncode == 2)


def below(pid):
    """Those that it started, and they; itself last."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [*(found for child in children for found in below(int(child))), pid]


def test_shutdown(results, world):
    """What systemd does to a login's processes when the computer shuts down, or the login ends with
    KillUserProcesses=yes: SIGTERM and at once SIGHUP, to each of them."""
    # Nothing of the save is a program of its own, which would be told to end, too.
    save = "echo 7 >$STOKER_CHECKPOINT_DIR/state"
    resumed = "[ $STOKER_ATTEMPT = 1 ] || exec cat $STOKER_CHECKPOINT_DIR/state"
    program = f"{resumed}; trap '{save}; exit 1' TERM; trap '' HUP; echo ready; sleep 600 & wait"
    job = running(world, world.submit("--name", "shut-down", "--", "sh", "-c", program), "ready")
    instance = world.job(job)["launches"][0]["instance_id"]
    all_of_them = below(lock_holder(world.state / "instances" / instance / "lock"))
    for signo in (signal.SIGTERM, signal.SIGHUP):
        for pid in all_of_them:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signo)
    world.wait_for("its machine has left", lambda: not world.instances(), timeout=30)
    ended = [(attempt.get("ending") or {}).get("reason") for attempt in record_now(world, job)["attempts"]]
    results.check("shutdown: its node has told all, and begun nothing", ended in (["Interrupted"], ["Interrupted", None]), ended)
    results.check("shutdown: its last save is kept", world.json("checkpoints", job))
    world.stoker("wait", job)
    record = world.job(job)
    endings = [attempt["ending"] for attempt in record["attempts"]]
    good = record["state"] == "Succeeded" and "7" in texts(world, job)
    results.check("shutdown: who looks next has it go on", good, (endings, world.stoker("logs", job).stdout))
    log = world.stoker("logs", job, "--stream", "system").stdout
    results.check("shutdown: the log says so, once", log.count("this computer shuts down") == 1, log)


def test_doctor(results, world):
    findings = world.json("doctor")
    results.check(
        "doctor --json",
        {"store", "settings", "ending tasks", "recovery timer"} <= {f["what"] for f in findings}
        and all(f["level"] in ("ok", "note", "bad") for f in findings),
        findings,
    )
    bad = world.stoker("doctor", env={"XDG_DATA_HOME": "/proc/nowhere"})
    results.check("doctor: a store that cannot be is bad", bad.returncode == 1 and "bad" in bad.stdout, bad.stdout)


def main():
    results = Results()
    with World("upkeep") as world:
        for name, code in (("good", 0), ("bad", 3)):  # something to list and to clear away
            world.stoker("run", "--name", name, "--", "sh", "-c", f"exit {code}")
        results.run("controller", test_controller, results, world)
        results.run("controller --json", test_controller_json, results, world)
        results.run("timer", test_timer, results, world)
        results.run("config", test_config, results, world)
        results.run("shutdown", test_shutdown, results, world)
        results.run("doctor", test_doctor, results, world)
        results.run("gc", test_gc, results, world)
        results.run("nothing left", lambda: world.wait_for("no instance", lambda: not world.instances()))
    results.finish()


main()
