#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hard places: each row of a table ends with one clear error, or the job goes on as soon as it can.
File systems of its own, small ones, in a mount namespace; what clocks do is for the simulator.

  hardship.py [--size]      --size: only what is about size, ten times as large"""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e import unsaved
from test.e2e.kit.harness import PYTHON, Results, World

INSIDE = "STOKER_TEST_OWN_MOUNTS"
USER_MAPPED = "STOKER_TEST_NOT_ROOT"


def enter():
    """Mounts are this process's alone, and gone with it."""
    if os.environ.get(INSIDE):
        return
    os.environ[INSIDE] = "1"
    if os.geteuid() != 0:
        os.environ[USER_MAPPED] = "1"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    os.execvp("unshare", ["unshare", *user, "--mount", sys.executable, *sys.argv])


@contextlib.contextmanager
def small(world, where, options):
    where.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "nothing", where], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", where], check=True)


def remount(where, how):
    subprocess.run(["mount", "-o", f"remount,{how}", where], check=True)


def trouble(world, job):
    """What `show` says of a job that waits."""
    return world.stoker("show", job).stdout


def waits_then_goes_on(world, results, name, job, said, mend):
    world.wait_for(f"{name} is said", lambda: said in trouble(world, job).lower(), timeout=60)
    results.check(f"{name}: it is said while it waits", True)
    mend()
    done = world.stoker("wait", job, timeout=90)
    results.check(f"{name}: with room again the job ends well", done.returncode == 0, (done.stdout, trouble(world, job)))


def full_store(world, results):
    """40 MB of output, 4 MB of room in the ledger."""
    store = world.root / "small-store"
    with small(world, store, "size=64m"):
        world.stoker("config", "set", "store", store, check=True)
        job = world.submit("--output", "out", "--", "sh", "-c", f"{world.gate('full')}; mkdir out; head -c 40000000 /dev/urandom > out/big")
        ballast = store / "ballast"
        free = os.statvfs(store)
        ballast.write_bytes(bytes(free.f_bavail * free.f_frsize - (4 << 20)))
        world.open_gate("full")
        waits_then_goes_on(world, results, "a full store", job, "no space", ballast.unlink)
        world.stoker("get", job, "out", world.root / "got", check=True)
        results.check(
            "a full store: the output is whole",
            (world.root / "got" / "out" / "big").stat().st_size == 40_000_000
            if (world.root / "got" / "out").exists()
            else (world.root / "got" / "big").stat().st_size == 40_000_000,
        )
    world.stoker("config", "unset", "store", check=True)


def no_inodes(world, results):
    """500 files of output, room for fewer names."""
    store = world.root / "few-inodes"
    with small(world, store, "size=64m,nr_inodes=2000"):
        world.stoker("config", "set", "store", store, check=True)
        job = world.submit(
            "--output", "out", "--", "sh", "-c", f"{world.gate('inodes')}; mkdir out; for i in $(seq 500); do echo $i > out/$i; done"
        )
        ballast = store / "ballast"
        ballast.mkdir()
        with contextlib.suppress(OSError):
            for n in range(2000):
                (ballast / str(n)).touch()
        for n in range(100):  # lines, reports and the record go on
            (ballast / str(n)).unlink()
        world.open_gate("inodes")

        def mend():
            for path in ballast.iterdir():
                path.unlink()

        # With no name left nothing can be noted in the ledger: `show` says what it last knew.
        world.wait_for("the ledger is full", lambda: os.statvfs(store).f_favail == 0, timeout=60)
        world.wait_for("ls says that nodes cannot report", lambda: "the store is full (no inode is free in" in world.stoker("ls").stderr)
        results.check("no inodes: ls says that nodes cannot report", True)
        mend()
        done = world.stoker("wait", job, timeout=90)
        results.check("no inodes: with some again the job ends well", done.returncode == 0, (done.stdout, trouble(world, job)))
        kept = world.stoker("get", job, "out", world.root / "got-many", check=True)
        files = [p for p in (world.root / "got-many").rglob("*") if p.is_file()]
        results.check("no inodes: all 500 are kept", len(files) == 500, (len(files), kept.stderr))
    world.stoker("config", "unset", "store", check=True)


def cancel_without_room(world, results):
    """Everything of stoker's lies on one file system, without a byte of room."""
    for reserve in (True, False):
        home = world.root / f"full-{reserve}"
        name = f"a full disk {'with' if reserve else 'without'} a reserve"
        with small(world, home, "size=400m"):
            env = {"HOME": str(home)}
            job = world.submit("--stop-grace", "2s", "--", "sleep", "300", env=env)
            world.wait_for("it runs", lambda: world.json("ls", env=env)[0]["state"] == "Running")
            state = home / ".local" / "share" / "stoker"
            kept = state / "reserve"
            results.check(f"{name}: it is there while there is room", kept.stat().st_size == 4 << 20)
            if not reserve:
                kept.unlink()
            ballast = home / "ballast"
            with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            worst = {one["level"] for one in world.json("doctor", env=env, ok=(1,)) if one["what"] == "disk"}
            results.check(f"{name}: doctor fails", "bad" in worst, worst)
            swept = world.stoker("gc", env=env)
            results.check(f"{name}: gc works", "No space" not in swept.stdout + swept.stderr, swept.stdout + swept.stderr)
            done = world.stoker("cancel", job, env=env, timeout=120)
            alive = ["pgrep", "-f", f"__machine {home}"]
            world.wait_for("no machine is left", timeout=10, condition=lambda: subprocess.run(alive, capture_output=True).returncode == 1)
            results.check(
                f"{name}: cancel ends the job, and says how",
                "the disk is full" in done.stderr and (done.returncode == 0 or "Free some space" in done.stderr),
                done.stdout + done.stderr,
            )
            results.check(
                f"{name}: cancelled in the record, or told that it is not",
                done.returncode == 1 or "Cancelled" in done.stdout,
                done.stdout + done.stderr,
            )
            ballast.unlink()
            world.wait_for(
                "the end", lambda: world.stoker("ls", env=env).returncode == 0 and world.json("show", job, env=env)["job"].get("result")
            )
            last = world.json("show", job, env=env)["job"]
            results.check(f"{name}: with room again all is in the record", last["state"] == "Cancelled", last)


def read_only(world, results):
    """The ledger's file system turns read-only for a while, as one does after an error."""
    store = world.root / "read-only"
    with small(world, store, "size=64m"):
        world.stoker("config", "set", "store", store, check=True)
        world.program(
            "import time\nfor i in range(16):\n    print('line', i, flush=True)\n    time.sleep(0.5)\nopen('model.pt', 'w').write('m')\n"
        )
        job = world.submit("--", PYTHON, "prog.py")
        world.wait_for("it runs", lambda: world.job(job)["state"] == "Running")
        remount(store, "ro")
        shown = world.stoker("show", job)
        results.check("a read-only store: it can be looked at", job in shown.stdout, shown.stderr)
        refused = world.stoker("run", "--detach", "--", "true")
        results.check(
            "a read-only store: a new job is refused in plain words",
            refused.returncode != 0 and "ead-only" in refused.stderr,
            refused.stderr,
        )
        subprocess.run(["sleep", "4"], check=True)
        remount(store, "rw")
        done = world.stoker("wait", job, timeout=60)
        said = [w for w in world.stoker("logs", job).stdout.split("\n") if w.startswith("line ")]
        results.check(
            "a read-only store: the job ends well, and no line is lost",
            done.returncode == 0 and said == [f"line {i}" for i in range(16)],
            (done.stdout, said),
        )
    world.stoker("config", "unset", "store", check=True)


def few_descriptors(world, results):
    """A hundred files at a time, with 64 descriptors."""
    text = (
        "import os, time\nos.makedirs('checkpoints/step-1')\n"
        "for n in range(100): open(f'checkpoints/step-1/{n}', 'w').write(str(n))\n"
        "time.sleep(6)\n"
    )
    world.program(text)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    done = subprocess.run(
        world.command(["run", "--", PYTHON, "prog.py"], world.work),
        cwd=world.work,
        env=world.env,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    )
    listed = world.stoker("checkpoints").stdout
    results.check(
        "64 descriptors: the job ends well with its checkpoint", done.returncode == 0 and "1-1" in listed, (done.stderr[-600:], listed)
    )
    results.check("64 descriptors: ours are as before", resource.getrlimit(resource.RLIMIT_NOFILE) == limits)


def no_home(world, results):
    """Nowhere to write."""
    home = world.root / "locked"
    with small(world, home, "size=1m,ro"):
        done = world.stoker("run", "--", "true", env={"HOME": str(home)})
        told = done.stderr.strip().split("\n")
        results.check(
            "a home that cannot be written: one error that names it",
            done.returncode != 0 and str(home) in done.stderr and len(told) <= 3,
            told,
        )


def many_files(world, results, many=5_000):
    """Thousands of files of output."""
    with small(world, world.root / "many", "size=900m"):
        world.stoker("config", "set", "store", world.root / "many" / "store", check=True)
        job = world.submit(
            "--output",
            "out",
            "--",
            PYTHON,
            "-c",
            f"import os\nos.mkdir('out')\nfor n in range({many}): open(f'out/{{n}}', 'w').write(str(n))\n",
        )
        done = world.stoker("wait", job, timeout=200)
        got = world.root / "many" / "got"
        fetched = world.stoker("get", job, "out", got, timeout=120)
        count = sum(1 for p in got.rglob("*") if p.is_file())
        results.check(f"{many:,} files: kept and fetched", done.returncode == 0 and count == many, (done.stdout, fetched.stderr, count))
    world.stoker("config", "unset", "store", check=True)


def sparse(world, results, size=1 << 30):
    """A large file of which 1 MB is there."""
    world.program(
        f"import os\nwith open('big.bin', 'wb') as f:\n    f.truncate({size})\n    f.seek({size // 2})\n    f.write(os.urandom(1 << 20))\n"
    )
    job = world.submit("--output", "big.bin", "--", PYTHON, "prog.py")
    done = world.stoker("wait", job, timeout=200)
    got = world.root / "got-sparse"
    world.stoker("get", job, "big.bin", got, timeout=200, check=True)
    file = next(p for p in got.rglob("big.bin") if p.is_file())
    for what, path in (("the ledger", world.store), ("what is fetched", got)):
        used = sum(p.stat().st_blocks * 512 for p in path.rglob("*") if p.is_file())
        results.check(f"a sparse file stays sparse in {what}", used < 200 << 20, used)
    results.check("a sparse file has its size", done.returncode == 0 and file.stat().st_size == size, done.stdout)


def few_processes(world, results):
    """`ulimit -u 12`, which does not count for root."""
    if os.environ.get(USER_MAPPED):
        print("skipped: ulimit -u: needs root, to be another user", flush=True)
        return
    user = ["setpriv", "--reuid=61012", "--regid=61012", "--clear-groups"]
    home = world.root / "few-processes"
    home.mkdir()
    os.chmod(world.root, 0o755)
    os.chown(home, 61012, 61012)
    done = subprocess.run(
        [*user, "prlimit", "--nproc=12", world.binary, "run", "--", "true"],
        cwd=home,
        env={**world.env, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    results.check(
        "12 processes: one error that says what to raise",
        done.returncode != 0 and "ulimit -u" in done.stderr and "raise the limit" in done.stderr,
        done.stderr,
    )


def unreadable(world, results):
    """Files and folders that their own program has locked, as an ordinary user."""
    if os.environ.get(USER_MAPPED):
        print("skipped: what may not be read: needs root, to be another user", flush=True)
        return
    home = world.root / "unreadable"
    home.mkdir()
    os.chown(home, 61013, 61013)
    os.chmod(world.root, 0o755)
    (home / "prog.py").write_text(
        "import os, time\nos.makedirs('output/locked')\n"
        "for name in ('output/good', 'output/locked/x', 'output/bad', 'checkpoints/bad',\n"
        "             'checkpoints/good'): open(name, 'w').write(name)\n"
        "for name in ('output/locked', 'output/bad', 'checkpoints/bad'): os.chmod(name, 0)\n"
        "os.rmdir('model')\nopen('model', 'w').write('trained')\ntime.sleep(3)\n"
    )

    def stoker(*words):
        return subprocess.run(
            ["setpriv", "--reuid=61013", "--regid=61013", "--clear-groups", world.binary, *words],
            cwd=home,
            env={**world.env, "HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=90,
        )

    done = stoker("run", "--", PYTHON, "prog.py")
    results.check(
        "what may not be read is named, and nothing waits for it",
        all(f"'{name}'" in done.stderr for name in ("bad", "output/bad", "output/locked"))
        and done.stderr.count("not kept: it may not be read") >= 2,
        done.stderr,
    )
    results.check(
        "what was to be kept and may not be read counts as not kept",
        done.returncode == 1 and "Succeeded, 2 files not kept" in done.stderr,
        f"{done.returncode} {done.stderr}",
    )
    stoker("get", "-")
    got = {str(p.relative_to(at)): p.read_text() for at in home.glob("prog-*") for p in at.rglob("[!.]*") if p.is_file()}
    results.check(
        "the rest is kept, also a file in the place of the model's folder", got == {"output/good": "output/good", "model": "trained"}, got
    )
    listed = json.loads(stoker("checkpoints", "-", "--json").stdout)
    results.check("and is a checkpoint", [c["files"] for c in listed if c["whole"]] == [1], listed)
    log = stoker("logs", "-").stdout
    results.check("the log names it once", log.count("'bad' can be in no checkpoint") == 1, log)


def shared_blocks(world, results):
    """Where the file system shares blocks, three checkpoints of 100 MB and the folder itself take
    what they are, at no time twice that."""
    if os.environ.get(USER_MAPPED):
        print("skipped: shared blocks: needs root, to mount XFS", flush=True)
        return
    image, where = world.root / "xfs.img", world.root / "xfs"
    with open(image, "wb") as file:
        file.truncate(1500 << 20)
    where.mkdir()
    subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, where], check=True)
    try:
        text = (
            "import os, time\nfor n in range(6):\n"
            "    with open('checkpoints/new', 'wb') as out: out.write(os.urandom(100 << 20))\n"
            "    os.rename('checkpoints/new', 'checkpoints/model.pt')\n    time.sleep(4)\n"
        )
        world.program(text)
        env = {"HOME": str(where), "XDG_CACHE_HOME": str(where / "cache")}
        used = lambda: shutil.disk_usage(where).used
        begin = used()
        job = world.submit("--", PYTHON, "prog.py", env=env)
        most = 0
        while world.json("show", job, env=env)["job"]["state"] in ("Pending", "Running"):
            most = max(most, used() - begin)
        whole = [c for c in world.json("checkpoints", job, env=env) if c["whole"]]
        results.check("shared blocks: three checkpoints are there", len(whole) == 3, whole)
        # Three that are kept, one more until the oldest is gone, and the one being written.
        print(f"shared blocks: at most {most >> 20} MiB", flush=True)
        results.check("shared blocks: never more than they are", most < 560 << 20, most >> 20)
        world.wait_for(
            "its machine is gone",
            lambda: "unmounted" in subprocess.run(["sh", "-c", f"umount {where} && echo unmounted"], capture_output=True, text=True).stdout,
        )
    finally:
        subprocess.run(["umount", "--lazy", where], check=False, capture_output=True)
        image.unlink()


def file_then_folder(world, results):
    """What was a file becomes a folder of that name, and the other way round."""
    job = world.submit(
        "--output",
        "out",
        "--",
        "sh",
        "-c",
        "mkdir -p out/b; echo 1 > out/a; echo 2 > out/b/c; sleep 4; rm out/a; mkdir out/a; echo 3 > out/a/d; rm -r out/b; echo 4 > out/b",
    )
    done = world.stoker("wait", job, timeout=90)
    got = world.root / "got-turned"
    fetched = world.stoker("get", job, "out", got)
    files = {str(p.relative_to(got)).removeprefix("out/"): p.read_text() for p in got.rglob("*") if p.is_file()} if got.exists() else {}
    results.check(
        "a file that becomes a folder: as it was at the end",
        done.returncode == 0 and files == {"a/d": "3\n", "b": "4\n"},
        (done.stdout, fetched.stderr, files, trouble(world, job)),
    )


def large(world, results):
    """What `test` tries at a tenth of it: here every byte and every name costs."""
    results.run("many_files", many_files, world, results, 50_000)
    results.run("sparse", sparse, world, results, 10 << 30)


def main():
    enter()
    results = Results()
    if "--size" in sys.argv[1:]:
        with World("hardship-size") as world:
            large(world, results)
        results.finish()
    with contextlib.ExitStack() as stack, World("hardship") as world:
        full = unsaved.begin(stack, small)
        for row in (
            full_store,
            no_inodes,
            cancel_without_room,
            read_only,
            few_descriptors,
            no_home,
            many_files,
            sparse,
            few_processes,
            unreadable,
            shared_blocks,
            file_then_folder,
        ):
            results.run(row.__name__, row, world, results)
        unsaved.finish(full, results)
    results.finish()


if __name__ == "__main__":
    main()
