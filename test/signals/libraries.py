#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What libraries do at SIGTERM and with paths of their own, through interruptions.

libraries.py [jit30] [jit120] [lightning] [pointers]"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env
from test.e2e.kit.harness import PYTHON, Results, World, patience


def apart():
    """A Python that has the packages of requirements.txt."""
    return cloud_env.folder(str(HERE / "requirements.txt")) + "/bin/python3"


def submit(world, name, python, program, *words):
    work = world.root / f"work-{name}"
    work.mkdir()
    (work / program).write_text((HERE / "programs" / program).read_text())
    return world.submit("--name", name, "--", python, program, *words, cwd=work)


def log(world, job, attempt):
    return world.stoker("logs", job, "--attempt", str(attempt)).stdout


def await_line(world, job, attempt, pattern, seconds=90):
    def seen():
        return re.search(pattern, log(world, job, attempt), re.M)

    try:
        return world.wait_for(f"attempt {attempt} prints {pattern}", seen, seconds, every=0.3)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{log(world, job, attempt)[-3000:]}") from None


def jit(results, world, notice):
    name = f"jit, {notice} s"
    job = submit(world, f"jit{notice}", apart(), "jit.py")
    await_line(world, job, 1, "^TRAINS")
    world.stoker("preempt", job, "--in", f"{notice}s", check=True)
    done = world.stoker("wait", job, timeout=notice + 120)
    text = world.stoker("logs", job).stdout
    ended = re.search(r"^ENDED (\d+) (\d+)", log(world, job, 1), re.M)
    began = re.search(r"^BEGAN (\d+) (\d+)", log(world, job, 2), re.M)
    results.check(f"{name}: the first attempt saves and ends", ended, text)
    if not (ended and began):
        results.check(f"{name}: there is a second attempt", began, text)
        return
    step, weight = began.groups()
    results.check(f"{name}: it is whole: the weights are those of its step", int(step) > 20 and step == weight, began[0])
    # The step that it was about to take when it saved may still be taken.
    results.check(f"{name}: resumed from where it ended", 0 <= int(ended[1]) - int(step) <= 1, f"{ended[0]} {text}")
    results.check(f"{name}: the job ends well", done.returncode == 0, done.stderr)
    story = world.stoker("checkpoints", job).stdout
    print(f"      {name}: ended at {ended[1]}, went on from {step}\n{story}", flush=True)


def lightning(results, world):
    """Twice interrupted, its last and its best are as in a run without stoker."""
    alone = world.root / "alone"
    alone.mkdir()
    program = "lightning_last.py"
    control = subprocess.run(
        [apart(), HERE / "programs" / program, "0.1"], cwd=alone, capture_output=True, text=True, timeout=patience(120)
    )
    want = re.search(r"^END .*", control.stdout, re.M)
    if not results.check("lightning: the control run", want, control.stdout + control.stderr):
        return
    job = submit(world, "lightning", apart(), program, "4")
    begun = [0]
    for attempt in (1, 2):
        first = await_line(world, job, attempt, r"^epoch (\d+) begins")
        begun.append(int(first[1]))
        await_line(world, job, attempt, rf"^epoch {begun[-1] + 2} begins")
        world.stoker("preempt", job, "--in", "10s", check=True)
    begun.append(int(await_line(world, job, 3, r"^epoch (\d+) begins")[1]))
    world.stoker("wait", job, timeout=120)
    text = world.stoker("logs", job).stdout
    results.check(
        "lightning: attempt 3 goes on from attempt 2", begun[1] == 0 and 2 <= begun[2] and begun[2] + 2 <= begun[3], f"{begun}\n{text}"
    )
    got = re.search(r"^END .*", log(world, job, 3), re.M)
    results.check(
        "lightning: last.ckpt, the best and its score as without stoker",
        got and got[0] == want[0],
        f"{got and got[0]} instead of {want[0]}",
    )


def pointer(results, world, kind):
    job = submit(world, f"pointer-{kind}", PYTHON, "pointer.py", kind)
    await_line(world, job, 1, "^SAVED 3")
    begun = []
    for attempt in (1, 2):
        if attempt == 2:
            begun.append(await_line(world, job, 2, r"^BEGAN (\d+) (\w+)|^LOST .*"))
            if begun[0][0].startswith("LOST"):
                break
            await_line(world, job, 2, f"^SAVED {int(begun[0][1]) + 2}")
        world.stoker("preempt", job, "--in", "6s", check=True)
    else:
        begun.append(await_line(world, job, 3, r"^BEGAN (\d+) (\w+)|^LOST .*"))
    world.stoker("cancel", job)
    told = [one[0] for one in begun]
    good = len(begun) == 2 and all(one[2] == "here" for one in begun)
    results.check(f"pointer, {kind}: leads to the newest, after each interruption", good and 2 < int(begun[0][1]) < int(begun[1][1]), told)


PARTS = {
    "jit30": lambda results, world: jit(results, world, 30),
    "jit120": lambda results, world: jit(results, world, 120),
    "lightning": lightning,
    "pointers": lambda results, world: [pointer(results, world, kind) for kind in ("file", "link")],
}


def main():
    results = Results()
    chosen = sys.argv[1:] or list(PARTS)
    with World("libraries") as world, concurrent.futures.ThreadPoolExecutor(len(chosen)) as pool:
        # At once: they mostly wait.
        for done in [pool.submit(results.run, part, PARTS[part], results, world) for part in chosen]:
            done.result()
    results.finish()


main()
