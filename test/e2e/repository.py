#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A git repository as work directory: cloned when the job is submitted, by this machine's git, and
packed; the commit is recorded, and nodes need no git. Judged by git and by what the program
finds."""

import os
import pathlib
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World
from test.e2e.kit.job_kit import texts

FILE = "name: cloned\nworkdir: {url: %s%s}\nrun: cat hello; ls -A; cat part/inner 2>/dev/null || true\n"

MADE = {"checkpoints", "model", "output"}  # by stoker, for the program


class Git:
    """A repository, made by git."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self("init", "-q", "-b", "main")

    def __call__(self, *words):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}
        for who in ("AUTHOR", "COMMITTER"):
            env.update({f"GIT_{who}_NAME": "T", f"GIT_{who}_EMAIL": "t@example.org"})
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *words], cwd=self.folder, env=env, capture_output=True, text=True, timeout=60
        )
        if done.returncode:
            raise AssertionError(f"git {words}: {done.stderr}")
        return done.stdout.strip()

    def commit(self, text):
        (self.folder / "hello").write_text(text)
        self("add", ".")
        self("commit", "-q", "-m", text)
        return self("rev-parse", "HEAD")


def submit(world, url, ref=""):
    path = world.work / "job.yaml"
    path.write_text(FILE % (url, f", ref: {ref}" if ref else ""))
    job = world.submit(path)
    world.stoker("wait", job, check=True)
    return job


def test_refs(world, check):
    """HEAD, a branch, a tag, a commit; with what is not in git left where it is."""
    source = Git(world.root / "source")
    first = source.commit("one\n")
    source("tag", "v1")
    source("checkout", "-q", "-b", "side")
    side = source.commit("side\n")
    source("checkout", "-q", "main")
    newest = source.commit("two\n")
    (source.folder / "untracked").write_text("x")
    url = f"file://{source.folder}"
    cases = [("", "two", newest), ("side", "side", side), ("v1", "one", first), (first, "one", first)]
    for ref, says, commit in cases:
        job = submit(world, url, ref)
        said = texts(world, job)
        check(f"{ref[:8] or 'HEAD'}: that commit runs", said[:1] == [says], said)
        check("  its files alone", set(said[1:]) - MADE == {"hello"}, said)
        told = world.job(job)["workdir_note"]
        check("  repository and commit are recorded", url in told and commit[:7] in told, told)
        again = world.json("retry", "--detach", job)["id"]
        world.stoker("wait", again, check=True)
        check("  a retry runs the same", texts(world, again)[:1] == [says], texts(world, again))
    specs = [each.read_text() for each in world.store.glob(f"jobs/{job}/spec.yaml")]
    check("the job file keeps it", f'url: "{url}", ref: "{first}"' in "".join(specs), specs)
    left = list((world.home / ".cache").glob("**/stoker-pack-clone*"))
    check("no clone is left behind", not left, left)


def test_no_git_there(world, check):
    """A node has no git, and the repository is gone: what was packed is enough."""
    source = Git(world.root / "gone")
    source.commit("still\n")
    path = world.work / "job.yaml"
    path.write_text(FILE % (f"file://{source.folder}", "") + f"setup: {world.gate()}\n")
    job = world.submit(path)
    source.folder.rename(world.root / "elsewhere")
    world.open_gate()
    world.stoker("wait", job, check=True)
    check("it runs without its repository", texts(world, job)[:1] == ["still"], texts(world, job))


def test_submodule(world, check):
    inner = Git(world.root / "inner")
    (inner.folder / "inner").write_text("inside\n")
    inner.commit("x\n")
    outer = Git(world.root / "outer")
    outer("submodule", "add", "-q", str(inner.folder), "part")
    outer.commit("with a part\n")
    # git itself asks for this, of submodules that lie on the same machine.
    world.env["GIT_CONFIG_COUNT"] = "1"
    world.env["GIT_CONFIG_KEY_0"] = "protocol.file.allow"
    world.env["GIT_CONFIG_VALUE_0"] = "always"
    job = submit(world, f"file://{outer.folder}")
    check("submodules come along", "inside" in texts(world, job), texts(world, job))


def test_refused(world, check):
    source = Git(world.root / "refused")
    source.commit("x\n")
    url = f"file://{source.folder}"
    marks = world.root / "ran"
    cases = [
        (url, "no-such", "couldn't find remote ref no-such"),
        (url, "f" * 40, "git says"),
        (f"file://{world.root}/nothing", "", "git says"),
        (f'"ext::sh -c touch% {marks}"', "", "is not the URL of a git repository"),
        ('"--upload-pack=touch"', "", "is not the URL of a git repository"),
        ("https://t0ken@host/x", "", "has a user or a password in it"),
    ]
    before = len(world.json("ls", "--all"))
    for address, ref, words in cases:
        path = world.work / "job.yaml"
        path.write_text(FILE % (address, f", ref: {ref}" if ref else ""))
        done = world.stoker("run", "--detach", path)
        check(
            f"refused: {address} {ref[:8]}",
            done.returncode != 0 and words in done.stderr and done.stderr.count("\n") <= 3 and "t0ken" not in done.stderr,
            done.stderr,
        )
    check("nothing was made", len(world.json("ls", "--all")) == before and not marks.exists())


def main():
    results = Results()
    with World("repository") as world:
        for name, part in list(globals().items()):
            if name.startswith("test_"):
                results.run(name[5:], part, world, results.check)
    results.finish()


if __name__ == "__main__":
    sys.exit(main())
