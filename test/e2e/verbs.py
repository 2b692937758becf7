# SPDX-License-Identifier: Apache-2.0
"""Every verb of the real binary: what it prints, its --json, its exit code, what it leaves."""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, World, patience
from test.e2e.kit.job_kit import lines, running, texts, trainer

VERBS = ("run ls show logs wait cancel retry preempt get checkpoints rm gc controller doctor config completion version").split()


def test_help(results, world):
    overview = world.stoker("--help")
    for verb in VERBS:
        done = world.stoker(verb, "--help")
        results.check(
            f"help: {verb}",
            done.returncode == 0 and "Examples:" in done.stdout and not done.stderr and re.search(rf"^  {verb} ", overview.stdout, re.M),
            done.stdout + done.stderr,
        )
    results.check("help: no verb is exit code 2", world.stoker().returncode == 2)
    version = world.json("version")
    results.check("version", version["version"] in world.stoker("--version").stdout, version)
    results.check("help: nothing was made by looking", not world.state.exists())


def test_run(results, world):
    for name, script, code in [("0", "true", 0), ("3", "exit 3", 3), ("255", "exit 255", 255), ("a signal", "kill -TERM $$", 143)]:
        done = world.stoker("run", "--", "sh", "-c", script)
        results.check(f"run: exit code of the program: {name}", done.returncode == code, f"{done.returncode} {done.stderr}")
        results.check(f"wait: exit code of the program: {name}", world.stoker("wait", "-").returncode == code)
        shown = world.json("show", "-")
        results.check(f"show: exit code of the program: {name}", shown["exit_code"] == code, shown["exit_code"])
    raw = subprocess.run(
        [world.binary, "run", "--", "printf", r"a\377\000b\n\tc"], cwd=world.work, env=world.env, capture_output=True, check=True
    )
    results.check("run: a pipe gets the program's bytes", raw.stdout == b"a\xff\x00b\n\tc", raw.stdout)
    done = world.stoker("run", "--quiet", "--", "echo", "word")
    results.check("run --quiet", done.returncode == 0 and "word" not in done.stdout, done.stdout)
    ended = world.json("run", "--", "sh", "-c", "echo out; exit 4", ok=(4,))
    results.check("run --json", ended["exit_code"] == 4 and ended["job"]["state"] == "Failed", ended)
    done = subprocess.run(
        [world.binary, "run", "--", "sh", "-c", "echo it broke >&2; exit 7"],
        cwd=world.work,
        env=world.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    results.check(
        "run: a failure's reason and the last words once",
        done.returncode == 7
        and done.stdout.count("exit code 7") == 1
        and done.stdout.count("it broke") == 1
        and "Failed: UserError" in done.stdout,
        done.stdout,
    )
    done = world.stoker("run", "--", "sh", "-c", "echo it broke >&2; exit 7")
    results.check(
        "run: the last words are in the summary when the output goes elsewhere",
        done.stderr.count("it broke") == 1 and "it broke" in done.stdout,
        done.stdout + done.stderr,
    )
    before = len(world.json("ls"))
    done = world.stoker("run", "--dry-run", "--hp", "lr=0.1", "--num-nodes", "2", "--", "echo", "a b")
    results.check(
        "run --dry-run",
        done.returncode == 0
        and "num_nodes: 2" in done.stdout
        and re.search(r'"?lr"?: 0.1', done.stdout)
        and len(world.json("ls")) == before,
        done.stdout,
    )
    (world.work / "again.yaml").write_text(done.stdout)
    again = world.stoker("run", "--dry-run", "again.yaml")
    results.check("run --dry-run: what it prints is a job file", again.stdout == done.stdout, again.stdout + again.stderr)


def test_names(results, world):
    first = world.submit("--name", "twin", "--", "true")
    second = world.submit("--name", "twin", "--", "true")
    for job in (first, second):
        world.stoker("wait", job, check=True)
    by_name = world.stoker("show", "twin")
    results.check(
        "names: the newest wins and says so",
        second in by_name.stdout.split("\n")[0] and "2 jobs" in by_name.stderr and second in by_name.stderr,
        by_name.stdout + by_name.stderr,
    )
    results.check("names: '-' is the last", world.job("-")["id"] == second)
    results.check("names: the start of an id", world.job(first[:6])["id"] == first)
    results.check("names: no argument is the last", world.json("show")["job"]["id"] == second)
    somebody = {"USER": "other", "LOGNAME": "other", "XDG_CONFIG_HOME": str(world.root / "other")}
    other = world.stoker("show", "-", env=somebody)
    results.check("names: '-' is one's own", other.returncode == 1 and "no job" in other.stderr, other.stderr)
    typo = world.stoker("show", "twni")
    results.check("names: a typo is told", typo.returncode == 1 and "twni" in typo.stderr, typo.stderr)
    ids = lines(world.stoker("ls", "--ids", "--all").stdout)
    results.check("ls --ids", {first, second, "twin"} <= set(ids), ids)
    listed = world.json("ls", "--name", "twin")
    results.check("ls --name --json, newest first", [j["id"] for j in listed] == [second, first], listed)
    failed = world.json("ls", "--state", "Failed")
    results.check("ls --state", failed and all(j["state"] == "Failed" for j in failed), failed)
    table = lines(world.stoker("ls", "--name", "twin").stdout)
    results.check("ls", len(table) == 3 and table[0].split()[:3] == ["JOB", "NAME", "STATUS"] and "Succeeded" in table[1], table)


def test_follow(results, world):
    """logs -f from another process: every line in order, soon after it was printed, and an end."""
    script = "import time\nfor i in range(20):\n print(i, time.monotonic(), flush=True); time.sleep(0.2)\n"
    job = world.submit("--name", "talk", "--", PYTHON, "-c", script)
    late = []
    follower = world.start("logs", "-f", job)
    for line in follower.stdout:
        number, at = line.split()
        late.append((int(number), time.monotonic() - float(at)))
    code = follower.wait(timeout=patience(20))
    results.check("logs -f: every line, then the end", code == 0 and [n for n, _ in late] == list(range(20)), [code, late])
    slowest = max(t for _, t in late[5:])
    results.check("logs -f: while it runs", slowest < patience(2.5), late)
    follower.stderr.close()
    follower.stdout.close()
    done = world.stoker("logs", "-f", job)
    results.check("logs -f of an ended job ends", len(lines(done.stdout)) == 20 and done.returncode == 0)
    return job


def test_logs(results, world, talk):
    numbered = lines(world.stoker("logs", talk, "-n", "--stream", "out").stdout)
    results.check("logs -n", len(numbered) == 20 and all(re.match(r"1\.0:\d+  \d+ ", line) for line in numbered), numbered[:3])
    times = [r["time"] for r in map(json.loads, lines(world.stoker("logs", talk, "--json").stdout))]
    timed = lines(world.stoker("logs", talk, "--timestamps").stdout)
    results.check("logs --timestamps", [line.split()[:2] for line in timed] == [[t, str(i)] for i, t in enumerate(times)], timed[:3])
    both = lines(world.stoker("logs", talk, "-n", "-t").stdout)
    results.check("logs -n -t", len(both) == 20 and re.match(rf"1\.0:\d+  {re.escape(times[0])}  0 ", both[0]), both[:3])
    tail = texts(world, talk, "--tail", "3")
    results.check("logs --tail", tail and tail[-1].startswith("19 ") and len(tail) < 20, tail)
    records = [json.loads(line) for line in lines(world.stoker("logs", talk, "--json").stdout)]
    middle = records[len(records) // 2]["time"]
    since = texts(world, talk, "--since", middle)
    results.check("logs --since TIME", 8 <= len(since) <= 12, [middle, since])
    results.check("logs --since AGE", len(texts(world, talk, "--since", "1h")) == 20)
    results.check("logs --since: nothing is newer", texts(world, talk, "--since", "2099-01-01T00:00:00Z") == [])
    job = world.submit("--num-nodes", "2", "--", "sh", "-c", "echo out $STOKER_NODE_RANK; echo err >&2; echo last")
    world.stoker("wait", job, check=True)
    for node in (0, 1):
        results.check(
            f"logs --node {node}",
            sorted(texts(world, job, "--node", node)) == ["err", "last", f"out {node}"],
            texts(world, job, "--node", node),
        )
    results.check("logs --stream err", texts(world, job, "--stream", "err") == ["err", "err"])
    plain = lines(world.stoker("logs", job).stdout)
    results.check(
        "logs: each line of several nodes names its node",
        len(plain) == 6 and sum("0" in line.split("out")[0] for line in plain if "out" in line) == 1,
        plain,
    )
    none = world.stoker("logs", job, "--node", "7")
    results.check(
        "logs --node of none",
        none.returncode == 2 and none.stdout == "" and "--node 7: the job has nodes 0 to 1" in none.stderr,
        none.stderr,
    )


def test_usage(results, world):
    """What the program used, of each attempt: it holds 200 MB and computes for 3 s."""
    script = (
        "import time\nkeep = bytearray(200_000_000); keep[::4096] = b'x' * len(keep[::4096])\n"
        "end = time.monotonic() + 3\nwhile time.monotonic() < end: pass\n"
    )
    job = world.submit("--", PYTHON, "-c", script)
    world.stoker("wait", job, check=True)
    usage = world.json("show", job)["usage"]
    memory, cpu = usage[0]["resident_bytes"], usage[0]["cpu_cores"]
    results.check(
        "show --json: usage over time",
        len(usage) == 1
        and (usage[0]["attempt"], usage[0]["node"]) == (1, 0)
        and 200e6 < memory["peak"] < 300e6
        and 0 < memory["mean"] <= memory["peak"]
        and 0 < cpu["mean"] <= cpu["peak"] < 1.3
        and usage[0]["span_ms"] >= 2000,
        usage,
    )
    story = world.stoker("show", job).stdout
    told = re.findall(r"CPU mean [\d.]+, peak [\d.]+ cores; memory mean .*, peak 2\d\d MB", story)
    results.check("show: usage over time", len(told) == 1, story)


def test_wait(results, world):
    job = running(world, world.submit("--stop-grace", "1s", "--", "sleep", "60"))
    begun = time.monotonic()
    done = world.stoker("wait", job, "--timeout", "1s")
    results.check(
        "wait --timeout", done.returncode == 1 and "1s" in done.stderr and 0.9 < time.monotonic() - begun < patience(8), done.stderr
    )
    results.check("wait --timeout: the job goes on", world.job(job)["state"] == "Running")
    waiter = world.start("wait", job)
    time.sleep(0.7)
    waiter.send_signal(signal.SIGINT)
    _, errors = waiter.communicate(timeout=patience(20))
    results.check("wait: Ctrl-C leaves", waiter.returncode == 130 and "goes on" in errors and world.job(job)["state"] == "Running", errors)
    cancelled = world.json("cancel", job)
    results.check("cancel --json", cancelled == [{"id": job, "name": cancelled[0]["name"], "state": "Cancelled"}], cancelled)
    waited = world.json("wait", job, ok=(1,))
    results.check("wait --json", waited["job"]["state"] == "Cancelled" and waited["exit_code"] == 1, waited)


def cancel_one(results, world, name, job):
    begun = time.monotonic()
    done = world.stoker("cancel", job)
    record = world.job(job)
    results.check(
        f"cancel: {name}",
        done.returncode == 0
        and record["state"] == "Cancelled"
        and record["result"]["reason"] == "Cancelled"
        and time.monotonic() - begun < patience(15),
        f"{done.stdout}{done.stderr}{record}",
    )


def test_cancel(results, world):
    cancel_one(results, world, "just submitted", world.submit("--", "sleep", "60"))
    (world.work / "setup.yaml").write_text("setup: sleep 60\nrun: 'true'\nstop_grace: 1s\n")
    job = world.submit("setup.yaml")
    world.wait_for("setup", lambda: any(r["phase"] == "Staging" for r in world.json("show", job)["reports"]))
    cancel_one(results, world, "during setup", job)
    cancel_one(results, world, "running", running(world, world.submit("--stop-grace", "1s", "--", "sleep", "60")))
    (world.work / "again.yaml").write_text("run: exit 9\njob_recovery: {max_restarts_on_errors: 100}\n")
    job = world.submit("again.yaml")
    world.wait_for("a second attempt", lambda: len(world.job(job)["attempts"]) >= 2 or world.job(job).get("retry_after"))
    cancel_one(results, world, "between attempts", job)
    job = running(world, world.submit("--stop-grace", "1s", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"))
    world.json("preempt", job, "--in", "20s")
    world.wait_for("draining", lambda: world.job(job)["attempts"][0]["state"] == "Draining")
    cancel_one(results, world, "draining", job)
    job = running(world, world.submit("--stop-grace", "2s", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"))
    left = world.json("cancel", job, "--no-wait")
    results.check("cancel --no-wait: Stopping", left[0]["state"] == "Stopping", left)
    cancel_one(results, world, "stopping", job)
    one, two = (running(world, world.submit("--stop-grace", "1s", "--", "sleep", "60")) for _ in "ab")
    both = world.json("cancel", one, two)
    results.check("cancel: several at once", [j["state"] for j in both] == ["Cancelled"] * 2, both)
    job = world.submit("--", "true")
    world.stoker("wait", job, check=True)
    before = world.job(job)
    done = world.stoker("cancel", job)
    results.check(
        "cancel: an ended job stays as it ended",
        done.returncode == 0
        and "ended already" in done.stdout
        and world.job(job)["result"] == before["result"]
        and world.job(job)["state"] == "Succeeded",
        done.stdout,
    )


def test_retry(results, world):
    job = trainer(world, 30, "--fail-at", 12, name="flaky")
    done = world.stoker("wait", job)
    results.check("retry: the first fails with its code", done.returncode == 5 and "cannot go on" in done.stdout, done.stdout)
    kept = world.json("checkpoints", job)
    results.check(
        "checkpoints --json",
        kept and all(c["whole"] and not c["suspect"] for c in kept) and kept[0]["id"] == world.json("show", job)["newest_checkpoint"],
        kept,
    )
    table = lines(world.stoker("checkpoints", job).stdout)
    results.check("checkpoints", table[0].split()[0] == "CHECKPOINT" and len(table) == len(kept) + 1, table)
    (world.root / "trainer" / "trainer.py").write_text("raise SystemExit('the wrong code')\n")
    again = world.json("retry", job, "--detach")["id"]
    code = world.stoker("wait", again).returncode
    log = texts(world, again)
    results.check("retry: from the newest checkpoint, with the old code", code == 0 and log[0].startswith("start 12 resume 1"), log[:3])
    results.check("retry: the steps follow", [t for t in log if t.startswith("step")] == [f"step {i}" for i in range(13, 31)], log)
    results.check("retry: says of what", world.job(again)["retry_of"] == job and world.job(job)["state"] == "Failed")
    fresh = world.stoker("retry", again, "--fresh")
    results.check(
        "retry --fresh: attached, from the beginning",
        fresh.returncode == 5 and "start 0 resume 0" in fresh.stdout,
        fresh.stdout + fresh.stderr,
    )
    shutil.rmtree(world.root / "trainer")
    busy = running(world, world.submit("--stop-grace", "1s", "--", "sleep", "60"))
    refused = world.stoker("retry", busy)
    results.check("retry: not while it runs", refused.returncode == 1 and busy in refused.stderr, refused.stderr)
    world.stoker("cancel", busy, check=True)
    return again, kept


def test_get(results, world, job):
    kept = world.json("checkpoints", job)
    to = world.root / "fetched"
    got = world.json("get", job, "checkpoint", to)
    found = [p for p in to.rglob("*") if p.is_file()]
    results.check(
        "get checkpoint: the newest",
        got["checkpoint"] == kept[0]["id"] and [p.name for p in found] == ["state.txt"] and found[0].read_text() == "30",
        [got, found],
    )
    again = world.stoker("get", job, "checkpoint", to)
    results.check("get: does not overwrite", again.returncode == 1 and str(to) in again.stderr, again.stderr)
    older = world.stoker("get", job, kept[-1]["id"], world.root / "older")
    results.check("get ID", older.returncode == 0 and any((world.root / "older").rglob("state.txt")), older.stderr)
    none = world.stoker("get", job, "99-99", world.root / "none")
    results.check(
        "get of no checkpoint",
        none.returncode == 1 and "99-99" in none.stderr and not (world.root / "none").exists(),
        f"{none.stderr} {list(world.root.glob('none*'))}",
    )


def test_outputs(results, world):
    (world.work / "out.yaml").write_text(
        "name: maker\noutputs: [output, report.txt]\nrun: |\n"
        "  mkdir -p output/deep; echo model > output/deep/m.bin; echo fine > report.txt\n"
    )
    job = world.submit("out.yaml")
    world.stoker("wait", job, check=True)
    to = world.root / "outputs"
    done = world.stoker("get", "maker", "output", to)
    found = {p.name: p.read_text() for p in to.rglob("*") if p.is_file()} if to.exists() else {}
    results.check("get OUTPUT", done.returncode == 0 and found == {"m.bin": "model\n"}, f"{done.stderr} {found}")
    folder = world.root / "all"
    folder.mkdir()
    done = world.stoker("get", "maker", cwd=folder)
    found = {p.name: p.read_text() for p in folder.rglob("[!.]*") if p.is_file()}
    results.check(
        "get: all outputs", done.returncode == 0 and found == {"m.bin": "model\n", "report.txt": "fine\n"}, f"{done.stderr} {found}"
    )


def test_preempt(results, world):
    job = running(world, trainer(world, 60, "--pause", "0.1", name="moved"), "step 3")
    story = world.stoker("show", job).stdout
    tiers = world.json("show", job)["recovery_tiers"]
    results.check("show: says who would recover it", len(tiers) >= 2 and all(tier in story for tier in tiers), story)
    told = world.json("preempt", job, "--in", "3s")
    results.check("preempt --json", [(t["node"], t["lead_ms"]) for t in told] == [(0, 3000)], told)
    code = world.stoker("wait", job).returncode
    shown = world.json("show", job)
    results.check(
        "preempt: resumed and succeeded",
        code == 0 and shown["attempts_ran"] == 2 and shown["job"]["attempts"][0]["ending"]["reason"] == "Interrupted",
        shown["job"]["attempts"],
    )
    second = texts(world, job, "--attempt", "2")
    results.check(
        "logs --attempt", second[0].startswith("start ") and "resume 1 attempt 2" in second[0] and second[-1] == "done", second[:2]
    )
    story = world.stoker("show", job).stdout
    results.check(
        "show: tells both attempts and who would recover it",
        "attempt 1  Interrupted" in story and "attempt 2  Completed" in story and "checkpoint " in story,
        story,
    )
    idle = world.stoker("preempt", job)
    results.check("preempt of an ended job", idle.returncode == 1 and "no machine" in idle.stderr, idle.stderr)
    bad = world.stoker("preempt", job, "--in", "soon")
    results.check("preempt --in nonsense", bad.returncode == 2, bad.stderr)


def main():
    results = Results()
    with World("verbs") as world:
        results.run("help", test_help, results, world)
        results.run("run", test_run, results, world)
        results.run("names", test_names, results, world)
        talk = test_follow(results, world)
        results.run("logs", test_logs, results, world, talk)
        results.run("usage", test_usage, results, world)
        results.run("wait", test_wait, results, world)
        results.run("cancel", test_cancel, results, world)
        again, _ = test_retry(results, world)
        results.run("get", test_get, results, world, again)
        results.run("outputs", test_outputs, results, world)
        results.run("preempt", test_preempt, results, world)
        results.run("completion", lambda: world.json("completion", "man")[:3] == ".TH" or 1 / 0)
        results.run("nothing left", lambda: world.wait_for("no instance", lambda: not world.instances()))
    results.finish()


main()
