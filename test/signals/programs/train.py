# SPDX-License-Identifier: Apache-2.0
"""A training as launchers start it, one process a rank. Whoever of it gets SIGTERM notes that, and
when, in a file of its own below $EVIDENCE; what was saved and what an attempt began from stand
there, too.

    train.py saves|dies|passes|leaves [--loader|--torch-loader]

saves   handles SIGTERM: rank 0 saves for $SAVE_SECONDS, the others wait for it as at a barrier
dies    handles nothing; rank 0 has saved before
passes  a parent that hands SIGTERM on to a child that saves, and waits for it
leaves  a parent that ends at SIGTERM, and leaves a child that saves to itself
--loader: batches come from two forked workers as torch's DataLoader has them: SIGTERM ends them,
and the trainer fails when one has ended; --torch-loader: from that of torch itself"""

import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time

WORDS = [word for word in sys.argv[1:] if not word.startswith("--local_rank")]  # of deepspeed
MODE = WORDS[0]
LOADER = WORDS[1] if len(WORDS) > 1 else ""
RANK = int(os.environ.get("RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or 0)
EVIDENCE = pathlib.Path(os.environ["EVIDENCE"])
STATE = pathlib.Path(os.environ["STOKER_CHECKPOINT_DIR"]) / "state.json"
SAVE_SECONDS = float(os.environ["SAVE_SECONDS"])


def note(what, role=f"rank{RANK}"):
    name = f"{os.environ['STOKER_ATTEMPT']}-{role}-{os.getpid()}"
    with open(EVIDENCE / name, "a", encoding="utf-8") as file:
        file.write(f"{time.time():.3f} {what}\n")


def save(step, seconds, told):
    """By rename, and marked as done: what counts as whole is no question here."""
    new = STATE.with_suffix(".new")
    with open(new, "w", encoding="utf-8") as file:
        file.write('{"by": ' + str(os.getpid()) + ', "step": ' + str(step))
        file.flush()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.1)
            next_batch()  # as a trainer that ends its epoch, or evaluates
        file.write(', "told": ' + json.dumps(told) + "}")
    new.rename(STATE)
    STATE.with_name(".stoker-done").touch()
    note(f"saved {step} {'told' if told else 'before'}")


def worker_of_a_loader(batches, parent):
    signal.signal(signal.SIGTERM, lambda *_: (note("SIGTERM", "loader"), os._exit(1)))
    while os.getppid() == parent:
        try:
            batches.put(1, timeout=0.2)
        except queue.Full:
            pass


def loader():
    """Yields batches."""
    while not LOADER:
        yield 1
    if LOADER == "--loader":
        yield from plain_loader()
    import torch.utils.data

    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return 10**9

        def __getitem__(self, index):
            return index

    yield from torch.utils.data.DataLoader(Numbers(), num_workers=2)


def plain_loader():
    import multiprocessing

    fork = multiprocessing.get_context("fork")
    batches = fork.Queue(2)
    workers = [fork.Process(target=worker_of_a_loader, args=(batches, os.getpid()), daemon=True) for _ in range(2)]
    for one in workers:
        one.start()
    while True:
        try:
            yield batches.get(timeout=0.2)
        except queue.Empty:
            pass
        if not all(one.is_alive() for one in workers):
            raise RuntimeError("a loader's worker is dead")


def begin():
    before = json.loads(STATE.read_text()) if STATE.exists() else None
    note("began " + json.dumps(before))
    if os.environ["STOKER_ATTEMPT"] != "1":
        os._exit(0)  # that is all that is asked of it
    return 0


def barrier(seconds):
    """Until rank 0 has saved."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if any(" told" in path.read_text() for path in EVIDENCE.glob("*-rank0-*")):
            return
        time.sleep(0.05)


def saves():
    told = []
    signal.signal(signal.SIGTERM, lambda *_: (note("SIGTERM"), told.append(1)))
    step = begin()
    note("ready")
    while not told:
        step += 1
        next_batch()
        time.sleep(0.05)
    if RANK == 0:
        save(step, SAVE_SECONDS, True)
    else:
        barrier(10)
    os._exit(3)  # as many do that save at SIGTERM; workers of a loader see that it is gone


def dies():
    # Blocked and waited for, it is no handler: /proc shows a process that does not catch it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def end():
        signal.sigwait({signal.SIGTERM})
        note("SIGTERM")
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=end, daemon=True).start()
    step = begin() + 1
    if RANK == 0:
        save(step, 0, False)
    note("ready")
    while True:
        next_batch()
        time.sleep(0.05)


def parent():
    child = subprocess.Popen([sys.executable, __file__, "saves", *WORDS[1:]])

    def told(*_):
        note("SIGTERM", f"parent{RANK}")
        if MODE == "leaves":
            os._exit(0)
        child.send_signal(signal.SIGTERM)

    signal.signal(signal.SIGTERM, told)
    sys.exit(child.wait())


batch = loader()


def next_batch():
    next(batch)


{"saves": saves, "dies": dies, "passes": parent, "leaves": parent}[MODE]()
