# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: a private home for the real binary, and evidence of their own.

Standard library only. Every test gets a World: its own HOME, store and state below one temporary
folder, so that nothing of the user's is touched and whatever is left over can be counted."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BINARY = (
    os.environ.get("STOKER_BINARY") or os.environ.get("STOKER") or str(pathlib.Path(__file__).resolve().parents[3] / "build" / "stoker")
)


# One that every user may run; what a developer's PATH has first may lie in a home.
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable


# Where a stoker that was built with sanitizers leaves what they find; else none.
REPORTS = os.environ.get("STOKER_REPORTS")


def patience(seconds):
    """`seconds`, and longer on a machine that has more to do than it can, and for a stoker that was
    built with sanitizers: for waiting, not for judging how fast something was."""
    least = 4.0 if REPORTS else 1.0
    return seconds * min(8.0, max(least, os.getloadavg()[0] / (os.cpu_count() or 1)))


# So that worlds are closed: nothing outlives a test that was stopped.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


class World:
    def __init__(self, name="e2e", binary=BINARY, uid=None):
        """`uid`: everything runs as that user (needs root)."""
        if not os.access(binary, os.X_OK):
            sys.exit(f"no stoker at {binary}: './dev build' makes it, STOKER_BINARY names another")
        self.binary = binary
        self.started = []
        self.user = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
        self.root = pathlib.Path(tempfile.mkdtemp(prefix=f"stoker-{name}-"))
        self.home = self.root / "home"
        self.work = self.root / "work"
        self.evidence = self.root / "evidence"
        for folder in (self.home, self.work, self.evidence):
            folder.mkdir()
        self.own(self.root, self.home, self.work, self.evidence)
        self.state = self.home / ".local" / "share" / "stoker"
        self.store = self.state / "ledger"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "USER": "tester",
            "LOGNAME": "tester",
            # A machine of its own, with room for all that a test starts at once: what has to wait
            # is for turns.py to test.
            "STOKER_QUEUE": str(self.root / "queue"),
            "STOKER_CAPACITY": "cpus=256 memory=0",
        }

    def own(self, *paths):
        """Gives `paths` to the user of this world."""
        for path in paths if self.user else ():
            os.chown(path, self.user["user"], self.user["group"])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close(keep=kind is not None)

    def close(self, keep=False):
        """Ends every process that this world started, then removes it (kept after a failure)."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        for instance in self.instances():
            end_holders(instance)
        if keep or os.environ.get("STOKER_KEEP"):
            print(f"kept for inspection: {self.root}", file=sys.stderr)
        else:
            shutil.rmtree(self.root, ignore_errors=True)

    def command(self, args, cwd):
        """The words that run stoker in `cwd`."""
        return [self.binary, *map(str, args)]

    def stoker(self, *args, cwd=None, timeout=60, env=None, check=False, stdin=subprocess.DEVNULL):
        """Runs a verb to its end; returns the CompletedProcess with text output."""
        done = subprocess.run(
            self.command(args, cwd or self.work),
            cwd=cwd or self.work,
            env={**self.env, **(env or {})},
            stdin=stdin,
            capture_output=True,
            timeout=patience(timeout),
            text=True,
            errors="replace",
            **self.user,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"stoker {' '.join(map(str, args))} -> {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def start(self, *args, cwd=None, env=None, **popen):
        """Starts a verb in the background."""
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen(
            self.command(args, cwd or self.work),
            cwd=cwd or self.work,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            **self.user,
            **popen,
        )
        self.started.append(process)
        return process

    def json(self, *args, ok=(0,), **kwargs):
        """What a verb prints with --json; `ok` are the exit codes that are right."""
        words = list(args)
        at = words.index("--") if "--" in words else len(words)
        words.insert(at, "--json")
        done = self.stoker(*words, **kwargs)
        if done.returncode not in ok:
            raise AssertionError(f"stoker {' '.join(map(str, words))} -> {done.returncode}\n{done.stdout}\n{done.stderr}")
        return json.loads(done.stdout)

    def submit(self, *args, **kwargs):
        """stoker run --detach …: returns the job id."""
        return self.json("run", "--detach", *args, **kwargs)["id"]

    def job(self, job):
        return self.json("show", job)["job"]

    def instances(self):
        folder = self.state / "instances"
        return sorted(p for p in folder.iterdir()) if folder.is_dir() else []

    def wait_for(self, what, condition, timeout=30, every=0.05):
        end = time.monotonic() + patience(timeout)
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(every)
        raise AssertionError(f"not within {timeout} s: {what}")

    def gate(self, name="go"):
        """Shell words that wait until the test has called open_gate(name)."""
        return f"until [ -e '{self.evidence / name}' ]; do sleep 0.05; done"

    def open_gate(self, name="go"):
        (self.evidence / name).touch()

    def program(self, text, name="prog.py"):
        path = self.work / name
        path.write_text(text)
        return path


def lock_holder(path):
    """Pid that holds a record lock on `path`, or None: asked of the kernel through /proc/locks."""
    try:
        inode = os.stat(path).st_ino
    except OSError:
        return None
    for line in open("/proc/locks", encoding="ascii"):
        fields = line.split()
        if "->" in fields:
            continue
        if fields[1] == "POSIX" and fields[5].rsplit(":", 1)[1] == str(inode):
            return int(fields[4])
    return None


def end_holders(instance):
    pid = lock_holder(instance / "lock")
    if pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def heartbeats_stop(folder, quiet=0.6, timeout=10):
    """Names of heartbeat files in `folder` that still grow after `timeout`; [] is good."""

    def sizes():
        return {p.name: p.stat().st_size for p in pathlib.Path(folder).iterdir()}

    end = time.monotonic() + timeout
    before = sizes()
    while True:
        time.sleep(quiet)
        after = sizes()
        alive = sorted(n for n in after if after[n] != before.get(n))
        if not alive or time.monotonic() > end:
            return alive
        before = after


class Results:
    """Counts checks and prints the closing line that CI reads."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.begun = time.time()

    def check(self, name, good, detail=""):
        if good:
            self.passed += 1
            print(f"ok    {name}", flush=True)
        else:
            self.failed.append(name)
            print(f"FAIL  {name}: {detail}", flush=True)
        return good

    def run(self, name, function, *args):
        try:
            function(*args)
        except Exception as error:  # noqa: BLE001  # a test that breaks has failed
            self.check(name, False, f"{type(error).__name__}: {error}")
        else:
            self.check(name, True)

    def sanitizers(self):
        """What they found since this test began, in whichever process."""
        for report in sorted(pathlib.Path(REPORTS).iterdir()):
            if report.stat().st_mtime >= self.begun:
                self.check(f"sanitizers: {report.name}", False, report.read_text()[:6000])

    def finish(self):
        if REPORTS:
            self.sanitizers()
        print(f"{self.passed} passed, {len(self.failed)} failed")
        sys.exit(1 if self.failed or not self.passed else 0)


def parts_of(names, also=""):
    """The functions test_NAME of a module, whose globals() those are, by NAME; and those that are
    called ALSO_NAME."""
    split = {each: each.partition("_") for each in names if callable(names[each])}
    return {name: names[each] for each, (kind, _, name) in split.items() if name and kind in ("test", also)}


def play(names, world):
    """Runs the parts of a module, or those that the command line names: with results and `world`, or,
    where that is a function, with a world that it makes for each. Exits."""
    results, parts = Results(), parts_of(names)
    with contextlib.ExitStack() as shared:
        if not callable(world):
            shared.enter_context(world)
        for name in sys.argv[1:] or parts:
            with world() if callable(world) else contextlib.nullcontext(world) as its:
                results.run(name, parts[name], results, its)
    results.finish()
