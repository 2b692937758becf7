#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker sync` between folders and a bucket of moto's S3, which boto3 reads back."""

import hashlib
import os
import pathlib
import random
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import moto_s3
from test.e2e.kit.harness import Results, World

BIG = 40 << 20  # three parts
BUCKET = f"s3://{moto_s3.BUCKET}"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def tree(folder):
    """Digest by name of every file below `folder`."""
    return {str(p.relative_to(folder)): digest(p.read_bytes()) for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink()}


def make_tree(folder, seed=1):
    rng = random.Random(seed)
    for i in range(60):
        path = folder / f"d{i % 7}" / f"file {i}é+&%.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(rng.randrange(100_000)))
    (folder / "empty").write_bytes(b"")
    (folder / "big.bin").write_bytes(rng.randbytes(BIG))
    return tree(folder)


def counts(done):
    return {k: done[k] for k in ("files", "same", "removed")}


def test_there_and_back(results, server, world):
    source, back = world.work / "source", world.work / "back"
    expected = make_tree(source)
    dry = world.json("sync", source, f"{BUCKET}/a", "--dry-run")
    results.check("dry run: all of it, and nothing is done", len(dry["copy"]) == len(expected) and not server.keys("a/"), dry)
    up = world.json("sync", source, f"{BUCKET}/a")
    results.check("up: all files", up["files"] == len(expected), up)
    there = {key[2:]: digest(server.read(key)) for key in server.keys("a/")}
    results.check("boto3 reads the same", there == expected, set(there) ^ set(expected))
    again = world.json("sync", source, f"{BUCKET}/a")
    results.check("up again: nothing", again["files"] == 0 and again["same"] == len(expected), again)
    down = world.json("sync", f"{BUCKET}/a", back)
    results.check("down: the same", tree(back) == expected, down)
    again = world.json("sync", f"{BUCKET}/a", back)
    results.check("down again: nothing", again["files"] == 0, again)
    results.check("no part file is left", not list(back.rglob("*.stoker-part")), "")
    return source, back, expected


def test_changes(results, server, world, source, back):
    name = sorted(p for p in tree(source) if p.startswith("d1/"))[0]
    (source / name).write_bytes(b"changed")
    same_size = sorted(p for p in tree(source) if p.startswith("d2/"))[0]
    flipped = bytearray((source / same_size).read_bytes())
    flipped[0] ^= 1
    (source / same_size).write_bytes(bytes(flipped))
    gone = sorted(p for p in tree(source) if p.startswith("d3/"))
    for path in gone:
        (source / path).unlink()
    up = world.json("sync", source, f"{BUCKET}/a")
    results.check("two changed files are copied, nothing is removed", up["files"] == 2 and up["removed"] == 0, counts(up))
    up = world.json("sync", source, f"{BUCKET}/a", "--delete")
    results.check("--delete removes what is gone", up["removed"] == len(gone), counts(up))
    keys = {key[2:] for key in server.keys("a/")}
    results.check("the bucket holds what the folder does", keys == set(tree(source)), "")
    (back / "mine.txt").write_text("only here")
    down = world.json("sync", f"{BUCKET}/a", back, "--delete", "--exclude", "mine.*")
    results.check(
        "down with --delete: the same, but what is excluded", tree(back) == {**tree(source), "mine.txt": digest(b"only here")}, counts(down)
    )
    results.check("an empty folder goes", not (back / "d3").exists(), "")
    some = world.json("sync", source, f"{BUCKET}/some", "--exclude", "*", "--include", "d1/*", "--exclude", "*file 1*")
    keys = server.keys("some/")
    good = keys and all(k.startswith("some/d1/") and "file 1" not in k for k in keys)
    results.check("--include and --exclude", good and some["left_out"] > 0, keys)


def test_odd_names(results, server, world):
    for key in ("ok.txt", "esc\x1b[2J", "bell\x07", "dir/", "dir/in"):
        server.client.put_object(Bucket=moto_s3.BUCKET, Key="odd/" + key, Body=b"" if key.endswith("/") else b"x")
    into = world.work / "odd"
    down = world.json("sync", f"{BUCKET}/odd", into, ok=(1,))
    results.check(
        "odd names are refused one by one, the others come", sorted(tree(into)) == ["dir/in", "ok.txt"] and len(down["failed"]) == 2, down
    )
    source = world.work / "links"
    source.mkdir()
    (source / "real").write_text("real")
    os.symlink("real", source / "inside")
    os.symlink("/etc/passwd", source / "outside")
    os.mkfifo(source / "pipe")
    up = world.json("sync", source, f"{BUCKET}/links")
    results.check(
        "a link inside is its file; others, and pipes, are left out",
        server.keys("links/") == ["links/inside", "links/real"] and len(up["skipped"]) == 2,
        up,
    )
    os.symlink("/tmp", into / "dir2")
    server.client.put_object(Bucket=moto_s3.BUCKET, Key="odd/dir2/trap", Body=b"x")
    down = world.json("sync", f"{BUCKET}/odd", into, "--exclude", "*", "--include", "dir2/*", ok=(1,))
    results.check("nothing is written through a link", len(down["failed"]) == 1, down)


def killed(world, words, when, timeout=60):
    """Starts it and kills it once `when` is true, or it has ended."""
    process = world.start("sync", *words)
    end = time.monotonic() + timeout
    while process.poll() is None and not when() and time.monotonic() < end:
        time.sleep(0.002)
    process.kill()
    process.wait()


def test_killed(results, server, world):
    source, back = world.work / "large", world.work / "large-back"
    source.mkdir()
    rng = random.Random(3)
    size = 96 << 20
    (source / "large.bin").write_bytes(rng.randbytes(size))
    words = (source, f"{BUCKET}/large", "--jobs", "2")

    def parts():
        for upload in server.uploads():
            listed = server.client.list_parts(Bucket=moto_s3.BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])
            return len(listed.get("Parts", []))
        return 0

    killed(world, words, lambda: parts() >= 2)
    had = parts()
    up = world.json("sync", *words)
    results.check(
        "an upload that was killed goes on",
        had >= 2 and up["kept_bytes"] >= had * (16 << 20) and up["bytes"] + up["kept_bytes"] == size,
        (had, up),
    )
    good = digest(server.read("large/large.bin")) == digest((source / "large.bin").read_bytes())
    results.check("and is whole, with nothing left", good and not server.uploads(), "")

    def arrived():
        return sum(p.stat().st_blocks * 512 for p in back.glob("large.bin.*.stoker-part"))

    words = (f"{BUCKET}/large", back, "--jobs", "2")
    killed(world, words, lambda: arrived() > 40 << 20)
    results.check("a download that was killed shows nothing", not (back / "large.bin").exists(), "")
    down = world.json("sync", *words)
    results.check("and goes on", down["kept_bytes"] > 0 and tree(back) == tree(source), down)


def test_empty_source(results, server, world):
    data = world.work / "precious"
    data.mkdir()
    (data / "only").write_text("copy")
    for more in ([], ["--dry-run"], ["--exclude", "nothing.*"]):
        done = world.stoker("sync", f"{BUCKET}/typo", data, "--delete", *more)
        results.check(
            f"an empty source does not empty its target {more}",
            done.returncode == 1 and "--allow-empty" in done.stderr and (data / "only").exists(),
            done.stderr,
        )
    for more in ([], ["--dry-run"]):
        done = world.stoker("sync", f"{BUCKET}/typo", data, *more)
        results.check(f"what matches nothing is an error {more}", done.returncode == 1 and "matches nothing" in done.stderr, done.stderr)
    done = world.json("sync", f"{BUCKET}/typo", data, "--delete", "--allow-empty")
    results.check("but with --allow-empty", done["removed"] == 1 and not tree(data), done)
    links = world.work / "only-links"
    links.mkdir()
    world.json("sync", links, world.work / "nothing")
    os.symlink("/etc/passwd", links / "passwd")
    done = world.stoker("sync", links, world.work / "nothing")
    results.check("links alone are no success", done.returncode == 1 and "1 entry was left out" in done.stderr, done.stderr)


def test_one_object(results, server, world):
    """One object, or file, goes into DST; a program can be run, there and back."""
    put = server.client.put_object
    put(Bucket=moto_s3.BUCKET, Key="one/train.tar", Body=b"x" * 1000)
    put(Bucket=moto_s3.BUCKET, Key="one/cold", Body=b"x", StorageClass="DEEP_ARCHIVE")
    into = world.work / "dl"
    for target in (into, f"{into}/", into / "train.tar", "train.tar"):
        done = world.json("sync", f"{BUCKET}/one/train.tar", target)
    results.check(
        "into a folder, and as the file that is named",
        sorted(tree(into)) == ["train.tar"] and (world.work / "train.tar").is_file(),
        tree(into),
    )
    done = world.stoker("sync", f"{BUCKET}/one/train.tar", into, "--delete")
    results.check("with --delete it is refused", done.returncode == 2, done.stderr)
    done = world.stoker("sync", f"{BUCKET}/one/train.tar/", into)
    results.check("a slash too many is said", done.returncode == 1 and "slash" in done.stderr, done.stderr)
    done = world.stoker("sync", f"{BUCKET}/one/cold", into)
    results.check("an archived object is named as one", done.returncode == 1 and "archived in DEEP_ARCHIVE" in done.stderr, done.stderr)
    put(Bucket=moto_s3.BUCKET, Key="one", Body=b"both")
    done = world.stoker("sync", f"{BUCKET}/one", into, "--exclude", "cold")
    results.check(
        "a prefix that is an object, too, is said", done.returncode == 0 and "also the name of an object" in done.stderr, done.stderr
    )
    tool = into / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    world.json("sync", into, f"{BUCKET}/exec")
    world.json("sync", f"{BUCKET}/exec", world.work / "exec")
    got = {p.name: p.stat().st_mode & 0o111 for p in (world.work / "exec").iterdir()}
    results.check("a program can be run behind a bucket", got["tool"] and not got["train.tar"], got)
    tool.chmod(0o644)
    up = world.json("sync", into, f"{BUCKET}/exec")
    results.check("a mode alone is no difference there", up["files"] == 0 and up["modes"] == 0, up)
    world.json("sync", into, world.work / "exec")
    done = world.stoker("sync", into, world.work / "exec")
    results.check(
        "and one between folders", not os.access(world.work / "exec/tool", os.X_OK) and "copied 0 files" in done.stdout, done.stdout
    )


def test_power_cut(results, server, world):
    """A cut cannot be had here: a torn file, and a journal as it leaves it, can."""
    back = world.work / "cut"
    for i in range(3):
        server.client.put_object(Bucket=moto_s3.BUCKET, Key=f"cut/f{i}", Body=b"x" * (i + 1))
    world.json("sync", f"{BUCKET}/cut", back)
    torn = back / "f2"
    times = torn.stat()
    torn.write_bytes(b"\0" * 3)
    os.utime(torn, ns=(times.st_atime_ns, times.st_mtime_ns))
    again = world.json("sync", f"{BUCKET}/cut", back)
    results.check("(nobody else can tell a torn file)", again["files"] == 0, again)
    journals = world.state / "sync"
    journal = max(journals.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    lines = journal.read_text().splitlines()
    results.check("a run settles", lines[-1] == "." and lines[0].startswith("!\t"), lines)
    lines = ["!\tan-earlier-boot"] + [line for line in lines[1:] if line != "."]
    journal.write_text("\n".join(lines) + "\n")
    again = world.json("sync", f"{BUCKET}/cut", back)
    results.check("after a power cut, what had not settled is copied anew", again["files"] == 3 and torn.read_bytes() == b"xxx", again)
    again = world.json("sync", f"{BUCKET}/cut", back)
    results.check("and once", again["files"] == 0, again)


def test_filters_said(results, world):
    """What a filter does not do is said, once."""
    for words, said in (
        (("--include", "*.bin"), "rclone would read this mix otherwise"),
        (("--exclude", "*", "--include", "large.bin", "--include", "*.pt"), "--include '*.pt' matches nothing that exists"),
        (("--exclude", "d1"), "--exclude 'd1' matches no file; what a folder has in it is 'd1/*'"),
        (("--exclude", "*.tmp"), ""),
    ):
        folder = "source" if "d1" in words else "large"
        done = world.stoker("sync", folder, f"{BUCKET}/said", *words, "--dry-run")
        results.check(
            f"{' '.join(words)}: '{said}'",
            done.returncode == 0 and said in done.stderr and bool(said) == bool(done.stderr),
            (done.returncode, done.stderr),
        )


def test_trouble(results, world):
    for name, words, code in [
        ("no source", ("nowhere", f"{BUCKET}/x"), 1),
        ("in each other", (".", "./below"), 2),
        ("a file as target", ("large", "large-back/large.bin"), 1),
        ("no memory", ("large", f"{BUCKET}/x", "--memory", "1MB"), 2),
        ("a glob that is not closed", ("large", f"{BUCKET}/x", "--exclude", "[a"), 2),
        ("nothing is included", ("large", f"{BUCKET}/x", "--exclude", "*", "--include", "*.pt"), 2),
        ("an order that excludes all", ("large", f"{BUCKET}/x", "--include", "*", "--exclude", "*"), 2),
        ("no scheme", ("large", "ftp://host/x"), 1),
    ]:
        done = world.stoker("sync", *words)
        results.check(f"trouble: {name}", done.returncode == code and done.stderr, done.stderr)


def main():
    results = Results()
    with moto_s3.MotoS3() as server, World("sync") as world:
        world.env.update(server.env())
        source, back, _ = test_there_and_back(results, server, world)
        test_changes(results, server, world, source, back)
        test_odd_names(results, server, world)
        test_killed(results, server, world)
        test_empty_source(results, server, world)
        test_one_object(results, server, world)
        test_power_cut(results, server, world)
        test_filters_said(results, world)
        test_trouble(results, world)
    results.finish()


if __name__ == "__main__":
    main()
