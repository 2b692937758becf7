# SPDX-License-Identifier: Apache-2.0
"""Orbax's CheckpointManager with jax and optax: the newest three kept; it goes on from
`latest_step`."""

import os
import time

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp
from evidence import FOLDER, PAUSE, STEPS, began, digest, enough, saved, saves

params = {"a": jax.random.normal(jax.random.key(1), (64, 1024)), "b": jnp.zeros((1024, 64))}
optimizer = optax.adam(0.001)
state = {"params": params, "optimizer": optimizer.init(params)}


@jax.jit
def train(state, x):
    def loss(params):
        return ((x @ params["a"] @ params["b"] - x) ** 2).mean()

    grads = jax.grad(loss)(state["params"])
    updates, inner = optimizer.update(grads, state["optimizer"])
    return {"params": optax.apply_updates(state["params"], updates), "optimizer": inner}


def state_of(state):
    return digest(jax.tree.leaves(state))


manager = ocp.CheckpointManager(FOLDER.absolute(), options=ocp.CheckpointManagerOptions(max_to_keep=3))
step = manager.latest_step() or 0
if step:
    state = manager.restore(step, args=ocp.args.StandardRestore(state))
began(step, state_of(state) if step else "")
while True:
    step += 1
    state = train(state, jax.random.normal(jax.random.key(step), (4, 64)))
    time.sleep(PAUSE)
    if step % STEPS:
        continue
    saves(step, state_of(state))
    manager.save(step, args=ocp.args.StandardSave(state))
    manager.wait_until_finished()  # it saves beside the training
    saved(step, [FOLDER / str(step)])
    if enough():
        break
manager.close()
