# SPDX-License-Identifier: Apache-2.0
"""A torch loop of ours that goes on exactly where it was saved: weights, momentum, order of the
data and dropout. It says its numbers in full."""

import json
import os
import pathlib
import sys
import time

import kept
import torch

RATE = float(sys.argv[2])
PAUSE = float(sys.argv[3])
STEPS = 300
kept.keep()
torch.manual_seed(7)
torch.set_num_threads(1)
x = torch.randn(256, 8)
y = (x @ torch.randn(8, 1)).tanh()
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
saved = pathlib.Path("checkpoints/state.pt")
saved.parent.mkdir(exist_ok=True)
begin = 0
if saved.exists():
    state = torch.load(saved)
    begin = state["step"]
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])

out = open(os.environ["STOKER_METRICS"], "a", buffering=1)
for step in range(begin, STEPS):
    chosen = torch.randperm(len(x))[:32]
    loss = ((model.train()(x[chosen]) - y[chosen]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    row = {"step": step, "loss": loss.item()}
    if step % 25 == 0:
        with torch.no_grad():
            row["val_loss"] = ((model.eval()(x) - y) ** 2).mean().item()
    out.write(json.dumps(row) + "\n")
    if step % 20 == 19:
        part = saved.with_name("part")
        torch.save(
            {"step": step + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}, part
        )
        part.rename(saved)
    kept.at(step)
    time.sleep(PAUSE)
