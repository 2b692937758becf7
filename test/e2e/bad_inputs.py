# SPDX-License-Identifier: Apache-2.0
"""A table of bad inputs: each gets one clear error and its exit code, and nothing is left behind.

Job files, flags, jobs that do not exist, ledgers with garbage or of a newer version, archives that
want out of their folder, full disks, stores that cannot be written, programs that are not there.
"""

import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World

# (name, job file, exit code, fragments that the message must have)
JOB_FILES = [
    ("not YAML", "run: [", 1, ["job.yaml:1:6", "["]),
    ("a list, not a map", "- a\n- b\n", 1, ["job.yaml:1:1"]),
    ("empty file", "", 1, ["run"]),
    ("unknown key", "run: x\nepohcs: 3\n", 1, ["job.yaml:2:1", "epohcs"]),
    ("misspelt key", "run: x\nnum_node: 2\n", 1, ["job.yaml:2:1", "num_nodes"]),
    ("misspelt nested key", "run: x\nlimits: {max_durration: 2h}\n", 1, ["max_duration"]),
    ("key given twice", "run: x\nrun: y\n", 1, ["job.yaml:2:1", "run"]),
    ("bad duration", "run: x\nlimits:\n  max_duration: 2 hours\n", 1, ["job.yaml:3:", "2 hours"]),
    ("duration without unit", "run: x\nstop_grace: 30\n", 1, ["job.yaml:2:", "30"]),
    ("num_nodes 0", "run: x\nnum_nodes: 0\n", 1, ["job.yaml:2:", "num_nodes"]),
    ("num_nodes -1", "run: x\nnum_nodes: -1\n", 1, ["num_nodes"]),
    ("num_nodes text", "run: x\nnum_nodes: two\n", 1, ["num_nodes", "two"]),
    ("empty run", "run: ''\n", 1, ["run"]),
    ("run is a list", "run: [a]\n", 1, ["run"]),
    ("neither run nor command", "name: x\n", 1, ["run"]),
    ("missing workdir", "run: x\nworkdir: ./nowhere\n", 1, ["nowhere"]),
    ("workdir is a file", "run: x\nworkdir: ./job.yaml\n", 1, ["workdir"]),
    ("unsafe name", "run: x\nname: ../../etc\n", 1, ["name", "../../etc"]),
    ("name with a space", "run: x\nname: a b\n", 1, ["name"]),
    ("name with an escape sequence", 'run: x\nname: "a\\e[31mb"\n', 1, ["name"]),
    ("bad variable name", "run: x\nenvs: {1A: b}\n", 1, ["1A"]),
    ("variable that must be given", "run: x\nenvs: {DATA: null}\n", 1, ["DATA", "--env"]),
    ("secret in envs", "run: x\nenvs: {AWS_SECRET_ACCESS_KEY: abcdefgh}\n", 1, ["AWS_SECRET_ACCESS_KEY"]),
    (
        "not built: a streamed input",
        "run: x\ninputs: {a: {source: s3://bucket/c, mode: stream}}\n",
        1,
        ["job.yaml:2:43", "inputs.a.mode", "not built yet"],
    ),
    ("input that is not there", "run: x\ninputs: {a: ./nowhere}\n", 1, ["2:13", "nowhere"]),
    ("input of a scheme unknown", "run: x\ninputs: {a: ftp://a/b}\n", 1, ["2:13", "s3://"]),
    ("input without a bucket", "run: x\ninputs: {a: s3:///b}\n", 1, ["job.yaml:2:13", "bucket"]),
    ("input with a bad name", "run: x\ninputs: {a/b: /etc}\n", 1, ["job.yaml:2:10", "a/b"]),
    ("not built: file_mounts", "run: x\nfile_mounts: {/a: ./b}\n", 1, ["file_mounts", "not built yet"]),
    ("not built: oci", "run: x\nresources: {infra: oci/us-east1}\n", 1, ["oci", "not built yet"]),
    ("not there: accelerators", "run: x\nresources: {accelerators: H100:8}\n", 1, ["8 H100", "this machine has"]),
    ("output outside", "run: x\noutputs: [../secrets]\n", 1, ["outputs", "../secrets"]),
    ("a map among secrets", "run: x\nsecrets: [{A: ssm:/team/a}]\n", 1, ["job.yaml:2:", "secrets: {A: ssm:/team/a}"]),
    ("exit code 300", "run: x\njob_recovery: {recover_on_exit_codes: [300]}\n", 1, ["300"]),
    ("bad signal", "run: x\ncheckpoints: {signal: SIGNOPE}\n", 1, ["SIGNOPE"]),
    ("bad ending", "run: x\nconfig: {stoker: {ending: wishful}}\n", 1, ["wishful"]),
    ("alias bomb", "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\nrun: x\n", 1, ["job.yaml:"]),
    ("binary file", "run: \x01\x02\n", 1, ["job.yaml:1"]),
    ("very large file", "run: x\n#" + "x" * 2_000_000, 1, ["at most 1 MiB"]),
]

# (name, arguments, exit code, fragments)
FLAGS = [
    ("no such verb", ["rnu"], 2, ["rnu", "run"]),
    ("unknown flag", ["run", "--deetach", "--", "true"], 2, ["--detach"]),
    ("nothing to run", ["run"], 2, ["nothing to run"]),
    ("job file and command", ["run", "job.yaml", "--", "true"], 2, ["both"]),
    ("no such job file", ["run", "nope.yaml"], 2, ["nope.yaml"]),
    ("empty command", ["run", "--"], 2, ["command"]),
    ("bad --num-nodes", ["run", "--num-nodes", "x", "--", "true"], 2, ["--num-nodes"]),
    ("bad --env", ["run", "--env", "=x", "--", "true"], 2, ["--env"]),
    ("bad --input", ["run", "--input", "data", "--", "true"], 2, ["--input", "NAME=SOURCE"]),
    ("--input that is not there", ["run", "--input", "a=nope", "--", "true"], 2, ["nope"]),
    ("bad --max-duration", ["run", "--max-duration", "soon", "--", "true"], 2, ["soon"]),
    ("bad --ending", ["run", "--ending", "x", "--", "true"], 2, ["ending"]),
    ("no such job", ["show", "nosuchjob"], 1, ["nosuchjob"]),
    ("logs of no job", ["logs", "nosuchjob"], 1, ["nosuchjob"]),
    ("last of no jobs", ["wait", "-"], 1, ["no job"]),
    ("job id that is a path", ["show", "../../etc/passwd"], 1, ["passwd"]),
    ("bad --since", ["logs", "nosuchjob", "--since", "yesterday"], 1, ["nosuchjob"]),
    ("bad config key", ["config", "set", "stoer", "/x"], 2, ["store"]),
    ("bad config value", ["config", "set", "store", "gs://bucket/../x"], 2, ["bucket"]),
    ("cancel without a job", ["cancel"], 2, ["cancel"]),
    ("bad interval", ["controller", "--interval", "now"], 2, ["now"]),
    ("command after another verb", ["ls", "--", "true"], 2, ["--"]),
    ("shell nobody has", ["completion", "tcsh"], 2, ["tcsh"]),
]


def snapshot(world):
    """Everything below the store but the marks of a first use, and the instances."""
    found = []
    for root in (world.store, world.state / "instances"):
        for path in root.rglob("*") if root.exists() else []:
            rel = str(path.relative_to(root))
            if path.is_file() and not rel.startswith(("blobs/", "index/")) and rel != "ledger.json":
                found.append(rel)
    return sorted(found)


def check_error(results, world, name, done, code, fragments, before):
    text = done.stdout + done.stderr
    problems = []
    if done.returncode != code:
        problems.append(f"exit code {done.returncode}, not {code}")
    problems += [f"{f!r} is not in the message" for f in fragments if f not in text]
    if done.stderr.count("error:") != 1:
        problems.append(f"{done.stderr.count('error:')} times 'error:'")
    if "\x1b" in text or "terminate called" in text or "Assertion" in text:
        problems.append("an escape sequence or a crash in the message")
    after = snapshot(world)
    if after != before:
        problems.append(f"left behind: {sorted(set(after) - set(before))}")
    results.check(name, not problems, f"{problems}\n      {text.strip()[:600]}")


def test_tables(results, world):
    for name, text, code, fragments in JOB_FILES:
        (world.work / "job.yaml").write_text(text)
        before = snapshot(world)
        check_error(results, world, f"job file: {name}", world.stoker("run", "job.yaml"), code, fragments, before)
    (world.work / "job.yaml").write_text("run: 'true'\n")
    for name, args, code, fragments in FLAGS:
        before = snapshot(world)
        check_error(results, world, f"flags: {name}", world.stoker(*args), code, fragments, before)


def test_json_error(results, world):
    done = world.stoker("show", "nosuchjob", "--json")
    try:
        error = json.loads(done.stdout)["error"]
        good = done.returncode == 1 and error["code"] == "not_found" and not done.stderr
    except (ValueError, KeyError):
        good = False
    results.check("an error with --json is JSON on standard output", good, done.stdout + done.stderr)


def test_workdir(results, world):
    folder = world.root / "leaky"
    folder.mkdir()
    # Put together here, so that no scanner takes this file for a leak.
    (folder / "settings.py").write_text("TOKEN = '" + "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" + "'\n")
    before = snapshot(world)
    check_error(
        results,
        world,
        "work directory: a credential",
        world.stoker("run", "--", "true", cwd=folder),
        1,
        ["settings.py", ".stokerignore"],
        before,
    )
    empty = world.root / "noread"
    empty.mkdir()
    check_error(
        results,
        world,
        "work directory: the whole file system",
        world.stoker("run", "--workdir", "/", "--", "true", cwd=empty),
        2,
        ["whole file system"],
        snapshot(world),
    )


def one_job(world):
    job = world.submit("--", "true")
    world.stoker("wait", job, check=True)
    world.wait_for("its instance gone", lambda: not world.instances())
    world.stoker("ls", check=True)
    return job


def newest_record(world, job):
    """The file that holds the record: docs/ledger.md says how a changed object lies in a folder."""
    folder = world.store / "records" / f"{job}.json.rev"
    if not folder.is_dir():
        return world.store / "records" / f"{job}.json"
    current = next(p.name for p in folder.iterdir() if p.name.startswith("at-"))
    return folder / current.removeprefix("at-")


def test_ledger(results, world):
    job = one_job(world)
    record = newest_record(world, job)
    good = record.read_bytes()
    for name, data, fragments in [
        ("garbage", b"\x00garbage", [job]),
        ("not a record", b"[1,2,3]", [job]),
        ("a newer format", re.sub(rb'"format": ?\d+', b'"format":99', good), ["newer"]),
        (
            "a wrong type",
            good.replace(b'"num_nodes":1', b'"num_nodes":"many"').replace(b'"num_nodes": 1', b'"num_nodes": "many"'),
            ["num_nodes"],
        ),
        ("cut short", good[: len(good) // 2], [job]),
        ("another job's record", good.replace(job.encode(), b"aaaaaaaa"), [job]),
    ]:
        record.write_bytes(data)
        check_error(results, world, f"record: {name}", world.stoker("show", job), 1, fragments, snapshot(world))
        results.check(f"record: {name}: the others are still listed", world.stoker("ls").returncode == 0)
    record.write_bytes(good)
    results.check("record: made good again", world.stoker("show", job).returncode == 0)
    ledger = world.store / "ledger.json"
    good = ledger.read_bytes()
    for name, data, fragments in [("garbage", b"{", ["ledger.json"]), ("a newer version", b'{"format": 99, "id": "x"}', ["newer"])]:
        ledger.write_bytes(data)
        check_error(results, world, f"ledger.json: {name}", world.stoker("ls"), 1, fragments, snapshot(world))
    ledger.write_bytes(good)
    config = world.home / ".config" / "stoker" / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    for name, text, fragments in [
        ("unknown key", "stoer: /x\n", ["config.yaml:1:1", "store"]),
        ("not a store", "store: az://bucket\n", ["az://bucket", "gs://"]),
    ]:
        config.write_text(text)
        check_error(results, world, f"settings: {name}", world.stoker("ls"), 1, fragments, snapshot(world))
    config.unlink()


def compress(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def tar_of(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for member, data in members:
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def member(name, kind=tarfile.REGTYPE, data=b"", link=""):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, len(data), link
    return info, data


def forge(world, template, archive):
    """A job whose code is `archive`: a copy of an ended job's record, pending again."""
    digest = hashlib.sha256(archive).hexdigest()
    # A copy is named by content and by the period of 15 days in which it was written.
    copy = f"{digest}-{int(time.time()) // (15 * 86400):05d}"
    (world.store / "blobs" / copy).write_bytes(archive)
    record = json.loads(newest_record(world, template).read_text())
    job = "f" + digest[:7]
    for key in ("requests", "launches", "attempts", "ended", "result", "cancel"):
        record.pop(key, None)
    record.update(id=job, rev=1, writer="forged", state="Pending", code_digest=digest)
    folder = world.store / "jobs" / job
    folder.mkdir(parents=True)
    shutil.copy(world.store / "jobs" / template / "spec.yaml", folder / "spec.yaml")
    (world.store / "active").mkdir(exist_ok=True)
    (world.store / "active" / job).write_text("")
    (world.store / "records" / f"{job}.json").write_text(json.dumps(record))
    return job


def test_archives(results, world):
    template = one_job(world)
    outside = world.root / "outside"
    bomb = tar_of(member("zeros", data=b"\0" * (1 << 20)))
    for name, archive in [
        ("a name with ..", compress(tar_of(member("../../../outside", data=b"x")))),
        ("an absolute name", compress(tar_of(member(str(outside), data=b"x")))),
        (
            "a link out, then through it",
            compress(tar_of(member("l", tarfile.SYMTYPE, link=str(world.root)), member("l/outside", data=b"x"))),
        ),
        ("a hard link out", compress(tar_of(member("h", tarfile.LNKTYPE, link="/etc/passwd")))),
        ("a device", compress(tar_of(member("d", tarfile.CHRTYPE)))),
        ("a fifo", compress(tar_of(member("p", tarfile.FIFOTYPE)))),
        ("a tar that is cut short", compress(bomb[:700])),
        ("zstd that is cut short", compress(bomb)[:-10]),
        ("no archive at all", b"hello"),
        ("a bomb", bomb_archive()),
    ]:
        job = forge(world, template, archive)
        # The bomb is unpacked up to its limit of 1 GiB: slow on a busy disk.
        done = world.stoker("wait", job, "--timeout", "240s", timeout=300)
        shown = world.job(job)
        world.wait_for("its instances gone", lambda: not world.instances(), timeout=120)
        good = done.returncode == 1 and shown["state"] == "Failed" and not outside.exists()
        results.check(f"archive: {name}", good, f"{done.returncode} {shown['state']} {shown.get('result')}")


def bomb_archive():
    """3 GiB of zeros in a few hundred kB: over the ratio that is accepted."""
    head = member("zeros")[0]
    head.size = 3 << 30
    process = subprocess.Popen(["zstd", "-q", "-c", "-T1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    import threading

    def feed():
        process.stdin.write(head.tobuf())
        block = b"\0" * (8 << 20)
        for _ in range((3 << 30) // len(block)):
            process.stdin.write(block)
        process.stdin.write(b"\0" * 1024)
        process.stdin.close()

    threading.Thread(target=feed).start()
    return process.stdout.read()


def test_programs(results, world):
    cases = [
        ("missing program", ["no-such-program"], 127, "no-such-program"),
        ("missing interpreter", ["./script.sh"], 127, "/no/such/interpreter"),
        ("not executable", ["./plain.txt"], 126, "plain.txt"),
        ("not a program", ["./garbage"], None, "garbage"),
    ]
    script = world.work / "script.sh"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    (world.work / "plain.txt").write_text("hello\n")
    garbage = world.work / "garbage"
    garbage.write_bytes(b"\x7fELF\x00garbage")
    garbage.chmod(0o755)
    for name, command, code, fragment in cases:
        done = world.stoker("run", "--", *command)
        text = done.stdout + done.stderr
        good = fragment in text and (done.returncode == code if code else done.returncode != 0)
        results.check(f"program: {name}", good, f"{done.returncode}: {text[-500:]}")
    for name, spec, fragment in [
        ("setup fails", "setup: exit 9\nrun: 'true'\n", "setup ended with exit code 9"),
        ("missing in run", "run: no-such-program --x\n", "no-such-program"),
    ]:
        (world.work / "job.yaml").write_text(spec)
        done = world.stoker("run", "job.yaml")
        results.check(
            f"program: {name}",
            done.returncode not in (0, 1, 2) and fragment in done.stdout + done.stderr,
            f"{done.returncode}: {done.stdout[-300:]} {done.stderr[-300:]}",
        )
    world.wait_for("instances gone", lambda: not world.instances())


def test_store(results, world):
    blocked = world.root / "file"
    blocked.write_text("not a folder")
    env = {"XDG_DATA_HOME": str(blocked)}
    check_error(
        results, world, "store: its place is a file", world.stoker("run", "--", "true", env=env), 1, [str(blocked)], snapshot(world)
    )
    check_error(
        results,
        world,
        "store: cannot be written",
        world.stoker("run", "--", "true", env={"XDG_DATA_HOME": "/proc/nope"}),
        1,
        ["/proc/nope"],
        snapshot(world),
    )
    if os.geteuid() != 0:
        print("skipped: full and read-only disks need root (mount)")
        return
    disk = world.root / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=True)
    try:
        (disk / "ballast").write_bytes(b"x" * (2 << 20) if False else b"x" * ((2 << 20) - 20480))
        done = world.stoker("run", "--", "true", env={"XDG_DATA_HOME": str(disk)})
        results.check(
            "store: disk full", done.returncode == 1 and "No space left" in done.stderr and done.stderr.count("error:") == 1, done.stderr
        )
        results.check(
            "store: disk full: no job is half made",
            not list((disk / "stoker" / "ledger").glob("records/*")) and not list((disk / "stoker").glob("instances/*")),
        )
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        done = world.stoker("run", "--", "true", env={"XDG_DATA_HOME": str(disk)})
        results.check("store: read-only", done.returncode == 1 and "ead-only" in done.stderr, done.stderr)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def main():
    results = Results()
    with World("bad") as world:
        world.stoker("ls", check=True)
        test_tables(results, world)
        test_json_error(results, world)
        test_workdir(results, world)
        test_ledger(results, world)
        test_programs(results, world)
        test_archives(results, world)
        test_store(results, world)
    results.finish()


main()
