# SPDX-License-Identifier: Apache-2.0
"""Ends badly on a GPU.

fails.py memory|assert|stuck|pinned"""

import signal
import sys
import time

import torch

how = sys.argv[1]
if how == "memory":
    torch.empty(1 << 42, dtype=torch.uint8, device="cuda")
if how == "assert":
    table = torch.ones(5, 5, device="cuda")
    print(table[torch.tensor([7], device="cuda")].sum().item())
if how == "stuck":
    # Python runs its handler only once the kernel is over.
    signal.signal(signal.SIGTERM, lambda *_: print("told", flush=True))
    if torch.cuda.is_available():
        held = torch.ones(1 << 30, device="cuda")
        torch.cuda.synchronize()
        print("kernel begins", flush=True)
        torch.cuda._sleep(int(2e9) * 60)
        torch.cuda.synchronize()
    else:
        print("kernel begins", flush=True)
        time.sleep(60)
    print("kernel ended", flush=True)
if how == "pinned":
    held = []
    for gigabytes in range(1, 9):
        held.append(torch.ones(10**9 // 4, pin_memory=True))
        print("pinned", gigabytes, flush=True)
    with open("/proc/self/cgroup", encoding="ascii") as file:
        print(file.read().strip())
    with open("/proc/self/status", encoding="ascii") as file:
        print([line.split()[:2] for line in file if line.startswith(("VmRSS", "VmLck", "VmPin"))])
