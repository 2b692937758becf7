# SPDX-License-Identifier: Apache-2.0
"""Jobs for the tests of the verbs, and what they printed."""

import json
import pathlib
import re
import shutil
import statistics
import time

from test.e2e.kit.harness import PYTHON, patience

LAG = 2.0  # seconds that a followed line may be old, at most
PROGRAMS = pathlib.Path(__file__).parents[1] / "programs"


def lines(text):
    return [line for line in text.split("\n") if line]


def texts(world, job, *flags):
    """What the program wrote, out of the log; not what stoker itself noted there."""
    return [
        r["text"]
        for r in map(json.loads, lines(world.stoker("logs", job, "--json", *flags, check=True).stdout))
        if r["stream"] in "oe" and not r.get("note")
    ]


def folder_of_trainer(world):
    work = world.root / "trainer"
    work.mkdir(exist_ok=True)
    shutil.copy(PROGRAMS / "trainer.py", work)
    return work


def trainer(world, *args, name="trainer"):
    return world.submit("--name", name, "--stop-grace", "2s", "--", PYTHON, "trainer.py", *args, cwd=folder_of_trainer(world))


def running(world, job, text=None):
    """Waits until the program of `job` runs; until it has printed `text`, where given."""
    world.wait_for(f"{job} runs", lambda: world.job(job)["state"] == "Running")
    if text:
        world.wait_for(f"{job} prints {text}", lambda: any(text in t for t in texts(world, job)))
    return job


# Counts steps and says each; at SIGTERM it leaves with what it has.
MOVABLE = """\
import os, signal, sys, time
os.makedirs('checkpoints', exist_ok=True)
step = int(open('checkpoints/step').read()) if os.path.exists('checkpoints/step') else 0
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
while step < int(sys.argv[1]) and not told:
    step += 1
    print('step', step, flush=True)
    time.sleep(0.1)
open('checkpoints/step.new', 'w').write(str(step))
os.rename('checkpoints/step.new', 'checkpoints/step')
sys.exit(1 if told else 0)
"""


def steps_told(log):
    return [int(n) for n in re.findall(r"^step (\d+)$", log, re.M)]


def clock(world, seconds):
    """Writes prog.py, which says what time it is, twice a second."""
    world.program(f"import time\nfor i in range({2 * seconds}):\n    print('at', time.time(), flush=True)\n    time.sleep(0.5)\n")


def lags_of(world, job):
    """How old each line of clock()'s program was when this world had it; waits for the end."""
    follower = world.start("logs", "-f", job)
    lags = []
    for line in follower.stdout:
        words = line.split()
        if words[:1] == ["at"]:
            lags.append(time.time() - float(words[1]))
    follower.wait()
    return lags


def follows_closely(results, lags, first):
    """Lines before `first` come from before anybody was known to follow."""
    results.check("another machine follows to the end", len(lags) == 40, len(lags))
    middle, most = statistics.median(lags[first:]), max(lags[first:])
    results.check(
        f"a followed line is {middle:.2f} s old in the middle, {most:.2f} s at most, not over {LAG} s",
        middle <= LAG and most <= patience(LAG),
    )


# Of two nodes: rank 0 listens, and each says what it heard of the other.
MEET = """import os, socket, time
rank = int(os.environ['NODE_RANK'])
address = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT']))
assert os.environ['NNODES'] == '2', os.environ
if rank == 0:
    with socket.create_server(address) as server:
        other, _ = server.accept()
        other.sendall(b'hello')
        print('met', other.recv(10).decode(), flush=True)
else:
    for _ in range(600):
        try:
            other = socket.create_connection(address)
            break
        except OSError:
            time.sleep(0.1)
    print(other.recv(10).decode(), flush=True)
    other.sendall(b'rank 1')
"""


def told_as_moves(results, world, job, *places):
    """The job is one story of attempts at those places, of which each but the last was moved."""
    record = world.job(job)
    where = [each["provider"] for each in record["launches"]]
    results.check(f"at {', '.join(places)}", where == list(places), record["launches"])
    ends = [each["ending"]["reason"] for each in record["attempts"]]
    results.check("told as moves", ends == ["Moved"] * (len(places) - 1) + ["Completed"], ends)
    story = world.stoker("show", job).stdout
    results.check("one story", len(re.findall(r"^  attempt \d", story, re.M)) == len(places), story)
    return story
