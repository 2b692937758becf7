#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in containers on a clean machine (test/limits/disk_machine.py): systemd, one hierarchy of control
groups, and podman as its package has it, as root and as an ordinary user, who come by ssh. Started,
preempted, resumed, limited; then, while a job of each runs, the login ends, the machine's power is cut,
it is rebooted in good order, and a login's end takes what it began. There clean_inside.py does it.

    clean.py [--console]     also prints what the machine says"""

import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.containers.engines import add_busybox
from test.e2e.kit.harness import BINARY, Results, patience
from test.limits.disk_machine import DiskMachine
from test.limits.machine import need

# Both come by ssh, so that each job is begun by a login that has ended when the next line runs; the
# ordinary user does not linger. The disk knows how often it was booted.
SCRIPT = """
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
chmod 666 /dev/ttyS0
each() {
  for who in ${only:-root user}; do
    ssh -q -o BatchMode=yes -o StrictHostKeyChecking=no $who@127.0.0.1 python3 /opt/given/clean_inside.py $who "$@"
  done
}
over() { echo; echo "RESULT {\\"who\\": \\"machine\\", \\"what\\": \\"$1\\"}"; }
read boots </var/lib/boots || boots=0
echo $((boots + 1)) >/var/lib/boots
sync
case $boots in
0)
  install /opt/given/stoker /usr/local/bin/stoker
  for home in /root /home/user; do
    owner=$(stat -c %u $home)
    install -d -m 700 -o $owner $home/.ssh
    install -m 600 -o $owner /opt/given/key.pub $home/.ssh/authorized_keys
  done
  install -m 600 /opt/given/key /root/.ssh/id_ed25519
  each tried
  each begun cut
  sleep 15
  each still cut
  over cut
  sleep 3600
  ;;
1)
  each went cut
  each begun reboot
  over reboot
  systemctl reboot
  ;;
2)
  each went reboot
  mkdir -p /etc/systemd/logind.conf.d
  printf '[Login]\\nKillUserProcesses=yes\\n' >/etc/systemd/logind.conf.d/kill.conf
  systemctl restart systemd-logind
  only=user
  each begun logout
  sleep 30
  each went logout
  each begun last
  sleep 30
  over "users $(echo $(loginctl list-users --no-legend))"
  each went last
  over end
  systemctl poweroff --force --force
  ;;
esac
"""
MARK = b"of the image\n"


def lay_out(given):
    shutil.copy(BINARY, given / "stoker")
    shutil.copy(HERE / "clean_inside.py", given)
    (given / "run.sh").write_text(SCRIPT)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(given / "key")], check=True)
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
        """Until the machine says `until`, or no more. To cut its power is to stop listening."""
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
        for until in ("cut", "", "end"):
            out.listen(machine.boot(int(patience(1800))), until)
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
    return all(facts.get(kind) == [] for kind in ("containers", "shown", "folders", "instances"))


def judge_tried(check, who, of):
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
    check(f"{who}: nothing of them is left", nothing(of("left tried")), of("left tried"))


def judge_lasting(check, who, of, what, reason):
    begun, went, left = of(f"begun {what}"), of(f"went {what}"), of(f"left {what}")
    check(f"{who}, {what}: a job runs", begun.get("checkpoints") and begun.get("containers"), begun)
    check(f"{who}, {what}: it goes on afterwards", resumed(went), (begun, went))
    check(f"{who}, {what}: its attempt ended as {reason}", reasons(went) == [reason, "Completed"], went)
    same = left.get("layers", 0) == of("left tried").get("layers") > 0
    check(f"{who}, {what}: nothing of it is left then", nothing(left) and same, (of("left tried"), of(f"found {what}"), left))


def judge(check, who, found):
    def of(what):
        return found.get((who, what), {})

    judge_tried(check, who, of)
    still = of("still cut")
    check(f"{who}: a job outlives the login that began it", still.get("more", 0) > 0 and still["containers"], still)
    judge_lasting(check, who, of, "cut", "NodeLost")
    judge_lasting(check, who, of, "reboot", "Interrupted")


def main():
    results = Results()
    need("busybox", "busybox-static")
    need("ssh-keygen", "openssh-client")
    out = heard("--console" in sys.argv)
    for who in ("root", "user"):
        judge(results.check, who, out.found)

    def of(what):
        return out.found.get(("user", what), {})

    # With KillUserProcesses=yes; then by the user's own systemd, without lingering.
    judge_lasting(results.check, "user", of, "logout", "Interrupted")
    told = of("begun last").get("told", "")
    results.check("user, last: said when it was submitted", "loginctl enable-linger" in told, told)
    judge_lasting(results.check, "user", of, "last", "Interrupted")
    results.check("user, last: the user's systemd ended without delay", ("machine", "users ") in out.found, list(out.found))
    results.check("the machine came to its end", ("machine", "end") in out.found, out.last)
    results.finish()


if __name__ == "__main__":
    main()
