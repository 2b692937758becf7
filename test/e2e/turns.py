#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One machine that several jobs and users share: who waits, who runs, who passes, which GPUs each
has, and that nothing is lost whatever is killed. CPUs and GPUs are stood in for by
STOKER_CAPACITY, and the queue lies in a folder of its own.

    turns.py [--jobs N] [NAME…]     how many are submitted at once; only these parts"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World

ENDS = ("Succeeded", "Failed", "Cancelled")


def machine(world, what):
    world.env["STOKER_CAPACITY"] = what


def queued(world, job):
    return " ".join(world.json("show", job)["queued"])


def ended(world, *jobs):
    def all_over():
        states = {j["id"]: j["state"] for j in world.json("ls", "--all")}
        return all(states[job] in ENDS for job in jobs) and [states[job] for job in jobs]

    states = world.wait_for(f"the end of {jobs}", all_over, 60, 0.2)
    assert set(states) == {"Succeeded"}, states


def holds(world, name):
    """Tells which GPUs it sees, and runs until the file `name` is there."""
    return [
        "--",
        "sh",
        "-c",
        f'echo "${{CUDA_VISIBLE_DEVICES-unset}}" > {world.evidence}/.{name}; '
        f"mv {world.evidence}/.{name} {world.evidence}/{name}.runs; "
        f"while [ ! -e {world.evidence}/{name} ]; do sleep 0.05; done",
    ]


def hold(world, name, *flags, **more):
    return world.submit("--name", name, *flags, *holds(world, name), **more)


def gpus_of(world, name):
    file = world.evidence / f"{name}.runs"
    return file.read_text().strip() if file.exists() else None


def running(world, *names):
    world.wait_for(f"{names} to run", lambda: all(gpus_of(world, name) is not None for name in names))


def not_running(world, *names):
    """A later one would have been started in the same moment, or by now."""
    time.sleep(1.5)
    assert all(gpus_of(world, name) is None for name in names), names


def let_go(world, *names):
    for name in names:
        (world.evidence / name).touch()


def tickets(world):
    return sorted(p.name for p in pathlib.Path(world.env["STOKER_QUEUE"]).glob("t.*"))


def processes(world, home=None):
    """Pids of all that was started with this world's queue, of that HOME."""
    mark = f"STOKER_QUEUE={world.env['STOKER_QUEUE']}".encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if mark in words and (home is None or f"HOME={home}".encode() in words):
            found.append(int(pid))
    return found


def signal_all(pids, signo):
    for pid in pids:
        try:
            os.kill(pid, signo)
        except ProcessLookupError:
            pass


def kill_everything(world, home=None):
    """At one moment: whoever is still alive must not go on where another was killed."""
    held = set()
    while new := set(processes(world, home)) - held:
        signal_all(new, signal.SIGSTOP)
        held |= new
    signal_all(held, signal.SIGKILL)
    world.wait_for("nobody to be left", lambda: not processes(world, home))


def nothing_left(world):
    def none():
        queue = pathlib.Path(world.env["STOKER_QUEUE"])
        return [p.name for p in queue.iterdir()] == ["lock"] and not processes(world)

    world.wait_for("an empty queue and no process", none, 20)


# As nvidia-smi answers with -l.
NVIDIA_SMI = """#!/bin/sh
while :; do
  for gpu in 0 1; do echo "$gpu, NVIDIA L4, 9$gpu, 100$gpu, 23034, 40, 70.5"; done
  sleep 1
done
"""


def test_usage(world):
    """Of the GPUs' use a job is told of its own: nothing of its neighbour's."""
    machine(world, "cpus=8 memory=0 gpus=2 name=L4")
    smi = world.root / "tools" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(NVIDIA_SMI)
    smi.chmod(0o755)
    world.env["PATH"] = f"{smi.parent}:{world.env['PATH']}"
    jobs = {"a": hold(world, "a", "--gpus", "1"), "b": hold(world, "b", "--gpus", "1"), "none": hold(world, "none", "--gpus", "0")}
    running(world, *jobs)

    def told(name):
        report = world.json("show", jobs[name])["reports"][0]
        return [gpu["index"] for gpu in report.get("gpu") or []]

    for name in "ab":
        world.wait_for(f"{name} is told of its GPU", lambda: told(name), 20)
        assert told(name) == [int(gpus_of(world, name))], (name, told(name))
    assert told("none") == [], told("none")
    let_go(world, *jobs)
    ended(world, *jobs.values())
    for name in "ab":
        used = world.json("show", jobs[name])["usage"][0]
        assert used["gpus"] == 1, used
        assert used["gpu_busy_percent"]["peak"] == 90 + int(gpus_of(world, name)), used
    assert "gpus" not in world.json("show", jobs["none"])["usage"][0]
    nothing_left(world)


def test_gpus(world):
    """A box with two GPUs runs two jobs of one each, and queues the third."""
    machine(world, "cpus=8 memory=0 gpus=2 name=L4")
    a, b = (hold(world, name, "--gpus", "1") for name in "ab")
    running(world, "a", "b")
    c = hold(world, "c", "--gpus", "L4:1")
    why = f"1st in line: waits for 1 L4; 2 of 2 are in use by {a}, {b}"
    assert why in queued(world, c), queued(world, c)
    assert why in " ".join(next(j["queued"] for j in world.json("ls") if j["id"] == c))
    assert why in world.stoker("ls").stderr
    assert why in world.stoker("show", c).stdout
    hold(world, "d", "--gpus", "0")  # waits for none
    running(world, "d")
    assert sorted([gpus_of(world, "a"), gpus_of(world, "b")]) == ["0", "1"]
    assert gpus_of(world, "d") == ""
    assert gpus_of(world, "c") is None
    here = world.json("places")[0]
    assert here["gpus"] == [{"name": "L4", "total": 2, "free": 0}], here
    assert (here["cpus"], here["free_cpus"], here["running"], here["waiting"]) == (8, 5, 3, 1), here
    held = "b" if gpus_of(world, "b") == "1" else "a"
    let_go(world, held)
    running(world, "c")
    assert gpus_of(world, "c") == "1"
    e = hold(world, "e", env={"CUDA_VISIBLE_DEVICES": "1"})
    f = hold(world, "f")  # asks for nothing: all of them, in turn
    assert "waits for GPU 1; 2 of 2" in queued(world, e), queued(world, e)
    assert "2nd in line: waits for all GPUs" in queued(world, f), queued(world, f)
    let_go(world, "c")
    running(world, "e")
    assert gpus_of(world, "e") == "1"
    let_go(world, "a", "b", "d", "e")
    running(world, "f")
    assert gpus_of(world, "f") == "0,1"
    let_go(world, "f")
    ended(world, a, b, c, e, f)


def test_never(world):
    """What could never fit is refused, with what there is; over a file for other machines it is
    said and ignored."""
    machine(world, "cpus=2 memory=8000000000 gpus=2 name=L4")
    for flags, said in (
        (["--gpus", "3"], "3 GPUs; this machine has 2 GPUs (L4)"),
        (["--gpus", "H100:1"], "1 H100; this machine has 2 GPUs (L4)"),
        (["--cpus", "3"], "3 CPUs; this machine has 2 CPUs"),
        (["--cpus", "1.5", "--num-nodes", "2"], "3 CPUs; this machine has 2"),
        (["--memory", "16"], "17.2 GB of memory; this machine has 8.0 GB"),
    ):
        done = world.stoker("run", "--detach", *flags, "--", "true")
        assert done.returncode == 1 and said in done.stderr, (done.returncode, done.stderr)
    (world.work / "far.yaml").write_text(
        "name: far\nresources: {infra: aws, accelerators: H100:8, cpus: 96+, memory: 1+}\nrun: echo here\n"
    )
    done = world.stoker("run", "--infra", "local", "far.yaml")
    assert done.returncode == 0 and "here" in done.stdout, done.stderr
    assert "not asked for: 8 H100; this machine has 2 GPUs (L4)" in done.stderr, done.stderr
    assert "not asked for: 96 CPUs; this machine has 2 CPUs" in done.stderr
    assert "resources.infra" in done.stderr
    done = world.stoker("run", "--infra", "local", "--cpus", "3", "far.yaml")
    assert done.returncode == 1 and "3 CPUs" in done.stderr, done.stderr
    nothing_left(world)


def test_order(world):
    """First come, priority first; a later one passes only if it ends in time."""
    machine(world, "cpus=1 memory=0 gpus=0")
    first = hold(world, "first")
    running(world, "first")
    note = ["--", "sh", "-c", f"echo $STOKER_JOB_NAME >> {world.evidence}/order"]
    jobs = [world.submit("--name", name, *flags, *note) for name, *flags in (["a"], ["b"], ["high", "--priority", "5"], ["c"])]
    assert [queued(world, job).split("local: ")[1][:11] for job in jobs] == ["2nd in line", "3rd in line", "1st in line", "4th in line"]
    let_go(world, "first")
    ended(world, first, *jobs)
    assert (world.evidence / "order").read_text().split() == ["high", "a", "b", "c"]
    machine(world, "cpus=2 memory=0 gpus=0")
    long = hold(world, "long", "--max-duration", "1h")
    running(world, "long")
    both = world.submit("--name", "both", "--cpus", "2", *note)
    hold(world, "unknown")
    hold(world, "longer", "--max-duration", "2h")
    short = world.submit("--name", "short", "--max-duration", "10m", *note)
    ended(world, short)
    not_running(world, "unknown", "longer")
    let_go(world, "long", "unknown", "longer")
    ended(world, both, long)


def test_cancel(world):
    """One that waits leaves the line at once; who stays with it is told its place."""
    machine(world, "cpus=1 memory=0 gpus=0")
    first = hold(world, "first")
    running(world, "first")
    waits = hold(world, "waits")
    told = world.root / "told"
    with told.open("w") as file:
        stays = world.start("run", "--name", "stays", "--", "echo", "its turn", stderr=file)
    world.wait_for("three tickets", lambda: len(tickets(world)) == 3)
    world.stoker("cancel", waits, check=True)
    world.wait_for("two tickets", lambda: len(tickets(world)) == 2, 5)
    assert gpus_of(world, "waits") is None
    world.wait_for("it to be told", lambda: "1st in line: waits for 1 CPU" in told.read_text())
    let_go(world, "first")
    assert "its turn" in stays.communicate(timeout=60)[0], told.read_text()
    ended(world, first)


def test_gang(world):
    """Nodes of one job share what it has, and never wait for each other."""
    machine(world, "cpus=1 memory=0 gpus=2")
    sees = ["--", "sh", "-c", "echo sees $CUDA_VISIBLE_DEVICES"]
    done = world.stoker("run", "--num-nodes", "3", *sees)
    assert done.returncode == 0, done.stderr
    seen = sorted(line[-1] for line in done.stdout.splitlines() if "sees" in line)
    assert seen == ["0", "0", "1"], done.stdout
    done = world.stoker("run", "--num-nodes", "2", "--gpus", "1", "--cpus", "0.5", *sees)
    assert sorted(line[-1] for line in done.stdout.splitlines() if "sees" in line) == ["0", "1"]


def test_killed(world):
    """kill -9 of everything: the next look by anybody starts what fits."""
    machine(world, "cpus=1 memory=0 gpus=0")
    first = hold(world, "first")
    running(world, "first")
    mine, last = hold(world, "mine"), hold(world, "last")
    assert "1st in line: waits for 1 CPU" in queued(world, mine), queued(world, mine)
    kill_everything(world)
    assert len(tickets(world)) == 3, tickets(world)
    let_go(world, "first")
    world.stoker("ls", check=True)
    begin = time.monotonic()
    running(world, "mine")
    print(f"      {time.monotonic() - begin:.1f} s after one look it runs", flush=True)
    let_go(world, "mine", "last")
    ended(world, first, mine, last)
    # The one that waits for the others alone.
    one = hold(world, "one")
    running(world, "one")
    two = hold(world, "two")
    waiters = [pid for pid in processes(world) if b"__waiter" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(waiters) == 1, waiters
    os.kill(waiters[0], signal.SIGKILL)
    let_go(world, "one")
    world.stoker("show", one, check=True)
    world.stoker("ls", check=True)
    running(world, "two")
    let_go(world, "two")
    ended(world, one, two)


def test_storm(world):
    """Everything is killed again and again, and one looks: all end right."""
    machine(world, "cpus=2 memory=0 gpus=0")
    jobs = [world.submit("--", "sh", "-c", "sleep 0.5; echo done") for _ in range(6)]
    for pause in (0.0, 0.3, 0.7, 0.1, 0.5):
        time.sleep(pause)
        kill_everything(world)
        world.stoker("ls", check=True)
    ended(world, *jobs)
    for job in jobs:
        assert world.stoker("logs", job).stdout.count("done") >= 1
    nothing_left(world)


def shared_queue(*worlds):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stoker-turns-shared-"))
    folder.chmod(0o755)
    (folder / "queue").mkdir()
    (folder / "queue").chmod(0o1777)
    for world in worlds:
        world.env["STOKER_QUEUE"] = str(folder / "queue")
        machine(world, "cpus=1 memory=0 gpus=0")
    return folder


def two_share(ann, bob):
    folder = shared_queue(ann, bob)
    try:
        a = hold(ann, "a")
        running(ann, "a")
        b, c = hold(bob, "b"), hold(ann, "c")
        assert "1st in line: waits for 1 CPU; 1 CPU of 1 CPU is in use by " + a in queued(bob, b)
        assert "2nd in line" in queued(ann, c), queued(ann, c)
        let_go(ann, "a")
        running(bob, "b")
        assert gpus_of(ann, "c") is None
        # Who is not there to take its turn is passed, and keeps its place.
        d = hold(bob, "d")
        let_go(bob, "b")
        running(ann, "c")
        e = hold(ann, "e")
        kill_everything(bob, bob.home)
        let_go(ann, "c")
        running(ann, "e")
        assert "1st in line" in queued(bob, d), queued(bob, d)
        let_go(ann, "e")
        running(bob, "d")
        let_go(bob, "d")
        ended(ann, a, c, e)
        ended(bob, b, d)
        nothing_left(ann)
    finally:
        kill_everything(ann)
        shutil.rmtree(folder)


def test_homes(world):
    """Two homes of one user share one queue."""
    with World("turns-bob") as bob:
        two_share(world, bob)


def test_users(world):
    """Two users share one queue."""
    if os.geteuid() != 0:
        return test_homes(world)
    with World("turns-bob", uid=65_533) as bob:
        two_share(world, bob)


def most_at_once(folder):
    events = []
    for file in folder.glob("*.at"):
        begin, end = map(int, file.read_text().split())
        events += [(begin, 1), (end, -1)]
    now = most = 0
    for _, step in sorted(events):
        now += step
        most = max(most, now)
    return most


def kilobytes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])


def test_many(world):
    """Many submitted at once on two CPUs: never more than fits, and all end right."""
    machine(world, "cpus=2 memory=0 gpus=0")
    gate = hold(world, "gate", "--cpus", "2")
    running(world, "gate")
    program = ["--", "sh", "-c", f"b=$(date +%s%N); sleep 0.05; echo $b $(date +%s%N) > {world.evidence}/$STOKER_JOB_ID.at"]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        jobs = list(pool.map(lambda _: world.submit(*program, timeout=300), range(world.jobs)))
    submitted = time.monotonic() - begin
    assert len(tickets(world)) == world.jobs + 1
    waiting = [pid for pid in processes(world) if b"__waiter" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(waiting) == 1, waiting
    begin = time.monotonic()
    last = world.jobs
    world.stoker("ls", timeout=300)
    look = time.monotonic() - begin
    print(
        f"      {world.jobs} jobs submitted in {submitted:.1f} s; one process waits for all of "
        f"them, with {kilobytes(waiting[0])} kB: {kilobytes(waiting[0]) / last:.0f} kB a waiting "
        f"job; 'ls' of them takes {look:.1f} s",
        flush=True,
    )
    begin = time.monotonic()
    let_go(world, "gate")
    world.wait_for("all to be through", lambda: len(list(world.evidence.glob("*.at"))) == world.jobs, 60 + 2 * world.jobs, 0.2)
    took = time.monotonic() - begin
    ended(world, gate, *jobs)
    most = most_at_once(world.evidence)
    print(f"      {took / world.jobs:.2f} s a job from first to last; {most} at once at most", flush=True)
    assert most == 2, most
    nothing_left(world)


def test_many_killed(world):
    """kill -9 of everything while many wait, and again in the midst: after one look the line goes
    on, what ran is begun again as somebody looks, and all end right, never more than fits."""
    machine(world, "cpus=2 memory=0 gpus=0")
    gate = hold(world, "gate", "--cpus", "2")
    running(world, "gate")
    program = ["--", "sh", "-c", f"b=$(date +%s%N); sleep 0.05; echo $b $(date +%s%N) > {world.evidence}/$STOKER_JOB_ID.at"]
    count = max(world.jobs // 3, 8) if world.jobs < 100 else world.jobs
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        jobs = list(pool.map(lambda _: world.submit(*program, timeout=300), range(count)))

    def done():
        return len(list(world.evidence.glob("*.at")))

    def kill_and_look():
        kill_everything(world)
        assert not processes(world)
        assert done() > 0 or len(tickets(world)) == count + 1, tickets(world)
        at = done()
        begin = time.monotonic()
        world.stoker("ls", check=True, timeout=300)
        return at, begin

    _, begin = kill_and_look()
    let_go(world, "gate")
    world.wait_for("the first to run", lambda: done() > 0, 120, 0.02)
    first = time.monotonic() - begin
    world.wait_for("some to be through", lambda: done() > count // 4, 60 + 2 * count, 0.05)
    at, _ = kill_and_look()
    assert at < count, "all were through before they could be killed"
    world.wait_for("the line to go on", lambda: done() > at + 2 or done() == count, 120, 0.05)

    def through():
        # A machine is given up at one look, and what ran there begun again at the next.
        return done() == count or not world.stoker("ls", check=True, timeout=300)

    world.wait_for("all to be through", through, 60 + 2 * count, 2)
    ended(world, gate, *jobs)
    most = most_at_once(world.evidence)
    print(
        f"      {count} waited; {first:.1f} s after the look the first was through; killed again with {at} through; {most} at once at most",
        flush=True,
    )
    assert most <= 2, most
    nothing_left(world)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    results = Results()
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (options.names and name[5:] not in options.names):
            continue
        begin = time.monotonic()
        with World(f"turns-{name[5:]}") as world:
            world.jobs = options.jobs
            results.run(test.__doc__.split(":")[0].rstrip(".").replace("\n", " "), test, world)
            kill_everything(world)
        print(f"      {name[5:]}: {time.monotonic() - begin:.1f} s", flush=True)
    results.finish()


if __name__ == "__main__":
    main()
