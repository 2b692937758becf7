# SPDX-License-Identifier: Apache-2.0
"""The oracle can fail: forged evidence of each kind of breach is found, and that of a good job is
not. The habits, too: each finds its own states whole, and a damaged one not."""

import copy
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results
from test.outside import jobs, oracle, sight

HEX = b"out/a".hex()


def at(second):
    return f"2026-11-22T10:00:{second:02d}.000Z"


def told(event, attempt, second, **more):
    return {"e": event, "who": f"{attempt}.1", "attempt": attempt, "t": oracle.seconds(at(second)), **more}


def logged(attempt, number, text, stream="o"):
    return {"attempt": attempt, "node": 0, "line": number, "stream": stream, "text": text}


def good():
    """Of a job that saved twice, was interrupted, and went on from its second save."""
    evidence = [
        told("begin", 1, 1),
        told("restore", 1, 1, state="none", step=0),
        told("line", 1, 1, s="o", n=1),
        told("saving", 1, 2, step=1),
        told("saved", 1, 2, step=1),
        told("saving", 1, 5, step=2),
        told("saved", 1, 5, step=2),
        told("line", 1, 5, s="o", n=2),
        told("line", 1, 5, s="e", n=1),
        told("begin", 2, 11),
        told("restore", 2, 11, state="whole", step=2),
        told("line", 2, 11, s="o", n=1),
        told("outputs", 2, 12, made={HEX: "d1"}),
        told("end", 2, 12, code=0),
    ]
    attempts = [{"number": 1, "opened": at(0)}, {"number": 2, "opened": at(10), "restore": "1-2"}]
    shown = {"job": {"attempts": attempts, "state": "Succeeded", "result": {"exit_code": 0}}}
    logs = [
        logged(1, 1, "L o 1 x"),
        logged(1, 2, "L o 2 x"),
        logged(1, 3, "L e 1 x", "e"),
        logged(2, 1, "stoker: restoring 1-2", "s"),
        logged(2, 2, "L o 1 x"),
    ]
    listed = [(oracle.seconds(at(8)), [{"id": "1-2", "whole": True, "suspect": False}])]
    return oracle.Facts({0: evidence}, shown, logs, listed, {HEX: "d1"})


def event(facts, kind, nth=0):
    return [one for one in facts.evidence[0] if one["e"] == kind][nth]


def torn(facts):
    event(facts, "restore", 1).update(state="torn", why="half a file")


def mixed(facts):
    event(facts, "restore", 1).update(state="mixed", why="two steps")


def never_saved(facts):
    event(facts, "restore", 1)["step"] = 3


def found_nothing(facts):
    event(facts, "restore", 1).update(state="none", step=0)


def torn_as_left(facts):
    """No breach: nothing was promised."""
    torn(facts)
    facts.shown["job"]["attempts"][1]["restore"] = "as-left-1"
    facts.listed = []


def stale(facts):
    facts.listed[0][1].append({"id": "1-3", "whole": True, "suspect": False})


def suspect_since(facts):
    """No breach: the record says that it was no good."""
    stale(facts)
    facts.shown["job"]["suspects"] = ["1-3"]


def stale_beside_a_suspect(facts):
    """What was listed was not cleared away: three stay."""
    stale(facts)
    facts.shown["job"]["suspects"] = ["1-4"]
    facts.keep = 3


def cleared_for_a_suspect(facts):
    """No breach: one stays, and that proved to be no good."""
    stale_beside_a_suspect(facts)
    facts.keep = 1


def beside(facts):
    facts.evidence[0].append(told("saved", 1, 13, step=2))


def second_program(facts):
    facts.evidence[0].append({**told("begin", 2, 13), "who": "2.9"})


def lock_held(facts):
    facts.evidence[0].append(told("double", 2, 13, text="the lock is held"))


def line_lost(facts):
    del facts.logs[0]


def last_line_lost(facts):
    del facts.logs[1]


def line_twice(facts):
    facts.logs.append(logged(2, 3, "L o 1 x"))


def stderr_lost(facts):
    del facts.logs[2]


def lost_and_said(facts):
    """No breach: a line says so."""
    del facts.logs[0]
    facts.logs.append({**logged(1, 0, "stoker: lines 1-1 are missing", "s"), "note": True})


def hole_in_a_taken_machine(facts):
    line_lost(facts)
    facts.taken[1] = "killed"


def last_line_of_a_taken_machine(facts):
    """No breach: it may not have left yet."""
    last_line_lost(facts)
    facts.taken[1] = "killed"


def old_line_of_a_taken_machine(facts):
    """It had the time to leave."""
    last_line_of_a_taken_machine(facts)
    facts.evidence[0].insert(9, told("saved", 1, 11, step=2))


def output_other(facts):
    facts.got[HEX] = "d2"


def output_more(facts):
    facts.got[b"out/\xff".hex()] = "d1"


def no_outputs(facts):
    facts.got = None


def wrong_result(facts):
    facts.shown["job"].update(state="Failed", result={"exit_code": 3})


FORGED = (
    (torn, "torn"),
    (mixed, "torn"),
    (never_saved, "torn"),
    (found_nothing, "torn"),
    (torn_as_left, None),
    (stale, "stale"),
    (suspect_since, None),
    (stale_beside_a_suspect, "stale"),
    (cleared_for_a_suspect, None),
    (beside, "double"),
    (second_program, "double"),
    (lock_held, "double"),
    (line_lost, "lost"),
    (last_line_lost, "lost"),
    (line_twice, "lost"),
    (stderr_lost, "lost"),
    (lost_and_said, None),
    (hole_in_a_taken_machine, "lost"),
    (last_line_of_a_taken_machine, None),
    (old_line_of_a_taken_machine, "lost"),
    (output_other, "outputs"),
    (output_more, "outputs"),
    (no_outputs, "outputs"),
    (wrong_result, "result"),
)


def test_oracle(results):
    results.check("a good job has no breach", oracle.judge(good())[0] == [], oracle.judge(good()))
    for forge, kind in FORGED:
        facts = copy.deepcopy(good())
        forge(facts)
        kinds = {found for found, _ in oracle.judge(facts)[0]}
        results.check(f"forged {forge.__name__}: {kind or 'no breach'}", kinds == ({kind} if kind else set()), kinds)
    alone = oracle.judge_left([], [{"id": "a", "state": "Succeeded"}], [])
    results.check("nothing left: no breach", alone == [], alone)
    for what in ((["7 python3"], [], []), ([], [{"id": "a", "state": "Running"}], []), ([], [], ["/home/x/.tmp1"])):
        results.check(f"left: {what}", oracle.judge_left(*what))


def test_sight(results, folder):
    """A process that runs for this world is seen, under whatever name."""
    started = subprocess.Popen(["sleep", "60"], env={"HOME": str(folder), "STOKER_JOB_ID": "j"})
    try:
        end = time.monotonic() + 30
        while not sight.of_job(sight.processes(folder), "j") and time.monotonic() < end:
            time.sleep(0.01)
        seen = sight.of_job(sight.processes(folder), "j")
        results.check("a process is seen", [one.pid for one in seen] == [started.pid], seen)
    finally:
        started.kill()
        started.wait()
    results.check("and is gone", not sight.processes(folder))
    (folder / "left.tmp").write_text("x")
    results.check("a file that nobody knows is seen", sight.strangers(folder) == [str(folder / "left.tmp")])
    unsaved = folder / ".local/share/stoker/unsaved/abcd1234-2-0"
    unsaved.mkdir(parents=True)
    (unsaved / "model.pt").write_text("x")
    found = sight.unsaved(folder)
    results.check("what could not be kept is its job's", found == {str(unsaved): "abcd1234"}, found)
    results.check(
        "and a stranger unless it is told of",
        len(sight.strangers(folder)) == 2 and sight.strangers(folder, found) == [str(folder / "left.tmp")],
    )


def launch(folder, habit, checkpoints, attempt=1):
    """The last event `restore` of the program, run by hand."""
    shell = jobs.HABITS[habit].get("shell")
    words = ["sh", f"{habit}.sh"] if shell else [jobs.python_once(), f"{habit}.py"]
    env = {
        "PATH": os.environ["PATH"],
        "STOKER_JOB_ID": habit,
        "STOKER_ATTEMPT": str(attempt),
        "NODE_RANK": "0",
        "STOKER_CHECKPOINT_DIR": str(checkpoints),
        "OUTSIDE_KEPT": "out",
        "STOKER_OUTPUT_DIR": str(folder / "output"),
        "OUTSIDE_EVIDENCE": str(folder),
        "OUTSIDE_SAVES": "2",
        "OUTSIDE_PAUSE": "0.01",
        "OUTSIDE_ODD": "0,20,40",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    subprocess.run(words, cwd=folder / "code", env=env, capture_output=True, timeout=240)
    world = type("World", (), {"evidence": folder})
    return [e for e in jobs.evidence(world, habit)[0] if e["e"] == "restore"][-1]


def damage(checkpoints):
    """One byte of the largest file of the habit's own is turned around."""
    files = [
        os.path.join(at, name)
        for at, _, names in os.walk(checkpoints)
        for name in names
        if "odd ones" not in at and not os.path.islink(os.path.join(at, name))
    ]
    path = max(files, key=lambda one: (os.path.getsize(one), one))
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0xFF]))


def test_habit(results, folder, habit):
    checkpoints = folder / f"checkpoints-{habit}"
    checkpoints.mkdir()
    first = launch(folder, habit, checkpoints)
    (checkpoints / ".stoker-done").unlink(missing_ok=True)
    second = launch(folder, habit, checkpoints, 2)
    damage(checkpoints)
    third = launch(folder, habit, checkpoints, 3)
    results.check(
        f"{habit}: nothing, whole, damaged",
        (first["state"], second["state"], second.get("step")) == ("none", "whole", 2) and third["state"] not in ("none", "whole"),
        (first, second, third),
    )


def main():
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "home").mkdir()
        test_oracle(results)
        test_sight(results, folder / "home")
        jobs.plant_code(folder / "code")
        # Those that need torch take seconds each to start: one of them will do here.
        for habit in jobs.HABITS:
            if habit not in ("torch_in_place", "lightning_last", "mapped_done"):
                test_habit(results, folder, habit)
    results.finish()


main()
