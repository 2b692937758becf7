#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program has inside its container, with a real engine: inside.py podman|rootless|docker [PART...].
The user and the entry point that its job asks for."""

import os
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.containers.containers import SAVER, ended, job_file, log, nothing_left, play_parts
from test.e2e.kit.job_kit import running, texts

# As vendors' do: a script sources what lies in a folder, then becomes the program.
EXECS = """#!/bin/sh
echo "banner of the image, before: $1"
for file in /opt/entry.d/*.sh; do . "$file"; done
exec "$@"
"""
# Another habit: it stays, as the program's parent.
STAYS = """#!/bin/sh
export PREPARED=by-its-parent
"$@"
"""


def with_entry(world, engine, name, change, scripts):
    """An image with an entry point, out of the test's own."""
    engine.run("create", "--network=host", f"--name={name}", "localhost/py:1", "true")
    tree = world.root / name
    tree.mkdir()
    for path, text in scripts.items():
        file = tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    world.own(tree, *tree.rglob("*"))
    engine.run("cp", f"{tree}/.", f"{name}:/")
    engine.run("commit", "--change", f"ENTRYPOINT {change}", name, f"localhost/{name}:1")
    engine.run("rm", name)
    return f"localhost/{name}:1"


def entry(world, engine, check):
    """The image's own entry point, or another: before setup and the program, beneath stoker's first process."""
    scripts = {"opt/entry.sh": EXECS, "opt/entry.d/10.sh": "export PREPARED=yes PATH=/opt/made:$PATH\n"}
    execs = with_entry(world, engine, "execs", '["/opt/entry.sh"]', scripts)
    stays = with_entry(world, engine, "stays", '["/stays.sh"]', {"stays.sh": STAYS})
    line = with_entry(world, engine, "line", "exec python3 -m http.server", {})
    seen = """setup: echo "setup $PREPARED"
run: |
  echo "prepared $PREPARED"
  echo "path $PATH"
  echo "first $(tr '\\0' ' ' </proc/1/cmdline)"
"""
    job = world.submit(job_file(world, engine, seen, execs))
    check("without the key a job ends well", ended(world, job), log(world, job))
    check("and its entry point is not run", "prepared " in texts(world, job), log(world, job))
    job = world.submit(job_file(world, engine, "  entrypoint: image\n" + seen, execs))
    check("with it, too", ended(world, job), log(world, job))
    said = texts(world, job)
    check("the program has what it prepares", "prepared yes" in said, said)
    check("its path, too", any(one.startswith("path /opt/made:") for one in said), said)
    check("and setup", "setup yes" in log(world, job), log(world, job))
    check("stoker is the first process still", any("__container" in one for one in said if one.startswith("first")), said)
    job = world.submit(job_file(world, engine, "  entrypoint: [env, PREPARED=by env]\n" + seen, execs))
    check("another in its place", ended(world, job) and "prepared by env" in texts(world, job), log(world, job))
    job = world.submit(job_file(world, engine, "  entrypoint: image\nrun: true\n", line))
    check("a line for a shell begins nothing", ended(world, job, "Failed"), log(world, job))
    check("and that is told", "a line for a shell" in log(world, job), log(world, job))
    world.program(SAVER, "saver.py")
    job = world.submit(job_file(world, engine, "  entrypoint: image\nworkdir: .\ncommand: [python3, saver.py]\n", stays))
    running(world, job, "step 5")
    world.stoker("preempt", job, check=True)
    check("one that stays: its program is preempted, and ends well", ended(world, job), log(world, job))
    said = texts(world, job)
    saves = [one.split()[1] for one in said if one.startswith("saved")]
    starts = [one.split()[1] for one in said if one.startswith("start")]
    check("saved at SIGTERM, resumed from there", len(starts) == 2 and starts[1] == saves[0], said)
    nothing_left(world, engine, check, "entry")


def user(world, engine, check):
    """`container.user`, where its processes can be looked at; refused by name elsewhere."""
    program = """workdir: .
run: |
  id
  mkdir -p output && id > output/kept.txt
  exec python3 saver.py
"""
    world.program(SAVER, "saver.py")
    mine = world.user.get("user", 0)
    other = "4321:4322"
    if mine:
        done = world.stoker("run", job_file(world, engine, f"  user: {other}\nrun: true\n"), timeout=120)
        said = done.stdout + done.stderr
        check("another user is refused by name", done.returncode != 0 and f"container.user: {other}" in said, said)
    asked = "root" if mine else other
    job = world.submit(job_file(world, engine, f"  user: {asked}\n" + program))
    running(world, job, "step 5")
    world.stoker("preempt", job, check=True)
    check(f"user {asked}: ends well", ended(world, job), log(world, job))
    said = texts(world, job)
    inside, outside = (0, mine) if mine else (4321, 4321)
    check("it is who was asked for", any(one.startswith(f"uid={inside}") for one in said), said)
    saves = [one.split()[1] for one in said if one.startswith("saved")]
    starts = [one.split()[1] for one in said if one.startswith("start")]
    check("saved at SIGTERM, resumed from there", len(starts) == 2 and starts[1] == saves[0], said)
    check("whose files are not the submitter's is said", ("is 4321:4322 on this machine" in log(world, job)) != bool(mine), log(world, job))
    world.stoker("get", job, "output", str(world.root / "got"), check=True)
    kept = list((world.root / "got").rglob("kept.txt"))
    check("outputs are kept, as files of who fetches them", kept and kept[0].stat().st_uid == mine, kept)
    lasting = world.root / "lasting"
    lasting.mkdir()
    world.own(lasting)
    text = f"  user: {asked}\ncheckpoints: {{path: {lasting}}}\nworkdir: .\nrun: touch go && exec python3 saver.py\n"
    job = world.submit(job_file(world, engine, text))
    check("a folder of one's own for checkpoints: ends well", ended(world, job), log(world, job))
    check("what lies there is its user's", (lasting / "state.txt").stat().st_uid == outside, log(world, job))
    nothing_left(world, engine, check, "user")


PROVES = """\
import os, resource, socket
shm = os.statvfs('/dev/shm')
print('shm', shm.f_blocks * shm.f_frsize)
print('ids', os.getuid(), os.getgid())
print('files', *resource.getrlimit(resource.RLIMIT_NOFILE))
caps = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff'))
print('admin', int(caps, 16) >> 21 & 1)
print('host', socket.gethostname())
limits = []
for path in ('/sys/fs/cgroup/memory/memory.limit_in_bytes', '/sys/fs/cgroup/memory.max'):
    if os.path.exists(path): limits.append(open(path).read().strip())
print('limit', *limits)
try:
    if os.path.exists('/given'):
        open('/given/refused', 'w')
        print('volume is written')
except OSError as error:
    print('volume', open('/given/file').read().strip(), error.strerror)
"""


def facts(world, job):
    return {line.split()[0]: line.split()[1:] for line in texts(world, job) if " " in line}


def proved(world, engine, check):
    """What was asked for, and what is given unasked, as the program itself finds it."""
    given = world.root / "given"
    given.mkdir()
    (given / "file").write_text("theirs\n")
    world.own(given, given / "file")
    world.program(PROVES, "proves.py")
    program = "workdir: .\ncommand: [python3, proves.py]\n"
    asked = f"  cap_add: [SYS_ADMIN]\n  volumes: ['{given}:/given:ro']\n  shm_size: 32MiB\n"
    asked += "  run_options: [--ulimit, 'nofile=700:800', --ulimit, 'nproc=4096:4096']\n"
    job = world.submit(job_file(world, engine, asked + "resources: {memory: 256MiB}\n" + program))
    check("asked for: it runs", ended(world, job), log(world, job))
    found = facts(world, job)
    mine = world.user.get("user", 0)
    held = not world.user  # an ordinary user's podman holds none with cgroups of version 1, and says so
    check("shm_size", found["shm"] == [str(32 << 20)], found)
    check("cap_add", found["admin"] == ["1"] or mine, found)
    check("a volume, which may only be read", found["volume"][0] == "theirs" and "Read-only" in found["volume"][1:][0], found)
    check("ulimits", found["files"] == ["700", "800"], found)
    check("its submitter's ids", found["ids"] == [str(mine), str(mine)], found)
    check("memory is the engine's to hold", str(256 << 20) in found.get("limit", []) or not held, found)
    job = world.submit(job_file(world, engine, "resources: {memory: 256MiB}\n" + program))
    check("unasked: it runs", ended(world, job), log(world, job))
    found = facts(world, job)
    check("shared memory is half of the job's memory", found["shm"] == [str(128 << 20)], found)
    check("no capability", found["admin"] == ["0"], found)
    job = world.submit(job_file(world, engine, program))
    check("without a limit: it runs", ended(world, job), log(world, job))
    found = facts(world, job)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    check("shared memory is half of the machine's", abs(int(found["shm"][0]) - memory // 2) < memory // 20, [found, memory])
    nothing_left(world, engine, check, "proved")


PARTS = {one.__name__: one for one in (proved, entry, user)}

if __name__ == "__main__":
    play_parts(PARTS, PARTS)
