#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boxes that ssh reaches: a real sshd on each (kit/pool.py), a bucket between them.

ssh.py [NAME…]     only these parts"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import go_tools, versity_s3
from test.e2e.kit import apart
from test.e2e.kit.harness import PYTHON, Results, patience
from test.e2e.kit.holders import Holders
from test.e2e.kit.job_kit import MOVABLE, folder_of_trainer, steps_told, texts
from test.e2e.kit.pool import Pool


def looked_at(*worlds):
    """Somebody looks at all jobs now and then, as a timer does. 'ls' does not wait for boxes."""
    for world in worlds:
        world.stoker("controller", "--once", timeout=120)


def ended(results, world, what, *jobs):
    codes = [world.stoker("wait", job, timeout=120).returncode for job in jobs]
    states = [world.job(job)["state"] for job in jobs]
    results.check(what, not any(codes) and set(states) == {"Succeeded"}, (codes, states))


def nothing_left(results, pool, *worlds):
    def left():
        looked_at(*worlds)
        return not any(box.sshd.instances() or box.processes() for box in pool.boxes)

    worlds[0].wait_for("nothing to be left on the boxes", left, timeout=60, every=0.5)
    results.check("nothing is left on the boxes", True)


def test_first(results, pool, here, there):
    """One job of one node, from nothing; who has the same pool sees it."""
    job = here.submit("--infra", "ssh/lab", "--name", "first", "--", "sh", "-c", "hostname; echo hello > said")
    done = here.stoker("wait", job, timeout=120)
    said = texts(there, job)
    results.check("a job runs on a box", done.returncode == 0 and said[0].startswith("box"), (done.stderr, said))
    here.stoker("get", job, here.root / "got", check=True)
    results.check("its output is kept", list((here.root / "got").rglob("said")))
    nothing_left(results, pool, here)


def test_shared(results, pool, here, there):
    """Two submitters, six jobs that want a whole box each, three boxes: three run, three wait."""
    jobs = Holders(pool, "shared")
    ids = {}
    for number in range(6):
        world = (here, there)[number % 2]
        ids[f"j{number}"] = jobs.submit(world, f"j{number}", "--infra", "ssh/lab", "--gpus", "2")
    here.wait_for("three to run", lambda: len(jobs.starts()) >= 3, timeout=60)
    first = jobs.starts()
    results.check(
        "one on each box",
        sorted(host for _, host, _ in first) == ["box1", "box2", "box3"] and {gpus for *_, gpus in first} == {"0,1"},
        first,
    )
    waiting = [name for name in ids if name not in [each for each, *_ in first]]
    queued = {name: " ".join(there.json("show", ids[name])["queued"]) for name in waiting}
    results.check(
        "the others wait, and it is said where",
        all("1st in line: waits for 2 GPUs" in why and "box" in why for why in queued.values()),
        queued,
    )
    jobs.let_go(*ids)
    for job in ids.values():
        here.stoker("wait", job, timeout=120)
    states = {name: there.job(job)["state"] for name, job in ids.items()}
    results.check("all end right", set(states.values()) == {"Succeeded"}, states)
    results.check("never two on one GPU", not jobs.clashes(), jobs.clashes())
    nothing_left(results, pool, here, there)


def test_order(results, pool, here, there):
    """On one box with two GPUs: two at a time, in the order in which they were submitted."""
    jobs = Holders(pool, "order")
    ids = {}
    for number in range(6):
        world = (here, there)[number % 2]
        name = f"o{number}"
        ids[name] = jobs.submit(world, name, "--infra", "ssh/one", "--gpus", "1")
    here.wait_for("two to run", lambda: len(jobs.starts()) == 2)
    for number in range(6):
        jobs.let_go(f"o{number}")
        more = min(6, number + 3)
        here.wait_for(f"{more} to have started", lambda more=more: len(jobs.starts()) >= more)
    order = [name for name, *_ in jobs.starts()]
    results.check("in order", order == sorted(order), order)
    results.check("never two on one GPU", not jobs.clashes(), jobs.clashes())
    for job in ids.values():
        here.stoker("wait", job, timeout=60)
    nothing_left(results, pool, here, there)


def test_gang(results, pool, here, there):
    """Nodes on several boxes reach each other, and so do nodes on one."""
    (here.work / "meet.py").write_text(
        "import os, socket\n"
        "rank, addr, port = (int(os.environ['STOKER_NODE_RANK']), os.environ['MASTER_ADDR'],\n"
        "                    int(os.environ['MASTER_PORT']))\n"
        "if rank == 0:\n"
        "    server = socket.create_server(('', port))\n"
        "    peer, whence = server.accept()\n"
        "    peer.sendall(socket.gethostname().encode())\n"
        "else:\n"
        "    for _ in range(200):\n"
        "        try:\n"
        "            peer = socket.create_connection((addr, port), 5)\n"
        "            break\n"
        "        except OSError:\n"
        "            import time; time.sleep(0.1)\n"
        "    print('met', peer.recv(99).decode(), flush=True)\n"
        "print('box', open('/proc/sys/kernel/hostname').read(), addr, flush=True)\n"
    )
    for place, boxes in (("ssh/lab", 2), ("ssh/one", 1)):
        job = here.submit("--infra", place, "--num-nodes", "2", "--gpus", "1", "--name", "pair", "--", PYTHON, "meet.py")
        here.stoker("wait", job, timeout=60)
        said = texts(here, job)
        hosts = {str(b.sshd.host) for b in pool.boxes}
        used = set(boxes_of(pool, job))
        results.check(
            f"two nodes meet on {boxes} of {place}",
            any(line.startswith("met") for line in said) and len(used) == boxes and any(host in " ".join(said) for host in hosts),
            (said, used),
        )
    nothing_left(results, pool, here)


def test_secret(results, pool, here, there):
    """A secret goes to the boxes that run the job, is nowhere else, and ends with the job."""
    env = {"TOKEN": "sesame-open-9731"}
    seen = pool.scratch / "secret-seen"
    job = here.submit(
        "--infra",
        "ssh/lab",
        "--secret",
        "TOKEN",
        "--name",
        "secret",
        "--",
        "sh",
        "-c",
        f'echo "$TOKEN" > {seen}-$STOKER_ATTEMPT; while [ ! -e {seen} ]; do sleep 0.1; done',
        env=env,
    )

    def has_it(attempt):
        looked_at(here)
        file = pathlib.Path(f"{seen}-{attempt}")
        return file.exists() and file.read_text().strip() == env["TOKEN"]

    def kept():
        return [file for box in pool.boxes for file in (box.sshd.state / "private").glob("*")]

    here.wait_for("the program to have it", lambda: has_it(1), timeout=60, every=0.2)
    results.check("on the box, for its owner alone", len(kept()) == 1 and kept()[0].stat().st_mode & 0o777 == 0o600, kept())
    # Its box is somebody else's once it has left it.
    jobs = Holders(pool, "secret")
    for box in pool.boxes:
        if boxes_of(pool, job) == [box.name]:
            here.stoker("config", "set", "pools.hog", box.name, check=True)
    hog = jobs.submit(here, "hog", "--infra", "ssh/hog", "--gpus", "2")
    here.stoker("preempt", job, "--in", "2s", check=True)
    here.wait_for("another box to have it", lambda: has_it(2), timeout=60, every=0.2)
    results.check("and on the next one", len(kept()) == 2, kept())
    words = b"".join(read(path) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"))
    results.check("in no command line", env["TOKEN"].encode() not in words)
    keys = [key for key in pool.server.keys() if env["TOKEN"].encode() in pool.server.read(key)]
    results.check("nowhere in the bucket", not keys, keys)
    seen.touch()
    jobs.let_go("hog")
    ended(results, here, "the job ends", job, hog)
    here.wait_for("the secret to be gone", lambda: not kept(), timeout=30)
    results.check("and its secret is gone from both boxes", True)
    nothing_left(results, pool, here)


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def train(world, steps, *flags, infra="ssh/lab", name="trained"):
    return world.submit(
        "--infra",
        infra,
        "--name",
        name,
        "--stop-grace",
        "2s",
        *flags,
        "--",
        PYTHON,
        "trainer.py",
        steps,
        "--pause",
        "0.1",
        cwd=folder_of_trainer(world),
    )


def has_checkpoint(world, job):
    world.wait_for("a checkpoint", lambda: world.json("checkpoints", job), timeout=60, every=0.5)


def boxes_of(pool, job):
    """What its notes in the bucket say."""
    keys = pool.server.keys(f"team/jobs/{job}/boxes/")
    return [json.loads(pool.server.read(key))["box"] for key in keys]


def box_of(pool, job):
    """Of a job that has had one machine so far."""
    return next(box for box in pool.boxes if [box.name] == boxes_of(pool, job))


def test_notice(results, pool, here, there):
    job = train(here, 100)
    has_checkpoint(here, job)
    there.stoker("preempt", job, "--in", "5s", check=True)
    ended(results, here, "a notice: it goes on elsewhere and ends", job)
    second = texts(there, job, "--attempt", "2")
    results.check("from a checkpoint", second[:1] and second[0].startswith("start ") and not second[0].startswith("start 0 "), second[:1])


def test_move(results, pool, here, there):
    """From this machine to a box and back: the same job, no step trained twice."""
    (here.work / "moves.py").write_text(MOVABLE)
    job = here.submit("--name", "moves", "--", PYTHON, "moves.py", "900")
    here.wait_for("its first steps", lambda: "step 5" in here.stoker("logs", job).stdout)
    for where in ("ssh/lab", "local"):
        moved = here.stoker("move", job, "--infra", where, "--in", "4s", timeout=120)
        results.check(f"it moves to {where}", moved.returncode == 0, moved.stderr)
    ended(results, here, "and ends there", job)
    told = steps_told(here.stoker("logs", job).stdout)
    results.check("no step is trained twice", told == list(range(1, 901)), told)
    shown = here.job(job)
    providers = [launch["provider"] for launch in shown["launches"]]
    results.check("here, there, here", providers == ["local", "ssh", "local"], shown["launches"])
    ends = [attempt["ending"]["reason"] for attempt in shown["attempts"]]
    results.check("told as moves", ends == ["Moved", "Moved", "Completed"], ends)
    nothing_left(results, pool, here)


def test_choices(results, pool, here, there):
    """This machine or a box, whichever has room: what is full is not waited for."""
    all_cpus = here.json("places")[0]["cpus"]
    jobs = Holders(pool, "choices")

    def chosen(name, **ordered):
        file = here.work / f"{name}.yaml"
        either = [{"infra": "local", "cpus": all_cpus}, {"infra": "ssh/one", "gpus": 2}]
        file.write_text(
            json.dumps(
                {
                    "name": name,
                    "run": f"exec {PYTHON} gpu_holder.py {jobs.evidence} {name}",
                    "workdir": str(jobs.work),
                    "resources": {"any_of": either},
                }
            )
        )
        return here.submit(file)

    def runs_at(job, limit=60):
        here.wait_for(f"{job} runs", lambda: here.job(job)["state"] == "Running", limit, 0.5)
        return here.job(job)["launches"][-1]["provider"]

    first = chosen("first")
    results.check("this machine has room", runs_at(first) == "local", here.job(first))
    second = chosen("second")
    results.check("it is full: a box", runs_at(second) == "ssh", here.job(second))
    said = here.job(second)["requests"]
    results.check("it is said why not here", "not local" in said[-1].get("reason", ""), said)
    third = chosen("third")
    here.wait_for(
        "both are full",
        lambda: {each["provider"] for each in here.job(third)["requests"] if each.get("refusal")} == {"local", "ssh"},
        60,
        0.5,
    )
    results.check("nobody waits in line", here.job(third)["state"] == "Waiting", here.job(third))
    jobs.let_go("second")
    ended(results, here, "the box is free", second)
    results.check("and has the third", runs_at(third, 200) == "ssh", here.job(third))
    jobs.let_go("first", "third")
    for job in (first, third):
        ended(results, here, "it ends", job)
    results.check("never two at once", not jobs.clashes(), jobs.clashes())
    nothing_left(results, pool, here)


def test_rebooted(results, pool, here, there):
    """A box that is rebooted is noticed, and its job goes on from its checkpoint."""
    job = train(here, 100, name="rebooted")
    has_checkpoint(here, job)
    looked_at(here)
    box = box_of(pool, job)
    box.reboot()
    ended(results, there, f"{box.name} reboots: the job goes on and ends", job)
    shown = there.job(job)
    why = " ".join(launch.get("close_why", "") for launch in shown["launches"])
    results.check("it is said why", "rebooted" in why, why)
    second = texts(there, job, "--attempt", "2")
    results.check("from a checkpoint", second[:1] and not second[0].startswith("start 0 "), second[:1])
    nothing_left(results, pool, here, there)


def test_cut_off(results, pool, here, there):
    """A box without a wire for a minute: the job is neither lost nor doubled, others go on."""
    jobs = Holders(pool, "cut")
    job = jobs.submit(here, "cut", "--infra", "ssh/one", "--gpus", "2")
    here.wait_for("it runs", lambda: here.job(job)["state"] == "Running", timeout=60, every=0.5)
    pool.boxes[0].cut(True)
    until = time.monotonic() + 60
    try:
        # The pool's other boxes take jobs, and it is said which box does not answer.
        other = there.stoker("run", "--detach", "--infra", "ssh/lab", "--", "hostname", timeout=120)
        results.check(
            "other boxes take jobs, and it is said which does not answer", other.returncode == 0 and "box1" in other.stderr, other.stderr
        )
        while time.monotonic() < until:
            looked_at(here, there)
            time.sleep(2)
    finally:
        pool.boxes[0].cut(False)
    there.wait_for("its node to report again", lambda: here.json("show", job)["job"]["state"] == "Running", timeout=60, every=1)
    jobs.let_go("cut")
    ended(results, here, "a minute without a wire: it ends as if nothing had been", job)
    results.check(
        "one attempt, one program",
        len(here.job(job)["attempts"]) == 1 and len(jobs.starts()) == 1,
        (here.job(job)["attempts"], jobs.starts()),
    )
    looked_at(there)
    nothing_left(results, pool, here, there)


def test_given_up(results, pool, here, there):
    """A box that does not answer: nobody starts its job elsewhere until a person says so. What is
    left running there ends itself as soon as it can hear of that."""
    job = train(here, 60, name="given-up")
    has_checkpoint(here, job)
    looked_at(here)
    box = box_of(pool, job)
    box.cut(True)
    try:
        looked_at(here, there)
        results.check("a box that does not answer is not taken to be gone", len(here.job(job)["attempts"]) == 1, here.job(job)["attempts"])
        said = here.stoker("doctor", "--infra", "ssh/lab", timeout=120)
        results.check(
            "doctor says which box does not answer",
            said.returncode == 1 and f"bad {box.name} {box.name} does not answer" in " ".join(said.stdout.split()),
            said.stdout,
        )
        here.stoker("doctor", "--gone", box.name, check=True, timeout=120)
        ended(results, there, "a person says that it is gone: the job goes on and ends", job)
        results.check("on another box", len(set(boxes_of(pool, job))) == 2, boxes_of(pool, job))
        results.check("the other program still runs there", box.processes())
    finally:
        box.cut(False)
    there.wait_for("it to end itself", lambda: not box.processes(), timeout=120, every=0.5)
    results.check("until it hears of that", True)
    here.stoker("gc", check=True, timeout=120)
    nothing_left(results, pool, here, there)


def test_page(results, pool, here, there):
    """docs/ssh.md: its commands as they stand there, but for the bucket's name, and that the user
    of the second box is root."""
    text = (HERE.parents[1] / "docs" / "ssh.md").read_text()
    work = pool.scratch / "work-page"
    work.mkdir()
    programs = pool.scratch / "programs-page"
    programs.mkdir()
    (programs / "stoker").symlink_to(pathlib.Path(here.binary).resolve())
    go = pool.scratch / "evidence-page-go"
    (work / "train.py").write_text(
        f"import os, time\nprint('gpus', os.environ['CUDA_VISIBLE_DEVICES'], flush=True)\n"
        f"os.makedirs('checkpoints', exist_ok=True)\n"
        f"while not os.path.exists({str(go)!r}):\n"
        f"    open('checkpoints/x.tmp', 'w').write('saved')\n"
        f"    os.replace('checkpoints/x.tmp', 'checkpoints/x')\n    time.sleep(0.3)\n"
        f"open('result', 'w').write('made')\n"
    )
    env = {**here.env, "PATH": f"{programs}:{here.env['PATH']}"}

    def shell(line, code=0, words=()):
        """A command of the page, or of one of the lists of verbs in it."""
        known = line.split(" JOB")[0].removeprefix("stoker ")
        line = line.replace("s3://bucket/prefix", pool.store).replace("user@box2", "root@box2")
        done = subprocess.run(
            ["sh", "-c", line.replace("JOB", job or "")],
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        results.check(
            f"docs/ssh.md: {line}", known in text and done.returncode == code and all(word in done.stdout for word in words), done.stdout
        )

    job = None
    here.stoker("config", "unset", "pools.lab", check=True)
    shell("ssh box1 true")
    shell("stoker config set store s3://bucket/prefix")
    shell('stoker config set pools.lab "box1, user@box2"')
    shell("stoker doctor --infra ssh/lab", words=("box1", "2 GPUs (L4)", "box1, store"))
    command = "stoker run --infra ssh/lab --gpus 1 -- python3 train.py"
    results.check(f"docs/ssh.md: {command}", command in text)
    run = subprocess.Popen(
        ["sh", "-c", command], cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    job = here.wait_for("it to be there", lambda: next((each["id"] for each in here.json("ls") if each["name"] == "train"), None), 60, 0.2)
    has_checkpoint(here, job)
    shell("stoker places", words=("ssh/lab",))
    shell("stoker ls", words=(job,))
    shell("ssh box1 env", words=("STOKER_CAPACITY",))
    shell("stoker preempt JOB")
    here.wait_for("it to go on", lambda: len(here.job(job)["attempts"]) == 2, 60, 0.2)
    go.touch()
    said = run.communicate(timeout=120)[0]
    results.check("it runs, is interrupted, goes on and ends", run.returncode == 0 and "gpus 0" in said, said)
    for line in ("logs -f JOB", "checkpoints JOB", "get JOB", "show JOB", "gc"):
        shell(f"stoker {line}")
    shell("stoker config set resources.infra ssh/lab")
    go.unlink()
    job = here.submit("--gpus", "1", "--", "python3", "train.py", cwd=work)
    has_checkpoint(here, job)
    shell("stoker cancel JOB")
    here.stoker("wait", job, timeout=120)
    results.check("the setting sends jobs there, too; cancel ends it", here.job(job)["state"] == "Cancelled", here.job(job))
    here.stoker("config", "unset", "resources.infra", check=True)
    here.stoker("config", "set", "pools.lab", "box1,box2,box3", check=True)
    nothing_left(results, pool, here, there)


def test_two_gangs(results, pool, here, there):
    """Two jobs of two nodes, each of which holds the box that the other waits for: the one that
    came second gives its box back after a minute, and both end right."""
    here.stoker("config", "set", "pools.pair", "box1,box2", check=True)
    there.stoker("config", "set", "pools.pair", "box1,box2", check=True)
    jobs = Holders(pool, "gangs")
    flags = ("--infra", "ssh/pair", "--num-nodes", "2", "--gpus", "2")
    hog = jobs.submit(here, "hog", "--infra", "ssh/one", "--gpus", "2")
    here.wait_for("the first box to be taken", jobs.starts, timeout=60)
    second = jobs.submit(here, "second", *flags)

    def holds():
        """It has box2 and waits for box1."""
        return pool.boxes[1].sshd.instances() and here.json("show", second)["queued"]

    here.wait_for("the second to hold box2", holds, timeout=60, every=0.5)
    first = jobs.submit(there, "first", "--priority", "1", *flags)
    there.wait_for("the first to wait for both", lambda: len(there.json("show", first)["queued"]) == 2, timeout=60, every=0.5)
    jobs.let_go("hog", "first", "second")
    begun = time.monotonic()
    while time.monotonic() - begun < patience(200) and not ended_by_now(there, first, second, hog):
        looked_at(here, there)
        time.sleep(1)
    states = [here.job(job)["state"] for job in (hog, first, second)]
    results.check("none waits for ever", states == ["Succeeded"] * 3, states)
    order = [name for name, *_ in jobs.starts()]
    results.check("the one that comes first runs first", order[1:] == ["first"] * 2 + ["second"] * 2, order)
    ends = [attempt["ending"]["reason"] for attempt in here.job(second)["attempts"]]
    results.check("the other was interrupted, once", ends == ["Interrupted", "Completed"], ends)
    results.check("never two on one GPU", not jobs.clashes(), jobs.clashes())
    nothing_left(results, pool, here, there)


def ended_by_now(world, *jobs):
    return all(world.job(job)["state"] in ("Succeeded", "Failed", "Cancelled") for job in jobs)


def test_jump(results, pool, here, there):
    """A box behind a jump host, under another name: the same box, whatever it is called."""
    box = pool.boxes[1]
    with pool.client.config.open("a") as config:
        config.write(f"Host far\n  HostName {box.sshd.host}\n  HostKeyAlias box2\n  ProxyJump box1\n")
    here.stoker("config", "set", "pools.away", "far", check=True)
    jobs = Holders(pool, "jump")
    job = jobs.submit(here, "far", "--infra", "ssh/away", "--gpus", "2")
    here.wait_for("it runs", lambda: jobs.starts(), timeout=60)
    results.check("it runs behind the jump host", jobs.starts()[0][1] == "box2", jobs.starts())
    there.stoker("preempt", job, "--in", "3s", check=True)

    def again():
        looked_at(here, there)
        return len(jobs.starts()) == 2

    here.wait_for("it to begin again", again, timeout=60, every=0.5)
    results.check("who calls the box by another name can end it, too", True)
    jobs.let_go("far")
    ended(results, here, "it ends", job)
    nothing_left(results, pool, here, there)


def test_places(results, pool, here, there):
    jobs = Holders(pool, "places")
    job = jobs.submit(here, "p", "--infra", "ssh/one", "--gpus", "1")
    here.wait_for("it runs", lambda: jobs.starts(), timeout=60)
    rows = {row["part"]: row for row in here.json("places", timeout=120) if row["infra"] == "ssh/lab"}
    results.check(
        "places tells what is free on each box",
        len(rows) == 3
        and rows["box1"]["gpus"] == [{"name": "L4", "total": 2, "free": 1}]
        and rows["box2"]["gpus"][0]["free"] == 2
        and rows["box2"]["cpus"] == 8,
        rows,
    )
    told = [one for one in here.json("doctor", "--infra", "ssh/lab", ok=(0, 1), timeout=120) if one["what"].endswith(", containers")]
    results.check("doctor tells by which engines containers begin on each", len(told) == 3 and all(one["text"] for one in told), told)
    jobs.let_go("p")
    ended(results, here, "it ends", job)


def test_folder(results, pool, here, there):
    """A folder as the store: the same one on all boxes, or it is refused."""
    env = {"XDG_CONFIG_HOME": str(here.root / "other-config")}
    here.stoker("config", "set", "pools.lab", "box1,box2", env=env, check=True)
    here.stoker("config", "set", "store", pool.scratch / "shared", env=env, check=True)
    good = here.stoker("run", "--infra", "ssh/lab", "--", "hostname", env=env, timeout=120)
    results.check("a folder that all see", good.returncode == 0 and "box" in good.stdout, good.stderr)
    # It is hidden from the boxes: they have a folder of that name, each its own.
    own = pool.scratch / "box3" / "home" / "store"
    here.stoker("config", "set", "store", own, env=env, check=True)
    bad = here.stoker("run", "--detach", "--infra", "ssh/lab", "--", "hostname", env=env, timeout=120)
    results.check(
        "a folder that the boxes do not see is refused, with the reason",
        bad.returncode != 0 and "there is no ledger at" in bad.stderr,
        bad.stderr,
    )
    nothing_left(results, pool, here)


def test_doctor(results, pool, here, there):
    said = here.stoker("doctor", "--infra", "ssh/lab", timeout=120)
    good = [f"ok    box{n}" in said.stdout.replace("\t", " ") for n in (1, 2, 3)]
    results.check("doctor looks at each box", said.returncode == 0 and all(good), said.stdout)
    bad = here.stoker("run", "--detach", "--infra", "ssh/nowhere", "--", "true")
    results.check("a pool that is none", bad.returncode != 0 and "no pool" in bad.stderr, bad.stderr)
    two = here.stoker("run", "--detach", "--infra", "ssh/one", "--num-nodes", "2", "--", "true")
    results.check("nodes that would wait for each other", two.returncode != 0 and "1 such nodes at once" in two.stderr, two.stderr)
    much = here.stoker("run", "--detach", "--infra", "ssh/lab", "--gpus", "3", "--", "true")
    results.check("what no box could ever run", much.returncode != 0 and "3 GPUs" in much.stderr, much.stderr)


def main():
    go_tools.tool(versity_s3.MODULE)  # made, where it is not there, while there is a network
    apart.enter()
    results = Results()
    parts = {name[5:]: part for name, part in globals().items() if name.startswith("test_")}
    wanted = sys.argv[1:] or list(parts)
    with tempfile.TemporaryDirectory(prefix="stoker-pool-") as scratch:
        with versity_s3.VersityS3(host="0.0.0.0") as server:
            pool = Pool(server, scratch)
            try:
                with pool.submitter("here") as here, pool.submitter("there") as there:
                    for world in (here, there):
                        world.stoker("config", "set", "pools.one", "box1", check=True)
                    for name in wanted:
                        begun = time.monotonic()
                        results.run(name, parts[name], results, pool, here, there)
                        print(f"      {name}: {time.monotonic() - begun:.1f} s", flush=True)
            finally:
                pool.close()
    results.finish()


if __name__ == "__main__":
    main()
