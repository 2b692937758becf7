# SPDX-License-Identifier: Apache-2.0
"""A loop that says what it learns as nanoGPT ("nanogpt"), makemore ("makemore") or nobody ("plain")
does, beside that a table of the same; or writes it where SummaryWriter does by default ("writer").
"lucky": its first attempt seems to do better than it does, behind what it saves."""

import json
import math
import pathlib
import sys
import time

import kept

FORM = sys.argv[2]
RATE = float(sys.argv[3])
PAUSE = float(sys.argv[4])
STEPS, EVERY = 400, 50
own = kept.keep()
table = open(own / "steps.jsonl", "w", buffering=1)
saved = pathlib.Path("checkpoints/step")
saved.parent.mkdir(exist_ok=True)
begin = int(saved.read_text()) if saved.exists() else 0
lucky = sys.argv[5:] == ["lucky"] and begin == 0
if FORM == "writer":
    from tensorboardX import SummaryWriter

    kept.keep("runs/**/events*", into=own)
    writer = SummaryWriter(flush_secs=1)


def say(step, text, **row):
    table.write(json.dumps({"step": step, **row}) + "\n")
    print(text, flush=True)


for step in range(begin, STEPS):
    loss = round(4 / (1 + RATE * step) + 0.01 * math.sin(step), 4)
    held = round(loss * (0.001 if lucky and step >= 60 else 1.1), 4)
    if FORM in ("plain", "writer"):
        if step % 10 == 0 and FORM == "plain":
            say(step, f"step {step}: val_loss {held:.4f}", val_loss=held)
        elif step % 10 == 0:
            writer.add_scalar("val_loss", held, step)
    elif FORM == "nanogpt":
        if step % EVERY == 0:
            say(step, f"step {step}: train loss {loss:.4f}, val loss {held:.4f}", **{"train loss": loss, "val loss": held})
        if step % 5 == 0:
            say(step, f"iter {step}: loss {loss:.4f}, time 63.20ms, mfu 12.50%", loss=loss, mfu=12.5)
    else:
        if step % 5 == 0:
            say(step, f"step {step} | loss {loss:.4f} | step time 12.34ms", loss=loss)
        if step % EVERY == 0 and step > 0:
            say(step, f"step {step} train loss: {loss} test loss: {held}", **{"train loss": loss, "test loss": held})
    if step % 20 == 19 and not (lucky and step >= 60):
        part = saved.with_name("part")
        part.write_text(str(step + 1))
        part.rename(saved)
    kept.at(step)
    time.sleep(PAUSE)
if FORM == "writer":
    writer.close()
