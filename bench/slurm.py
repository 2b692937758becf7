#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From the command to the first line of the program on the terminal, through a real Slurm (the lab
of test/slurm): `stoker run --infra slurm` against sbatch of the same script, submitit and TorchX's
Slurm scheduler, in turns. Each of them is begun anew for each job, as one types it."""

import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[0] = str(pathlib.Path(__file__).parents[1])

from bench.lib.sandbox import STOKER, Sandbox, Terminal, milliseconds, versus
from test import cloud_env
from test.slurm.kit.lab import Lab

RUNS = int(os.environ.get("RUNS", "10"))
HELLO = b"hello from the program"
SUBMITIT = """
import sys, submitit
def hello():
    print("hello from the program", flush=True)
executor = submitit.AutoExecutor(folder=sys.argv[1], cluster="slurm")
executor.update_parameters(slurm_partition="main", timeout_min=5)
print(executor.submit(hello).job_id, flush=True)
"""


def python():
    """With the peers, made once for each version of their list."""
    return os.path.join(cloud_env.folder(str(HERE / "requirements-slurm.txt")), "bin")


def until_said(began, folder, pattern):
    """Seconds until a file of that name holds the line; it is looked for each few ms."""
    while time.monotonic() < began + 60:
        for path in pathlib.Path(folder).glob(pattern):
            if HELLO in path.read_bytes():
                return time.monotonic() - began
        time.sleep(0.003)
    raise SystemExit(f"no line in {folder}/{pattern} within a minute")


def submit(words, folder, env, pattern):
    """TorchX asks sacct once it has submitted, and ends with an error where accounting is off: the
    line is what counts."""
    os.makedirs(folder)
    began = time.monotonic()
    with open(folder + "/said", "wb") as said:
        process = subprocess.Popen(words, cwd=folder, env=env, stdout=said, stderr=said)
        try:
            return until_said(began, folder, pattern)
        finally:
            process.wait()


def ours(box, env):
    words = [STOKER, "run", "--infra", "slurm/main", "--", "./prog.sh"]
    terminal = Terminal(words, env, box.work)
    seconds = terminal.wait_for(HELLO, 60) - terminal.began
    terminal.close()
    return seconds


def peers(box, env, bin_folder):
    script = box.write("prog.sh", "#!/bin/sh\necho hello from the program\n")
    source = box.write("hello.py", SUBMITIT)
    torchx = [bin_folder + "/torchx", "run", "-s", "slurm", "-cfg", "partition=main", "utils.sh", "--num_replicas", "1", "--", "sh", script]
    return {
        "sbatch": lambda to: submit(["sbatch", "-p", "main", script], to, env, "slurm-*.out"),
        "submitit": lambda to: submit([bin_folder + "/python3", source, to + "/log"], to, env, "log/*.out"),
        "TorchX": lambda to: submit(torchx, to, env, "slurm-*.out"),
    }


def main():
    bin_folder = python()
    with Lab() as lab, Sandbox() as box:
        env = {**box.env, "SLURM_CONF": lab.env["SLURM_CONF"]}
        others = peers(box, env, bin_folder)
        taken = {name: [] for name in [*others, "stoker"]}
        for turn in range(RUNS + 1):
            for name, peer in others.items():
                taken[name].append(peer(f"{box.root}/{name}-{turn}"))
            taken["stoker"].append(ours(box, env))
        print(f"the very first job took {1e3 * taken['stoker'][0]:.0f} ms")
        for name in others:
            versus(f"through Slurm to the first line, {RUNS} runs", name, milliseconds(taken[name][1:]), milliseconds(taken["stoker"][1:]))


main()
