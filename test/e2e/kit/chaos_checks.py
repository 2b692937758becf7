# SPDX-License-Identifier: Apache-2.0
"""What must hold after the storm, per job and for what is left of all."""

import collections
import hashlib
import json
import re
import time

from test.e2e.kit import ledger_view

LATER = 2 * 3600  # older than anything that may still be somebody's


def check_job(world, job, results):
    shown = ledger_view.record(world.store, job.id)
    problems = []
    problems += check_end(job, shown)
    problems += check_starts(world, job, shown)
    problems += check_claims(world, job)
    if shown["state"] == "Succeeded":
        problems += check_log(world, job, shown)
        problems += check_outputs(world, job, shown)
    results.check(
        f"job {job.number} {job.id} ({job.fate}, {job.style}, {job.nodes} nodes, "
        f"{len(shown['attempts'])} attempts, {job.seconds:.0f} s; "
        f"{' '.join(job.done) or 'in peace'})",
        not problems,
        "; ".join(problems),
    )


def check_end(job, shown):
    state, result = shown["state"], shown.get("result", {})
    text = f"{state}, {result}"
    if job.fate == "ends" or (job.fate == "cancelled" and "cancel" not in job.done):
        return [] if state == "Succeeded" else [text]
    if job.fate == "cancelled":
        return [] if state in ("Cancelled", "Succeeded") else [text]
    return [] if state == "Failed" and result.get("exit_code") == 7 else [text]


def check_starts(world, job, shown):
    """No program starts before what an earlier attempt committed, and all nodes from one state."""
    problems = []
    starts = collections.defaultdict(dict)  # attempt -> rank -> step
    for rank in range(job.nodes):
        path = world.evidence / f"{job.id}-{rank}.starts"
        if not path.exists():
            if shown["state"] == "Succeeded":
                problems.append(f"node {rank} never ran")
            continue
        for line in path.read_text().splitlines():
            attempt, step = map(int, line.split())
            starts[attempt][rank] = step
    try:
        kept = ledger_view.checkpoints(world.store, job.id)
    except (AssertionError, OSError) as error:
        return problems + [f"a committed checkpoint is torn: {error}"]
    suspects = set(shown.get("suspects", []))
    restores = {a["number"]: a.get("restore", "") for a in shown["attempts"]}
    for attempt, by_rank in starts.items():
        if len(set(by_rank.values())) > 1:
            problems.append(f"attempt {attempt}: nodes start at different steps: {by_rank}")
        for before, seq, step in kept:
            if before < attempt and step is not None and f"{before}-{seq}" not in suspects and min(by_rank.values()) < step:
                problems.append(
                    f"attempt {attempt} starts at {min(by_rank.values())}, but checkpoint {before}-{seq} of step {step} was committed"
                )
    newest = (0, 0)
    for attempt in shown["attempts"]:
        if attempt["number"] in starts and not suspects:
            restored = checkpoint_order(restores[attempt["number"]])
            if restored < newest:
                problems.append(f"attempt {attempt['number']} restored {restored} after {newest}")
        newest = max(newest, checkpoint_order(attempt.get("newest_checkpoint", "")))
    return problems


def checkpoint_order(text):
    """What a program left is restored only where there is nothing whole."""
    if text.startswith("as-left-"):
        return (0, 0)
    return tuple(map(int, text.split("-"))) if text else (0, 0)


def check_claims(world, job):
    """A program ran only where there is a claim; at most one program for each."""
    claimed = set(ledger_view.claims(world.store, job.id))
    ran = set()
    for path in world.evidence.glob(f"{job.id}-*.once"):
        rank, attempt = map(int, path.name.removesuffix(".once").rsplit("-", 2)[1:])
        ran.add((attempt, rank))
    return [f"ran without a claim: {ran - claimed}"] if ran - claimed else []


def check_log(world, job, shown):
    """Every line of the programs that completed is in the store, once and in order."""
    last = completed(shown)
    printed = world.stoker("logs", job.id, "--attempt", last, "--json").stdout
    lines = collections.defaultdict(list)
    for line in printed.splitlines():
        line = json.loads(line)
        if not line.get("note") and re.match(r"(step|final|start at) ", line["text"]):
            lines[line["node"]].append(line["text"])
    problems = []
    for rank in range(job.nodes):
        got = lines[rank]
        first = int(got[0].split()[-1]) if got and got[0].startswith("start at ") else -1
        want = [f"start at {first}", *(f"step {s}" for s in range(first + 1, job.steps + 1)), f"final {job.steps}"]
        if got != want:
            problems.append(f"node {rank}: the log of attempt {last} has {len(got)} lines, not {len(want)}: {got[:3]} … {got[-2:]}")
    return problems


def completed(shown):
    """Number of the attempt that succeeded."""
    return next(a["number"] for a in shown["attempts"] if a.get("ending", {}).get("reason") == "Completed")


def check_outputs(world, job, shown):
    """What is kept is of the attempt that succeeded, of every node."""
    want = f"final {job.steps} of attempt {completed(shown)}\n"
    problems = []
    for rank in range(job.nodes):
        key = f"jobs/{job.id}/artifacts/{f'node-{rank}/' if rank else ''}output/result.txt"
        data = ledger_view.object_bytes(world.store, key)
        if data != want.encode():
            problems.append(f"output of node {rank}: {data}, not {want!r}")
    return problems


def check_left_over(world, jobs, results):
    active = ledger_view.active(world.store)
    results.check("no job is in active/", not active, active)
    rows = world.json("ls", "--all")
    listed = {j["id"]: j["state"] for j in rows}
    wrong = [j.id for j in jobs if listed.get(j.id) != ledger_view.record(world.store, j.id)["state"]]
    results.check("ls lists every job as its record has it", not wrong, wrong)
    # What a submitter had sent when it was killed may take effect after nobody has found it.
    may_be_twice = {j.name for j in jobs if j.late}
    mine = {j.id for j in jobs}
    others = [r for r in rows if r["id"] not in mine and r["name"] not in may_be_twice]
    results.check("ls lists no other job", not others and len(listed) >= len(jobs), others)
    torn = [
        n
        for n in ledger_view.listing(world.store / "blobs")
        if hashlib.sha256((world.store / "blobs" / n).read_bytes()).hexdigest() != n.rpartition("-")[0]
    ]
    results.check("every blob is what its name says", not torn, torn)
    check_strays(world, results)


def check_strays(world, results):
    """What a killed writer left behind is aged artificially; then gc and time must remove it."""
    tmp = world.store / ".tmp"
    old = time.time() - LATER
    strays = ledger_view.listing(tmp)
    caches = [p for p in (world.home / ".cache" / "stoker").glob("*") if p.name.startswith("pack")]
    orphans = [world.store / "active" / n for n in ledger_view.listing(world.store / "active")]
    # Of a submit that was killed before its job was in the ledger, or while it wrote.
    private = [world.state / "private" / n for n in ledger_view.listing(world.state / "private")]
    for path in [tmp / n for n in strays] + caches + orphans + private:
        ledger_view.age(path, old)
    world.stoker("gc", check=True)
    for _ in range(100):  # one opening of the store in sixteen sweeps
        if not ledger_view.listing(tmp):
            break
        world.stoker("ls")
    left = ledger_view.listing(tmp)
    results.check(f"no stray file is left of {len(strays)} in the ledger", not left, left)
    left = ledger_view.listing(world.store / "active")
    results.check(f"no marker is left of {len(orphans)} whose submit was killed", not left, left)
    left = [p.name for p in caches if p.exists()]
    results.check(f"no stray folder is left of {len(caches)} in the cache", not left, left)
    left = [p.name for p in [*private, world.state / "private"] if p.exists()]
    results.check(f"no private file is left of {len(private)}, nor their folder", not left, left)
    late = ledger_view.listing(world.state / "cancelled")
    results.check("no cancel waits for room on the disk", not late, late)
    known = {"ledger", "bin", "instances", "ended", "host", "reserve", "cancelled", "unsaved", "swept", "work"}
    left = ledger_view.listing(world.state / "work")
    results.check("no attempt's place is left", not left, left)
    odd = [n for n in ledger_view.listing(world.state) if n not in known]
    results.check("nothing unknown lies in the state folder", not odd, odd)
