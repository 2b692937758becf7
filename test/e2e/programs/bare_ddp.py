#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two nodes that reduce over gloo, without torchrun: node 1 ends with code 9 half-way, and
node 0 then fails for want of a peer, as survivors do."""

import os
import sys
import time

import torch
import torch.distributed as dist

rank = int(os.environ["NODE_RANK"])
dist.init_process_group("gloo", rank=rank, world_size=int(os.environ["NNODES"]))
for step in range(400):
    total = torch.ones(1)
    dist.all_reduce(total)
    print(f"step {step}: {total.item():.0f}", flush=True)
    if rank == 1 and step == 15:
        sys.exit(9)
    time.sleep(0.05)
