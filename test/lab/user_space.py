# SPDX-License-Identifier: Apache-2.0
"""What an ordinary user has in root's place: a user namespace in which it is root, and in which its
subordinate ids (/etc/subuid, /etc/subgid) are everybody else. By root, all is done as it is."""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys

CLONE_NEWUSER = 0x10000000
SET_DEATH_SIGNAL, SET_DUMPABLE = 1, 4  # of prctl()
ENOUGH = 65535  # ids beside root's: to nobody's and nogroup's of any Debian
MAPS = {"/etc/subuid": "newuidmap", "/etc/subgid": "newgidmap"}
libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent():
    libc.prctl(SET_DEATH_SIGNAL, signal.SIGKILL)


def subordinate(path):
    """(first, count) of this user's, or None."""
    uid = os.getuid()
    names = {str(uid)}
    try:
        names.add(pwd.getpwuid(uid).pw_name)
    except KeyError:
        pass  # a user without a name
    try:
        with open(path, encoding="utf-8") as source:
            listed = [line.strip().split(":") for line in source]
    except FileNotFoundError:
        return None
    for words in listed:
        if len(words) == 3 and words[0] in names and int(words[2]) >= ENOUGH:
            return int(words[1]), int(words[2])
    return None


def lacks():
    """What this user lacks to have one, in words; '' if nothing."""
    if os.geteuid() == 0:
        return ""
    tried = subprocess.run(["unshare", "--user", "true"], capture_output=True, text=True)
    if tried.returncode:
        return f"this machine lets no ordinary user make user namespaces: {tried.stderr.strip()}"
    for path, program in MAPS.items():
        if not shutil.which(program):
            return f"there is no {program}: apt-get install uidmap"
        if not subordinate(path):
            return f"{path} gives this user no {ENOUGH} ids, as usermod --add-subuids and --add-subgids would"
    return ""


def start(words, **more):
    """Popen of them, as root; they end with this process."""
    if os.geteuid() == 0:
        return subprocess.Popen(words, preexec_fn=end_with_parent, **more)
    (ready, say), (go, let) = os.pipe(), os.pipe()
    process = subprocess.Popen(
        [sys.executable, os.path.abspath(__file__), str(say), str(go), *words], pass_fds=(say, go), preexec_fn=end_with_parent, **more
    )
    os.close(say)
    os.close(go)
    if os.read(ready, 1):
        for path, program in MAPS.items():
            own = os.getuid() if program == "newuidmap" else os.getgid()
            first, count = subordinate(path)
            pieces = [process.pid, 0, own, 1, 1, first, count]
            subprocess.run([program, *map(str, pieces)], check=True)
        os.write(let, b"x")
    os.close(ready)
    os.close(let)
    return process


def run(words, **more):
    """Its exit status."""
    return start(words, **more).wait()


def become_root(say, go, words):
    if libc.unshare(CLONE_NEWUSER):
        sys.exit(f"no user namespace: {os.strerror(ctypes.get_errno())}")
    libc.prctl(SET_DUMPABLE, 1)  # else /proc says that this process is not the user's
    end_with_parent()  # new rights take that away
    os.write(say, b"x")
    if not os.read(go, 1):
        sys.exit("no user namespace: its ids could not be mapped")
    os.close(say)
    os.close(go)
    os.setgroups([])
    os.execvp(words[0], words)


if __name__ == "__main__":
    become_root(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
