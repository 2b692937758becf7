# SPDX-License-Identifier: Apache-2.0
"""Training on the GPU that is interrupted and goes on; what stoker measures of it."""

import json
import re
import time

from test.e2e.kit.harness import end_holders
from test.gpu.machine import PYTHON, REHEARSED, Watch, show

# Width, batch, updates in a step, and milliseconds that it lasts at least.
SIZE = ["256", "64", "2", "120"] if REHEARSED else ["1024", "65536", "10", "0"]
STEPS = 150


def steps(world, job):
    """[(attempt, step, loss)], each that the program told."""
    found = []
    for line in world.stoker("logs", job, "--json", check=True).stdout.splitlines():
        record = json.loads(line)
        match = re.match(r"step=(\d+) loss=([\d.]+)", record["text"])
        if match and record["stream"] == "o":
            found.append((record["attempt"], int(match[1]), match[2]))
    return found


def part_train(results, world):
    text = (
        "name: train\nworkdir: .\nresources: {gpus: 1}\nstop_grace: 10s\n"
        "limits: {idle_gpu: {below: 5%, for: 25s}}\n"
        f"run: exec {PYTHON} train.py {STEPS} {' '.join(SIZE)}\n"
    )
    with Watch() as watch:
        job = world.submit(world.file("train.yaml", text))
        world.says(job, "step=12 ")
        compare_now(results, world, job, watch)
        world.stoker("preempt", job, "--in", "12s", check=True)
        record, said = world.ends(job, 120)
    show("stoker wait", said)
    show("stoker show", world.stoker("show", job).stdout)
    show("stoker metrics", world.stoker("metrics", job).stdout)
    show("stoker checkpoints", world.stoker("checkpoints", job).stdout)
    told = steps(world, job)
    results.check(
        "train: interrupted once, and it succeeds",
        record["state"] == "Succeeded"
        and [a["number"] for a in record["attempts"]] == [1, 2]
        and record["attempts"][0]["ending"]["reason"] == "Interrupted",
        record["attempts"],
    )
    results.check("train: each step once, in order", [step for _, step, _ in told] == list(range(1, STEPS + 1)), told)
    facts = world.facts(job)
    show("what each attempt saw", "\n".join(map(str, facts)))
    last = max([step for attempt, step, _ in told if attempt == 1], default=0)
    results.check(
        "train: the second attempt goes on after the last step of the first",
        facts[1]["begins_after"] == last and facts[1]["STOKER_RESUME"] == "1",
        facts,
    )
    results.check(
        "train: both had the GPU",
        all(f["CUDA_VISIBLE_DEVICES"] == "0" and f["PET_NPROC_PER_NODE"] == "1" and f["available"] is not REHEARSED for f in facts),
        facts,
    )
    freed(results, world, record, watch, facts)
    measured(results, world, job, watch)
    against_uninterrupted(results, world, job)


def compare_now(results, world, job, watch):
    """The newest report beside nvidia-smi of the same seconds."""

    def report():
        return next((r for r in world.json("show", job)["reports"] if r.get("gpu")), None)

    time.sleep(4)
    seen = world.wait_for("a report with the GPU", report, 20, 0.2)
    now = time.time()
    rows = watch.between(now - 8, now)
    show("a report, and nvidia-smi in the 8 s before (busy, MiB)", f"{seen['gpu']}\n{[row[1:3] for row in rows]}")
    mine = seen["gpu"][0]
    results.check(
        "usage: the report has what nvidia-smi says",
        any(abs(mine["memory_used_mib"] - row[2]) <= 64 for row in rows) and mine["busy_percent"] <= max(row[1] for row in rows) + 20,
        (mine, rows),
    )


def freed(results, world, record, watch, facts):
    first, second = record["attempts"]
    show(
        "nvidia-smi over time (s, busy, MiB, programs)",
        " ".join(f"{row[0] - watch.rows[0][0]:.1f}:{row[1]},{row[2]},{row[3]}" for row in watch.rows[::2]),
    )
    if REHEARSED:
        return print("      left out, for it takes a real GPU: memory between the attempts")
    used = [row[2] for row in watch.rows]
    results.check("train: the GPU's memory is freed between the attempts", facts[1]["free_mib"] >= facts[0]["free_mib"] - 256, facts)
    results.check("train: nothing has the GPU before and after", used[0] <= min(used) + 16 and watch.rows[0][3] == 0, watch.rows[0])


def measured(results, world, job, watch):
    """The course that was kept, and what `show` makes of it."""
    usage = world.json("show", job).get("usage", [])
    show("usage in show --json", json.dumps(usage))
    text = (world.store / "jobs" / job / "usage" / "1-0.json").read_text()
    course = [s for s in json.loads(text)["samples"] if s.get("gpu")]
    show(
        "the course of attempt 1 (ms, busy, MiB)",
        [(s["at_ms"], s["gpu"][0]["busy_percent"], s["gpu"][0]["memory_used_mib"]) for s in course][::4],
    )
    busy = [row[1] for row in watch.rows if row[3]]
    show(
        "nvidia-smi, mean and peak while a program had the GPU",
        f"{sum(busy) / max(1, len(busy)):.0f} {max(busy, default=0)} %; {max(row[2] for row in watch.rows)} MiB",
    )
    results.check("usage: the course of each attempt has the GPU", len(usage) == 2 and all(u.get("gpus") == 1 for u in usage), usage)
    if not REHEARSED:
        peak = max(row[2] for row in watch.rows) * 2**20
        results.check(
            "usage: its peaks are nvidia-smi's",
            abs(usage[0]["gpu_memory_bytes"]["peak"] - peak) < 0.1 * peak and abs(usage[0]["gpu_busy_percent"]["peak"] - max(busy)) <= 15,
            (usage, peak, max(busy)),
        )


def against_uninterrupted(results, world, job):
    """The same training in peace ends with the same bits."""
    other = world.run("peace", "train.py", str(STEPS), *SIZE)
    world.ends(other)
    bits = [re.findall(r"^result (\w+)", world.log(each), re.M) for each in (job, other)]
    losses = [[(step, loss) for _, step, loss in steps(world, each)] for each in (job, other)]
    show("result, interrupted and not", bits)
    results.check(
        "train: the same bits as without the interruption",
        len(bits[0]) == 1 and bits[0] == bits[1] and losses[0] == losses[1],
        (bits, [pair for pair in zip(*losses) if pair[0] != pair[1]][:3]),
    )


def part_big(results, world):
    """Gigabytes from a GPU: when they are kept, and what the steps lose by it. Printed, not
    judged."""
    gigabytes, count = ("0.05", "9000") if REHEARSED else ("2", "3000")
    saves = ["300", "4500"] if REHEARSED else ["300", "1500"]
    job = world.run("big", "big.py", gigabytes, count, *saves)
    seen = {}
    while world.job(job)["state"] not in ("Succeeded", "Failed"):
        for each in world.json("checkpoints", job):
            seen.setdefault(each["id"], time.time())
        time.sleep(0.05)
    log = world.log(job)
    saved = [(int(n), float(a), float(b)) for n, a, b in re.findall(r"^saved (\d+) ([\d.]+) ([\d.]+)", log, re.M)]
    taken = [(int(n), float(at), float(t)) for n, at, t in re.findall(r"^step (\d+) ([\d.]+) ([\d.]+)", log, re.M)]
    shown = world.json("checkpoints", job)
    show("checkpoints", f"{world.stoker('checkpoints', job).stdout}{log[-400:]}")
    kept = sorted(seen.values())
    for (step, begun, ended), at in zip(saved, kept):
        beside = sorted(t for _, when, t in taken if ended <= when <= at)
        show(
            f"the save of step {step}",
            f"torch.save {ended - begun:.2f} s; listed {at - ended:.2f} s after its end; {len(beside)} steps meanwhile",
        )
        if beside:
            show("of those, ms: middle, most", f"{beside[len(beside) // 2] * 1e3:.1f} {beside[-1] * 1e3:.1f}")
    calm = sorted(t for n, _, t in taken if 20 < n < int(saves[0]))
    if calm:
        show("steps before, ms: middle, most", f"{calm[len(calm) // 2] * 1e3:.1f} {calm[-1] * 1e3:.1f}")
    results.check(
        "big: both saves are kept, whole",
        world.job(job)["state"] == "Succeeded" and len(shown) == 2 and all(c["whole"] for c in shown),
        shown,
    )


def goes_on(results, world, name, program, count, saved):
    """A framework's own trainer: interrupted once it has saved, it goes on from there."""
    job = world.run(name, program, str(count))
    world.wait_for("two checkpoints", lambda: len(world.json("checkpoints", job)) > 1, 40, 0.2)
    world.stoker("preempt", job, "--in", "4s", check=True)
    record, said = world.ends(job)
    facts = world.facts(job)
    show("what each attempt saw", "\n".join(map(str, facts)))
    show("stoker show", world.stoker("show", job).stdout)
    metrics = world.stoker("metrics", job).stdout
    show("stoker metrics", metrics)
    results.check(
        f"{name}: interrupted, and it ends with all its steps",
        record["state"] == "Succeeded" and len(record["attempts"]) == 2 and f"result {count}" in world.log(job),
        (said, world.log(job)[-3000:]),
    )
    results.check(
        f"{name}: on the GPU, from what it had saved",
        len(facts) == 2 and facts[1][saved] not in (None, 0) and (REHEARSED or all("cuda" in f["device"] for f in facts)),
        facts,
    )
    results.check(f"{name}: its loss is found", "loss" in metrics, metrics)


def part_hugging(results, world):
    goes_on(results, world, "hugging", "hugging.py", 40 if REHEARSED else 3000, "last")


def part_lightning(results, world):
    goes_on(results, world, "lightning", "lightning_fit.py", 4000 if REHEARSED else 9000, "begins_after")


def part_jax(results, world):
    goes_on(results, world, "jax", "jax_fit.py", 500 if REHEARSED else 1500, "begins_after")


def part_killed(results, world):
    """Machine and agent die at once while the GPU is busy: the next look starts it again."""
    job = world.run("killed", "train.py", "60", *SIZE)
    world.says(job, "step=25 ")
    world.wait_for("a checkpoint", lambda: world.json("checkpoints", job), 20, 0.2)
    for instance in world.instances():
        end_holders(instance)
    record, said = world.ends(job, 120)
    facts = world.facts(job)
    show("stoker wait", said)
    show("stoker show", world.stoker("show", job).stdout)
    told = [step for attempt, step, _ in steps(world, job) if attempt > 1]
    results.check(
        "killed: it goes on from what was saved, with all the GPU's memory",
        record["state"] == "Succeeded"
        and len(facts) == 2
        and facts[1]["begins_after"] in (10, 20, 30)
        and told == list(range(facts[1]["begins_after"] + 1, 61))
        and (REHEARSED or facts[1]["free_mib"] > facts[0]["free_mib"] - 256),
        (record["attempts"], facts),
    )
