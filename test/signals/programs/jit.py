# SPDX-License-Identifier: Apache-2.0
"""transformers' Trainer with its own answer to SIGTERM, a checkpoint just in time, and no other. It
tells what it began from, and that the state it found is that of the step that it is named by."""

import os
import time

import torch
import transformers
from transformers.trainer_utils import get_last_checkpoint

FOLDER = os.environ["STOKER_CHECKPOINT_DIR"]
STEPS = 4000


class Counts(torch.nn.Module):
    """Its one weight is how many steps it was trained, whatever the batch: the gradient is -1, and
    the optimizer goes by one."""

    def __init__(self):
        super().__init__()
        self.steps = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
        self.ballast = torch.nn.Parameter(torch.zeros(2_000_000))

    def forward(self, x=None, labels=None):
        return {"loss": -self.steps.sum() + 0 * self.ballast.sum()}


class Tells(transformers.TrainerCallback):
    def on_train_begin(self, args, state, control, model=None, **more):
        print(f"BEGAN {state.global_step} {model.steps.item():.0f}", flush=True)
        if state.global_step:
            control.should_training_stop = True

    def on_step_end(self, args, state, control, **more):
        if state.global_step == 20:
            print("TRAINS", flush=True)
        time.sleep(0.02)

    def on_train_end(self, args, state, control, model=None, **more):
        print(f"ENDED {state.global_step} {model.steps.item():.0f}", flush=True)


model = Counts()
trainer = transformers.Trainer(
    model=model,
    args=transformers.TrainingArguments(
        output_dir=FOLDER,
        enable_jit_checkpoint=True,
        save_strategy="no",
        max_steps=STEPS,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        max_grad_norm=0,
    ),
    train_dataset=[{"x": torch.zeros(1), "labels": torch.zeros(1)}] * 64,
    optimizers=(torch.optim.SGD(model.parameters(), lr=1.0), None),
    callbacks=[Tells()],
)
# As its optimizer goes by one, so does its schedule.
trainer.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(trainer.optimizer, lambda step: 1.0)
trainer.train(resume_from_checkpoint=get_last_checkpoint(FOLDER))
