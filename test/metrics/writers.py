#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scripts with writers that others wrote, as they are; what stoker reads equals what TensorBoard's
EventAccumulator (everything, nothing purged), or what the writer itself, says: point for point."""

import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env
from test.e2e.kit.harness import Results, World

PYTHON = cloud_env.folder(str(pathlib.Path(__file__).parent / "requirements.txt"), debian=True) + "/bin/python3"

TORCH = r"""
import math, sys, numpy
from {module} import SummaryWriter
with SummaryWriter({folder}) as writer:
    for step in range(300):
        writer.add_scalar("loss/train", 1 / (step + 1), step)
        {new_style}
        if step % 50 == 0:
            {histogram}
            writer.add_text("note", "step %d" % step, step)
    for step, value in ((5, 1.5), (5, math.nan), (3, math.inf), (4, -math.inf), (3, 2.5)):
        writer.add_scalar("odd", value, step)
    writer.add_image("noise", numpy.random.rand(3, 1500, 1500), 1)
    for step in range(5000):
        writer.add_scalar("long", -1e30 if step == 2222 else math.sin(step), step)
    for step in range(5):
        writer.add_scalars("both", {{"a": step, "b": step * 2}}, step)
    writer.add_hparams({{"lr": 0.1, "opt": "sgd", "deep": True}}, {{"hparam/accuracy": 0.5}})
"""

TRAINER = r"""
import json, sys, torch
from transformers import Trainer, TrainingArguments
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x, labels):
        out = self.layer(x).squeeze(-1)
        return {"loss": ((out - labels) ** 2).mean(), "logits": out}
torch.manual_seed(1)
data = [{"x": torch.randn(4), "labels": torch.randn(())} for _ in range(64)]
args = TrainingArguments("checkpoints", num_train_epochs=3, per_device_train_batch_size=8,
                         logging_steps=3, evaluation_strategy="epoch", report_to={report},
                         logging_dir=sys.argv[1], use_cpu=True, disable_tqdm={quiet})
trainer = Trainer(Model(), args, train_dataset=data, eval_dataset=data[:8])
trainer.train()
json.dump(trainer.state.log_history, open(sys.argv[2], "w"))
"""

# The model is Lightning's own, and so is the logger.
LIGHTNING = r"""
import sys, warnings
warnings.filterwarnings("ignore")
from pytorch_lightning import Trainer, seed_everything
from pytorch_lightning.demos.boring_classes import BoringModel
from pytorch_lightning.loggers import CSVLogger
class Model(BoringModel):
    # Debian's torch cannot import its sharded tensors under Debian's Python.
    def _register_sharded_tensor_state_dict_hooks_if_available(self):
        pass
    def training_step(self, batch, batch_idx):
        loss = self.step(batch)
        self.log("train/loss", loss)
        return loss
    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.step(batch))
seed_everything(3)
trainer = Trainer(max_epochs=4, logger=CSVLogger(".", name="logs"), log_every_n_steps=3,
                  accelerator="cpu", enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Model())
import shutil
shutil.copy("logs/version_0/metrics.csv", sys.argv[1])
"""

# Prints what EventAccumulator has of each folder: tag -> [[step, value], …].
ORACLE = r"""
import json, os, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util
out = {}
for folder, _, files in os.walk(sys.argv[1]):
    if not any("tfevents" in name for name in files):
        continue
    every = {kind: 0 for kind in ("scalars", "tensors", "images", "histograms")}
    read = EventAccumulator(folder, size_guidance=every, purge_orphaned_data=False)
    read.Reload()
    tags = {}
    for tag in read.Tags()["scalars"]:
        tags[tag] = [[e.step, repr(float(e.value))] for e in read.Scalars(tag)]
    for tag in read.Tags()["tensors"]:
        if read.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
            tags[tag] = [[e.step, repr(float(tensor_util.make_ndarray(e.tensor_proto)))]
                         for e in read.Tensors(tag)]
    out[os.path.relpath(folder, sys.argv[1])] = tags
json.dump(out, sys.stdout)
"""


def run(world, name, text, *words):
    logs = world.evidence / name
    program = world.program(text)
    (world.work / "job.yaml").write_text(
        json.dumps({"name": name, "workdir": ".", "tensorboard": str(logs), "command": [PYTHON, program.name, *map(str, words)]})
    )
    world.stoker("run", "job.yaml", check=True, timeout=300)
    return world.json("metrics", name)["series"]


def oracle(world, name):
    done = subprocess.run([PYTHON, "-c", ORACLE, str(world.evidence / name)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def same(points, expected):
    def number(value):
        return repr(float(value))

    return [[p["step"], number(p["value"])] for p in points] == expected


def writer(results, world, name, module, new_style="", histogram="", deep="true"):
    text = TORCH.format(module=module, folder=repr(str(world.evidence / name)), new_style=new_style, histogram=histogram)
    found = run(world, name, text)
    told = oracle(world, name)
    main = dict(told["."])
    long = main.pop("long")
    for tag, expected in main.items():
        results.check(
            f"{name}: {tag}: {len(expected)} points, each as EventAccumulator has it",
            same(found.get(tag, []), expected),
            found.get(tag, [])[:3],
        )
    kept = found["long"]
    values = [float(value) for _, value in long]
    results.check(
        f"{name}: of a long series every point counts, the newest are whole",
        sum(p.get("points", 1) for p in kept) == len(long)
        and same(kept[-1000:], long[-1000:])
        and min(p.get("min", p["value"]) for p in kept) == min(values)
        and max(p.get("max", p["value"]) for p in kept) == max(values)
        and len(kept) < len(long),
        len(kept),
    )
    for inner in (folder for folder in told if folder.startswith("both")):
        expected = told[inner]["both"]
        results.check(f"{name}: {inner}: add_scalars' folders stay apart", same(found.get(f"{inner}/both", []), expected), sorted(found))
    other = world.submit("--name", "other", "--", "true")
    compared = world.json("compare", name, other)[0]["hyperparameters"]
    results.check(f"{name}: hyperparameters", compared == {"lr": "0.1", "opt": "sgd", "deep": deep}, compared)
    results.check(
        f"{name}: and nothing else is a series",
        not {"weights", "note", "noise"} & set(found) and found["hparam/accuracy"][0]["value"] == 0.5,
        sorted(found),
    )


def test_torch(results, world):
    style = 'writer.add_scalar("v2", math.cos(step), step, new_style=True)'
    # This torch writes True as the number 1.
    writer(results, world, "torch", "torch.utils.tensorboard", style, deep="1")


def test_tensorboardx(results, world):
    # Not in the other: Debian's torch is older than its numpy there.
    histogram = 'writer.add_histogram("weights", numpy.random.rand(100), step)'
    writer(results, world, "tensorboardx", "tensorboardX", histogram=histogram)


def test_trainer(results, world):
    for name, quiet, report in (("printed", "True", []), ("bar", "False", []), ("both", "True", ["tensorboard"])):
        history = world.evidence / f"{name}.json"
        text = TRAINER.replace("{quiet}", quiet).replace("{report}", str(report))
        found = run(world, name, text, world.evidence / name, history)
        rows = json.loads(history.read_text())
        for key in ("loss", "learning_rate", "epoch", "eval_loss", "train_runtime"):
            expected = [[at, repr(float(row[key]))] for at, row in enumerate(row for row in rows if key in row)]
            if report:
                results.check(
                    f"trainer, {name}: the log does not give {key}, its event file does", expected and key not in found, sorted(found)
                )
                continue
            results.check(
                f"trainer, {name}: {key}, as its own history has it",
                expected and same(found.get(key, []), expected),
                (found.get(key, [])[:3], expected[:3]),
            )
        told = oracle(world, name)
        results.check(f"trainer, {name}: an event file where there is to be one", bool(told) == bool(report), list(told))
        for folder, tags in told.items():
            for tag, expected in tags.items():
                results.check(f"trainer, {name}: {folder}: {tag} of its event file", same(found.get(tag, []), expected), sorted(found))
    log = world.stoker("logs", "both", "--stream", "system").stdout
    results.check(
        "trainer: what is set aside of the log is said once",
        log.count("metrics: set aside, as a better source has them: ") >= 1 and log.count("'loss'") == 1,
        log,
    )


def test_lightning(results, world):
    table = world.evidence / "metrics.csv"
    found = run(world, "lightning", LIGHTNING, table)
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    results.check("lightning: its table has both", len(rows) > 60, len(rows))
    for name in ("train/loss", "val_loss"):
        expected = [[int(row["step"]), repr(float(row[name]))] for row in rows if row[name]]
        results.check(
            f"lightning: {name}: {len(expected)} points, each as its table has it",
            len(expected) > 3 and same(found.get(name, []), expected),
            (found.get(name, [])[:3], expected[:3]),
        )
    results.check("lightning: and nothing else is a series", set(found) == {"train/loss", "val_loss", "epoch"}, sorted(found))


def test_demo(results, world):
    """By hand: TensorBoard's own demo (tensorboard/plugins/scalar/scalars_demo.py at $DEMO, in no
    package), as it is, with the TensorFlow in the folder $TENSORFLOW. It writes to /tmp."""
    shutil.copy(os.environ["DEMO"], world.work / "scalars_demo.py")
    shutil.rmtree("/tmp/scalars_demo", ignore_errors=True)
    (world.work / "job.yaml").write_text(
        json.dumps(
            {
                "name": "demo",
                "workdir": ".",
                "tensorboard": "/tmp/scalars_demo",
                "envs": {"PYTHONPATH": os.environ["TENSORFLOW"]},
                "command": [PYTHON, "scalars_demo.py"],
            }
        )
    )
    world.stoker("run", "job.yaml", check=True, timeout=900)
    found = world.json("metrics", "demo")["series"]
    shutil.move("/tmp/scalars_demo", world.evidence / "demo")
    told = oracle(world, "demo")
    folders = sorted(told)
    results.check("demo: eighteen folders", len(folders) == 18, folders)
    for at, folder in enumerate(folders):
        before = "" if at == 0 else folder + "/"
        for tag, expected in told[folder].items():
            results.check(
                f"demo: {folder}: {tag}: {len(expected)} points",
                len(expected) == 1000 and same(found.get(before + tag, []), expected),
                (found.get(before + tag, [])[:2], sorted(found)[:5]),
            )


def main():
    results = Results()
    with World("writers") as world:
        for name, test in (
            ("torch", test_torch),
            ("tensorboardX", test_tensorboardx),
            ("trainer", test_trainer),
            ("lightning", test_lightning),
            ("demo", test_demo),
        ):
            if name in sys.argv[1:] or (not sys.argv[1:] and name != "demo"):
                results.run(name, test, results, world)
    results.finish()


main()
