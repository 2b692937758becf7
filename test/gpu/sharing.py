# SPDX-License-Identifier: Apache-2.0
"""What stoker says of the GPU, who gets it, and who sees it."""

import os
import subprocess
import time

from test.gpu.machine import PYTHON, REHEARSED, gpus, kind, show

OTHERS = ("H200", "H100", "A100", "L4")


def others(count):
    return [name for name in OTHERS if name != kind()][:count]


def part_said(results, world):
    name = gpus()[0][0]
    devices = sorted(n for n in os.listdir("/dev") if n.startswith("nvidia"))
    show("devices", f"{devices}; nvidia-smi: {gpus()}")
    doctor = world.stoker("doctor").stdout
    show("stoker doctor", doctor)
    results.check("doctor tells of the GPU by its name", f"1 GPU ({name})" in doctor, doctor)
    places = world.stoker("places").stdout
    show("stoker places", places)
    here = world.json("places")[0]["gpus"]
    results.check("places: one, free", here == [{"name": name, "total": 1, "free": 1}], here)
    for asked in ("2", f"{others(1)[0]}:1", f"{kind()}:2", "[1]"):
        flags = ["--gpus", asked]
        if asked.startswith("["):
            flags = [world.file("numbers.yaml", f"resources: {{gpus: {asked}}}\nrun: 'true'\n")]
        done = world.stoker("run", "--detach", *flags, *([] if "[" in asked else ["--", "true"]))
        show(f"gpus: {asked}", done.stderr)
        results.check(
            f"gpus: {asked} is refused, with what there is",
            done.returncode == 1 and f"this machine has 1 GPU ({name})" in done.stderr,
            done.stderr,
        )
    for asked in (kind(), f"{kind()}:1", kind().lower(), f"{kind()}-{name.split()[-1]}"):
        done = world.stoker("run", "--dry-run", "--gpus", asked, "--", "true")
        results.check(f"gpus: {asked} is this one", done.returncode == 0, done.stderr)


def part_kinds(results, world):
    """Several kinds: the one that is here is taken, in each spelling."""
    first, last = others(2)
    lists = {
        "map": f"accelerators: {{{first}: 1, {kind()}: 1, {last}: 1}}",
        "list": f"accelerators: [{first}:1, {kind()}:1]",
        "any_of": f"any_of: [{{accelerators: {first}:1}}, {{accelerators: {kind()}:1}}]",
    }
    jobs = {}
    for name, text in lists.items():
        world.file(f"{name}.yaml", f"name: {name}\nworkdir: .\nresources:\n  infra: local\n  {text}\nrun: exec {PYTHON} facts.py\n")
        done = world.stoker("run", "--detach", f"{name}.yaml")
        show(text, done.stderr or done.stdout)
        jobs[name] = done.stdout.split()[-1] if done.returncode == 0 else None
    for name, job in jobs.items():
        record, said = world.ends(job) if job else ({"state": "refused"}, "")
        facts = world.facts(job) if job else []
        results.check(
            f"kinds: {name}: it ran on the one that is here",
            record["state"] == "Succeeded"
            and len(facts) == 1
            and facts[0]["CUDA_VISIBLE_DEVICES"] == "0"
            and facts[0]["available"] is not REHEARSED,
            (said, facts),
        )


def part_turns(results, world):
    """One GPU, several jobs; one of them asks for none."""
    hold = {name: world.evidence / name for name in "abcd"}
    a = world.run("a", "hold.py", hold["a"])
    world.says(a, "facts")
    b = world.run("b", "hold.py", hold["b"])
    c = world.run("c", "hold.py", hold["c"], gpus="0")
    d = world.submit(world.file("d.yaml", f"name: d\nworkdir: .\nresources: {{gpus: [0]}}\nrun: exec {PYTHON} hold.py {hold['d']}\n"))
    world.says(c, "facts")
    queued = {name: " ".join(world.json("show", job)["queued"]) for name, job in zip("bd", (b, d))}
    show("while a runs", f"b: {queued['b']}\nd: {queued['d']}\n{world.stoker('ls').stdout}{world.stoker('places').stdout}")
    results.check(
        "turns: the second waits for the first, by name",
        f"1st in line: waits for 1 GPU; 1 of 1 is in use by {a}" in queued["b"] and "2nd in line: waits for GPU 0" in queued["d"],
        queued,
    )
    seen = {name: world.facts(job)[0] for name, job in (("a", a), ("c", c))}
    show("a and c", seen)
    results.check(
        "turns: gpus: 1 sees the one that it was granted",
        seen["a"]["CUDA_VISIBLE_DEVICES"] == "0"
        and seen["a"]["SKYPILOT_NUM_GPUS_PER_NODE"] == "1"
        and (REHEARSED or seen["a"]["count"] == 1),
        seen,
    )
    results.check(
        "turns: gpus: 0 sees none",
        seen["c"]["CUDA_VISIBLE_DEVICES"] == "" and not seen["c"]["available"] and seen["c"]["SKYPILOT_NUM_GPUS_PER_NODE"] == "0",
        seen,
    )
    time.sleep(6)  # so that nvidia-smi was asked
    usage = {r["job"] if "job" in r else r["node"]: r.get("gpu") for r in world.json("show", c)["reports"]}
    results.check("turns: gpus: 0 is not told of as using one", not any(usage.values()), usage)
    for name, after in (("a", b), ("b", d)):
        freed = time.time()
        hold[name].touch()
        world.says(after, "facts")
        facts = world.facts(after)[0]
        show(f"{name} ended, the next told after {time.time() - freed:.1f} s", facts)
        results.check(
            f"turns: after {name} the next one has it", facts["CUDA_VISIBLE_DEVICES"] == "0" and (REHEARSED or facts["available"]), facts
        )
    for file in hold.values():
        file.touch()
    states = [world.ends(job)[0]["state"] for job in (a, b, c, d)]
    results.check("turns: all succeed", states == ["Succeeded"] * 4, states)


def part_nodes(results, world):
    """Two nodes: with a GPU each there is no room here; with none they train on the CPU."""
    text = f"num_nodes: 2\nworkdir: .\nresources: {{gpus: 1}}\nrun: exec {PYTHON} facts.py\n"
    done = world.stoker("run", "--detach", world.file("two.yaml", text))
    show("two nodes with a GPU each", done.stderr)
    results.check(
        "nodes: two with a GPU each are refused, with what there is",
        done.returncode == 1 and "on its 2 nodes together for 2 GPUs; this machine has 1 GPU" in done.stderr,
        done.stderr,
    )
    words = f"exec {PYTHON} -m torch.distributed.run ddp.py"
    text = f"num_nodes: 2\nworkdir: .\nresources: {{gpus: 0}}\nrun: {words}\n"
    job = world.submit(world.file("cpu.yaml", text))
    record, said = world.ends(job)
    facts = world.facts(job)
    show("two nodes without", facts)
    results.check(
        "nodes: two without train together over gloo",
        record["state"] == "Succeeded"
        and len(facts) == 2
        and all(f["world"] == 2 and f["sum"] == 2.0 and f["backend"] == "gloo" for f in facts),
        (said, world.log(job)[-3000:]),
    )


def part_torchrun(results, world):
    text = f"workdir: .\nresources: {{gpus: 1}}\nrun: exec {PYTHON} -m torch.distributed.run ddp.py\n"
    job = world.submit(world.file("one.yaml", text))
    record, said = world.ends(job)
    facts = world.facts(job)
    show("torchrun", facts or world.log(job)[-3000:])
    wanted = "gloo" if REHEARSED else "nccl"
    results.check(
        f"torchrun: one process for one GPU, over {wanted}",
        record["state"] == "Succeeded" and len(facts) == 1 and facts[0]["PET_NPROC_PER_NODE"] == "1" and facts[0]["backend"] == wanted,
        (said, facts),
    )


def part_ordinary(results, world):
    """Not as root."""
    try:
        subprocess.run([PYTHON, "-c", ""], check=True, **world.user)
    except PermissionError:
        return print(f"      left out, for an ordinary user may not run {PYTHON}")
    job = world.run("ordinary", "facts.py")
    record, said = world.ends(job)
    facts = world.facts(job)
    show("an ordinary user", f"{said}{facts}\n{world.stoker('doctor').stdout}")
    results.check(
        "ordinary: it has the GPU",
        record["state"] == "Succeeded" and len(facts) == 1 and facts[0]["available"] is not REHEARSED,
        (said, world.log(job)[-2000:]),
    )


def part_unsaid(results, world):
    """Two nodes that ask for nothing have all GPUs, here the one, together. Printed, not judged."""
    words = f"exec {PYTHON} -m torch.distributed.run ddp.py"
    job = world.submit(
        world.file("both.yaml", f"num_nodes: 2\nworkdir: .\nrun: {words}\nenvs: {{NCCL_DEBUG: WARN}}\nlimits: {{max_duration: 40s}}\n")
    )
    record, said = world.ends(job)
    show("two nodes on one GPU", f"{said}{world.facts(job)}")
    show("the end of the log", "\n".join(world.log(job).splitlines()[-12:]))
    results.check("unsaid: it ends", record["state"] in ("Succeeded", "Failed"), record)
