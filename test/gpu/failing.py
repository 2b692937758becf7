# SPDX-License-Identifier: Apache-2.0
"""Programs that end badly on the GPU, or are ended there."""

import time

from test.gpu.machine import PYTHON, gpus, programs_on_gpu, show


def fails(results, world, how, words):
    job = world.run(how, "fails.py", how)
    record, said = world.ends(job)
    result = record.get("result") or {}
    log = world.log(job)
    show("stoker wait", said)
    show("result", result)
    show("the end of the log", "\n".join(log.splitlines()[-4:]))
    results.check(
        f"{how}: it ends with its own exit code",
        record["state"] == "Failed" and result.get("exit_code") == 1 and result.get("reason") == "UserError",
        record,
    )
    results.check(f"{how}: the log says why", words in log, log[-2000:])
    results.check(f"{how}: so do wait and show", words in said and words in world.stoker("show", job).stdout, said)
    after = world.run("after", "facts.py")
    results.check(
        f"{how}: the next job has the GPU",
        world.ends(after)[0]["state"] == "Succeeded" and world.facts(after)[0]["available"],
        world.log(after),
    )


def part_memory(results, world):
    fails(results, world, "memory", "CUDA out of memory")


def part_assertion(results, world):
    fails(results, world, "assert", "device-side assert")


def part_stuck(results, world):
    """Cancelled in a kernel of a minute, by a program that has a handler for SIGTERM."""
    before = gpus()[0][2]
    job = world.run("stuck", "fails.py", "stuck", grace="2s")
    world.says(job, "kernel begins")
    time.sleep(1)
    during, programs = gpus()[0][2], programs_on_gpu()
    begun = time.monotonic()
    done = world.stoker("cancel", job)
    took = time.monotonic() - begun
    after, left = gpus()[0][2], programs_on_gpu()
    show(f"stoker cancel took {took:.1f} s", done.stdout + done.stderr)
    show("MiB before, during, after; programs", f"{before} {during} {after}; {programs} {left}")
    record, _ = world.ends(job)
    results.check("stuck: cancelled soon after its grace", record["state"] == "Cancelled" and took < 15, (took, record))
    results.check("stuck: the GPU's memory is free", after <= before + 16 and not left, (before, during, after, left))
    results.check("stuck: the kernel did not end by itself", "kernel ended" not in world.log(job), world.log(job))
    again = world.run("after", "facts.py")
    results.check("stuck: the next job has the GPU", world.ends(again)[0]["state"] == "Succeeded")


def part_idle(results, world):
    """Has the GPU and does nothing with it."""
    text = (
        "name: idle\nworkdir: .\nresources: {gpus: 1}\n"
        "limits: {idle_gpu: {below: 5%, for: 15s}}\n"
        f"run: exec {PYTHON} hold.py {world.evidence}/never\n"
    )
    job = world.submit(world.file("idle.yaml", text))
    record, said = world.ends(job, 60)
    show("stoker wait", said)
    results.check(
        "idle: limits.idle_gpu ends it",
        record["result"]["reason"] == "StoppedByRule" and "no GPU of this node was busier than" in record["result"]["why"],
        record["result"],
    )


def part_pinned(results, world):
    """What is pinned for the GPU, over the job's memory: whether the kernel holds it to that.
    Printed, not judged."""
    job = world.run("pinned", "fails.py", "pinned", flags=["--memory", "4GB"])
    record, said = world.ends(job)
    show("8 GB pinned with memory: 4GB", f"{said}{world.log(job)[-600:]}")
    show("stoker show", world.stoker("show", job).stdout)
    results.check("pinned: it ends", record["state"] in ("Succeeded", "Failed"), record)
