# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel as torchrun starts it: NCCL where each process has a GPU."""

import os

import torch
import torch.distributed as dist
from facts import tell
from torch.nn.parallel import DistributedDataParallel

cuda = torch.cuda.is_available()
local = int(os.environ["LOCAL_RANK"])
if cuda:
    torch.cuda.set_device(local)
dist.init_process_group("nccl" if cuda else "gloo")
on = f"cuda:{local}" if cuda else "cpu"
model = DistributedDataParallel(torch.nn.Linear(64, 8).to(on))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 21):
    loss = model(torch.ones(4, 64, device=on)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step={step} loss={loss.item():.4f}", flush=True)
total = torch.ones(1, device=on)
dist.all_reduce(total)
tell(backend=dist.get_backend(), world=dist.get_world_size(), sum=total.item())
dist.destroy_process_group()
