# SPDX-License-Identifier: Apache-2.0
"""Holds a kernel's lock for each GPU that it was given, until the file EVIDENCE/go-NAME is there:
two programs on one GPU of one host would show.

    gpu_holder.py EVIDENCE NAME"""

import fcntl
import os
import pathlib
import socket
import sys
import time

evidence, name = pathlib.Path(sys.argv[1]), sys.argv[2]
host = socket.gethostname()
gpus = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
held = []
for gpu in gpus:
    lock = open(evidence / f"lock-{host}-{gpu}", "a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        (evidence / f"clash-{name}-{host}-{gpu}").touch()
    held.append(lock)
with open(evidence / "starts", "a") as starts:
    starts.write(f"{name} {host} {','.join(gpus)}\n")
while not (evidence / f"go-{name}").exists():
    time.sleep(0.05)
print("let go", name, flush=True)
