# SPDX-License-Identifier: Apache-2.0
"""Trains on data that it makes up. The same steps give the same bits, so that a run that was
interrupted can be held against one that was not. At SIGTERM it saves and leaves.

    train.py STEPS WIDTH BATCH UPDATES MILLISECONDS     so many updates in each step, so long"""

import hashlib
import os
import signal
import sys
import time

os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
import torch
from facts import device, tell
from torch import nn

STEPS, WIDTH, BATCH, UPDATES, PACE = map(int, sys.argv[1:])
PATH = os.path.join(os.environ["STOKER_CHECKPOINT_DIR"], "checkpoint.pt")
SAVE_EVERY = 10


def update(net, optimizer, target, step, turn, on):
    generator = torch.Generator(on).manual_seed(step * UPDATES + turn)
    data = torch.randn(BATCH, WIDTH, device=on, generator=generator)
    loss = nn.functional.mse_loss(net(data), torch.tanh(data @ target))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def save(net, optimizer, step):
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, PATH + ".new")
    os.replace(PATH + ".new", PATH)


def main():
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(1))
    torch.use_deterministic_algorithms(True)
    on = device()
    torch.manual_seed(0)
    target = torch.randn(WIDTH, WIDTH).to(on) / WIDTH**0.5
    net = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(on)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    step = 0
    if os.path.exists(PATH):
        saved = torch.load(PATH, map_location=on)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    tell(begins_after=step)
    while step < STEPS and not told:
        step += 1
        begun = time.monotonic()
        for turn in range(UPDATES):
            loss = update(net, optimizer, target, step, turn, on)
        print(f"step={step} loss={loss.item():.6f} seconds={time.monotonic() - begun:.3f}", flush=True)
        time.sleep(max(0.0, begun + PACE / 1000 - time.monotonic()))
        if step % SAVE_EVERY == 0:
            save(net, optimizer, step)
    save(net, optimizer, step)
    if step < STEPS:
        sys.exit(1)
    bits = b"".join(value.cpu().numpy().tobytes() for value in net.state_dict().values())
    print("result", hashlib.sha256(bits).hexdigest()[:16], flush=True)


main()
