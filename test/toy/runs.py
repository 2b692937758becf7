# SPDX-License-Identifier: Apache-2.0
"""A provider that is one folder and one line of the registry (test/toy) is a place like any other:
in places, doctor, gc and run. $STOKER_TOY has it,
$STOKER, the one that ships, has not."""

import os
import pathlib
import signal
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import BINARY, World, play


def machines(world):
    return sorted(path for path in (world.state / "toy").iterdir() if not path.name.startswith("."))


def process_of(machine):
    """The pid of the process that plays it."""
    for process in pathlib.Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"__toy" in words and os.fsencode(machine) in words:
            return int(process.name)
    return None


def is_over(machine):
    return (machine / "ended").exists() and not process_of(machine)


def test_is_shown(results, world):
    places = [place["infra"] for place in world.json("places")]
    results.check("places shows it beside this machine", places[0] == "local" and "toy" in places, places)
    results.check("and what --infra takes", "toy" in world.stoker("places", "--words").stdout.split())
    said = world.stoker("doctor", "--infra", "toy").stdout
    results.check("doctor asks it", "machines of Toy are processes here" in said, said)
    done = world.stoker("run", "--infra", "toyy", "--", "true")
    results.check("a word that is nearly its own", "Did you mean 'toy'?" in done.stderr, done.stderr)
    done = world.stoker("run", "--infra", "toy", "--container", "busybox", "--", "true")
    results.check("what begins no containers refuses them by name", "cannot run the program in one" in done.stderr, done.stderr)
    shipped = World("toy-shipped", BINARY)
    with shipped:
        done = shipped.stoker("run", "--infra", "toy", "--", "true")
    results.check("the stoker that ships does not know it", "'resources.infra' cannot be 'toy'" in done.stderr, done.stderr)


def test_runs(results, world):
    done = world.stoker("run", "--infra", "toy/second", "--", "sh", "-c", "echo from $STOKER_JOB_ID", timeout=120)
    results.check("a job runs on it end to end", done.returncode == 0 and "from " in done.stdout, done.stdout + done.stderr)
    launch = world.job("-")["launches"][0]
    results.check("where it was asked for", (launch["provider"], launch["region"]) == ("toy", "second"), launch)
    world.wait_for("its machine goes with the job", lambda: all(map(is_over, machines(world))))


def test_is_taken(results, world):
    """A machine that is taken away ends the attempt; the next one goes on from what was saved."""
    program = f"cat checkpoints/n; echo saved >> checkpoints/n; touch {world.evidence}/up-$STOKER_ATTEMPT; {world.gate()}"
    job = world.submit("--infra", "toy", "--", "sh", "-c", program)
    world.wait_for("it runs", (world.evidence / "up-1").exists, timeout=60)
    world.stoker("preempt", job, "--in", "20s", check=True)
    world.wait_for("the second attempt runs", (world.evidence / "up-2").exists, timeout=90)
    world.open_gate()
    done = world.stoker("wait", job, timeout=120)
    attempts = [attempt["ending"]["reason"] for attempt in world.job(job)["attempts"]]
    log = world.stoker("logs", job).stdout
    results.check("preempt is a notice", done.returncode == 0 and attempts[0] == "Interrupted", (attempts, done.stderr))
    results.check("and the job resumes", log.count("saved") == 1, log)


def test_gc(results, world):
    job = world.submit("--infra", "toy", "--", "sh", "-c", f"touch {world.evidence}/gc; sleep 600")
    world.wait_for("it runs", (world.evidence / "gc").exists, timeout=60)
    machine = next(path for path in machines(world) if not is_over(path))

    def held():
        return {thing["id"]: thing for thing in world.json("gc")["cloud"]["things"]}

    found = held()
    results.check("gc shows what the ledger has there", found[machine.name]["job"] == job and not found[machine.name]["over"], found)
    pid = process_of(machine)
    os.kill(pid, signal.SIGSTOP)
    try:
        (machine / "lease").write_text("1000")
        over = held()[machine.name]["over"]
        results.check("and ends what is past its time", over.startswith("its time was over 1970") and (machine / "ended").exists(), over)
    finally:
        os.kill(pid, signal.SIGCONT)
    world.stoker("cancel", job, check=True)
    world.wait_for("nothing of it is left", lambda: all(map(is_over, machines(world))), timeout=60)


if __name__ == "__main__":
    play(globals(), World("toy", os.environ["STOKER_TOY"]))
