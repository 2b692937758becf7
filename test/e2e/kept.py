# SPDX-License-Identifier: Apache-2.0
"""What a job made is kept, or it is said that it is not; and fetching it overwrites nothing."""

import os
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import World, play
from test.e2e.kit.job_kit import texts

NAMED = ("CHECKPOINT", "OUTPUT", "MODEL")


def folder(world, name, files=()):
    """An empty work directory, with `files` (name, text)."""
    path = world.root / name
    path.mkdir()
    for file, text in files:
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_text(text)
    return path


def tree(path):
    """Relative path -> text of every file below `path`; a link's target after '->'."""
    return {
        str(p.relative_to(path)): f"->{os.readlink(p)}" if p.is_symlink() else p.read_text()
        for p in sorted(path.rglob("*"))
        if p.is_symlink() or p.is_file()
    }


def test_named_folders(results, world):
    look = "".join(f'test -d "$STOKER_{n}_DIR" && echo $STOKER_PHASE {n};' for n in NAMED) + " true"
    work = folder(world, "named")
    apart = world.root / "apart" / "deep"
    (work / "job.yaml").write_text(
        f"checkpoints: {{path: {apart}}}\nsetup: |\n  export STOKER_PHASE=setup; {look}\nrun: |\n  export STOKER_PHASE=run; {look}\n"
    )
    job = world.submit("job.yaml", cwd=work)
    world.stoker("wait", job, check=True)
    log = world.stoker("logs", job, "--stream", "system").stdout.split("\n") + texts(world, job)
    found = {(phase, name) for phase in ("setup", "run") for name in NAMED if f"{phase} {name}" in log}
    results.check("folders: all there for the program, and none for setup", found == {("run", name) for name in NAMED}, log)
    results.check("folders: an absolute one for checkpoints", apart.is_dir())
    work = folder(world, "in-the-way", [("model", "a file")])
    done = world.stoker("run", "--", "sh", "-c", "cat model", cwd=work)
    results.check(
        "folders: a file in the way is said, and is not touched",
        done.returncode == 0 and "a file" in done.stdout and "STOKER_MODEL_DIR" in world.stoker("logs", "-", "--stream", "system").stdout,
        done.stdout + done.stderr,
    )


def test_get_says_what_is_packed(results, world):
    work = folder(world, "packed")
    job = world.submit("--name", "maker", "--", "sh", "-c", "echo a > made", cwd=work)
    world.stoker("wait", job, check=True)
    own = world.stoker("get", job, cwd=work, check=True)
    inside = world.stoker("get", job, "./mine", cwd=work, check=True)
    apart = world.stoker("get", job, str(world.root / "got-apart"), cwd=work, check=True)
    results.check(
        "get into a folder of the work directory says that the next job packs it",
        "add /mine/ to .stokerignore" in inside.stderr and "stokerignore" not in own.stderr + apart.stderr,
        inside.stderr + apart.stderr,
    )
    (work / ".stokerignore").write_text("/mine/\n")
    again = world.stoker("run", "--", "ls", cwd=work, check=True)
    results.check(
        "what it says to add leaves that out, and its own folder is left out by itself",
        "mine" not in again.stdout and "maker-" not in again.stdout,
        again.stdout,
    )


def test_get_overwrites_nothing(results, world):
    work = folder(world, "getting")
    (work / "job.yaml").write_text(
        "name: getter\noutputs: [out, top.txt]\nrun: |\n"
        "  mkdir -p out/deep\n  echo theirs > top.txt\n  echo same > out/same\n"
        "  echo theirs > out/differs\n  echo deep > out/deep/file\n  ln -s same out/link\n"
    )
    job = world.submit("job.yaml", cwd=work)
    world.stoker("wait", job, check=True)
    world.stoker("get", job, cwd=work, check=True)
    made = work / f"getter-{job}"
    whole = tree(made)
    whole.pop(".stokerignore")
    results.check("get: into a folder named after the job", len(whole) == 5, whole)
    again = world.json("get", job, cwd=work)
    results.check("get: once more, and all is the same", (again["files"], again["same"], again["refused"]) == (0, 5, []), again)

    outside = folder(world, "outside", [("file", "precious")])
    to = folder(world, "to", [("top.txt", "mine"), ("out/differs", "mine, too"), ("out/same", "same\n")])
    (to / "out" / "deep").symlink_to(outside)
    (to / "out" / "link").symlink_to("elsewhere")
    before = tree(to)
    refused = world.stoker("get", job, to, cwd=work)
    results.check(
        "get: what differs and what a link leads to is refused, by name",
        refused.returncode == 1
        and all(f"not fetched: {p}" in refused.stderr for p in ("top.txt", "out/differs", "out/deep/file", "out/link"))
        and "--force" in refused.stderr,
        refused.stderr,
    )
    results.check("get: and nothing is changed", tree(to) == before, tree(to))
    results.check("get: nor is what a link leads to", tree(outside) == {"file": "precious"})
    told = world.json("get", job, to, cwd=work, ok=(1,))
    results.check("get --json: the refused and the same", (len(told["refused"]), told["same"], told["files"]) == (4, 1, 0), told)
    forced = world.json("get", job, to, "--force", cwd=work)
    results.check(
        "get --force: replaces, but writes through no link",
        (forced["files"], forced["refused"]) == (4, []) and tree(to) == whole and tree(outside) == {"file": "precious"},
        [forced, tree(to), tree(outside)],
    )
    (to / "top.txt").unlink()
    (to / "top.txt").mkdir()
    (to / "top.txt" / "inside").write_text("precious")
    forced = world.stoker("get", job, to, "--force", cwd=work)
    results.check(
        "get --force: a folder is not replaced by a file",
        forced.returncode == 1 and (to / "top.txt" / "inside").read_text() == "precious",
        forced.stderr,
    )


def test_what_nobody_declared(results, world):
    work = folder(world, "plain", [("changed.txt", "before"), (".gitignore", "*.pt\n"), ("model/c.py", "code")])
    script = (
        "echo weights > model.pt; echo after > changed.txt; mkdir -p runs __pycache__ node_modules;"
        "echo m > runs/metrics; echo x > __pycache__/x.pyc; echo x > node_modules/x;"
        "mkdir -p checkpoints; echo c > checkpoints/c; echo TOKEN > .env;"
        'echo o > "$STOKER_OUTPUT_DIR/o"; echo w > "$STOKER_MODEL_DIR/w"'
    )
    made = {"model.pt", "changed.txt", "runs/metrics", "output/o", "model/w"}
    for name, end, code in [("ends", "", 0), ("fails", "; exit 3", 3)]:
        done = world.stoker("run", "--", "sh", "-c", script + end, cwd=work)
        listed = {o["path"] for o in world.json("get", "-", "-l")}
        results.check(
            f"made: kept when the program {name}, git-ignored or not; no code, caches, checkpoints",
            done.returncode == code and listed == made,
            [done.returncode, listed ^ made],
        )
        results.check(
            f"made: the last lines say what was kept when it {name}",
            "  kept 5 files, " in done.stderr and "stoker get " in done.stderr,
            done.stderr,
        )
        results.check(
            f"made: a secret that is not kept is named when it {name}", ".env" in world.stoker("logs", "-", "--stream", "system").stdout
        )
    shown = world.json("show", "-")
    results.check("made: show counts them", shown["kept"]["files"] == 5, shown["kept"])
    job = world.submit("--", "sh", "-c", script + "; sleep 600", cwd=work)
    world.wait_for("it runs", lambda: world.job(job)["state"] == "Running")
    # Its own: those of the jobs before may not have been cleared away yet.
    own = world.job(job)["launches"][0]["instance_id"]
    world.wait_for("it has made all", (world.state / "instances" / own / "work/model/w").exists)
    world.stoker("cancel", job, check=True)
    world.stoker("wait", job)
    listed = {o["path"] for o in world.json("get", job, "-l")}
    results.check("made: kept when it is cancelled", listed == made, listed ^ made)

    done = world.stoker("run", "--", "true", cwd=work)
    results.check("made: nothing is said, too", "  kept no files" in done.stderr, done.stderr)
    (work / "none.yaml").write_text("outputs: []\nrun: echo weights > model.pt\n")
    done = world.stoker("run", "none.yaml", cwd=work)
    results.check("made: none with an empty list", "  kept no files" in done.stderr, done.stderr)
    (work / "small.yaml").write_text("limits: {kept_size: 1MB}\nrun: |\n  head -c 2000000 /dev/zero > big.bin\n  echo small > small.txt\n")
    done = world.stoker("run", "small.yaml", cwd=work)
    log = world.stoker("logs", "-", "--stream", "system").stdout
    results.check(
        "made: what is too large is named, with what to write",
        "  kept 1 file, " in done.stderr and "not kept: big.bin (2.0 MB)" in log and "limits: {kept_size: 1GB" in log,
        done.stderr + log,
    )


def test_declared(results, world):
    work = folder(world, "declared", [("train.py", "code")])
    text = "outputs: ['*.onnx', 'runs/**/best.pt', {path: %s, required: true}, never.txt]\nrun: |\n"
    run = "  mkdir -p runs/1/2\n  for f in runs/1/2/best.pt runs/1/last.pt a.onnx; do echo $f > $f; done\n"
    (work / "good.yaml").write_text(text % "runs/1/last.pt" + run)
    (work / "bad.yaml").write_text(text % "model.pt" + run)
    done = world.stoker("run", "good.yaml", cwd=work)
    listed = {o["path"] for o in world.json("get", "-", "-l")}
    results.check(
        "declared: patterns", done.returncode == 0 and listed == {"a.onnx", "runs/1/2/best.pt", "runs/1/last.pt"}, [done.stderr, listed]
    )
    never = "output 'never.txt' never came"
    shown = world.json("show", "-")
    results.check(
        "declared: what never came is said by run, show, ls and --json",
        never in done.stderr
        and "declared and never came: never.txt" in world.stoker("ls").stderr
        and never in world.stoker("show", "-").stdout
        and shown["job"]["attempts"][-1]["missing_outputs"] == ["never.txt"],
        [done.stderr, shown["job"]["attempts"]],
    )
    done = world.stoker("run", "bad.yaml", cwd=work)
    results.check(
        "declared: a required one that never came fails the job",
        done.returncode == 1
        and "Failed: UserError" in done.stderr
        and "required output 'model.pt' never came" in done.stderr
        and world.job("-")["state"] == "Failed",
        done.stderr,
    )


if __name__ == "__main__":
    play(globals(), World("kept"))
