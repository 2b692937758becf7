#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in containers on a clean machine (test/limits/disk_machine.py): systemd, one hierarchy of control
groups, and podman as its package has it, as root and as an ordinary user who lingers. Started,
preempted, resumed, limited; then the machine's power is cut while a job of each runs, and it boots
again. There clean_inside.py does it.

    clean.py [--console]     also prints what the machine says"""

import contextlib
import io
import json
import os
import pathlib
import shutil
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.containers.engines import add_busybox
from test.e2e.kit.harness import BINARY, Results, patience
from test.limits.disk_machine import DiskMachine
from test.limits.machine import need

SCRIPT = """
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
chmod 666 /dev/ttyS0
as_both() {
  python3 /opt/given/clean_inside.py "$1" root
  runuser -l user -c "python3 /opt/given/clean_inside.py $1 user"
  echo; echo "RESULT {\\"who\\": \\"machine\\", \\"what\\": \\"$1\\"}"
}
if [ ! -e /var/lib/begun ]; then
  install /opt/given/stoker /usr/local/bin/stoker
  loginctl enable-linger user
  touch /var/lib/begun
  as_both before
  sleep 3600
fi
as_both after
systemctl poweroff --force --force
"""
MARK = b"of the image\n"


def lay_out(given):
    shutil.copy(BINARY, given / "stoker")
    shutil.copy(HERE / "clean_inside.py", given)
    (given / "run.sh").write_text(SCRIPT)
    with tarfile.open(given / "image.tar", "w") as tar:
        add_busybox(tar)
        entry = tarfile.TarInfo("etc/mark")
        entry.size = len(MARK)
        tar.addfile(entry, io.BytesIO(MARK))


class Heard:
    """{(who, what): facts}, and the last lines of the console."""

    def __init__(self, console):
        self.console, self.found, self.last = console, {}, []

    def listen(self, lines, until):
        """Until the machine says `until`, or no more."""
        with contextlib.closing(lines):
            for line in lines:
                self.last = [*self.last[-40:], line]
                if self.console:
                    print(line, flush=True)
                if not line.startswith("RESULT "):
                    continue
                facts = json.loads(line.removeprefix("RESULT "))
                self.found[facts["who"], facts["what"]] = facts
                if (facts["who"], facts["what"]) == ("machine", until):
                    return


def heard(console):
    out = Heard(console)
    with tempfile.TemporaryDirectory(prefix="stoker-clean-") as root:
        folder = pathlib.Path(root)
        (folder / "given").mkdir()
        os.chmod(folder / "given", 0o755)
        lay_out(folder / "given")
        machine = DiskMachine(folder, folder / "given")
        for stage in ("before", "after"):
            out.listen(machine.boot(int(patience(900))), stage)
    return out


def words(facts, first):
    """The second words of lines that begin with `first`."""
    return [line.split()[1] for line in facts.get("out", []) if line.startswith(first + " ")]


def resumed(facts):
    """In two attempts, of which the second began with something that the first had saved."""
    starts, saved = words(facts, "start"), words(facts, "saved")
    return facts.get("state") == "Succeeded" and len(starts) == 2 and starts[1] != "0" and starts[1] in saved


def reasons(facts):
    return [(ending or {}).get("reason") for ending in facts.get("endings", [])]


def nothing(facts):
    return all(facts.get(kind) == [] for kind in ("containers", "mounts", "groups", "folders"))


def judge(check, who, found):
    def of(what):
        return found.get((who, what), {})

    rootless = " (rootless)" if who == "user" else ""
    check(f"{who}: doctor has podman", rootless in str(of("doctor")) and "podman" in str(of("doctor").get("said")), of("doctor"))
    runs = of("runs")
    check(f"{who}: a job runs in a container", runs.get("state") == "Succeeded" and "mark of the image" in runs["out"], runs)
    check(f"{who}: stoker is its first process", "__container" in str(runs.get("out")), runs)
    preempted = of("preempted")
    check(f"{who}: preempted it goes on where it was", resumed(preempted), preempted)
    check(f"{who}: told ahead", reasons(preempted) == ["Interrupted", "Completed"], preempted)
    memory = of("memory")
    ending = (memory.get("endings") or [{}])[-1] or {}
    told = ending.get("out_of_memory") and "over its limit of 64.0 MB (resources.memory)" in ending.get("why", "")
    check(f"{who}: what takes more memory is ended, with these words", memory.get("state") == "Failed" and told, memory)
    check(f"{who}: nothing of them is left", nothing(of("left before")), of("left before"))
    lasting, went_on = of("lasting"), of("went on")
    check(f"{who}: a job runs when the power is cut", lasting.get("checkpoints") and lasting.get("containers"), lasting)
    check(f"{who}: and goes on after the boot", resumed(went_on), (lasting, went_on))
    check(f"{who}: as its machine was lost", reasons(went_on)[:1] == ["NodeLost"], went_on)
    left = of("left after")
    same = left.get("layers") == of("left before").get("layers")
    check(f"{who}: nothing of it is left then", nothing(left) and same, (of("left before"), of("found"), left))


def main():
    results = Results()
    need("busybox", "busybox-static")
    out = heard("--console" in sys.argv)
    for who in ("root", "user"):
        judge(results.check, who, out.found)
    results.check("the machine came to its end", ("machine", "after") in out.found, out.last)
    results.finish()


if __name__ == "__main__":
    main()
