#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker sync --delete` eats neither its own source, nor what nobody meant: links, mounts, whole
file systems, homes, ledgers, and much at once. In a mount namespace of its own."""

import os
import pathlib
import pty
import shutil
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import BINARY, Results, World

INSIDE = "STOKER_TEST_MOUNTS"  # set in the namespace


def enter():
    """Goes on where mounts are nobody else's; as root, or in a user namespace as anybody."""
    if os.environ.get(INSIDE):
        return
    words = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    os.environ[INSIDE] = "1"
    os.execvp("unshare", [*words, sys.executable, *sys.argv])


def tree(folder):
    return {
        str(p.relative_to(folder)): p.read_bytes().decode(errors="replace")
        for p in sorted(folder.rglob("*"))
        if p.is_file() and not p.is_symlink()
    }


def fresh(world, name):
    """A folder with a source, a/ with f and b/g in it, and a target."""
    at = world.work / name
    (at / "a" / "b").mkdir(parents=True)
    (at / "a" / "f").write_text("f")
    (at / "a" / "b" / "g").write_text("g")
    (at / "target").mkdir()
    return at


MOUNTED = []


def bind(what, where):
    where.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", what, where], check=True)
    MOUNTED.append(where)


def refused(results, world, at, name, source, target, words):
    """It says one of `words` and touches nothing, with --delete and without."""
    before = tree(at)
    for more in (["--delete"], []) if words == ["Name two places"] else (["--delete"],):
        done = world.stoker("sync", source, target, *more, cwd=at)
        good = done.returncode == 2 and all(w in done.stderr for w in words) and tree(at) == before
        results.check(f"{name} {more}: refused, and all is there", good, (done.returncode, done.stdout, done.stderr))


def test_nesting(results, world):
    apart = ["Name two places"]
    at = fresh(world, "links")
    os.symlink(at / "a", at / "link")
    refused(results, world, at, "a link around the source", "a/b", "link", apart)
    refused(results, world, at, "a link to the source", "a", "link", apart)
    refused(results, world, at, "a link into the source", "a", "link/b", apart)
    refused(results, world, at, "what is to be made in the source", "a", "link/b/new", apart)
    at = fresh(world, "mounts")
    bind(at / "a" / "b", at / "mounted")
    refused(results, world, at, "the source mounted as target", "a", "mounted", apart)
    bind(at / "a" / "b", at / "target" / "deep")
    refused(results, world, at, "the source mounted below the target", "a", "target", apart)
    at = fresh(world, "inside")
    (at / "target" / "x").write_text("x")
    bind(at / "target", at / "a" / "m")
    refused(results, world, at, "the target mounted in the source", "a", "target", apart)
    bind(at, at / "target")
    refused(results, world, at, "what holds both mounted as target", "a", "target", apart)


def test_dots(results, world):
    """link/.. is the folder around what the link leads to."""
    at = fresh(world, "dots")
    (at / "far" / "off").mkdir(parents=True)
    (at / "far" / "old").write_text("old")
    (at / "near").write_text("near")
    os.symlink(at / "far" / "off", at / "link")
    done = world.json("sync", "a", "link/..", "--delete", cwd=at)
    results.check("'..' behind a link is the kernel's", tree(at / "far") == tree(at / "a") and (at / "near").exists(), done)


def test_whole_places(results, world):
    at = fresh(world, "places")
    root = at / "root"
    shutil.copytree(at / "a", root / "a")
    (root / "precious").write_text("x")
    (root / "home" / "me").mkdir(parents=True)
    shutil.copy(BINARY, root / "stoker")  # static
    for source, target, words in (
        ("/a", "/", "overlap"),
        ("/a", "/a/..", "overlap"),
        ("s3://bucket/a", "/", "--delete-in root"),
        ("s3://bucket/a", "/home", "--delete-in home"),
    ):
        done = subprocess.run(
            [shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin:/bin"), root, "/stoker", "sync", source, target, "--delete"],
            env={"HOME": "/home/me", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        results.check(
            f"{source} to {target} with --delete: refused, and all is there",
            done.returncode == 2 and words in done.stderr and (root / "precious").exists() and tree(root / "a") == tree(at / "a"),
            (done.returncode, done.stderr),
        )
    shutil.rmtree(root)
    (world.home / "mine").write_text("mine")
    refused(results, world, at, "a home", "a", world.home, ["--delete-in home"])
    os.symlink(world.home, at / "link")
    refused(results, world, at, "a link to a home", "a", "link", ["--delete-in home"])
    done = world.json("sync", "a", world.home, "--delete", "--delete-in", "home", cwd=at)
    results.check("what the flag names is done", done["removed"] > 0 and not (world.home / "mine").exists(), done)
    for url in ("s3://bucket", "gs://bucket"):
        refused(results, world, at, f"a whole bucket {url}", "a", url, ["--delete-in bucket"])


def test_ledger(results, world):
    at = fresh(world, "ledgers")
    job = world.submit("--", "true", cwd=at)
    world.stoker("wait", job)
    for target, said in (
        (world.store, "is a ledger"),
        (world.state, "the ledger ledger/ in it"),
        (world.store / "jobs", "lies in the ledger"),
    ):
        # By name: a node that ends may still write to the record.
        before = sorted(tree(world.store / "records"))
        done = world.stoker("sync", at / "a", target, "--delete")
        results.check(
            f"{target}: {said}: refused",
            done.returncode == 2 and said in done.stderr and before and sorted(tree(world.store / "records")) == before,
            done.stderr,
        )
    (at / "target" / "ledger.json").write_text('{"accounts": []}')
    done = world.json("sync", "a", "target", "--delete", cwd=at)
    results.check("another file of that name is none", done["removed"] == 1, done)


def test_share(results, world):
    at = fresh(world, "share")
    target = at / "target"

    def fill(count):
        shutil.rmtree(target)
        shutil.copytree(at / "a", target)
        for i in range(count):
            (target / f"old{i}").write_text("old")
        return len(tree(target))

    for count, asks in ((98, False), (99, True)):
        files = fill(count)
        done = world.stoker("sync", "a", "target", "--delete", cwd=at)
        results.check(
            f"{files} files, {count} of them to be removed, nobody to ask",
            (done.returncode == 2 and "add --yes" in done.stderr and len(tree(target)) == files) if asks else len(tree(target)) == 2,
            done.stderr,
        )
    done = world.json("sync", "a", "target", "--delete", "--dry-run", cwd=at)
    results.check("a dry run only looks", len(done["remove"]) == 99, done)
    for answer, left in (("n", 101), ("y", 2)):
        ours, theirs = pty.openpty()
        done = subprocess.Popen(
            [BINARY, "sync", "a", "target", "--delete"], cwd=at, env=world.env, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs
        )
        os.write(ours, answer.encode() + b"\n")
        done.wait(timeout=60)
        os.close(ours)
        os.close(theirs)
        found = len(tree(target))
        results.check(f"asked, '{answer}': {left} are left", found == left, found)
    fill(99)
    done = world.json("sync", "a", "target", "--delete", "--yes", cwd=at)
    results.check("--yes answers", done["removed"] == 99 and tree(target) == tree(at / "a"), done)


def test_part_names(results, world):
    """A user's NAME.stoker-part is a file like any other, on both sides."""
    at = fresh(world, "parts")
    (at / "a" / "f.stoker-part").write_text("mine")
    (at / "target" / "f.stoker-part").write_text("theirs")
    (at / "target" / "b.stoker-part").write_text("only there")
    done = world.json("sync", "a", "target", cwd=at)
    results.check(
        "it is copied, as f is, and nothing else is touched", tree(at / "target") == {**tree(at / "a"), "b.stoker-part": "only there"}, done
    )
    done = world.json("sync", "a", "target", "--delete", cwd=at)
    results.check("and removed like any other", done["removed"] == 1, done)


def test_machines(results, world):
    """What rsync would take for another machine is no folder to be made here."""
    at = fresh(world, "machines")
    done = world.stoker("sync", "a", "me@host:/data", cwd=at)
    results.check(
        "another machine is refused",
        done.returncode == 2 and "another machine" in done.stderr and not (at / "me@host:").exists(),
        done.stderr,
    )
    done = world.stoker("sync", "a", "./me@host:/data", cwd=at)
    results.check("a folder of such a name is not", done.returncode == 0 and (at / "me@host:" / "data").is_dir(), done.stderr)


def main():
    enter()
    results = Results()
    with World("sync-safe") as world:
        world.env.update(
            AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_REGION="us-east-1", STORAGE_EMULATOR_HOST="http://127.0.0.1:1"
        )
        for test in (test_nesting, test_dots, test_whole_places, test_ledger, test_share, test_part_names, test_machines):
            results.run(test.__name__, test, results, world)
        for where in reversed(MOUNTED):
            subprocess.run(["umount", where], check=True)
    results.finish()


if __name__ == "__main__":
    main()
