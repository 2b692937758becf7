#!/usr/bin/python3 -IS
# SPDX-License-Identifier: Apache-2.0
"""In a room without systemd: its first process, and what units and scripts find as systemctl and
poweroff. It runs what its cloud's image runs at each boot (cloud-init's stages, or Google's script
runner), keeps the services that the machine itself was given, and goes off as systemd would.

Of systemd it knows what stoker's units and scripts use, and refuses everything else aloud."""

import configparser
import ctypes
import os
import resource
import select
import shlex
import signal
import sys
import time

UNITS = "/etc/systemd/system"
HERE = "/run/bare-init.d"
ORDERS = HERE + "/orders"  # a pipe: a line each
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
POWER = {"poweroff": 0x4321FEDC, "reboot": 0x01234567}  # for reboot(2)
BUTTONS = {signal.SIGRTMIN + 4: "poweroff", signal.SIGRTMIN + 5: "reboot"}  # systemd's
WELL = (0, -signal.SIGHUP, -signal.SIGINT, -signal.SIGTERM, -signal.SIGPIPE)
SET_SUBREAPER = 36  # of prctl()
libc = ctypes.CDLL(None, use_errno=True)

# What is run before the network is said to be there, after it, and when the machine goes off.
BOOTS = {
    "cloud-init": (
        ["cloud-init init --local", "cloud-init init"],
        ["mkdir -p /run/sshd", "/usr/sbin/sshd", "cloud-init modules --mode=config", "cloud-init modules --mode=final"],
        [],
    ),
    "google-scripts": ([], ["google_metadata_script_runner startup"], ["google_metadata_script_runner shutdown"]),
}


def say(words):
    print(f"bare-init: {words}", file=sys.stderr, flush=True)


def spawn(words, more=None):
    """As systemd starts what a unit names; its output is the console's, as ours."""
    return os.posix_spawnp(
        words[0],
        words,
        {"PATH": PATH, "LANG": "C.UTF-8", **(more or {})},
        setsid=True,
        setsigmask=[],
        setsigdef=set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP},
    )


def ended():
    """{pid: status} of the children that have."""
    found = {}
    try:
        while (one := os.waitpid(-1, os.WNOHANG))[0]:
            found[one[0]] = os.waitstatus_to_exitcode(one[1])
    except ChildProcessError:
        pass
    return found


class Unit:
    """What is used here of one."""

    def __init__(self, name):
        self.name = name
        self.path = os.path.join(UNITS, name)
        parsed = configparser.ConfigParser(strict=False, interpolation=None)
        parsed.optionxform = str
        if not parsed.read(self.path):
            raise FileNotFoundError(f"no unit {name}")
        self.service = parsed["Service"]
        self.targets = parsed.get("Install", "WantedBy", fallback="").split()
        # Else it runs while all others are stopped, too.
        self.stops = parsed.get("Unit", "DefaultDependencies", fallback="yes") != "no"

    def words(self, key):
        return [each.replace("$$", "$") for each in shlex.split(self.service.get(key, ""))]

    def number(self, key, other):
        return float(self.service.get(key, other))

    def link(self, target):
        return os.path.join(UNITS, target + ".wants", self.name)

    def main(self):
        """The pid of its first process, 0 if there is none."""
        try:
            with open(f"{HERE}/{self.name}.pid", encoding="utf-8") as source:
                return int(source.read())
        except (FileNotFoundError, ValueError):
            return 0


def wanted_by(target):
    """Those that the machine was given, not those of its image."""
    folder = os.path.join(UNITS, target + ".wants")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [each for each in names if os.path.realpath(os.path.join(folder, each)).startswith(UNITS)]


class Keeper:
    """The process above those of one service: what loses its parent becomes its child, so that it
    finds them all, as systemd does by their cgroup."""

    def __init__(self, unit):
        self.unit = unit
        self.main = None  # pid of its first process
        self.stopping = False
        self.cut = None  # when its processes are killed that were asked to end

    def descendants(self):
        parents = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as source:
                    parents[int(name)] = int(source.read().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
        found, more = set(), {os.getpid()}
        while more := {pid for pid, parent in parents.items() if parent in more} - found:
            found |= more
        return found

    def signal(self, pids, number):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def wait(self, pid, seconds):
        """The status of the child `pid`; None: it took longer than that."""
        end = time.monotonic() + seconds
        while True:
            found = ended()
            if pid in found:
                return found[pid]
            left = end - time.monotonic()
            if self.stopping and pid == self.main:
                self.ask_to_end(pid)
                left = self.cut - time.monotonic()
            if left <= 0:
                return None
            self.listen(min(left, 3600))

    def listen(self, seconds):
        got = signal.sigtimedwait({signal.SIGTERM, signal.SIGCHLD}, seconds)
        if got and got.si_signo == signal.SIGTERM:
            self.stopping = True

    def ask_to_end(self, pid):
        if self.cut is None:
            self.cut = time.monotonic() + self.unit.number("TimeoutStopSec", 90)
            mixed = self.unit.service.get("KillMode") == "mixed"
            for number in (signal.SIGTERM, signal.SIGCONT):
                self.signal([pid] if mixed else self.descendants(), number)

    def clear(self):
        while left := self.descendants():
            self.signal(left, signal.SIGKILL)
            self.listen(0.02)
            ended()

    def once(self):
        """How the service ended, all its processes with it."""
        self.main = pid = spawn(self.unit.words("ExecStart"))
        note = f"{HERE}/{self.unit.name}.pid"
        with open(note, "w", encoding="utf-8") as out:
            out.write(str(pid))
        status = self.wait(pid, float("inf"))
        self.main = None
        os.unlink(note)
        self.clear()
        status = -signal.SIGKILL if status is None else status
        if self.unit.service.get("ExecStopPost"):
            by = signal.Signals(-status).name[3:] if status < 0 else ""
            how = {"EXIT_CODE": "killed" if by else "exited", "EXIT_STATUS": by or str(status)}
            self.wait(spawn(self.unit.words("ExecStopPost"), how), 90)
            self.clear()
        return status

    def keep(self):
        restart = self.unit.service.get("Restart", "no")
        while True:
            status = self.once()
            again = restart == "always" or (restart == "on-failure" and status not in WELL)
            end = time.monotonic() + self.unit.number("RestartSec", 0.1)
            while again and not self.stopping and (left := end - time.monotonic()) > 0:
                self.listen(left)
            if self.stopping or not again:
                return


def limits(unit):
    """Where this user may not have as many, as many as it may."""
    wanted = unit.service.get("LimitNOFILE")
    if wanted:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        count = min(int(wanted), most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, most))


class Init:
    def __init__(self, boots):
        self.early, self.late, self.off = ([each.split() for each in part] for part in BOOTS[boots])
        self.keepers = {}  # name -> (pid, unit)
        self.stage = None  # pid of the one that runs
        self.ending = None  # of POWER
        self.waits = set()  # pids that a machine which goes off waits for
        os.makedirs(HERE, mode=0o700, exist_ok=True)
        os.mkfifo(ORDERS, 0o600)
        self.orders = os.open(ORDERS, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.heard, bell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(bell)
        for number in (signal.SIGCHLD, *BUTTONS):
            signal.signal(number, lambda *_: None)

    def start(self, name):
        if name in self.keepers or self.ending:
            return
        unit = Unit(name)
        pid = os.fork()
        if pid:
            self.keepers[name] = (pid, unit)
            return
        try:
            signal.set_wakeup_fd(-1)
            os.setsid()
            libc.prctl(SET_SUBREAPER, 1)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
            limits(unit)
            Keeper(unit).keep()
        except Exception as error:  # noqa: BLE001  # a service less; the console says so
            say(f"{name}: {error!r}")
        finally:
            os._exit(0)

    def next_stage(self):
        self.stage = None
        if self.ending:
            return
        if self.early:
            self.stage = spawn(self.early.pop(0))
        elif self.late is not None:
            for name in wanted_by("multi-user.target"):
                self.start(name)
            self.early, self.late = self.late, None
            self.next_stage()

    def go_off(self, how):
        if self.ending:
            return
        self.ending = how
        say(how)
        for pid, unit in self.keepers.values():
            if unit.stops:
                os.kill(pid, signal.SIGTERM)
                self.waits.add(pid)
        self.waits |= {spawn(words) for words in self.off}
        self.leave()

    def leave(self):
        if self.ending and not self.waits:
            libc.reboot(POWER[self.ending])
            sys.exit(f"no {self.ending}: {os.strerror(ctypes.get_errno())}")

    def reap(self):
        for pid in ended():
            self.keepers = {n: each for n, each in self.keepers.items() if each[0] != pid}
            self.waits.discard(pid)
            if pid == self.stage:
                self.next_stage()
        self.leave()

    def obey(self, line):
        verb, *names = line.split()
        if verb in POWER:
            self.go_off(verb)
        elif verb != "start":
            say(line)
        for name in names if verb == "start" else []:
            try:
                self.start(name)
            except (OSError, configparser.Error, KeyError) as error:
                say(f"{name}: {error!r}")

    def run(self):
        for name in wanted_by("sysinit.target"):
            self.start(name)
        self.next_stage()
        while True:
            ready, _, _ = select.select([self.orders, self.heard], [], [])
            if self.heard in ready:
                for number in os.read(self.heard, 4096):
                    if number in BUTTONS:
                        self.go_off(BUTTONS[number])
                self.reap()
            if self.orders in ready:
                for line in os.read(self.orders, 65536).decode().splitlines():
                    self.obey(line)


def order(line):
    with open(ORDERS, "w", encoding="utf-8") as out:
        out.write(line + "\n")


def enable(names):
    for unit in map(Unit, names):
        for target in unit.targets:
            os.makedirs(os.path.dirname(unit.link(target)), exist_ok=True)
            if not os.path.lexists(unit.link(target)):
                os.symlink(unit.path, unit.link(target))


def go(how, flags):
    """Forced, it is at once."""
    if "-f" in flags:
        libc.reboot(POWER[how])
    order(how)


def systemctl(words):
    flags = [each for each in words if each.startswith("-")]
    verb, *names = [each for each in words if not each.startswith("-")] or [""]
    if verb in POWER:
        go(verb, flags)
    elif verb == "start" and names:
        order("start " + " ".join(names))
    elif verb == "enable":
        enable(names)
    elif words[:4] == ["show", "-p", "MainPID", "--value"] and len(words) == 5:
        print(Unit(words[4]).main())
    elif verb != "daemon-reload":
        order(f"refused {words}")
        sys.exit(f"systemctl of a room without systemd: not known: {shlex.join(words)}")


def main(name, words):
    if name == "bare-init":
        Init(words[0]).run()
    elif name == "shutdown":
        go("reboot" if "-r" in words else "poweroff", [])
    elif name in POWER:
        go(name, words)
    else:
        systemctl(words)


if __name__ == "__main__":
    main(os.path.basename(sys.argv[0]), sys.argv[1:])
