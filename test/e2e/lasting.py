#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A checkpoint folder that is not the job's own: an absolute path, a link to one, a file in its
way. What others have there is never removed, and the program never finds a save that was torn."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, World, play

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
    results.check(
        "what others had there is whole",
        texts(aside) == {"thesis.txt": "new", "project/a.py": "code", "odd\nname": "odd"},
        sorted(aside.rglob("*")),
    )
    results.check("and the log says where", log.count(f"was moved to {aside}") == 1, log)
    fresh = world.json("retry", again, "--fresh", "--detach")["id"]
    world.stoker("wait", fresh, timeout=60)
    log = world.stoker("logs", fresh, check=True).stdout
    results.check(
        "a fresh start says what the program finds there", "is not empty, and no checkpoint is restored" in log and "resumed 3" in log, log
    )


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
    results.check("behind a link, too", moved.is_file() and moved.read_text() == "later", sorted(moved.parent.glob("*")))
    (world.work / "checkpoints").unlink()


def test_cut_restore(results, world):
    """What a restore that was cut short has left is no part of a checkpoint, also where the next
    attempt restores nothing."""
    folder = world.root / "cut"
    for left in (".stoker-restoring", ".stoker-restoring-0", ".stoker-restoring-7"):
        (folder / left).mkdir(parents=True)
        (folder / left / "0").write_text("half")
    job = saved(world, folder, 4, "--checkpoints", str(folder))
    log = world.stoker("logs", job, check=True).stdout
    results.check("a cut restore is not found where nothing is restored", "resumed nothing beside []" in log, log)
    got = world.root / "got"
    world.stoker("get", job, "checkpoint", str(got), check=True)
    results.check("nor kept", sorted(texts(got).values()) == ["4"], texts(got))


# Each node saves under a name of its own, and waits a while.
SHARES = """
import os, sys, time
folder, rank = sys.argv[1], os.environ["NODE_RANK"]
print('finds', sorted(name for name in os.listdir(folder)), flush=True)
for i in range(40):
    with open(f'{folder}/new-{rank}', 'w') as out:
        out.write(str(i) * 20000)
    os.rename(f'{folder}/new-{rank}', f'{folder}/shard-{rank}-{i}')
time.sleep(3)
"""


def test_shared(results, world):
    """Nodes with one folder: none takes away what another restores."""
    world.program(SHARES, "shares.py")
    folder = world.root / "shared"
    folder.mkdir()
    command = ("--num-nodes", "3", "--checkpoints", str(folder), "--", PYTHON, "shares.py", str(folder))
    job = world.submit(*command)
    world.stoker("wait", job, timeout=90)
    first = world.json("show", job)["job"]
    results.check("nodes that share a folder succeed", first["state"] == "Succeeded", first)
    again = world.submit("--from", job, *command)
    world.stoker("wait", again, timeout=90)
    shown = world.json("show", again)["job"]
    log = world.stoker("logs", again, check=True).stdout
    found = [line for line in log.splitlines() if "finds" in line]
    results.check("they restore into it side by side, at once", shown["state"] == "Succeeded" and len(shown["attempts"]) == 1, (shown, log))
    results.check(
        "all of it, and nothing of what comes",
        len(found) == 3 and all("shard-0-39" in line and "shard-2-39" in line and "stoker" not in line for line in found),
        found,
    )
    results.check("and no checkpoint is suspected", not shown.get("suspects"), shown)


def test_refusals(results, world):
    for folder in (world.home, world.state, "/etc", "/tmp"):
        done = world.stoker("run", "--checkpoints", str(folder), "--", "sh", "-c", "echo ran", timeout=60)
        said = done.stdout + done.stderr
        results.check(
            f"{folder} is no folder for checkpoints", done.returncode != 0 and "for checkpoints alone" in said and "\nran" not in said, said
        )


def test_in_the_way(results, world):
    """A file or a link that leads nowhere: the program starts all the same, as the log says."""
    for what in ("file", "link"):
        path = world.work / "checkpoints"
        if what == "file":
            path.write_text("")
        else:
            path.symlink_to("/nowhere/at/all")
        done = world.stoker("run", "--", "sh", "-c", "echo ran", timeout=60)
        results.check(f"{what}: the program runs, once", done.returncode == 0 and done.stdout.count("ran") == 1, done.stdout + done.stderr)
        log = world.stoker("logs", "-", "--stream", "system", check=True).stdout
        results.check(f"{what}: the log says it", "what the program saves is not kept" in log, log)
        path.unlink()


if __name__ == "__main__":
    made = World("lasting")
    made.program(SAVES, "saves.py")
    play(globals(), made)
