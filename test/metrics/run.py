#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run learns, found while it runs: files and log lines, an interruption, an agent that is
killed, hostile names, the list."""

import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, World, play

# Trains from the step in checkpoints/step, says so in four ways, and waits where it is told to.
PROGRAM = r"""
import csv, json, os, pathlib, sys, time
steps, pause = int(sys.argv[1]), int(sys.argv[2])
saved = pathlib.Path("checkpoints/step")
begin = int(saved.read_text()) if saved.exists() else 0
again = begin > 0
out = open("metrics.csv", "a", newline="")
table = csv.writer(out)
table.writerow(["epoch", "step", "train_loss"])
for step in range(begin, steps):
    with open(os.environ["STOKER_METRICS"], "a") as file:
        file.write(json.dumps({"step": step, "own": step * 0.5}) + "\n")
    table.writerow([step // 10, step, 1.0 / (step + 1)])
    out.flush()
    print(json.dumps({"step": step, "error": 2.0 / (step + 1)}), flush=True)
    if step % 10 == 5:
        part = pathlib.Path("checkpoints/step.part")
        part.write_text(str(step + 1))
        part.rename(saved)
    if step == pause and not again:
        print("waiting", flush=True)
        time.sleep(600)
"""


def series(world, job, *names, more=()):
    return world.json("metrics", job, *names, *more)["series"]


def seen(world, job, points):
    """Waits until so many points of the program's own series are in the store."""
    world.wait_for(f"{points} points", lambda: len(series(world, job, "own").get("own", [])) == points, timeout=60)


def steps(points):
    return [point["step"] for point in points]


def test_whole(results, world):
    program = world.program(PROGRAM)
    world.stoker("run", "--name", "whole", "--", "python3", program, "40", "-1", check=True)
    found = series(world, "whole")
    results.check("whole: every source, each under its own names", sorted(found) == ["epoch", "error", "own", "train_loss"], found.keys())
    for name, value in (("error", 2.0 / 40), ("own", 19.5), ("train_loss", 1.0 / 40)):
        points = found.get(name, [])
        results.check(
            f"whole: {name} has each step once, and its last value",
            steps(points) == list(range(40)) and points[-1]["value"] == value,
            points[-3:],
        )
    log = world.stoker("logs", "whole", "--stream", "system").stdout
    results.check(
        "whole: the log says once what was recognised",
        log.count("metrics: reading metrics.csv") == 1
        and log.count("metrics: reading JSON lines in the log") == 1
        and log.count("metrics: reading $STOKER_METRICS") == 1,
        log,
    )
    shown = world.stoker("show", "whole").stdout
    results.check("whole: and show says it", "error 0.05 (0.05 to 2)" in shown and "JSON lines in the log" in shown, shown)
    printed = world.stoker("metrics", "whole", "error", "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(printed)))
    results.check("whole: --csv has every point", [float(row["value"]) for row in rows] == [2.0 / (n + 1) for n in range(40)], rows[:2])
    table = world.stoker("metrics", "whole", "*loss").stdout
    results.check("whole: the table has a course", "train_loss" in table and "▁" in table and "own" not in table, table)
    folder = world.store / "jobs" / world.json("ls")[0]["id"] / "metrics"
    segments = [path for path in folder.rglob("*") if ".zst" in path.name and path.is_file()]
    text = subprocess.run(["zstd", "-dc"], stdin=open(segments[0], "rb"), capture_output=True, check=True).stdout
    results.check("whole: a segment is lines of JSON", segments and all(json.loads(line) for line in text.splitlines()), text[:200])


def test_interrupted(results, world):
    program = world.program(PROGRAM)
    job = world.submit("--name", "twice", "--", "python3", program, "40", "28")
    seen(world, job, 29)
    world.wait_for(
        "its checkpoint",
        lambda: world.job(job)["attempts"][0].get("newest_checkpoint") or "1-" in world.stoker("checkpoints", job).stdout,
        timeout=60,
    )
    world.stoker("preempt", job, "--in", "15s", check=True)
    world.stoker("wait", job, "--timeout", "120s", check=True, timeout=150)
    found = series(world, job, "error", "own", "train_loss")
    for name in ("error", "own", "train_loss"):
        results.check(f"interrupted: {name} is one curve", steps(found[name]) == list(range(40)), steps(found[name]))
    every = series(world, job, "error", more=("--redone",))["error"]
    redone = [point["step"] for point in every if point.get("redone")]
    results.check(
        "interrupted: what was done again is kept, and marked",
        redone == list(range(26, 29)) and {point["attempt"] for point in every} == {1, 2},
        redone,
    )


def test_killed(results, world):
    program = world.program(PROGRAM)
    job = world.submit("--name", "killed", "--", "python3", program, "40", "17")
    seen(world, job, 18)
    instance = next(pathlib.Path(world.state).rglob("metrics-1.jsonl"))
    agents = [pid for pid in os.listdir("/proc") if is_agent(pid, instance.parent)]
    for pid in agents:
        os.kill(int(pid), signal.SIGSTOP)
    with instance.open("a") as file:
        for step in (18, 19):
            file.write(json.dumps({"step": step, "own": step * 0.5}) + "\n")
    for pid in agents:
        os.kill(int(pid), signal.SIGKILL)
    world.stoker("wait", job, "--timeout", "120s", timeout=150)
    first = [point for point in series(world, job, "own", more=("--redone",))["own"] if point["attempt"] == 1]
    results.check(
        "killed: another agent reads on, and nothing twice", len(agents) == 1 and steps(first) == list(range(20)), (agents, steps(first))
    )


def is_agent(pid, folder):
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"__agent" in words and str(folder).encode() in words


def test_hostile(results, world):
    names = ["<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "a\u202eb", "x" * 60_000, "new\nline", "=1+1", "'", '"', "a,b", "../../etc"]
    rows = [{"step": 1, name: 1.5, "n": float("nan")} for name in names]
    twins = {"t\x01win": 10.0, "t\x02win": 20.0}  # alike, where control characters are left out
    names += twins
    rows += [{"step": 1, name: value} for name, value in twins.items()]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (pathlib.Path(world.work) / "metrics.jsonl.in").write_text(lines)
    world.stoker("run", "--name", "hostile", "--", "sh", "-c", "cp metrics.jsonl.in metrics.jsonl; touch 'new\nline'", check=True)
    for words in (
        ["metrics", "hostile"],
        ["metrics", "hostile", "--csv"],
        ["show", "hostile"],
        ["logs", "hostile", "--stream", "system"],
        ["ls", "--columns", "name,n"],
        ["metrics", "hostile", "--follow"],
    ):
        done = world.stoker(*words)
        text = done.stdout + done.stderr
        results.check(
            f"hostile: {' '.join(words)} prints text alone",
            done.returncode == 0 and "\x1b" not in text and "\u202e" not in text and len(text) < 60_000,
            text[:500],
        )
    found = series(world, "hostile")
    results.check("hostile: each name is a series", len(found) == len(names) + 1 and "<script>alert(1)</script>" in found, list(found)[:5])
    listed = world.stoker("ls", "--columns", r"t\x01win,t\x02win").stdout.split()
    table = world.stoker("metrics", "hostile", r"t\x02win").stdout
    results.check(
        "hostile: names that differ in control characters are told apart",
        listed == [r"t\x01win", r"t\x02win", "10", "20"] and r"t\x02win" in table and "20" in table and r"t\x01win" not in table,
        (listed, table),
    )
    missing = world.stoker("get", "hostile", "none").stderr
    results.check("hostile: get names an output on one line", r"new\x0aline" in missing and "new\nline" not in missing, missing)
    results.check("hostile: NaN is kept as such", {point["value"] for point in found["n"]} == {"nan"}, found["n"][:2])


def test_left_out(results, world):
    own = "open(os.environ['STOKER_METRICS'], 'a').write"
    for name, line, why in (
        ("long", "'{\"step\": 1, \"x\": \"' + 'y' * 1_000_000 + '\"}\\n'", "lines of more than 64 KiB are left out"),
        ("prose", "'step 1: loss 0.5\\n'", "lines that are no JSON objects are left out"),
    ):
        good = '\'{"step": 2, "x": 5}\\n\\n\''
        program = world.program(f"import os\n{own}({line} * 3 + {good})\n")
        world.stoker("run", "--name", name, "--", "python3", program, check=True)
        log = world.stoker("logs", name, "--stream", "system").stdout
        points = series(world, name)["x"]
        results.check(
            f"left out: the log says it once, and the rest is read ({name})",
            log.count(f"metrics: $STOKER_METRICS: {why}") == 1 and [(p["step"], p["value"]) for p in points] == [(2, 5)],
            (log, points),
        )


def test_chosen(results, world):
    program = world.program("import json, os, sys\nprint(json.dumps({'step': 1, 'score': float(sys.argv[1])}))\n")
    for name, lr, score in (("one", "0.1", "3"), ("two", "0.2", "10"), ("three", "0.3", "-1")):
        (world.work / "job.yaml").write_text(
            f"name: {name}\nworkdir: .\nhyperparameters: {{lr: {lr}}}\ncommand: [python3, {program.name}, '{score}']\n"
        )
        world.stoker("run", "job.yaml", check=True)
    listed = world.stoker("ls", "--columns", "name,lr,score", "--sort", "score").stdout.split()
    results.check(
        "chosen: ls sorts by a metric, by value",
        listed == ["NAME", "lr", "score", "three", "0.3", "-1", "one", "0.1", "3", "two", "0.2", "10"],
        listed,
    )
    slips = world.stoker("ls", "--sort", "scroe", "--where", "status=Succeeded and rl<1").stderr
    results.check(
        "chosen: a name that no job has is said",
        "--sort: no job here has 'scroe'" in slips and "--where: no job here has 'rl'" in slips and "status" not in slips,
        slips,
    )
    best = world.json("ls", "--where", "lr<0.25 and score>=3 and state=Succeeded", "--sort", "max.score", "--reverse")
    results.check(
        "chosen: --where takes hyperparameters, metrics and states",
        [job["name"] for job in best] == ["two", "one"] and best[0]["metrics"]["score"]["last"] == 10,
        best,
    )
    wrong = world.stoker("ls", "--where", "lr<0.25 or score=1")
    results.check("chosen: a wrong condition is named by its column", wrong.returncode == 2 and "column 9" in wrong.stderr, wrong)
    told = world.stoker("compare", "one", "two").stdout
    results.check(
        "chosen: compare names what differs, and what came of it",
        all(word in told for word in ("HYPERPARAMETERS", "lr", "0.1", "0.2", "score")) and "nodes" not in told,
        told,
    )


def test_scales(results, world):
    lines = (
        "Train Epoch: 1 [640/60000 (1%)] Loss: 0.5",
        "Test set: Average loss: 0.4",
        "Train Epoch: 2 [0/60000 (0%)] Loss: 0.25",
        "Test set: Average loss: 0.2",
        "12/100 rate=0.5",
    )
    program = world.program("\n".join(f"print({line!r})" for line in lines))
    world.stoker("run", "--name", "scales", "--", "python3", program, check=True)
    found = world.json("metrics", "scales")
    at = {name: steps(points) for name, points in found["series"].items()}
    results.check("scales: each point is at the place that it names", at == {"Loss": [640, 60000], "Average loss": [1, 2], "rate": [0]}, at)
    results.check(
        "scales: each series says what it counts",
        found["counts"] == {"Loss": "step", "Average loss": "epoch", "rate": "point"},
        found["counts"],
    )
    table = world.stoker("metrics", "scales").stdout
    results.check("scales: so does the table", "epoch 2" in table and "step 60000" in table, table)
    alone = world.stoker("metrics", "scales", "Loss").stdout
    results.check("scales: where there is one it is not said", "step" not in alone, alone)


# As torch's own examples have it. One lay there before.
PROFILED = r"""
import pathlib, torch
from torch.profiler import ProfilerActivity, profile, tensorboard_trace_handler
pathlib.Path("model.pt").write_text("weights")
pathlib.Path("notes.txt").write_text("not asked for")
for handler in (tensorboard_trace_handler("log/run", use_gzip=True),
                lambda p: p.export_chrome_trace("trace.json")):
    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler) as prof:
        torch.ones(8) @ torch.ones(8)
        prof.step()
pathlib.Path("deep/er").mkdir(parents=True)
pathlib.Path("deep/er/report1.nsys-rep").write_bytes(bytes(1000))
"""


def test_profile(results, world):
    program = world.program(PROFILED)
    (world.work / "old").mkdir()
    (world.work / "old" / "old.pt.trace.json").write_text("{}")
    (world.work / "job.yaml").write_text(f"name: profiled\nworkdir: .\noutputs: [model.pt]\ncommand: [{PYTHON}, {program.name}]\n")
    world.stoker("run", "job.yaml", check=True, timeout=120)
    kept = world.json("show", "profiled")["kept"]
    shown = world.stoker("show", "profiled").stdout
    results.check(
        "profile: traces are kept beside what was asked for, old ones are not", kept["files"] == 4 and kept["profiles"] == 3, kept
    )
    results.check("profile: show says how to have them", "; 3 of a profiler: stoker get " in shown, shown)
    world.stoker("get", "profiled", "profile", "traces", check=True)
    got = sorted(str(path.relative_to(world.work / "traces")) for path in (world.work / "traces").rglob("*") if path.is_file())
    results.check(
        "profile: get has them and no more",
        len(got) == 3
        and got[0] == "deep/er/report1.nsys-rep"
        and got[2] == "trace.json"
        and got[1].startswith("log/run/")
        and got[1].endswith(".pt.trace.json.gz"),
        got,
    )
    trace = (world.work / "traces" / "trace.json").read_text()
    results.check("profile: as the profiler wrote it", json.loads(trace) and "aten::dot" in trace, trace[:200])
    world.stoker("run", "--name", "plain", "--", "sh", "-c", "echo > file", check=True)
    none = world.stoker("get", "plain", "profile")
    results.check("profile: where there is none, get says so", none.returncode == 1 and "no traces of a profiler" in none.stderr, none)


if __name__ == "__main__":
    play(globals(), lambda: World("metrics"))
