#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile names through `stoker sync` and inputs, both ways, between folders, two servers of S3 and
one of Google: each arrives byte for byte, or is named."""

import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import fake_gcs, moto_s3, versity_s3
from test.e2e.kit import hostile_names
from test.e2e.kit.harness import Results, World


def unspelled(text):
    """The bytes of a name as stoker writes it."""
    raw = text.encode()
    if not re.search(rb"\\x[0-9a-f]{2}", raw):
        return raw
    return re.sub(rb"\\(?:x([0-9a-f]{2})|(\\))", lambda m: m[2] or bytes([int(m[1], 16)]), raw)


def named(done):
    return {unspelled(each["path"]) for each in done["failed"]}


class S3:
    url = f"s3://{moto_s3.BUCKET}"

    @staticmethod
    def held(server, prefix):
        return {k[len(prefix) :].encode(): server.read(k) for k in server.keys(prefix)}

    @staticmethod
    def put(server, key, content):
        server.client.put_object(Bucket=moto_s3.BUCKET, Key=key, Body=content)


class Gcs:
    url = f"gs://{fake_gcs.BUCKET}"

    @staticmethod
    def held(server, prefix):
        return {k[len(prefix) :].encode(): server.read(k) for k in server.keys(prefix)}

    @staticmethod
    def put(server, key, content):
        server.client().bucket(fake_gcs.BUCKET).blob(key).upload_from_string(content)


def check(results, what, done, expected, found):
    """`expected` is found, but for what is named; nothing else is there, and the code says so."""
    refused = named(done)
    arrived = {k: v for k, v in expected.items() if k not in refused}
    wrong = hostile_names.differences(arrived, found)
    wrong += [f"named for nothing {name!r}" for name in sorted(refused - set(expected))]
    results.check(f"{what}: {len(arrived)} byte for byte, {len(refused & set(expected))} named", not wrong and arrived, wrong)
    return arrived


def test_folders(results, world, source, expected):
    done = world.json("sync", source, world.work / "copy")
    arrived = check(results, "folder to folder", done, expected, hostile_names.read(world.work / "copy"))
    results.check("a folder holds whatever another one does", arrived == expected, done["failed"])
    done = world.json("sync", source, world.work / "copy", "--delete")
    results.check("again: nothing", done["files"] == done["removed"] == 0, done)


def test_bucket(results, world, kind, server, source, expected):
    name = type(server).__name__
    up = world.json("sync", source, f"{kind.url}/up", ok=(1,))
    went = check(results, f"up to {name}", up, expected, kind.held(server, "up/"))
    results.check(f"{name} takes at least 40 of them", len(went) >= 40, len(went))
    again = world.json("sync", source, f"{kind.url}/up", ok=(1,))
    results.check(f"{name}: again: nothing, and named again", again["files"] == 0 and named(again) == named(up), again)
    back = world.work / f"back-{name}"
    down = world.json("sync", f"{kind.url}/up", back, ok=(0, 1))
    check(results, f"down from {name}", down, went, hostile_names.read(back))
    said = world.stoker("sync", source, f"{kind.url}/up").stderr
    results.check(f"{name}: a name is said so that it can be found", "caf\\xe9" in said, said)


def test_bucket_keys(results, world, kind, server):
    """What only a bucket can hold: a folder gets what it can."""
    expected = {}
    for key in hostile_names.BUCKET_KEYS:
        expected[key.encode()] = hostile_names.content(key.encode())
        kind.put(server, f"odd/{key}", expected[key.encode()])
    name = type(server).__name__
    into = world.work / f"odd-{name}"
    there = kind.held(server, "odd/")  # a server may have its own mind
    down = world.json("sync", f"{kind.url}/odd", into, ok=(1,))
    check(results, f"odd keys of {name}", down, there, hostile_names.read(into))
    results.check(
        f"{name}: of a file and a folder of one name the file is named",
        {b"file"} <= named(down) and (into / "file" / "below it").exists(),
        down,
    )
    results.check("nothing came beside it", not (world.work / "out").exists(), "")


def test_inputs(results, world, source, expected):
    """A job whose input has such names: it sees those that can be held, and its log the others."""
    (world.work / "prog.py").write_text(
        "import os, sys\n"
        f"sys.path.insert(0, {str(HERE / 'kit')!r})\n"
        "import hostile_names\n"
        "found = hostile_names.read(os.environ['STOKER_CHANNEL_DATA'])\n"
        f"expected = hostile_names.read({str(source)!r})\n"
        "print('differences', hostile_names.differences(expected, found))\n"
    )
    job = world.submit("--input", f"data={source}", "--", "python3", "prog.py")
    code = world.stoker("wait", job, timeout=120).returncode
    logs = world.stoker("logs", job).stdout
    results.check("an input out of a folder: byte for byte", code == 0 and "differences []" in logs, logs[-2000:])


def test_bucket_input(results, world, kind, server):
    """Goes on with what can be held, and says loudly what cannot."""
    (world.work / "prog.py").write_text(
        "import os, pathlib\nfor path in pathlib.Path(os.environ['STOKER_CHANNEL_DATA']).rglob('*'):\n    print('has', path.name)\n"
    )
    job = world.submit("--input", f"data={kind.url}/odd", "--", "python3", "prog.py")
    code = world.stoker("wait", job, timeout=120).returncode
    logs = world.stoker("logs", job).stdout
    good = code == 0 and "has below it" in logs and "NOT ALL: " in logs
    for key in ("file", "double//slash", "bell\\x07"):
        good = good and f"input data: cannot be held here, and is left out: {key}: " in logs
    results.check("an input out of a bucket: the rest comes, and the log names what did not", good, logs[-3000:])


def test_content(results, world, kind, server):
    """Older, of the same size, and nobody remembers it: the bytes tell, not the times."""
    source = world.work / f"times-{type(server).__name__}"
    source.mkdir()
    (source / "f").write_text("new")
    (source / "g").write_text("one")
    world.json("sync", source, f"{kind.url}/times")
    (source / "f").write_text("old")
    os.utime(source / "f", (1_000_000_000, 1_000_000_000))
    for journal in (world.state / "sync").iterdir():
        journal.unlink()
    dry = world.json("sync", source, f"{kind.url}/times", "--dry-run")
    up = world.json("sync", source, f"{kind.url}/times")
    # moto tells no checksum of what was put at once: then both are copied.
    copied = 2 if isinstance(server, moto_s3.MotoS3) else 1
    results.check(
        f"an older file of the same size is copied, {2 - copied} equal one is not",
        up["files"] == copied == len(dry["copy"])
        and up["same"] == 2 - copied
        and kind.held(server, "times/") == {b"f": b"old", b"g": b"one"},
        up,
    )


def main():
    results = Results()
    with World("sync-names") as world:
        source = world.work / "source"
        source.mkdir()
        expected = hostile_names.plant(source)
        results.run("folders", test_folders, results, world, source, expected)
        results.run("inputs", test_inputs, results, world, source, expected)
        servers = ((S3, moto_s3.MotoS3), (S3, versity_s3.VersityS3), (Gcs, fake_gcs.FakeGcs))
        for kind, make in servers:
            with make() as server:
                world.env.update(server.env())
                name = make.__name__
                these, names = source, expected
                if make is versity_s3.VersityS3:
                    # Its lists are XML without url-encoding, which has no word for U+FFFE.
                    these = world.work / "source-versity"
                    these.mkdir()
                    names = hostile_names.plant(these, [each for each in hostile_names.NAMES if "\ufffe".encode() not in each])
                results.run(f"{name}: names", test_bucket, results, world, kind, server, these, names)
                if make is not versity_s3.VersityS3:  # whose keys are files of a folder
                    results.run(f"{name}: keys", test_bucket_keys, results, world, kind, server)
                results.run(f"{name}: content", test_content, results, world, kind, server)
                if make is moto_s3.MotoS3:
                    results.run("bucket input", test_bucket_input, results, world, kind, server)
    results.finish()


if __name__ == "__main__":
    main()
