# SPDX-License-Identifier: Apache-2.0
"""Three shards of safetensors and the index that names them, each written over the one before."""

import json
import os

import tensors
from witness import Torn, agree, run

SHARDS = [f"model-{at:05d}-of-00003.safetensors" for at in (1, 2, 3)]
INDEX = "model.safetensors.index.json"


def save(folder, step):
    where = {}
    for at, shard in enumerate(SHARDS):
        sizes = {f"layer.{at}.weight": 400_000, f"layer.{at}.bias": 1_000}
        tensors.dump(f"{folder}/{shard}", step, sizes)
        where.update(dict.fromkeys(sizes, shard))
    with open(f"{folder}/{INDEX}", "w") as out:
        json.dump({"metadata": {"step": step}, "weight_map": where}, out)


def load(folder):
    if not os.path.exists(f"{folder}/{INDEX}"):
        if any(os.path.exists(f"{folder}/{shard}") for shard in SHARDS):
            raise Torn("mixed", "shards without their index")
        return 0
    try:
        with open(f"{folder}/{INDEX}") as file:
            index = json.load(file)
    except ValueError as error:
        raise Torn("torn", f"{INDEX}: {error}") from None
    found = {INDEX: index["metadata"]["step"]}
    for shard in set(index["weight_map"].values()):
        if not os.path.exists(f"{folder}/{shard}"):
            raise Torn("dangling", f"{INDEX} names {shard}, which is not there")
        found.update(tensors.steps(f"{folder}/{shard}"))
    return agree(found)


run(save, load)
