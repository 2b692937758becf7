# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer, logging where it does by default, and its printed rows."""

import os
import sys
import time

import kept
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

RATE = float(sys.argv[2])
PAUSE = float(sys.argv[3])


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x, labels):
        out = self.layer(x).squeeze(-1)
        return {"loss": ((out - labels) ** 2).mean(), "logits": out}


class Pause(TrainerCallback):
    def on_step_end(self, args, state, *_, **__):
        kept.at(state.global_step)
        time.sleep(PAUSE)


kept.keep("checkpoints/runs/**/events*")
torch.manual_seed(1)
data = [{"x": torch.randn(4), "labels": torch.randn(())} for _ in range(256)]
args = TrainingArguments(
    "checkpoints",
    num_train_epochs=6,
    per_device_train_batch_size=8,
    logging_steps=4,
    evaluation_strategy="epoch",
    save_steps=10,
    report_to=["tensorboard"],
    learning_rate=RATE,
    use_cpu=True,
)
trainer = Trainer(Model(), args, train_dataset=data, eval_dataset=data[:16], callbacks=[Pause()])
last = get_last_checkpoint("checkpoints") if os.path.isdir("checkpoints") else None
trainer.train(resume_from_checkpoint=last)
