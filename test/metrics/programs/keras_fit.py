# SPDX-License-Identifier: Apache-2.0
"""Keras's fit with its progress bar and BackupAndRestore; beside that its CSVLogger's table."""

import csv
import json
import os
import sys
import time

import kept

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy

RATE = float(sys.argv[2])
PAUSE = float(sys.argv[3])
own = kept.keep()


class Told(keras.callbacks.Callback):
    """What CSVLogger has, by the number of the epoch that the bar shows."""

    def on_epoch_begin(self, epoch, logs=None):
        kept.at(epoch + 1)
        time.sleep(PAUSE)

    def on_epoch_end(self, epoch, logs=None):
        with open(own / "table.csv", newline="") as table:
            rows = list(csv.DictReader(table))
        with open(own / "epochs.jsonl", "w") as out:
            for row in rows:
                step = int(row.pop("epoch")) + 1
                numbers = {name: float(value) for name, value in row.items()}
                out.write(json.dumps({"step": step, **numbers}) + "\n")


keras.utils.set_random_seed(1)
random = numpy.random.default_rng(1)
x = random.normal(size=(256, 4)).astype("float32")
y = (x[:, :1] * 2).astype("float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(RATE), loss="mse", metrics=["mae"])
model.fit(
    x,
    y,
    epochs=12,
    batch_size=32,
    validation_split=0.25,
    callbacks=[keras.callbacks.CSVLogger(str(own / "table.csv")), Told(), keras.callbacks.BackupAndRestore("checkpoints")],
)
