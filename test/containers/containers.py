#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in containers, with a real engine: containers.py podman|rootless|docker [PART...]. What holds for a
bare program holds: preempted, resumed, saved at SIGTERM, limited, ended whatever dies."""

import json
import os
import pathlib
import resource
import signal
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.containers.engines import Engine, hard, make_user, remove_user
from test.e2e.kit.harness import Results, World
from test.e2e.kit.job_kit import running, texts

IMAGE = "localhost/py:1"
KILLS = int(os.environ.get("STOKER_KILLS", "2"))  # of each; 10 by hand
# Saves at SIGTERM alone; says where it stands.
SAVER = """\
import os, signal, sys, time
folder = os.environ['STOKER_CHECKPOINT_DIR']
state = os.path.join(folder, 'state.txt')
step = int(open(state).read()) if os.path.exists(state) else 0
print('start', step, 'attempt', os.environ['STOKER_ATTEMPT'], flush=True)
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
while not told:
    step += 1
    if os.path.exists('go') or os.environ['STOKER_ATTEMPT'] != '1' and step > 20: break
    print('step', step, flush=True)
    time.sleep(0.05)
with open(state + '.new', 'w') as out: out.write(str(step))
os.rename(state + '.new', state)
print('saved', step, flush=True)
sys.exit(1 if told else 0)
"""


def job_file(world, engine, text, image=""):
    """`text`: begins with what else the container has."""
    path = world.work / "job.yaml"
    path.write_text(f"name: boxed\ncontainer:\n  image: {image or engine.image}\n  engine: {engine.name}\n{text}")
    return str(path)


def ended(world, job, state="Succeeded"):
    world.stoker("wait", job, timeout=120)
    return world.job(job)["state"] == state


def log(world, job):
    return world.stoker("logs", job, check=True).stdout


def nothing_left(world, engine, check, name):
    """By evidence of the test's own: the engine, the kernel's mounts, processes by their first one."""
    world.wait_for("the machine to be gone", lambda: not world.instances(), timeout=60)
    try:
        world.wait_for("the containers to be gone", lambda: not engine.containers() and not engine.left(), timeout=20)
    except AssertionError:
        pass
    check(f"{name}: no container is left", not engine.containers(), engine.containers())
    check(f"{name}: no mount is left", not engine.left(), engine.left())
    check(f"{name}: no volume without a name is left", not engine.unnamed(), engine.unnamed())
    check(f"{name}: no process is left", not boxed(world), boxed(world))


def boxed(world):
    """First processes of containers that work for this world: stoker's own, with its mounts."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            words = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0")
            if words[0] == b"/.stoker/program" and str(world.root) in open(f"/proc/{entry}/mountinfo", encoding="utf-8").read():
                found.append(int(entry))
        except (OSError, ValueError):
            continue
    return found


def children(pid):
    return [int(one) for one in open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()]


def inside(world, engine, check):
    """What the program sees; whose its files are; what the job file asks for."""
    (world.root / "data").mkdir()
    world.own(world.root / "data")
    (world.root / "data" / "given").write_text("from outside\n")
    processes = hard(resource.RLIMIT_NPROC)
    lines = f"""  shm_size: 64MiB
  cap_add: SYS_ADMIN
  volumes: ["{world.root}/data:/data:ro"]
  run_options: --ulimit nofile=512:512 --ulimit nproc={processes}:{processes}
envs: {{ASKED: "a b"}}
setup: |
  echo inside > /tmp/made-by-setup
  echo LEFT=behind >> "$STOKER_ENV"
run: |
  echo "setup $(cat /tmp/made-by-setup) $LEFT"
  echo "asked $ASKED"
  echo "data $(cat /data/given)"
  echo "files $(ulimit -n)"
  echo "first $(tr '\\0' ' ' </proc/1/cmdline)"
  df -k /dev/shm | grep -q 65536 && echo "shm 64"
  grep CapEff /proc/self/status
  mkdir -p output && echo kept > output/kept.txt
  pwd
  exit 7
"""
    job = world.submit(job_file(world, engine, lines))
    check("it fails with the program's code", ended(world, job, "Failed"), log(world, job))
    said = texts(world, job)
    shown = world.job(job)
    check("and that is told", "7" in json.dumps(shown["attempts"][-1]), shown["attempts"][-1])
    for line in ("setup inside behind", "asked a b", "data from outside", "files 512", "shm 64"):
        check(f"inside: {line}", line in said, said)
    check("stoker is its first process", any("__container" in one for one in said), said)
    caps = [int(one.split()[1], 16) for one in said if one.startswith("CapEff")]
    check("SYS_ADMIN is there", caps and caps[0] >> 21 & 1, said)
    check("the folder has its own path", any(str(world.state) in one for one in said), said)
    check("the engine is named", f"by {engine.name} " in log(world, job), log(world, job))
    world.stoker("get", job, "output", str(world.root / "got"), check=True)
    kept = world.root / "got"
    check("its outputs are kept", list(kept.rglob("kept.txt")), list(kept.rglob("*")))
    nothing_left(world, engine, check, "inside")


HABITS = """FROM localhost/py:1
VOLUME /kept
HEALTHCHECK --interval=1s CMD echo asked >> /tmp/health
USER 4321
WORKDIR /data
STOPSIGNAL SIGINT
ENV FROM_IMAGE=yes
"""
THREADS = """\
import os, threading
held, begun = threading.Event(), 0
threading.stack_size(65536)
try:
    for begun in range(1, 3001): threading.Thread(target=held.wait, daemon=True).start()
except RuntimeError as error:
    print(error)
print('threads', begun, flush=True)
held.set()
"""


def habits(world, engine, check):
    """What images bring along, and what a job at home does with them."""
    image = engine.build("habits", HABITS)
    mine = str(world.user.get("user", 0))
    engine.run("volume", "create", "named")
    world.program(THREADS, "threads.py")
    text = """workdir: .
run: |
  python3 threads.py
  echo "user $(id -u) $FROM_IMAGE proxy $http_proxy"
  echo mine > /kept/file && echo "its volume may be written"
  sleep 2; ls /tmp/health 2>/dev/null || echo "nobody asks after its health"
"""
    proxy = {"http_proxy": "http://localhost:1"}
    job = world.submit(job_file(world, engine, text, image), env=proxy)
    check("an image with all of them: it ends well", ended(world, job), log(world, job))
    said = texts(world, job)
    wanted = ["threads 3000", f"user {mine} yes proxy http://localhost:1", "its volume may be written"]
    for line in [*wanted, "nobody asks after its health"]:
        check(f"habits: {line}", line in said, said)
    check("and the engine has no remark", f"stoker: {engine.name}: " not in log(world, job), log(world, job))
    job = world.submit(job_file(world, engine, "run: echo proxy $http_proxy $STOKER_ATTEMPT\n"), "--no-shell-env", env=proxy)
    check("the shell's proxy stays out where asked", ended(world, job) and "proxy 1" in texts(world, job), log(world, job))
    nothing_left(world, engine, check, "habits")
    none = world.root / "none"
    done = world.stoker("run", job_file(world, engine, f"  volumes: ['{none}:/none']\nrun: ls /none\n"), timeout=120)
    said = done.stdout + done.stderr
    check("a volume that is not there is told by name", done.returncode != 0 and f"{none} is not on this machine" in said, said)
    check("and is not made", not none.exists(), said)
    check("a volume with a name stays", "named" in engine.run("volume", "ls", "--quiet").stdout.split())


def saved(world, engine, check):
    """Preempted: told, saves at SIGTERM, goes on from there."""
    world.program(SAVER, "saver.py")
    job = world.submit(job_file(world, engine, "workdir: .\ncommand: [python3, saver.py]\n"))
    running(world, job, "step 5")
    world.stoker("preempt", job, check=True)
    check("it ends well", ended(world, job), log(world, job))
    said = texts(world, job)
    starts = [one.split() for one in said if one.startswith("start")]
    saves = [one.split()[1] for one in said if one.startswith("saved")]
    check("in two attempts", [one[3] for one in starts] == ["1", "2"], said)
    check("the second begins with what the first saved at SIGTERM", saves and starts[-1][1] == saves[0], said)
    check("none of its lines is lost", said.count(f"step {int(saves[0]) - 1}") >= 1, said)
    nothing_left(world, engine, check, "saved")


def limited(world, engine, check):
    """Over its memory: told as such. The engine holds the limit, of either version of cgroups."""
    text = "resources: {memory: 64MiB}\ncommand: [python3, -c, 'x = bytearray(200 << 20); print(len(x))']\n"
    job = world.submit(job_file(world, engine, text))
    check("it fails", ended(world, job, "Failed"), log(world, job))
    shown = world.stoker("show", job).stdout
    check("for its limit of memory", "over its limit of" in shown and "resources.memory" in shown, shown)
    text = "run: kill -SEGV $$\n"
    job = world.submit(job_file(world, engine, text))
    check("a signal ends it", ended(world, job, "Failed"), log(world, job))
    shown = world.stoker("show", job).stdout
    check("and is told", "SIGSEGV" in shown or "signal 11" in shown, shown)
    nothing_left(world, engine, check, "limited")


def mistakes(world, engine, check):
    """One clear error each."""
    for name, image, expected in (
        ("no such program", IMAGE, "no such program in the container"),
        ("a wrong digest", "localhost/py@sha256:" + "0" * 64, "in no registry"),
    ):
        done = world.stoker("run", job_file(world, engine, "command: [nothing-of-this-name]\n", image), timeout=120)
        job = world.json("ls", "--all")[0]["id"]
        said = done.stdout + done.stderr + world.stoker("show", job).stdout + log(world, job)
        check(f"{name}: it fails", done.returncode != 0, said)
        check(f"{name}: it is said", expected in said, said)
    job = world.submit(job_file(world, engine, "run: true\n", "localhost:1/none:1"))
    world.wait_for("the registry's line", lambda: "the registry does not answer" in log(world, job), timeout=120)
    check("no such registry: it is waited for", "; asked again, for 10m at most" in log(world, job), log(world, job))
    world.stoker("cancel", job, check=True)
    check("no such registry: a cancel ends that", ended(world, job, "Cancelled"), log(world, job))
    done = world.stoker("run", job_file(world, engine, "  run_options: --pid=host\nrun: true\n"))
    check("--pid=host is refused", done.returncode != 0 and "job.yaml:5:" in done.stderr, done.stderr)
    shown = world.stoker("run", "--dry-run", "--container", IMAGE, "--", "true").stdout
    check("--container is the key's short form", f'container:\n  image: "{IMAGE}"' in shown, shown)
    nothing_left(world, engine, check, "mistakes")


def agent_of(world):
    [machine] = world.instances()
    for entry in os.listdir("/proc"):
        try:
            words = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0")
        except OSError:
            continue
        if b"__agent" in words and str(machine).encode() in words:
            return int(entry)
    return 0


def parent_of(pid):
    return int(open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[1])


def victim(world, who):
    [first] = world.wait_for("the container", lambda: boxed(world))
    if who == "program":
        return world.wait_for("the program", lambda: children(first))[0]
    if who == "init":
        return first
    if who == "keeper":  # conmon, or containerd's shim
        return parent_of(first)
    return world.wait_for("the agent", lambda: agent_of(world))


def killed(world, engine, check):
    """kill -9 of the program, of the container's first process, of conmon or the shim, of the agent:
    the job ends well, or fails as its program did, and nothing is left."""
    image = engine.build("volume", f"FROM {IMAGE}\nVOLUME /kept\n")
    for number in range(KILLS):
        for who in ("program", "init", "keeper", "agent"):
            folder = world.root / f"{who}{number}"
            folder.mkdir()
            world.own(folder)
            (folder / "saver.py").write_text(SAVER)
            text = f"workdir: {folder}\ncommand: [python3, saver.py]\n"
            job = world.submit(job_file(world, engine, text, image), "--max-restarts", "1")
            running(world, job, "step 2")
            pid = victim(world, who)
            if number % 2:
                time.sleep(0.03 * number)
            os.kill(pid, signal.SIGKILL)
            # containerd ends what its shim had; without conmon the program lives on, seen and heard
            # as before, and its end is its own.
            lives = who == "keeper" and engine.name == "podman"
            if lives:
                world.wait_for("more lines", lambda job=job: any(one == "step 30" for one in texts(world, job)))
                pathlib.Path(world.state, "work", f"{job}-0", "go").touch()
            good = ended(world, job)
            check(f"{who} {number}: the job goes on and ends well", good, world.stoker("show", job).stdout + log(world, job))
            attempts = len(world.job(job)["attempts"])
            check(f"{who} {number}: in as many attempts as it takes", attempts == (1 if lives else 2), attempts)
            nothing_left(world, engine, check, f"{who} {number}")


def swept(world, engine, check):
    """What a kill of everything left in the engine's books goes with `gc`; another's stays."""
    job = world.submit(job_file(world, engine, "run: true\n"))
    check("a job runs", ended(world, job), log(world, job))
    world.wait_for("the machine to be gone", lambda: not world.instances(), timeout=60)
    image = engine.build("swept", f"FROM {IMAGE}\nVOLUME /kept\n")
    for owner in (f"{world.state}/instances/gone", "/elsewhere/instances/gone"):
        engine.run("create", f"--label=stoker.owner={owner}", "--network=host", image, "true")
    check("two are there, with a volume each", (len(engine.containers()), len(engine.unnamed())) == (2, 2), engine.containers())
    said = world.stoker("gc", "--dry-run", timeout=120)
    check("--dry-run removes none", len(engine.containers()) == 2, said.stdout + said.stderr)
    said = world.stoker("gc", timeout=120)
    left = engine.containers()
    check("the dead one is gone, another's stays", len(left) == 1, said.stdout + said.stderr)
    check("so do their volumes", len(engine.unnamed()) == 1, engine.unnamed())
    for one in left:
        engine.run("rm", "--force", "--volumes", one)
    doctor = world.stoker("doctor").stdout
    check("doctor names the engine", f"{engine.name} " in doctor and "containers" in doctor, doctor)


PARTS = {one.__name__: one for one in (inside, habits, saved, limited, mistakes, swept, killed)}
# Where cgroups are of version 1 an ordinary user's podman holds no limits, and says so.
ROOTLESS = ("inside", "habits", "saved", "swept", "killed")


def play(kind, parts, uid=None, image=IMAGE):
    """`parts`: those to play, by their names."""
    results = Results()
    with World(f"containers-{kind}", uid=uid) as world:
        world.root.chmod(0o755)
        engine = Engine(kind, world, image)
        world.env.update(engine.env)
        try:
            for name, part in parts.items():
                begun = time.monotonic()
                results.run(name, part, world, engine, results.check)
                print(f"{kind} {name}: {time.monotonic() - begun:.1f} s", file=sys.stderr)
        finally:
            engine.close()
    return results


def play_parts(all_parts, of_rootless, image=IMAGE):
    """What the command line asks for: an engine, then names of parts, or all of them."""
    kind, *names = sys.argv[1:]
    parts = {name: all_parts[name] for name in names or (of_rootless if kind == "rootless" else all_parts)}
    if kind != "rootless":
        return play(kind, parts, image=image).finish()
    uid = make_user()
    try:
        results = play(kind, parts, uid, image)
    finally:
        remove_user()
    results.finish()


if __name__ == "__main__":
    play_parts(PARTS, ROOTLESS)
