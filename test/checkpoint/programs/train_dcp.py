# SPDX-License-Identifier: Apache-2.0
"""torch's distributed checkpoint: two ranks, each with half of every tensor, a folder a save, the
newest three kept; it goes on from the newest that has its `.metadata`, as torchtitan does."""

import os
import shutil
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from evidence import FOLDER, PAUSE, RANK, STEPS, began, digest, enough, saved, saves
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

torch.manual_seed(1)
dist.init_process_group("gloo")
mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Linear(1024, 64))
fully_shard(model, mesh=mesh)
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)


def local(one):
    if isinstance(one, dict):
        return {key: local(each) for key, each in one.items()}
    return one.to_local() if hasattr(one, "to_local") else one


def state_of():
    """Of all ranks."""
    model_state, optimizer_state = get_state_dict(model, optimizer)
    mine = digest(local({"model": model_state, "optimizer": optimizer_state["state"]}))
    out = [None, None]
    dist.all_gather_object(out, mine)
    return digest(out)


def whole():
    names = os.listdir(FOLDER) if FOLDER.is_dir() else []
    steps = [int(name[5:]) for name in names if name.startswith("step-")]
    return sorted(n for n in steps if (FOLDER / f"step-{n}" / ".metadata").exists())


def train(x):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()


step = (whole() or [0])[-1]
dist.barrier()
if step:
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state}
    dcp.load(state, checkpoint_id=str(FOLDER / f"step-{step}"))
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
began(step, state_of() if step else "")
while True:
    step += 1
    train(torch.randn(4, 64))
    time.sleep(PAUSE)
    if step % STEPS:
        continue
    saves(step, state_of())
    model_state, optimizer_state = get_state_dict(model, optimizer)
    folder = FOLDER / f"step-{step}"
    dcp.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=str(folder))
    saved(step, [folder])
    if RANK == 0:
        for old in whole()[:-3]:
            shutil.rmtree(FOLDER / f"step-{old}")
    over = [enough()]
    dist.broadcast_object_list(over, 0)
    if over[0]:
        break
dist.barrier()
os._exit(0)  # gloo's threads abort who leaves as usual, with fully_shard on a CPU
