# SPDX-License-Identifier: Apache-2.0
"""A machine with a GPU: what nvidia-smi says of it beside stoker, and worlds that use it. With
STOKER_GPU_REHEARSE=1 the GPU is stood in for, so that these scripts themselves can be tried."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

from test.e2e.kit.harness import World

HERE = pathlib.Path(__file__).parent
PYTHON = os.environ.get("STOKER_TORCH_PYTHON", sys.executable)
REHEARSED = bool(os.environ.get("STOKER_GPU_REHEARSE"))
STAND_IN = "NVIDIA H100 80GB HBM3"
SMI = f"""#!/bin/sh
case "$*" in *compute-apps*) exit;; esac
while :; do
  echo "0, {STAND_IN}, 50, 1000, 81559, 40, 300.5"
  case "$*" in *-l*) sleep 5;; *) exit;; esac
done
"""
QUERY = "--query-gpu=index,name,utilization.gpu,memory.used,memory.total"
CSV = "--format=csv,noheader,nounits"


def nvidia_smi(*words):
    done = subprocess.run(["nvidia-smi", *words], capture_output=True, text=True, timeout=30)
    return [[field.strip() for field in line.split(",")] for line in done.stdout.splitlines()]


def gpus():
    """[(name, busy percent, MiB used, MiB in all)]"""
    return [(name, int(busy), int(used), int(total)) for _, name, busy, used, total, *_ in nvidia_smi(QUERY, CSV)]


def programs_on_gpu():
    """[(pid, MiB)] of all that have a context there."""
    return [(int(pid), used) for pid, used in nvidia_smi("--query-compute-apps=pid,used_memory", CSV)]


def kind():
    """H100, as SkyPilot calls it."""
    return re.search(r"\b[A-Z]+\d+[A-Z]?\b", gpus()[0][0].replace("NVIDIA", "")).group()


class Watch:
    """nvidia-smi's own numbers, about twice a second: rows (time, busy, MiB used, programs)."""

    def __enter__(self):
        self.rows, self.over = [], False
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while not self.over:
            _, busy, used, _ = gpus()[0]
            self.rows.append((time.time(), busy, used, len(programs_on_gpu())))
            time.sleep(0.3)

    def __exit__(self, *_):
        self.over = True
        self.thread.join()

    def between(self, begin, end):
        return [row for row in self.rows if begin <= row[0] <= end]


def stand_in():
    """A nvidia-smi for rehearsals, first in PATH."""
    folder = pathlib.Path("/tmp") / f"stoker-gpu-rehearsal-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    (folder / "nvidia-smi.new").write_text(SMI)
    (folder / "nvidia-smi.new").chmod(0o755)
    os.replace(folder / "nvidia-smi.new", folder / "nvidia-smi")
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


class GpuWorld(World):
    """`uid`: everything runs as that user (needs root)."""

    def __init__(self, name, uid=None):
        super().__init__(f"gpu-{name}", uid=uid)
        if uid is not None:
            self.binary = shutil.copy(self.binary, self.root / "stoker")
        del self.env["STOKER_CAPACITY"]
        if REHEARSED:
            self.env["STOKER_CAPACITY"] = f"cpus=16 memory=64GB gpus=1 name={STAND_IN}"
        for name in ("LD_LIBRARY_PATH", "CUDA_HOME"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        for program in (HERE / "programs").iterdir():
            if program.is_file():
                self.own(shutil.copy(program, self.work))

    def run(self, name, *words, gpus="1", grace="10s", flags=()):
        """Submits a program of programs/."""
        return self.submit("--name", name, "--workdir", ".", "--stop-grace", grace, "--gpus", gpus, *flags, "--", PYTHON, *words)

    def file(self, name, text):
        (self.work / name).write_text(text)
        self.own(self.work / name)
        return name

    def log(self, job, *flags):
        return self.stoker("logs", job, *flags).stdout

    def facts(self, job, *flags):
        """What each program that told them has seen."""
        return [json.loads(found) for found in re.findall(r"facts (\{.*\})$", self.log(job, *flags), re.M)]

    def says(self, job, text, timeout=60):
        self.wait_for(f"{job} says {text}", lambda: text in self.log(job), timeout, 0.2)

    def tell(self):
        """What there is of each job: for when a test has failed."""
        for job in self.json("ls", "--all"):
            show(f"job {job['name']}", self.stoker("show", job["id"]).stdout)
            show("the end of its log", "\n".join(self.log(job["id"]).splitlines()[-25:]))

    def ends(self, job, timeout=90):
        """Waits for the job's end: its record, and what `wait` printed."""
        done = self.stoker("wait", job, timeout=timeout)
        return self.job(job), done.stdout + done.stderr


def show(title, text):
    """Evidence, for who reads it."""
    print(f"      -- {title}")
    for line in str(text).rstrip().splitlines():
        print(f"      {line}", flush=True)
