# SPDX-License-Identifier: Apache-2.0
"""What a person at a terminal meets: colours or none, Ctrl-C, completion, the man page."""

import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, World, patience

ESCAPE = b"\x1b"


class Terminal:
    """The binary on a terminal of its own, as the leader of the session."""

    def __init__(self, world, *args, env=None, size=0):
        self.seen = b""
        pid, self.master = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, size, 0, 0))
            os.chdir(world.work)
            os.execve(world.binary, [world.binary, *args], {**world.env, "TERM": "xterm-256color", **(env or {})})
        self.pid = pid

    def read(self, until=None, timeout=20):
        """Reads on to `until` (bytes), else to the end of the process's output."""
        end = time.monotonic() + patience(timeout)
        while time.monotonic() < end and not (until and until in self.seen):
            if not select.select([self.master], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:  # EIO: the other side is closed
                break
            if not data:
                break
            self.seen += data
        return self.seen

    def type(self, data):
        os.write(self.master, data)

    def hang_up(self):
        os.close(self.master)

    def code(self, timeout=20):
        end = time.monotonic() + patience(timeout)
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        return None


def on_terminal(world, *args, env=None):
    terminal = Terminal(world, *args, env=env)
    seen = terminal.read()
    terminal.code()
    terminal.hang_up()
    return seen


def test_colours(results, world):
    plain_env = {"NO_COLOR": ""}  # as good as not set, says no-color.org
    world.stoker("run", "--name", "plain", "--", "echo", "hello", check=True)
    for words in (("ls",), ("doctor",)):
        name = " ".join(words)
        seen = on_terminal(world, *words, env=plain_env)
        results.check(f"colours: {name} on a terminal", ESCAPE in seen, seen)
        seen = on_terminal(world, *words, env={"NO_COLOR": "1"})
        results.check(f"colours: {name} with NO_COLOR", ESCAPE not in seen, seen)
        seen = on_terminal(world, *words, env={**plain_env, "TERM": "dumb"})
        results.check(f"colours: {name} on a dumb terminal", ESCAPE not in seen, seen)
    piped = {**plain_env, "TERM": "xterm-256color"}
    for words in (
        ("ls",),
        ("doctor",),
        ("show", "plain"),
        ("logs", "plain"),
        ("checkpoints", "plain"),
        ("gc",),
        ("config",),
        ("run", "--", "echo", "x"),
        ("--help",),
        ("show", "nosuch"),
        ("rnu",),
        ("wait", "plain"),
        ("cancel", "plain"),
    ):
        done = world.stoker(*words, env=piped)
        results.check(
            f"colours: {' '.join(words)} into a pipe",
            "\x1b" not in done.stdout + done.stderr and "\r" not in done.stdout + done.stderr,
            repr(done.stdout + done.stderr),
        )


def test_control_sequences(results, world):
    evil = r"\033]0;owned\007\033[2Jred\033[31m \302\233 end\n"
    seen = on_terminal(world, "run", "--name", "evil", "--", "printf", evil, env={"NO_COLOR": "1"})
    results.check(
        "control sequences do not reach a terminal: run",
        b"red" in seen and ESCAPE not in seen and b"\x07" not in seen and b"\xc2\x9b" not in seen,
        seen,
    )
    seen = on_terminal(world, "logs", "evil", env={"NO_COLOR": "1"})
    results.check("control sequences do not reach a terminal: logs", b"red" in seen and ESCAPE not in seen and b"\x07" not in seen, seen)
    raw = subprocess.run([world.binary, "logs", "evil"], env=world.env, capture_output=True, check=True).stdout
    results.check("a pipe gets what the program wrote", raw == b"\x1b]0;owned\x07\x1b[2Jred\x1b[31m \xc2\x9b end\n", raw)
    head = subprocess.run(["bash", "-c", f"set -o pipefail; {world.binary} ls --help | head -n 1"], env=world.env, capture_output=True)
    results.check("a reader that has enough is no error", head.returncode == 0 and not head.stderr, head.stderr)


BEATS = "import os, time\nwhile True:\n print('tick', flush=True)\n open(os.environ['BEATS'], 'a').write('x'); time.sleep(0.1)\n"


def grows(path):
    size = path.stat().st_size
    time.sleep(0.6)
    return path.stat().st_size > size


def test_leaving(results, world):
    for name, leave in (("Ctrl-C", lambda t: t.type(b"\x03")), ("the terminal closes", lambda t: t.hang_up())):
        beats = world.evidence / f"beats-{name[:4]}"
        terminal = Terminal(world, "run", "--name", "long", "--stop-grace", "1s", "--env", f"BEATS={beats}", "--", PYTHON, "-c", BEATS)
        seen = terminal.read(until=b"tick")
        leave(terminal)
        if name == "Ctrl-C":
            seen = terminal.read()
            results.check(
                "Ctrl-C: says that the job goes on, and how to come back", b"the job goes on" in seen and b"logs -f" in seen, seen
            )
        code = terminal.code()
        results.check(f"{name}: the command ends", code is not None and (code == 0 or name != "Ctrl-C"), [code, seen])
        results.check(f"{name}: the job goes on", world.job("long")["state"] == "Running" and grows(beats))
        follower = Terminal(world, "logs", "-f", "long")
        follower.read(until=b"tick")
        follower.type(b"\x03")
        results.check(f"{name}: logs -f comes back, and Ctrl-C leaves it", follower.code() == 0 and grows(beats), follower.seen)
        follower.hang_up()
        world.stoker("cancel", "long", check=True)


def test_ask(results, world):
    """Over 1 GiB asks first: on a terminal with a question, elsewhere with an error."""
    work = world.work / "big"
    work.mkdir()
    with open(work / "data.bin", "wb") as big:
        big.truncate((1 << 30) + (1 << 20))
    before = len(world.json("ls"))
    done = world.stoker("run", "--", "true", cwd=work)
    results.check(
        "over 1 GiB: not without being asked to",
        done.returncode in (1, 2) and "--yes" in done.stderr and "data.bin 1.1 GB" in done.stderr,
        done.stderr,
    )
    terminal = Terminal(world, "run", "--workdir", str(work), "--", "true")
    terminal.read(until=b"?", timeout=10)
    terminal.type(b"n\n")
    seen = terminal.read()
    code = terminal.code()
    results.check("over 1 GiB: no is no", code not in (0, None) and b"?" in seen and len(world.json("ls")) == before, [code, seen])
    terminal.hang_up()
    shutil.rmtree(work)


def test_ask_gc(results, world):
    """Whole jobs go when somebody has seen how many, and said yes."""
    world.wait_for("no machine is left", lambda: not world.instances())
    jobs = {one["id"] for one in world.json("ls", "--all")}
    for answer, left in ((b"n\n", set()), (b"y\n", jobs)):
        terminal = Terminal(world, "gc", "--older-than", "0s")
        terminal.read(until=b"?", timeout=10)
        terminal.type(answer)
        seen = terminal.read()
        code = terminal.code()
        terminal.hang_up()
        there = {one["id"] for one in world.json("ls", "--all") if one["goes"]}
        results.check(
            f"gc --older-than asks: {answer!r}",
            f"This removes {len(jobs)} jobs, ".encode() in seen and there == left and (code == 0) == (answer == b"y\n"),
            [code, seen, there],
        )


def begun(pid, to):
    """Lets the process go on for a moment; it is stopped in any case."""
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.003)
    os.kill(pid, signal.SIGSTOP)
    return any(to.parent.glob(f"*{to.name}*"))


def test_progress(results, world):
    """Fetching says how much of how much: of an output, of a checkpoint. Stopped on the way, so
    that the fetch lasts long enough for progress on any machine. Not zeros, which are a hole."""
    (world.work / "big.yaml").write_text(
        "name: big\noutputs: [out.bin]\ncheckpoints: {path: ckpt}\nrun: |\n"
        "  mkdir -p ckpt; head -c 150000000 /dev/urandom > out.bin; cp out.bin ckpt/one.bin\n"
    )
    job = world.submit("big.yaml")
    world.stoker("wait", job, check=True)
    for what, file in (("out.bin", "out.bin"), ("checkpoint", "one.bin")):
        seen = b""
        for round in range(5):
            ok, seen = fetched(world, job, what, file, world.root / f"got-{what}-{round}")
            shown = re.search(rb"fetching [\d.]+ .?B of 150 MB, [\d.]+ .?B/s", seen)
            if not ok or shown:
                break
        results.check(f"progress: get {what}", ok and shown, seen)


def fetched(world, job, what, file, to):
    """Fetches in slow motion until it has begun, then after a second's stop: whether all of it
    came, and what the terminal saw. Where the test is the slower of the two, the fetch may be over
    before it could be stopped."""
    terminal = Terminal(world, "get", job, what, str(to))
    world.wait_for("the fetch has begun", lambda: begun(terminal.pid, to), every=0)
    time.sleep(1)
    os.kill(terminal.pid, signal.SIGCONT)
    seen = terminal.read()
    ok = terminal.code() == 0 and (to / file).stat().st_size == 150_000_000
    terminal.hang_up()
    shutil.rmtree(to)
    return ok, seen


def test_width(results, world):
    """`ls` fits the terminal that it is on; whose a job is, where a store is shared."""
    world.stoker(
        "run",
        "--name",
        "a-name-that-is-rather-long-for-a-table-of-jobs",
        "--hp",
        "note=模型模型模型模型模型模型",
        "--hp",
        "lr=0.1",
        "--",
        "sh",
        "-c",
        "exit 3",
    )
    other = {"USER": "somebody", "LOGNAME": "somebody", "XDG_CONFIG_HOME": str(world.root / "somebody")}
    world.stoker("run", "--name", "theirs", "--", "true", env=other, check=True)
    for columns in (60, 80, 120):
        for words in (["ls"], ["ls", "--hyperparameters"]):
            terminal = Terminal(world, *words, size=columns)
            seen = re.sub(r"\x1b\[[0-9;]*m", "", terminal.read().decode())
            terminal.code()
            terminal.hang_up()
            rows = [row for row in seen.split("\r\n") if not row.startswith("stoker:")]
            wide = [row for row in rows if len(row) + sum(c in "模型" for c in row) > columns]
            results.check(f"{' '.join(words)} fits {columns} columns", not wide and "theirs" in seen and "Succeeded" in seen, seen)
    whole = world.stoker("ls", "--hyperparameters").stdout
    results.check(
        "ls elsewhere has all columns",
        all(word in whole for word in ("WHERE", "OWNER", "somebody@here", "lr=0.1", "a-name-that-is-rather-long-for-a-table-of-jobs")),
        whole,
    )


def test_columns(results, world):
    """`ls --columns`: these, in this order, hyperparameters by name, and none left out."""
    world.stoker("run", "--name", "cols", "--hp", "rate=0.25", "--hp", "user=a b", "--", "true", check=True)
    for given, cells in [
        ("name,rate,STATUS", ["cols", "0.25", "Succeeded"]),
        ("rate,user,hp.user", ["0.25", world.json("ls", "--name", "cols")[0]["user"], "a", "b"]),
        ("host,attempt", ["here", "1"]),
    ]:
        done = world.stoker("ls", "--name", "cols", "--columns", given, check=True)
        rows = [line.split() for line in done.stdout.splitlines()]
        heads = [n[3:] if n.startswith("hp.") else n if n == "rate" else n.upper() for n in given.split(",")]
        results.check(f"ls --columns {given}", rows == [heads, cells], done.stdout)
    every = "job,name,status,attempt,nodes,age,duration,where,reason,checkpoint,user,host"
    terminal = Terminal(world, "ls", "--columns", every, size=60)
    seen = terminal.read().decode()
    terminal.code()
    terminal.hang_up()
    results.check("ls --columns leaves none out", all(name.upper() in seen for name in every.split(",")), seen)
    for words, said in [
        (("--columns", "name,rat"), "'rat' is neither a column nor"),
        (("--columns", "name", "--json"), "--columns goes with none of"),
    ]:
        done = world.stoker("ls", *words)
        results.check(f"ls {' '.join(words)}", done.returncode == 2 and said in done.stdout + done.stderr, done.stderr)


def bash_completes(world, script, *words):
    text = f"""source {script}
COMP_WORDS=({" ".join(repr(w) for w in ("stoker", *words))}); COMP_CWORD={len(words)}
{"_stoker"}; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(
        ["bash", "-euc", text],
        cwd=world.work,
        capture_output=True,
        text=True,
        env={**world.env, "PATH": f"{world.root}/bin:{world.env['PATH']}"},
    )
    return sorted(set(done.stdout.split())), done.stderr


def scripts(world):
    (world.root / "bin").mkdir()
    (world.root / "bin" / "stoker").symlink_to(world.binary)
    paths = {}
    for shell in ("bash", "zsh", "fish", "man"):
        paths[shell] = world.root / f"completion.{shell}"
        paths[shell].write_text(world.stoker("completion", shell, check=True).stdout)
    return paths


def test_bash(results, world, script):
    world.stoker("run", "--name", "findme", "--", "true", check=True)
    (world.work / "job.yaml").write_text("run: 'true'\n")
    for words, wanted in [
        (["c"], ["cancel", "checkpoints", "compare", "completion", "config", "controller"]),
        (["sho"], ["show"]),
        (["show", "find"], ["findme"]),
        (["logs", "-f", "find"], ["findme"]),
        (["wait", "--time"], ["--timeout"]),
        (["config", "un"], ["unset"]),
        (["completion", "f"], ["fish"]),
        (["run", "jo"], ["job.yaml"]),
        (["run", "--max-"], ["--max-duration", "--max-restarts"]),
        (["nonsense", "jo"], ["job.yaml"]),
    ]:
        found, errors = bash_completes(world, script, *words)
        results.check(f"bash completes '{' '.join(words)}'", found == wanted and not errors, [found, errors])
    job = world.job("findme")["id"]
    found, errors = bash_completes(world, script, "cancel", job[:5])
    results.check("bash completes ids", found == [job], [found, errors])


ZSH = r"""
autoload -U compinit; compinit -D; source $SCRIPT
# What the completion offers, instead of a menu: compadd and _files note it.
compadd() { local -a given; while [[ $1 == -* && $1 != -- ]]; do
  [[ $1 == -a ]] && given+=(${(P)2}) && shift; shift; done
  [[ $1 == -- ]] && shift; print -rl -- $given $@; }
_describe() { print -rl -- ${${(P)2}%%:*}; }
_files() { print -rl -- *; }
words=(stoker ${=TYPED} "$LAST"); CURRENT=$#words; _stoker
"""


def zsh_offers(env, cwd, script, typed, last):
    done = subprocess.run(
        ["zsh", "-fc", ZSH], cwd=cwd, capture_output=True, text=True, env={**env, "SCRIPT": script, "TYPED": typed, "LAST": last}
    )
    return sorted({w for w in done.stdout.split("\n") if w.startswith(last)} - {""}), done.stderr


def fish_offers(env, cwd, script, typed, last):
    line = f"stoker {typed} {last}".replace("  ", " ")
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], cwd=cwd, capture_output=True, text=True, env=env
    )
    return sorted({w.split("\t")[0] for w in done.stdout.splitlines()}), done.stderr


def test_other_shells(results, world, paths):
    env = {**world.env, "PATH": f"{world.root}/bin:{world.env['PATH']}"}
    for shell, offers in (("zsh", zsh_offers), ("fish", fish_offers)):
        if not shutil.which(shell):
            print(f"skipped: {shell} is not installed (apt install {shell})")
            continue
        for typed, last, wanted in (
            ("", "ca", ["cancel"]),
            ("", "c", ["cancel", "checkpoints", "compare", "completion", "config", "controller"]),
            ("show", "find", ["findme"]),
            ("logs -f", "find", ["findme"]),
            ("cancel findme", "find", ["findme"]),
            ("config", "un", ["unset"]),
            ("wait", "--time", ["--timeout"]),
            ("run", "--max-", ["--max-duration", "--max-restarts"]),
            ("run", "jo", ["job.yaml"]),
        ):
            found, errors = offers(env, world.work, str(paths[shell]), typed, last)
            results.check(f"{shell} completes '{typed} {last}'", found == wanted and not errors, f"{found} {errors}")


def test_man(results, world, page):
    if not shutil.which("groff"):
        print("skipped: groff is not installed (apt install groff)")
        return
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True)
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    results.check("the man page is clean troff", done.returncode == 0 and not done.stderr, done.stderr)
    missing = [verb for verb in ("run", "ls", "preempt", "controller", "completion") if not re.search(rf"^\s+{verb}$", text, re.M)]
    results.check("the man page has every verb and its examples", not missing and "$ stoker preempt - --node 1 --in 2m" in text, missing)


def main():
    results = Results()
    with World("terminal") as world:
        world.stoker("ls", check=True)
        results.run("colours", test_colours, results, world)
        results.run("control sequences", test_control_sequences, results, world)
        results.run("width", test_width, results, world)
        results.run("leaving", test_leaving, results, world)
        results.run("asking", test_ask, results, world)
        results.run("progress", test_progress, results, world)
        paths = scripts(world)
        results.run("bash", test_bash, results, world, paths["bash"])
        results.run("columns", test_columns, results, world)
        results.run("other shells", test_other_shells, results, world, paths)
        results.run("man", test_man, results, world, paths["man"])
        results.run("asking before jobs go", test_ask_gc, results, world)
        results.run("nothing left", lambda: world.wait_for("no instance", lambda: not world.instances()))
    results.finish()


main()
