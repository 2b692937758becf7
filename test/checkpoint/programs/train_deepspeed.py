# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed, two ranks on CPU, ZeRO 1: each rank has its part of the optimizer in a file of its
own. It goes on from what `latest` names."""

import os
import time

os.environ["DS_ACCELERATOR"] = "cpu"

import deepspeed
import torch
import torch.distributed as dist
from evidence import FOLDER, PAUSE, STEPS, began, digest, enough, saved, saves

torch.manual_seed(1)
dist.init_process_group("gloo")
deepspeed.init_distributed("gloo")
model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Linear(1024, 64))
engine, optimizer, _, _ = deepspeed.initialize(
    model=model,
    optimizer=torch.optim.Adam(model.parameters(), lr=0.001),
    config={
        "train_batch_size": 8,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    },
)


def state_of():
    """Of all ranks."""
    inner = optimizer.optimizer.state_dict()["state"]
    out = [None, None]
    dist.all_gather_object(out, digest([engine.module.state_dict(), inner]))
    return digest(out)


step = 0
if (FOLDER / "latest").exists():
    engine.load_checkpoint(str(FOLDER))
    step = engine.global_steps
began(step, state_of() if step else "")
while True:
    step += 1
    engine.backward(engine(torch.randn(4, 64)).pow(2).mean())
    engine.step()
    time.sleep(PAUSE)
    if step % STEPS:
        continue
    saves(step, state_of())
    engine.save_checkpoint(str(FOLDER))
    saved(step, [FOLDER / f"global_step{step}"], [FOLDER / name for name in ("latest", "zero_to_fp32.py")])
    over = [enough()]
    dist.broadcast_object_list(over, 0)
    if over[0]:
        break
dist.destroy_process_group()
