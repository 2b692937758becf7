# SPDX-License-Identifier: Apache-2.0
"""What the habits share: content that names its own step, and evidence of what the program did,
written where nothing of the job lies. A habit brings `save(folder, step)` and `load(folder)`, and
`run` does the rest: it restores, counts, rests, saves, prints numbered lines, and makes outputs at
its end. It knows nothing of stoker but the environment that any program finds.

Evidence is one JSON object a line, appended with one write each, so that the order of lines is the
order of what happened, whoever is killed at whatever moment."""

import fcntl
import hashlib
import json
import os
import sys
import threading
import time

import hostile_names

# Some names say something to stoker where checkpoints lie.
NAMES = [name for name in hostile_names.NAMES if name != b".stoker-done"] + [b"p" * 250, b"-leading dash and space", b"x.tmp"]
FOLDER = os.environ["STOKER_CHECKPOINT_DIR"]
SAVES = int(os.environ["OUTSIDE_SAVES"])
PAUSE = float(os.environ["OUTSIDE_PAUSE"])
RANK = int(os.environ["NODE_RANK"])
ATTEMPT = int(os.environ["STOKER_ATTEMPT"])
ODD = [int(at) for at in os.environ.get("OUTSIDE_ODD", "").split(",") if at]
KEPT = os.environ.get("OUTSIDE_KEPT", "out")
TORN = 3  # exit code of a program that cannot use what it finds


class Torn(Exception):
    """What was found is no state that the program ever saved. `kind`: torn (a part is damaged),
    mixed (parts of several steps), or dangling (a pointer to what is not there)."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


# ---- content ----


def body(part, step, size):
    """`size` bytes that only `part` of `step` has; they begin with both."""
    head = f"{part} {step:08d} {size:012d}\n".encode()
    seed = hashlib.shake_256(f"{part} {step}".encode())
    return head + seed.digest(max(0, size - len(head)))


def check(data, part):
    """The step that `data` is of, once every byte of it is as `body` made it."""
    words = bytes(data[:300]).split(b"\n", 1)[0].decode("latin-1").rsplit(" ", 2)
    if len(words) != 3 or words[0] != part or not words[1].isdigit() or not words[2].isdigit():
        raise Torn("torn", f"{part}: {len(data)} bytes, no head")
    if bytes(data) != body(part, int(words[1]), int(words[2])):
        raise Torn("torn", f"{part}: not the bytes of step {words[1]}")
    return int(words[1])


def agree(steps):
    """The one step of all parts; `steps` has theirs by name."""
    if len(set(steps.values())) > 1:
        raise Torn("mixed", f"parts of several steps: {sorted(steps.items())[:8]}")
    return next(iter(steps.values()), 0)


def write(path, data):
    with open(path, "wb") as out:
        out.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


# ---- evidence ----


def evidence_base():
    return os.path.join(os.environ["OUTSIDE_EVIDENCE"], f"{os.environ['STOKER_JOB_ID']}-{RANK}")


class Evidence:
    def __init__(self):
        self.fd = os.open(evidence_base() + ".jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.who = f"{ATTEMPT}.{time.monotonic_ns()}"
        self.lines = {"o": 0, "e": 0}

    def tell(self, event, sync=False, **more):
        line = {"e": event, "who": self.who, "attempt": ATTEMPT, "t": time.time(), **more}
        os.write(self.fd, json.dumps(line).encode() + b"\n")
        if sync:
            os.fdatasync(self.fd)

    def only_one(self):
        """The kernel's word for it: held until this process is gone, whatever ends it."""
        self.lock = open(evidence_base() + ".lock", "a")  # for its life
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.tell("double", text="another program of this rank holds the lock")

    def say(self, text, stream="o"):
        """A numbered line; it counts as flushed once it is in the evidence."""
        self.lines[stream] += 1
        number = self.lines[stream]
        data = f"L {stream} {number} {text}\n".encode()
        fd = 1 if stream == "o" else 2
        while data:
            data = data[os.write(fd, data) :]
        self.tell("line", s=stream, n=number)


def rest(evidence, seconds, step):
    """Between two saves: mostly asleep, now and then a line."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 0.25))
        evidence.say(f"after step {step}", "e" if step % 5 == 4 else "o")


# ---- files with odd names beside those of the habit ----


def save_odd(step):
    for at in ODD:
        path = os.path.join(os.fsencode(FOLDER), b"odd ones", NAMES[at])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, body(f"odd-{at}", step, 3000))


def load_odd():
    root = os.path.join(os.fsencode(FOLDER), b"odd ones")
    steps = {}
    for at in ODD:
        path = os.path.join(root, NAMES[at])
        if os.path.lexists(path):
            steps[f"odd-{at}"] = check(read(path), f"odd-{at}")
    if steps and len(steps) < len(ODD):
        raise Torn("mixed", f"{len(steps)} of {len(ODD)} files with odd names")
    return steps


# ---- outputs ----


def plant_outputs(evidence):
    """Made at the end, below a folder that is kept; names that nobody would choose among them."""
    folder = {"output": os.environ["STOKER_OUTPUT_DIR"]}.get(KEPT, KEPT)
    chosen = [NAMES[at] for at in ODD] + [b"plain.bin", b"empty", b"sub/folder/deep.txt"]
    made = {}
    for name in chosen:
        path = os.path.join(os.fsencode(folder), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = b"" if name == b"empty" else body(name.hex(), SAVES, 5000 + len(name))
        write(path, data)
        base = b"output" if KEPT == "output" else os.fsencode(KEPT)
        made[os.path.join(base, name).hex()] = hashlib.sha256(data).hexdigest()
    evidence.tell("outputs", sync=True, made=made)


# ---- the program ----


def restore(evidence, load):
    """The step that it goes on from; tells what it found, and ends if that is of no use."""
    try:
        step = load(FOLDER)
        odd = load_odd()
        step = agree({"state": step, **odd}) if odd or (ODD and step) else step
        if ODD and step and not odd:
            raise Torn("mixed", "files with odd names are gone")
    except Torn as torn:
        evidence.tell("restore", sync=True, state=torn.kind, why=str(torn))
        evidence.say(f"cannot go on: {torn}")
        sys.exit(TORN)
    evidence.tell("restore", sync=True, state="whole" if step else "none", step=step)
    evidence.say(f"begins after step {step}")
    return step


class Saver:
    """One save after the other, each in the evidence when it begins and when it is complete."""

    def __init__(self, evidence, save, before):
        self.evidence = evidence
        self.save = save
        self.before = before
        self.going_on = None

    def one(self, step):
        self.wait()
        if self.before:
            self.before(FOLDER)
        self.evidence.tell("saving", step=step)
        save_odd(step)
        rest_of_it = self.save(FOLDER, step)
        if rest_of_it is None:
            self.evidence.tell("saved", sync=True, step=step)
            return
        self.going_on = threading.Thread(target=self.finish, args=(rest_of_it, step))
        self.going_on.start()

    def finish(self, rest_of_it, step):
        rest_of_it()
        self.evidence.tell("saved", sync=True, step=step)

    def wait(self):
        if self.going_on:
            self.going_on.join()
            self.going_on = None


def run(save, load, before=None):
    """`save` may return a function: the rest of the save, which goes on beside the program.
    `before(folder)` is waited for before anything is written."""
    evidence = Evidence()
    evidence.tell("begin", sync=True, pid=os.getpid(), rank=RANK)
    evidence.only_one()
    step = restore(evidence, load)
    # A calm job only shows, after its interruption, from where it would have gone on.
    only_look = "OUTSIDE_LOOK" in os.environ and (ATTEMPT > 1 or step)
    saver = Saver(evidence, save, before)
    while step < SAVES and not only_look:
        rest(evidence, PAUSE, step)
        step += 1
        if RANK == 0:
            saver.one(step)
        for _ in range(40 if step % 3 == 0 else 1):
            evidence.say(f"saved step {step}")
    saver.wait()
    if RANK == 0:
        plant_outputs(evidence)
    evidence.say("the last line")
    # The others may be done sooner: the job is over with the first that fails.
    code = int(os.environ.get("OUTSIDE_EXIT", "0")) if RANK == 0 else 0
    evidence.tell("end", sync=True, code=code)
    sys.exit(code)
