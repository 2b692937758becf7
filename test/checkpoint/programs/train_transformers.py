# SPDX-License-Identifier: Apache-2.0
"""transformers' Trainer: a checkpoint each STEPS steps, the last two kept, and its own way to find
the last one."""

import os
import time

import torch
import transformers
from evidence import FOLDER, PAUSE, STEPS, began, digest, enough, saved, saves
from transformers.trainer_utils import get_last_checkpoint

torch.manual_seed(1)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Linear(1024, 64))

    def forward(self, x=None, labels=None):
        return {"loss": (self.layers(x) - labels).pow(2).mean()}


def state_of(model, optimizer):
    inner = getattr(optimizer, "optimizer", optimizer)
    return digest([model.state_dict(), inner.state_dict()["state"]])


class Tells(transformers.TrainerCallback):
    begun = False

    def on_step_begin(self, args, state, control, model=None, optimizer=None, **more):
        if not self.begun:
            self.begun = True
            began(state.global_step, state_of(model, optimizer) if state.global_step else "")

    def on_step_end(self, args, state, control, model=None, optimizer=None, **more):
        time.sleep(PAUSE)
        if state.global_step % STEPS == 0:
            saves(state.global_step, state_of(model, optimizer))

    def on_save(self, args, state, control, **more):
        saved(state.global_step, [FOLDER / f"checkpoint-{state.global_step}"])
        if enough():
            control.should_training_stop = True


trainer = transformers.Trainer(
    model=Model(),
    args=transformers.TrainingArguments(
        output_dir=str(FOLDER),
        save_steps=STEPS,
        save_total_limit=2,
        max_steps=100_000,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        per_device_train_batch_size=4,
    ),
    train_dataset=[{"x": torch.randn(64), "labels": torch.randn(64)} for _ in range(64)],
    callbacks=[Tells()],
)
os.makedirs(FOLDER, exist_ok=True)
trainer.train(resume_from_checkpoint=get_last_checkpoint(str(FOLDER)))
