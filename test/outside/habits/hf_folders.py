# SPDX-License-Identifier: Apache-2.0
"""As Hugging Face's Trainer does: a folder for each save, a link to the newest, two stay."""

import glob
import json
import os
import shutil

import tensors
from witness import Torn, agree, body, check, read, run, write


def save(folder, step):
    mine = f"{folder}/checkpoint-{step}"
    os.makedirs(mine, exist_ok=True)
    tensors.dump(f"{mine}/model.safetensors", step, {"weight": 600_000})
    write(f"{mine}/optimizer.pt", body("optimizer", step, 1_200_000))
    write(f"{mine}/scheduler.pt", body("scheduler", step, 1_000))
    write(f"{mine}/rng_state.pth", body("rng", step, 14_000))
    with open(f"{mine}/trainer_state.json", "w") as out:
        json.dump({"global_step": step, "log_history": [{"step": at} for at in range(step)]}, out)
    if os.path.lexists(f"{folder}/latest.new"):
        os.unlink(f"{folder}/latest.new")
    os.symlink(f"checkpoint-{step}", f"{folder}/latest.new")
    os.replace(f"{folder}/latest.new", f"{folder}/latest")
    for old in glob.glob(f"{folder}/checkpoint-*"):
        if int(old.rsplit("-", 1)[1]) <= step - 2:
            shutil.rmtree(old)


def whole(mine):
    try:
        with open(f"{mine}/trainer_state.json") as file:
            found = {"state": json.load(file)["global_step"]}
        found.update(tensors.steps(f"{mine}/model.safetensors"))
        for name, part in (("optimizer.pt", "optimizer"), ("scheduler.pt", "scheduler"), ("rng_state.pth", "rng")):
            found[part] = check(read(f"{mine}/{name}"), part)
    except (OSError, ValueError) as error:
        raise Torn("torn", f"{mine}: {error}") from None
    return agree({**found, "name": int(mine.rsplit("-", 1)[1])})


def load(folder):
    every = [whole(mine) for mine in glob.glob(f"{folder}/checkpoint-*")]
    if not os.path.lexists(f"{folder}/latest"):
        if every:
            raise Torn("mixed", f"folders {sorted(every)} without a link to one of them")
        return 0
    target = os.readlink(f"{folder}/latest")
    if not os.path.isdir(f"{folder}/{target}"):
        raise Torn("dangling", f"latest names {target}, which is not there")
    return agree({"latest": whole(f"{folder}/{target}"), "newest": max(every)})


run(save, load)
