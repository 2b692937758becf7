#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in apptainer's containers, as an ordinary user: apptainer.py [PART...]. Debian has apptainer in
sid alone, so the test goes into a tree of sid's, with namespaces of its own for mounts, and all of
stoker runs there; the image comes out of a real registry of this machine. Needs root; the tree is made once, in two
minutes."""

import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

INSIDE = "STOKER_APPTAINER_INSIDE"  # the user's id, and the registry's port
ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTER = "/outer-usr"  # in the tree: this machine's /usr, which has torch for the examples
PACKAGES = "apptainer,mount,procps,squashfuse,fuse3,uidmap,python3,openssh-server,openssh-client"
# The clock of who tests may be weeks behind a release that moves.
APT = 'Acquire::Check-Valid-Until "false"'
GO = """set -e
mount --rbind "$1" "$1"
cd "$1"
shift
for each in tmp proc sys dev "${ROOT#/}"; do
  mkdir -p "$each"
  mount --rbind "/$each" "$each"
done
mount --bind "$FUSE" dev/fuse
mkdir -p "${OUTER#/}"
mount --rbind /usr "${OUTER#/}"
for each in etc/passwd etc/group etc/subuid etc/subgid; do
  [ -e "$each" ] || : >"$each"
  mount --bind "/$each" "$each"
done
mkdir -p .old
pivot_root . .old
umount -l /.old
cd "$ROOT"
exec "$@"
"""


def tree():
    """Made once, whole or not there."""
    from test.cloud_env import cache_root

    folder = os.path.join(cache_root(), "sid-" + PACKAGES.replace(",", "-"))
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder + "/whole"):
            if not shutil.which("mmdebstrap"):
                sys.exit("apptainer: there is no mmdebstrap: apt-get install mmdebstrap")
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            words = ["mmdebstrap", "--variant=apt", f"--aptopt={APT}", f"--include={PACKAGES}", "sid", folder + "/tree"]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"apptainer: mmdebstrap failed:\n{done.stderr[-2000:]}")
            pathlib.Path(folder, "whole").touch()
    return folder + "/tree"


def outside():
    from test.containers import engines
    from test.e2e.kit.harness import World
    from test.slurm.kit.lab import free_ports

    if os.geteuid() != 0:
        sys.exit("apptainer: needs root, to make a user and to go into a tree of sid's")
    for each in ("podman", "registry"):
        engines.bring(each)
    sid = tree()
    [port] = free_ports(1)
    uid = engines.make_user()
    with World("apptainer-registry") as world:
        settings, fuse = world.root / "settings.yml", world.root / "fuse"
        settings.write_text(
            f"version: 0.1\nlog: {{level: warn}}\nstorage: {{filesystem: {{rootdirectory: {world.root}/held}}}}\n"
            f"http: {{addr: '127.0.0.1:{port}'}}\n"
        )
        os.mknod(fuse, 0o20666, os.makedev(10, 229))  # as udev has it for every user
        fuse.chmod(0o666)
        with open(world.root / "registry.log", "wb") as log:
            registry = subprocess.Popen(["docker-registry", "serve", str(settings)], stdout=log, stderr=log)
        try:
            engine = engines.Engine("podman", world)
            engine.which = engines.HOST_IMAGE
            engine.load()
            for name in ("py:1", "host:1"):
                engine.run("tag", f"localhost/{name}", f"localhost:{port}/{name}")
                end = time.monotonic() + 30
                while (pushed := engine.run("push", "--tls-verify=false", f"localhost:{port}/{name}", check=False)).returncode:
                    if time.monotonic() > end:
                        sys.exit(f"apptainer: the registry takes no image: {pushed.stderr}")
                    time.sleep(0.2)
            engine.close()
            env = {**os.environ, INSIDE: f"{uid} {port}", "FUSE": str(fuse), "ROOT": str(ROOT), "OUTER": OUTER}
            words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", GO, "sh", sid]
            return subprocess.run([*words, "/usr/bin/python3", *sys.argv], env=env).returncode
        finally:
            registry.terminate()
            registry.wait(20)
            engines.remove_user()


class Apptainer:
    """As engines.Engine; it keeps no books, and its mounts are its containers' own."""

    name = "apptainer"

    def __init__(self, world, port):
        self.world = world
        self.image = f"localhost:{port}/py:1"
        self.of_host = {"image": f"localhost:{port}/host:1", "usr": OUTER}
        self.env = {"APPTAINER_NOHTTPS": "1", "APPTAINER_DISABLE_CACHE": "1"}

    def containers(self):
        return []

    def unnamed(self):
        return []

    def left(self):
        """Processes of the user's that are apptainer's: clients, what serves an image."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes()
                if os.stat(f"/proc/{entry}").st_uid == self.world.user["user"] and (b"apptainer" in words or b"squashfuse" in words):
                    found.append(words[:80])
            except OSError:
                continue
        return found


def inside():
    from test.containers import containers as parts
    from test.containers import examples, habits
    from test.e2e.kit.harness import Results, World

    uid, port = map(int, os.environ[INSIDE].split())
    results = Results()
    chosen = {"seen": seen, "saved": parts.saved, "killed": parts.killed, "mistakes": mistakes, "orphaned": orphaned, "limited": limited}
    chosen.update(options=options, groups=habits.groups)
    more = {"here": examples.here, "box": examples.box}
    with World("apptainer", uid=uid) as world:
        world.root.chmod(0o755)
        engine = Apptainer(world, port)
        world.env.update(engine.env, PATH="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        asked = sys.argv[1:] or list(chosen)
        if chosen.keys() & set(asked):  # parts wait for a program to run, not for its image to be pulled
            world.stoker("run", parts.job_file(world, engine, "run: true\n"), timeout=300, check=True)
        for part in asked:
            begun = time.monotonic()
            results.run(part, {**chosen, **more}[part], world, engine, results.check)
            print(f"apptainer {part}: {time.monotonic() - begun:.1f} s", file=sys.stderr)
    results.finish()


def seen(world, engine, check):
    """What the program sees; whose its files are."""
    from test.containers.containers import ended, job_file, log, nothing_left
    from test.e2e.kit.job_kit import texts

    for name in ("data", "given"):
        (world.root / name).mkdir()
        world.own(world.root / name)
    (world.root / "given" / "file").write_text("from outside\n")
    lines = f"""  volumes: ["{world.root}/given:/given:ro", "{world.root}/data:/data"]
envs: {{ASKED: "a b"}}
setup: |
  echo inside > /made-by-setup
  echo LEFT=behind >> "$STOKER_ENV"
run: |
  echo "setup $(cat /made-by-setup) $LEFT"
  echo "asked $ASKED"
  echo "given $(cat /given/file)"
  echo "first $(tr '\\0' ' ' </proc/1/cmdline)"
  echo "user $(id -u)"
  echo "home $HOME"
  echo mine > /data/mine; echo no > /given/no 2>/dev/null || echo "given is read-only"
  head -c 100000000 /dev/zero > /tmp/much && echo "tmp has room"
  head -c 100000000 /dev/zero > /much && echo "its root has room"
  head -c 100000000 /dev/zero > /dev/shm/much && echo "shm has room"
  ls -d /usr/bin/apt-get 2>/dev/null || echo "another system"
  pwd
  exit 7
"""
    job = world.submit(job_file(world, engine, lines))
    check("it fails with the program's code", ended(world, job, "Failed"), log(world, job))
    said = texts(world, job)
    wanted = ["setup inside behind", "asked a b", "given from outside", f"user {world.user['user']}", "home /tmp", "given is read-only"]
    wanted += ["tmp has room", "its root has room", "shm has room", "another system"]
    for line in wanted:
        check(f"seen: {line}", line in said, said + [log(world, job)[-1500:]])
    check("stoker is its first process", any("__container" in one for one in said), said)
    check("the folder has its own path", any(str(world.state) in one for one in said), said)
    check("what it writes is the user's", (world.root / "data" / "mine").stat().st_uid == world.user["user"])
    check("the engine is named", "by apptainer 1." in log(world, job), log(world, job))
    images = list((world.home / ".cache/stoker/images").iterdir())
    check("its image is one file, and what it is called by", len(images) == 2, images)
    doctor = world.stoker("doctor").stdout
    check("doctor names the engine", "apptainer 1." in doctor, doctor)
    nothing_left(world, engine, check, "seen")


def processes(world, *wanted):
    """Of the world's user, which have one of these words in their command line."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes()
            if os.stat(f"/proc/{entry}").st_uid == world.user["user"] and any(one in words for one in wanted):
                found.append(int(entry))
        except OSError:
            continue
    return found


def orphaned(world, engine, check):
    """Client and agent are killed at once, then with their machine process: nobody is left who knows what serves the
    image, and it goes all the same."""
    from test.containers.containers import ended, job_file, log, nothing_left
    from test.e2e.kit.job_kit import running

    file = job_file(world, engine, "run: |\n  echo begun $STOKER_ATTEMPT; while [ $STOKER_ATTEMPT -lt 3 ]; do sleep 0.1; done\n")
    job = world.submit(file, "--max-restarts", "2")
    served = []
    for attempt, killed in ((1, [b"__agent"]), (2, [b"__machine", b"__agent"])):
        running(world, job, f"begun {attempt}")
        served += processes(world, b"squashfuse")
        for pid in processes(world, b"Apptainer runtime", *killed):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    check("something served its image", len(set(served)) > 1, served)
    check("the job goes on", ended(world, job), log(world, job))
    world.wait_for("the machine to be gone", lambda: not world.instances(), timeout=60)
    left = {pid: engine.left() for pid in served if os.path.exists(f"/proc/{pid}")}
    check(f"what served its image is gone ({len(served)} of them)", not left, left)
    nothing_left(world, engine, check, "orphaned")


def limited(world, engine, check):
    """As root: where stoker may make a group memory is held, and what is over it is told as such; else that it is not held."""
    from test.containers.containers import ended, job_file, log
    from test.e2e.kit.harness import World

    with World("apptainer-root") as own:
        own.env.update(engine.env, PATH=world.env["PATH"], XDG_CACHE_HOME=f"{world.home}/.cache")  # has the image
        text = "resources: {memory: 64MiB}\n"
        text += "command: [python3, -c, 'x = bytearray(200 << 20); print(len(x))']\n"
        job = own.submit(job_file(own, engine, text))
        try:
            held = "memory" in pathlib.Path("/sys/fs/cgroup/cgroup.controllers").read_text().split()
        except OSError:
            held = False  # the first version, whose groups are not made
        check("it fails where it is held", ended(own, job, "Failed" if held else "Succeeded"), log(own, job))
        shown = own.stoker("show", job).stdout
        told = "over its limit of" in shown and "resources.memory" in shown if held else "and not enforced" in log(own, job)
        check(f"memory is {'' if held else 'not '}held, and that is told", told, shown + log(own, job))
        own.wait_for("the machine to be gone", lambda: not own.instances(), timeout=60)


def options(world, _engine, check):
    """As options.py."""
    from test.containers.options import judge

    done = subprocess.run(["apptainer", "exec", "--help"], capture_output=True, text=True, check=True)
    judge(world, "apptainer", done.stdout, check)


def mistakes(world, engine, check):
    from test.containers.containers import job_file, log

    for name, image, line, expected in (
        ("no such program", engine.image, "command: [nothing-of-this-name]\n", "no such program in the container"),
        ("no such image", engine.image.replace("py", "none"), "run: true\n", "the registry has no such image"),
        ("no registry", "localhost:1/none:1", "run: true\n", "the registry does not answer"),
        ("no such option", engine.image, "  run_options: --no-such-option\nrun: true\n", "does not know one of these options"),
    ):
        done = world.stoker("run", job_file(world, engine, line, image), timeout=120)
        job = world.json("ls", "--all")[0]["id"]
        said = done.stdout + done.stderr + world.stoker("show", job).stdout + log(world, job)
        check(f"{name}: it fails", done.returncode != 0, said)
        check(f"{name}: it is said", expected in said, said)
    done = world.stoker("run", job_file(world, engine, "  shm_size: 1GiB\nrun: true\n"))
    check("a size of shared memory is refused", done.returncode != 0 and "no size of its own" in done.stderr, done.stderr)


if __name__ == "__main__":
    inside() if INSIDE in os.environ else sys.exit(outside())
