# SPDX-License-Identifier: Apache-2.0
"""A loop that tells W&B, offline ("wandb"; "counted": without a step, which W&B then counts), or
MLflow's file store ("mlflow") what it learns. W&B writes blocks of 32 KiB: "counted" ends its run
when it is told to end, "wandb" is ended as it is."""

import os
import pathlib
import signal
import sys
import time

import kept

FORM = sys.argv[2]
RATE = float(sys.argv[3])
PAUSE = float(sys.argv[4])
STEPS = 300
kept.keep("wandb/offline-run-*/run-*.wandb", "mlruns/**/*")
saved = pathlib.Path("checkpoints/step")
saved.parent.mkdir(exist_ok=True)
begin = int(saved.read_text()) if saved.exists() else 0
settings = {"rate": RATE, "optimizer": {"name": "sgd"}}

if FORM == "mlflow":
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    import mlflow

    mlflow.set_tracking_uri(pathlib.Path("mlruns").resolve().as_uri())
    mlflow.start_run()
    mlflow.log_params(settings)
    log = mlflow.log_metrics
else:
    import wandb

    run = wandb.init(project="loops", mode="offline", config=settings, settings=wandb.Settings(x_disable_stats=True, console="off"))
    log = run.log


def end(*_):
    run.finish()
    os._exit(143)


if FORM == "counted":
    signal.signal(signal.SIGTERM, end)


def tell(step, row):
    if FORM == "counted":
        log(row)
    else:
        log(row, step=step)


for step in range(begin, STEPS):
    loss = 4 / (1 + RATE * step)
    row = {"loss": loss, "at": step}
    if step % 20 == 0:
        row["val/loss"] = loss * 1.1
    tell(step, row)
    if step % 20 == 19:
        part = saved.with_name("part")
        part.write_text(str(step + 1))
        part.rename(saved)
    kept.at(step)
    time.sleep(PAUSE)
