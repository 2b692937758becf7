#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A checkpoint folder that is not the job's own: an absolute path, a link to one, a file in its
way. What others have there is never removed, and the program never finds a save that was torn."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from kit.harness import PYTHON, Results, World  # noqa: E402

# Prints what it resumes from, saves by rename, and leaves a half of a save behind.
SAVES = """
import os, sys, time
folder = sys.argv[1]
path = folder + '/s.pt'
print('resumed', open(path).read() if os.path.exists(path) else 'nothing',
      'beside', sorted(os.listdir(folder)), flush=True)
with open(path + '.new', 'w') as out:
    out.write(sys.argv[2])
os.rename(path + '.new', path)
time.sleep(3)
"""


def saved(world, folder, number, *flags):
    """A job that saves `number`, once its checkpoint is kept and it has ended."""
    job = world.submit(*flags, "--", PYTHON, "saves.py", str(folder), str(number))
    world.stoker("wait", job, check=True, timeout=60)
    return job


def texts(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_others_files(results, world):
    """Whatever lies beside the checkpoints is moved, and said to be; the checkpoints' are not."""
    theirs = world.root / "theirs"
    theirs.mkdir()
    job = saved(world, theirs, 2, "--checkpoints", str(theirs))
    results.check("it saved", world.json("checkpoints", job), world.json("show", job))
    (theirs / "thesis.txt").write_text("new")
    (theirs / "project").mkdir()
    (theirs / "project/a.py").write_text("code")
    (theirs / "odd\nname").write_text("odd")
    again = saved(world, theirs, 3, "--from", job, "--checkpoints", str(theirs))
    log = world.stoker("logs", again, check=True).stdout
    results.check("it finds the checkpoint, alone", "resumed 2 beside ['s.pt']" in log, log)
    aside = world.state / "aside" / f"{again}-1-0"
    results.check("what others had there is whole", texts(aside) ==
                  {"thesis.txt": "new", "project/a.py": "code", "odd\nname": "odd"},
                  sorted(aside.rglob("*")))  # fmt: skip
    results.check("and the log says where", log.count(f"was moved to {aside}") == 1, log)
    fresh = world.json("retry", again, "--fresh", "--detach")["id"]
    world.stoker("wait", fresh, timeout=60)
    log = world.stoker("logs", fresh, check=True).stdout
    results.check("a fresh start says what the program finds there",
                  "is not empty, and no checkpoint is restored" in log and "resumed 3" in log, log)


def test_link(results, world):
    """A link out of the work directory, as clusters have it."""
    real = world.root / "scratch"
    real.mkdir()
    (world.work / "checkpoints").symlink_to(real)
    job = saved(world, "checkpoints", 5)
    (real / "later.txt").write_text("later")
    world.stoker("retry", job, "--detach", check=True)
    again = world.json("ls", "--all")[0]["id"]
    world.stoker("wait", again, timeout=60)
    moved = world.state / "aside" / f"{again}-1-0" / "later.txt"
    results.check("behind a link, too", moved.is_file() and moved.read_text() == "later",
                  sorted(moved.parent.glob("*")))  # fmt: skip
    (world.work / "checkpoints").unlink()


def test_refusals(results, world):
    for folder in (world.home, world.state, "/etc", "/tmp"):
        done = world.stoker("run", "--checkpoints", str(folder), "--", "sh", "-c", "echo ran",
                            timeout=60)  # fmt: skip
        said = done.stdout + done.stderr
        results.check(f"{folder} is no folder for checkpoints", done.returncode != 0 and
                      "for checkpoints alone" in said and "\nran" not in said, said)  # fmt: skip


def test_in_the_way(results, world):
    """A file or a link that leads nowhere: the program starts all the same, as the log says."""
    for what in ("file", "link"):
        path = world.work / "checkpoints"
        if what == "file":
            path.write_text("")
        else:
            path.symlink_to("/nowhere/at/all")
        done = world.stoker("run", "--", "sh", "-c", "echo ran", timeout=60)
        results.check(f"{what}: the program runs, once", done.returncode == 0 and
                      done.stdout.count("ran") == 1, done.stdout + done.stderr)  # fmt: skip
        log = world.stoker("logs", "-", "--stream", "system", check=True).stdout
        results.check(f"{what}: the log says it", "what the program saves is not kept" in log, log)
        path.unlink()


def main():
    results = Results()
    with World("lasting") as world:
        world.program(SAVES, "saves.py")
        for test in (test_others_files, test_link, test_refusals, test_in_the_way):
            results.run(test.__name__, test, results, world)
    results.finish()


if __name__ == "__main__":
    main()
