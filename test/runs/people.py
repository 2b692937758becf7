#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two people of one user name, many jobs at once, and a store that is not there."""

import json
import pathlib
import shutil
import socket
import sys
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World
from test.e2e.kit.job_kit import running

SLEEPER = ("--stop-grace", "1s", "--", "sleep", "60")


def states(world):
    return {job["id"]: job["state"] for job in world.json("ls")}


def test_cancel_many(results, world):
    """Two good ones between two that cannot be: one is unknown, one has a damaged record."""
    slow = running(
        world, world.submit("--name", "slow", "--stop-grace", "3s", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    )
    quick = running(world, world.submit("--name", "quick", *SLEEPER))
    broken = world.submit("--name", "broken", "--", "true")
    world.stoker("wait", broken, check=True)
    record = max((world.store / "records" / f"{broken}.json.rev").glob("0*"))
    good = record.read_bytes()
    record.write_bytes(b"{")
    begun = time.monotonic()
    done = world.start("cancel", "absent", slow, broken, quick, "--json")
    world.wait_for("the quick one is cancelled", lambda: states(world).get(quick) == "Cancelled")
    results.check("cancel: the quick one does not wait for the slow one", done.poll() is None, time.monotonic() - begun)
    out = json.loads(done.communicate(timeout=60)[0])
    results.check(
        "cancel: the others are cancelled, and the errors are in the list",
        done.returncode == 1
        and [one.get("state") for one in out] == [None, "Cancelled", None, "Cancelled"]
        and "absent" in out[0]["error"]["message"]
        and broken in out[2]["error"]["message"],
        out,
    )
    told = world.stoker("cancel", "absent", quick, broken)
    results.check(
        "cancel: each error is said",
        told.returncode == 1
        and "'absent'" in told.stderr
        and f"{broken}.json" in told.stderr
        and "2 of 3 jobs could not be cancelled" in told.stderr
        and f"quick ({quick})" in told.stdout,
        told.stderr,
    )
    record.write_bytes(good)


def test_two_people(results, mine, other):
    ours = mine.submit("--name", "train", *SLEEPER)
    theirs = running(other, other.submit("--name", "train", *SLEEPER))
    ids = [w.stoker("config", "get", "me", check=True).stdout.strip() for w in (mine, other)]
    record = mine.job(theirs)
    results.check(
        "me: each home has an id, and records have it",
        ids[0] != ids[1] and record["me"] == ids[1] and record["user"] == "tester" and record["user_host"] == socket.gethostname(),
        (ids, record),
    )
    named = mine.stoker("show", "train", "--json")
    results.check("me: a name means one's own job", json.loads(named.stdout)["job"]["id"] == ours, named.stderr)
    done = mine.stoker("cancel", "--all", "--yes")
    left = states(mine)
    results.check(
        "cancel --all: another's job of the same user name is named and left",
        done.returncode == 1
        and theirs in done.stderr
        and "--user tester" in done.stderr
        and left[ours] == "Cancelled"
        and left[theirs] == "Running",
        done.stderr,
    )
    mine.stoker("config", "set", "me", ids[1], check=True)
    again = mine.submit("--name", "more", *SLEEPER)
    done = mine.stoker("cancel", "--all", "--yes")
    left = states(other)
    results.check(
        "config set me: the second computer is the same person",
        done.returncode == 0 and left[theirs] == "Cancelled" and left[again] == "Cancelled",
        done.stderr,
    )
    mine.stoker("config", "unset", "me", check=True)
    results.check("config unset me: its own id is back", mine.stoker("config", "get", "me").stdout.strip() == ids[0])
    theirs = running(other, other.submit("--name", "last", *SLEEPER))
    done = mine.json("cancel", "--user", "tester", "--yes")
    results.check("cancel --user: whoever's they are", [j["id"] for j in done] == [theirs], done)


LOOKS = (
    "ls",
    "ls --json",
    "show x",
    "logs x",
    "get x",
    "checkpoints x",
    "compare x y",
    "metrics x",
    "wait x",
    "gc",
    "gc --dry-run",
    "controller --once",
    "cancel --all",
    "cancel x",
    "retry x",
    "preempt x",
    "doctor",
    "places",
    "ui --export report",
    "completion bash",
)


def test_looking(results, world):
    store = world.root / "away" / "store"
    world.stoker("config", "set", "store", store, check=True)
    for verb in LOOKS:
        done = world.stoker(*verb.split())
        made = [p for p in (store.parent, world.state / "ledger") if p.exists()]
        results.check(f"a new store: '{verb}' makes nothing", done.returncode in (0, 1, 2) and not made, (done.stderr, made))
    done = world.stoker("ls")
    results.check(
        "a new store: ls says so", done.returncode == 0 and str(store) in done.stderr and "no jobs yet" in done.stderr, done.stderr
    )
    done = world.stoker("run", "--", "true")
    results.check(
        "a new store: run says that it makes one", done.returncode == 0 and f"made a new store in {store}" in done.stderr, done.stderr
    )
    return store


def test_not_mounted(results, world, store):
    ledger = json.loads((store / "ledger.json").read_text())["id"]
    moved = store.with_name("unmounted")
    store.rename(moved)
    for empty in (False, True):
        if empty:
            store.mkdir()
        for verb in ("ls", "run -- true", "gc", "controller --once", "cancel --all"):
            done = world.stoker(*verb.split())
            results.check(
                f"gone{', an empty folder' if empty else ''}: '{verb}' names both ways",
                done.returncode == 1
                and ledger in done.stderr
                and f"stoker config set store {store} --new" in done.stderr
                and "Mount it" in done.stderr,
                done.stderr,
            )
    results.check("gone: nothing was made", not any(store.iterdir()))
    store.rmdir()
    moved.rename(store)
    results.check("mounted again: all is there", len(world.json("ls")) == 1)
    store.rename(moved)
    world.stoker("config", "set", "store", store, "--new", check=True)
    results.check("--new: no jobs, and no error", world.json("ls") == [])
    world.stoker("run", "--", "true", check=True)
    fresh = json.loads((store / "ledger.json").read_text())["id"]
    shutil.rmtree(store)
    moved.rename(store)
    done = world.stoker("ls")
    results.check(
        "another ledger in its place is said", fresh != ledger and f"ledger {ledger}, where {fresh} was" in done.stderr, done.stderr
    )


def test_lost_id(results, world, store):
    job = running(world, world.submit(*SLEEPER))
    path = store / "ledger.json"
    ledger = json.loads(path.read_text())["id"]
    notes = world.home / ".config" / "stoker" / "stores"
    for name, forget in (("the note", False), ("boot.json of a machine", True)):
        path.unlink()
        if forget:
            shutil.rmtree(notes)
        done = world.stoker("ls")
        results.check(
            f"ledger.json is written again by {name}, and said",
            done.returncode == 0 and json.loads(path.read_text())["id"] == ledger and f"written again with the id {ledger}" in done.stderr,
            done.stderr,
        )
    world.stoker("cancel", job, check=True)
    path.unlink()
    shutil.rmtree(notes)
    for machine in world.instances():
        (machine / "boot.json").unlink(missing_ok=True)
    done = world.stoker("ls")
    results.check(
        "an id that nobody remembers is not made up", done.returncode == 1 and not path.exists() and "ledger_id" in done.stderr, done.stderr
    )


def test_silent_store(results, world):
    """An endpoint that accepts and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept(), daemon=True).start()
        env = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.getsockname()[1]}",
            "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "y",
            "AWS_REGION": "us-east-1",
        }
        world.stoker("config", "set", "store", "s3://bucket/silent", check=True)
        process = world.start("ls", env=env)
        begun = time.monotonic()
        said = process.stderr.readline()
        results.check(
            "a silent store: ls says within 3 s that it waits",
            time.monotonic() - begun < 3 and "waiting for the store s3://bucket/silent" in said and process.poll() is None,
            said,
        )
        process.kill()


def main():
    results = Results()
    with World("many") as world:
        results.run("many", test_cancel_many, results, world)
    with World("mine") as mine, World("other") as other:
        for world in (mine, other):
            world.stoker("config", "set", "store", mine.root / "shared", check=True)
        results.run("people", test_two_people, results, mine, other)
    with World("gone") as world:
        store = test_looking(results, world)
        results.run("not mounted", test_not_mounted, results, world, store)
        results.run("lost id", test_lost_id, results, world, store)
        results.run("silent", test_silent_store, results, world)
    results.finish()


main()
