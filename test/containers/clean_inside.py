# SPDX-License-Identifier: Apache-2.0
"""What clean.py has done inside its machine, and one line of JSON for each to the console.

clean_inside.py root|user tried            jobs that end
clean_inside.py root|user begun|still|went WHAT     a job that lasts: until WHAT, and after it"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

IMAGE = "localhost/busybox:1"
GIVEN = pathlib.Path("/opt/given")
ENVIRONMENT = {**os.environ, "NO_COLOR": "1"}
BY_OWN_SYSTEMD = "systemd-run --quiet --user --scope -p Delegate=yes".split()
# Saves now and then and at SIGTERM; says where it stands. Its first attempt ends by what ends it.
SAVER = """\
state=$STOKER_CHECKPOINT_DIR/state.txt step=0 told=
[ ! -e "$state" ] || step=$(cat "$state")
save() { echo $step >"$state.new" && mv "$state.new" "$state" && echo saved $step; }
trap told=1 TERM
echo start $step attempt $STOKER_ATTEMPT
last=$((step + 5))
while [ ! "$told" ]; do
  step=$((step + 1))
  echo step $step
  [ $((step % 5)) -ne 0 ] || save
  [ $STOKER_ATTEMPT = 1 ] || [ $step -lt $last ] || exit 0
  sleep 1
done
save
exit 1
"""


def run(*words, **more):
    return subprocess.run(
        words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False, **more
    )


def mounts():
    """Those of podman's own storage that are a container's."""
    found = [line.split()[1] for line in open("/proc/mounts", encoding="utf-8")]
    return [one for one in found if "/merged" in one or "/overlay-containers/" in one or "/vfs-containers/" in one]


def groups():
    found = pathlib.Path("/sys/fs/cgroup").rglob("*")
    return [str(one) for one in found if one.is_dir() and re.match(r"libpod-|stoker[-.]", one.name)]


def processes():
    """Of stoker's own and of containers, of this user's."""
    found = run("ps", "-u", str(os.geteuid()), "-o", "args=").stdout.splitlines()
    return [one for one in found if re.search(r"stoker __|/stoker __agent|__container|conmon", one)]


def storage():
    """Of podman, on the disk: the folders of containers; how many layers there are."""
    root = pathlib.Path("/var/lib/containers/storage" if os.geteuid() == 0 else pathlib.Path.home() / ".local/share/containers/storage")
    containers = [one.name for kind in ("overlay", "vfs") for one in (root / f"{kind}-containers").glob("*") if one.is_dir()]
    # A user's are an id's of that user's range, who alone may list them.
    enter = [] if os.geteuid() == 0 else ["podman", "unshare"]
    listed = run(*enter, "ls", str(root / "overlay"), str(root / "vfs/dir")).stdout.split()
    return {"folders": containers, "layers": len([one for one in listed if len(one) == 64])}


class Inside:
    def __init__(self, who):
        self.who = who
        self.work = pathlib.Path.home() / "work"
        self.work.mkdir(exist_ok=True)
        (self.work / "saver.sh").write_text(SAVER)

    def stoker(self, *words):
        return run("stoker", *words, cwd=self.work, env=ENVIRONMENT)

    def say(self, what, **facts):
        # Each line is whole; what the kernel says meanwhile has lines of its own.
        text = "RESULT " + json.dumps({"who": self.who, "what": what, **facts})
        with open("/dev/ttyS0", "w", encoding="utf-8") as out:
            out.write(f"\n{text}\n")

    def log(self, job):
        """What the program said; what stoker did."""
        log = self.stoker("logs", job, "--json").stdout
        lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
        own = [one.get("stream") in ("o", "e") and not one.get("note") for one in lines]
        return [[one["text"] for one, its in zip(lines, own) if its == whose] for whose in (True, False)]

    def begin(self, *words, by=()):
        # The machine has one processor, for a job of each.
        words = ["run", "--json", "--detach", "--infra", "local", "--cpus", "0.5", "--container", IMAGE, *words]
        done = run(*by, "stoker", *words, cwd=self.work, env=ENVIRONMENT)
        self.told = done.stdout
        try:
            return json.loads(done.stdout.splitlines()[-1])["id"]
        except (ValueError, KeyError, IndexError):
            self.say("trouble", said=done.stdout[-2000:])
            sys.exit(1)

    def until(self, holds):
        end = time.monotonic() + 300
        while not holds() and time.monotonic() < end:
            time.sleep(5)

    def tell(self, what, job, **more):
        """Once it has ended."""
        self.stoker("wait", job)
        shown = json.loads(self.stoker("show", job, "--json").stdout)["job"]
        out, said = self.log(job)
        endings = [each.get("ending") for each in shown["attempts"]]
        self.say(what, state=shown["state"], endings=endings, out=[one for one in out if not one.startswith("step")], said=said, **more)

    def left(self, what):
        """Of what ended: waits for the machine's end, which comes a moment after its job's. While the other
        user's job runs, mounts and groups of a user's podman are that user's alone."""
        self.until(lambda: not run("podman", "ps", "--all", "--quiet").stdout.strip() and not self.shown())
        instances = [one.name for one in (pathlib.Path.home() / ".local/share/stoker/instances").glob("*")]
        containers = run("podman", "ps", "--all").stdout.splitlines()[1:]
        self.say(what, containers=containers, shown=self.shown(), instances=instances, **storage())

    def shown(self):
        """What the kernel has of this user's containers."""
        own = [one for one in mounts() if self.who == "root" or one.startswith(str(pathlib.Path.home()))]
        part = "user.slice/user-1000.slice" if self.who == "user" else "machine.slice"
        return [*own, *(one for one in groups() if part in one), *processes()]

    def checkpoints(self, job):
        return json.loads(self.stoker("checkpoints", job, "--json").stdout or "{}")

    def kept(self, what):
        return pathlib.Path.home() / f"job-{what}"

    def tried(self):
        self.say("podman", said=run("podman", "import", str(GIVEN / "image.tar"), IMAGE).stdout[-300:])
        self.say("doctor", said=[each for each in self.stoker("doctor").stdout.splitlines() if "podman" in each])
        self.tell("runs", self.begin("--", "sh", "-c", "echo mark $(cat /etc/mark); echo first $(tr '\\0' ' ' </proc/1/cmdline)"))
        job = self.begin("--", "sh", "saver.sh")
        self.until(lambda: "step 3" in self.log(job)[0])
        told = self.stoker("preempt", job)
        self.tell("preempted", job, told=told.stdout)
        filler = ["dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"]
        self.tell("memory", self.begin("--memory", "64MB", "--max-restarts", "0", "--", *filler))
        self.left("left tried")

    def begun(self, what):
        job = self.begin("--", "sh", "saver.sh", by=BY_OWN_SYSTEMD if what == "last" else ())
        self.kept(what).write_text(job)
        self.until(lambda: "1-" in json.dumps(self.checkpoints(job)))
        containers = run("podman", "ps").stdout.splitlines()[1:]
        self.say(f"begun {what}", job=job, told=self.told, checkpoints=self.checkpoints(job), containers=containers)

    def still(self, what):
        """Without a verb that would help it along."""
        steps = len(self.log(self.kept(what).read_text())[0])
        time.sleep(5)
        more = len(self.log(self.kept(what).read_text())[0]) - steps
        self.say(f"still {what}", more=more, containers=run("podman", "ps").stdout.splitlines()[1:])

    def went(self, what):
        self.say(f"found {what}", containers=run("podman", "ps", "--all").stdout.splitlines()[1:], shown=self.shown(), **storage())
        self.tell(f"went {what}", self.kept(what).read_text())
        self.say(f"gc {what}", said=self.stoker("gc").stdout[-600:])
        self.left(f"left {what}")


if __name__ == "__main__":
    getattr(Inside(sys.argv[1]), sys.argv[2])(*sys.argv[3:])
