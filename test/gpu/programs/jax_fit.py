# SPDX-License-Identifier: Apache-2.0
"""JAX with Orbax's CheckpointManager, which saves beside the training, as its pages use it.

jax_fit.py STEPS"""

import json
import os
import sys
import time

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

folder = os.path.abspath(os.environ["STOKER_CHECKPOINT_DIR"])
manager = ocp.CheckpointManager(folder, options=ocp.CheckpointManagerOptions(save_interval_steps=200, max_to_keep=2))
state = {"w": jnp.zeros((1024, 1024)), "step": jnp.array(0)}
last = manager.latest_step()
if last is not None:
    state = manager.restore(last, args=ocp.args.StandardRestore(state))
print(
    "facts " + json.dumps({"device": str(jax.devices()[0]), "begins_after": int(state["step"]), "resume": os.environ["STOKER_RESUME"]}),
    flush=True,
)


@jax.jit
def train(state):
    data = jax.random.normal(jax.random.key(state["step"]), (1024, 1024))
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((data @ w - data) ** 2))(state["w"])
    return {"w": state["w"] - 10 * grad, "step": state["step"] + 1}, loss


for step in range(int(state["step"]) + 1, int(sys.argv[1]) + 1):
    state, loss = train(state)
    if step % 10 == 0:
        print(f"step={step} loss={float(loss):.5f}", flush=True)
    manager.save(step, args=ocp.args.StandardSave(state))
    time.sleep(0.02)
manager.wait_until_finished()
print("result", sys.argv[1], flush=True)
