# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: a stoker with folders of its own, and how figures are printed."""

import contextlib
import json
import os
import pty
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

STOKER = os.environ["STOKER"]
BENCH_BIN = os.environ["BENCH_BIN"]
# Set by lib/against.py: a file that takes each figure of stoker's as a line of JSON.
FIGURES = os.environ.get("BENCH_FIGURES")


def in_memory(megabytes):
    """A folder in memory that has so much room, else None, the usual one: a disk takes minutes to
    make and to remove tens of thousands of files, which nobody measures."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage("/dev/shm").free > megabytes << 20:
            return "/dev/shm"
    return None


class Sandbox:
    """A temporary home for stoker's ledger, instances and cache. Nothing is left behind."""

    def __init__(self, parent=None):
        self.parent = parent

    def __enter__(self):
        self.root = tempfile.mkdtemp(prefix="stoker-bench-", dir=self.parent)
        self.work = self.folder("work")
        self.env = dict(
            os.environ,
            XDG_CONFIG_HOME=self.folder("config"),
            XDG_DATA_HOME=self.folder("data"),
            XDG_CACHE_HOME=self.folder("cache"),
            STOKER_QUEUE=self.root + "/queue",
            STOKER_CAPACITY="cpus=256 memory=0",
            NO_COLOR="1",
            PYTHONDONTWRITEBYTECODE="1",
        )
        self.env.pop("STOKER", None)
        self.state = self.root + "/data/stoker"
        self.ledger = self.state + "/ledger"
        return self

    def __exit__(self, *_):
        jobs = json.loads(self.stoker("ls", "--json") or "[]")
        if running := [job["id"] for job in jobs if job["ended"] is None]:
            self.stoker("cancel", *running)
        end = time.monotonic() + 30
        while self.processes() and time.monotonic() < end:
            time.sleep(0.05)
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.root, ignore_errors=True)

    def folder(self, name):
        os.makedirs(self.root + "/" + name, exist_ok=True)
        return self.root + "/" + name

    def write(self, name, text):
        path = self.work + "/" + name
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def stoker(self, *words, cwd=None):
        done = subprocess.run(
            [STOKER, *words], env=self.env, cwd=cwd or self.work, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode != 0 and words[0] not in ("cancel",):
            raise SystemExit(f"stoker {' '.join(words)}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def submit(self, *words):
        return self.stoker("run", "--detach", *words).split()[-1]

    def processes(self, role=None, job=None):
        """Process ids of this sandbox's machines, agents (role "__agent") and task inits."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            try:
                with open(f"/proc/{name}/cmdline", encoding="utf-8") as file:
                    words = file.read().split("\0")
                with open(f"/proc/{name}/environ", encoding="utf-8", errors="replace") as file:
                    environ = file.read()
            except OSError:
                continue
            ours = self.root in environ or any(self.root in word for word in words)
            if role is None and ours:
                found.append(int(name))
            elif ours and len(words) > 1 and words[1] == role and self.serves(words, job):
                found.append(int(name))
        return found

    @staticmethod
    def serves(words, job):
        if job is None:
            return True
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(words[2] + "/boot.json", encoding="utf-8") as file:
                return json.load(file)["job"] == job
        return False


class Terminal:
    """A process whose output goes to a terminal of its own."""

    def __init__(self, words, env, cwd):
        self.fd, slave = pty.openpty()
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            words, env=env, cwd=cwd, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, start_new_session=True
        )
        os.close(slave)
        self.seen = b""

    def wait_for(self, text, limit=30):
        """Seconds on the clock when `text` was seen; what came before it is forgotten."""
        end = time.monotonic() + limit
        while text not in self.seen:
            if time.monotonic() > end:
                raise SystemExit(f"no '{text.decode()}' within {limit} s: {self.seen!r}")
            try:
                self.seen += os.read(self.fd, 65536)
            except OSError as error:
                raise SystemExit(f"ended without '{text.decode()}': {self.seen!r}") from error
        now = time.monotonic()
        self.seen = self.seen.split(text, 1)[1]
        return now

    def close(self):
        """Reads the rest and waits for the end."""
        with contextlib.suppress(OSError):
            while os.read(self.fd, 65536):
                pass
        self.process.wait()
        os.close(self.fd)


def milliseconds(seconds):
    return [1e3 * one for one in seconds]


def spread(values, unit="ms"):
    ordered = sorted(values)
    tenth = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    return f"median {statistics.median(ordered):7.1f}  p90 {tenth:7.1f}  min {ordered[0]:7.1f} {unit}"


def figure(name, values, unit, beside="", other=()):
    """What is compared between two builds of stoker; less is better. Names stay the same. `other`:
    what they are held against in this run, called `beside`."""
    if FIGURES:
        one = {"name": name, "values": values, "unit": unit, "beside": beside, "other": list(other)}
        with open(FIGURES, "a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")


def versus(title, other_name, other, ours, goal="", unit="ms", over=True):
    """Two lists of figures from one run, and how they compare."""
    figure(title, ours, unit, other_name, other)
    a, b = statistics.median(other), statistics.median(ours)
    print(title)
    print(f"  {other_name:<24} {spread(other, unit)}")
    print(f"  {'stoker':<24} {spread(ours, unit)}")
    line = f"  ratio {b / a:.2f}" if a > 0 else "  ratio -"
    if over:
        line += f"   over it {b - a:.1f} {unit}"
    print(line + (f"   (goal: {goal})" if goal else ""), flush=True)


def status_kib(pid, *names):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        lines = dict(line.split(":", 1) for line in file if ":" in line)
    return [int(lines[name].split()[0]) for name in names]


def cpu_seconds(pid):
    """Of all threads, in nanosecond steps; threads that ended are not in it."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="utf-8") as file:
                total += int(file.read().split()[0])
    return total / 1e9
