#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker sync` against s5cmd, rclone and aws-cli: one large file and 10,000 small ones, up to and
down from one S3 server on this machine. Goals: 1.2 times the best of the others, or 90 % of a copy
over a bare socket to the same server, whichever is less; at most 0.6 times the processor time of
the thriftiest of them; at most 256 MiB of memory.

The server (wire_server.cc) throws away what it gets and sends what it has in memory, both without
copying it: a bare socket copy to it (raw_copy.cc) says how much passes when the client does nothing
else. All files are in memory ($SYNC_FOLDER, /dev/shm), so no disk is measured. Rounds are
interleaved, and of several the one in the middle counts.

SYNC_BYTES=4GiB SYNC_FILES=10000 SYNC_ROUNDS=3 SYNC_ONLY=large,small SYNC_CLIENTS=stoker,s5cmd,…"""

import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from bench.lib import sync_clients

SIZES = {"GiB": 1 << 30, "MiB": 1 << 20, "": 1}
SMALL = 64 << 10


def size_of(text):
    number = text.rstrip("GiBM")
    return int(number) * SIZES[text[len(number) :]]


BYTES = size_of(os.environ.get("SYNC_BYTES", "4GiB"))
FILES = int(os.environ.get("SYNC_FILES", "10000"))
ROUNDS = int(os.environ.get("SYNC_ROUNDS", "3"))
ONLY = os.environ.get("SYNC_ONLY", "large,small").split(",")
WANTED = os.environ.get("SYNC_CLIENTS", "raw,stoker,s5cmd,rclone,aws").split(",")


def fill(folder, files, size):
    os.makedirs(folder)
    block = os.urandom(1 << 20)
    for i in range(files):
        with open(f"{folder}/f{i:05}", "wb") as file:
            for at in range(0, size, len(block)):
                file.write(block[: min(len(block), size - at)])


class Sample:
    def __init__(self, seconds, processor, peak):
        self.seconds, self.processor, self.peak = seconds, processor, peak


def run(what, words, env):
    """Runs a client to its end: wall time, processor time and peak memory are the kernel's word.
    Each is told as it ends, since some take minutes."""
    print(f"  {what}: ", end="", file=sys.stderr, flush=True)
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(words, env=env, stdout=said, stderr=said, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            said.seek(0)
            sys.exit(f"{' '.join(map(str, words))}: {child.returncode}\n{said.read()[-3000:].decode(errors='replace')}")
    print(f"{seconds:.2f} s", file=sys.stderr, flush=True)
    return Sample(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def warm(root, files, size):
    """A virtual machine may give free memory back, and gets it again as it is touched, at a tenth
    of the pace of a copy: nobody is to pay for that who comes after a pause."""
    fill(f"{root}/warm", files, size)
    shutil.rmtree(f"{root}/warm")


def check(folder, files, size, name):
    """Every file is there, whole: the bytes themselves are the server's pattern, and checked by
    test/e2e/sync.py against a server that keeps what it gets."""
    sizes = [os.path.getsize(f"{folder}/{each}") for each in os.listdir(folder)]
    if sizes != [size] * files:
        sys.exit(f"{name} left {len(sizes)} files of {sum(sizes)} bytes")


def middle(samples, key):
    return statistics.median(key(each) for each in samples)


def report(title, total, files, samples):
    peers = [name for name in samples if name not in ("raw", "stoker")]
    print(f"\n{title}: {total / 1e6:.0f} MB in {files} files, the middle of {ROUNDS}")
    print(f"  {'':8} {'MB/s':>8} {'files/s':>9} {'CPU-s/GB':>9} {'peak MiB':>9}   seconds")
    speed, thrift = {}, {}
    for name, each in samples.items():
        speed[name] = total / middle(each, lambda s: s.seconds) / 1e6
        thrift[name] = middle(each, lambda s: s.processor) / (total / 1e9)
        print(
            f"  {name:8} {speed[name]:8.0f} {files * speed[name] * 1e6 / total:9.0f} "
            f"{thrift[name]:9.3f} {max(s.peak for s in each) / 2**20:9.0f}   " + " ".join(f"{s.seconds:.2f}" for s in each)
        )
    if "stoker" not in samples or not peers:
        return
    best = max(speed[name] for name in peers)
    least = min(thrift[name] for name in peers)
    ours = speed["stoker"]
    goal = 1.2 * best
    text = f"  stoker: {ours / best:.2f} x the fastest of the others"
    if "raw" in speed:
        text += f", {ours / speed['raw']:.2f} x the bare socket"
        goal = min(goal, 0.9 * speed["raw"])
    print(
        f"{text}: goal {'met' if ours >= goal else 'MISSED'}; processor time "
        f"{thrift['stoker'] / least:.2f} x the least: goal "
        f"{'met' if thrift['stoker'] <= 0.6 * least else 'MISSED'}; memory "
        f"{'met' if max(s.peak for s in samples['stoker']) <= 256 << 20 else 'MISSED'}",
        flush=True,
    )


def measure(title, clients, source, files, size, root):
    up = {name: [] for name in clients}
    down = {name: [] for name in clients}
    for at in range(ROUNDS):
        names = list(clients)
        # Each is first once: who comes after a pause has it harder on a virtual machine.
        first = at % len(names)
        turn = [(name, clients[name]) for name in names[first:] + names[:first]]
        for name, client in turn:
            client.forget()
            client.round += 1
            up[name].append(run(f"{title} up, {name}", client.up(source, title), client.env))
        for name, client in turn:
            into = f"{root}/into"
            client.forget()
            warm(root, files, size)
            words = client.down(title, into, source)
            down[name].append(run(f"{title} down, {name}", words, client.env))
            left = source + ".raw" if name == "raw" else into
            check(left, files, size, name)
            shutil.rmtree(left)
    report(f"{title}, up", files * size, files, up)
    report(f"{title}, down", files * size, files, down)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left behind
    bench = os.environ["BENCH_BIN"]
    folder = os.environ.get("SYNC_FOLDER", "/dev/shm" if os.path.isdir("/dev/shm") else None)
    with tempfile.TemporaryDirectory(prefix="stoker-bench-sync-", dir=folder) as root:
        clients = sync_clients.make(WANTED, root)
        server = subprocess.Popen([bench + "/wire_server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            endpoint = server.stdout.readline().strip()
            for client in clients.values():
                client.use(endpoint)
            for title, files, size in (("large", 1, BYTES), ("small", FILES, SMALL)):
                if title in ONLY:
                    source = f"{root}/{title}"
                    fill(source, files, size)
                    measure(title, clients, source, files, size, root)
                    shutil.rmtree(source)
        finally:
            server.stdin.close()
            server.wait()


if __name__ == "__main__":
    main()
