# SPDX-License-Identifier: Apache-2.0
"""Saves gigabytes from a GPU, in place of the last ones, and tells how long each step takes.

big.py GIGABYTES STEPS SAVE_AT…"""

import os
import sys
import time

import torch
from facts import device, tell

gigabytes, steps, saves = float(sys.argv[1]), int(sys.argv[2]), [int(n) for n in sys.argv[3:]]
path = os.path.join(os.environ["STOKER_CHECKPOINT_DIR"], "big.pt")
on = device()
width = 4096 if on == "cuda" else 256
state = [torch.randn(int(gigabytes * 2.5e8 / 4), device=on) for _ in range(4)]
a = torch.randn(width, width, device=on)
tell()
for step in range(1, steps + 1):
    begun = time.time()
    for _ in range(4):
        a = torch.tanh(a @ a)
    a[0, 0].item()
    print(f"step {step} {begun:.3f} {time.time() - begun:.4f}", flush=True)
    if step in saves:
        begun = time.time()
        torch.save({"state": state, "step": step}, path + ".new")
        os.replace(path + ".new", path)
        print(f"saved {step} {begun:.3f} {time.time():.3f}", flush=True)
