# SPDX-License-Identifier: Apache-2.0
"""What a job made is kept, or it is said that it is not; and fetching it overwrites nothing."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import Results, World  # noqa: E402
from job_kit import texts  # noqa: E402

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
    look = "".join(f'test -d "$STOKER_{n}_DIR" && echo $STOKER_PHASE {n};' for n in NAMED)
    work = folder(world, "named")
    apart = world.root / "apart" / "deep"
    (work / "job.yaml").write_text(
        f"checkpoints: {{path: {apart}}}\nsetup: |\n  export STOKER_PHASE=setup; {look}\n"
        f"run: |\n  export STOKER_PHASE=run; {look}\n"
    )
    job = world.submit("job.yaml", cwd=work)
    world.stoker("wait", job, check=True)
    log = world.stoker("logs", job, "--stream", "system").stdout.split("\n") + texts(world, job)
    wanted = {f"{phase} {name}" for phase in ("setup", "run") for name in NAMED}
    results.check("folders: all there, before setup too", wanted <= set(log), log)
    results.check("folders: an absolute one for checkpoints", apart.is_dir())
    work = folder(world, "in-the-way", [("model", "a file")])
    done = world.stoker("run", "--", "sh", "-c", "cat model", cwd=work)
    results.check(
        "folders: a file in the way is said, and is not touched",
        done.returncode == 0
        and "a file" in done.stdout
        and "STOKER_MODEL_DIR" in world.stoker("logs", "-", "--stream", "system").stdout,
        done.stdout + done.stderr,
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
    results.check("get: into a folder named after the job", len(whole) == 5, whole)
    again = world.json("get", job, cwd=work)
    results.check(
        "get: once more, and all is the same",
        (again["files"], again["same"], again["refused"]) == (0, 5, []),
        again,
    )

    outside = folder(world, "outside", [("file", "precious")])
    to = folder(
        world, "to", [("top.txt", "mine"), ("out/differs", "mine, too"), ("out/same", "same\n")]
    )
    (to / "out" / "deep").symlink_to(outside)
    (to / "out" / "link").symlink_to("elsewhere")
    before = tree(to)
    refused = world.stoker("get", job, to, cwd=work)
    results.check(
        "get: what differs and what a link leads to is refused, by name",
        refused.returncode == 1
        and all(
            f"not fetched: {p}" in refused.stderr
            for p in ("top.txt", "out/differs", "out/deep/file", "out/link")
        )
        and "--force" in refused.stderr,
        refused.stderr,
    )
    results.check("get: and nothing is changed", tree(to) == before, tree(to))
    results.check("get: nor is what a link leads to", tree(outside) == {"file": "precious"})
    told = world.json("get", job, to, cwd=work, ok=(1,))
    results.check(
        "get --json: the refused and the same",
        (len(told["refused"]), told["same"], told["files"]) == (4, 1, 0),
        told,
    )
    forced = world.json("get", job, to, "--force", cwd=work)
    results.check(
        "get --force: replaces, but writes through no link",
        (forced["files"], forced["refused"]) == (4, [])
        and tree(to) == whole
        and tree(outside) == {"file": "precious"},
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


def main():
    results = Results()
    with World("kept") as world:
        results.run("named folders", test_named_folders, results, world)
        results.run("get", test_get_overwrites_nothing, results, world)
    results.finish()


if __name__ == "__main__":
    main()
