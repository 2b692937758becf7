# SPDX-License-Identifier: Apache-2.0
"""Lightning: the newest two of ModelCheckpoint's and its `last.ckpt`, from which it goes on."""

import os
import time
import warnings

import torch
from evidence import FOLDER, PAUSE, STEPS, began, digest, enough, saved, saves
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

warnings.filterwarnings("ignore", ".*(num_workers|logger|GPU).*")
torch.manual_seed(1)


class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Linear(1024, 64))

    def training_step(self, batch, index):
        time.sleep(PAUSE)
        self.log("at", float(self.global_step))
        return self.layers(batch).pow(2).mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.001)


class Tells(Callback):
    begun = False
    saving = None  # the step of the save that nobody has told the end of

    def on_save_checkpoint(self, trainer, module, checkpoint):
        if self.saving is None:  # the first of two files
            self.saving = trainer.global_step
            state = [checkpoint["state_dict"], checkpoint["optimizer_states"]]
            saves(self.saving, digest(state))

    # ModelCheckpoint comes last of all callbacks, so that this is the first word after it.
    def on_train_batch_start(self, trainer, module, batch, index):
        step = trainer.global_step
        if not self.begun:
            self.begun = True
            state = [module.state_dict(), [one.state_dict() for one in trainer.optimizers]]
            began(step, digest(state) if step else "")
        if self.saving is not None:
            saved(self.saving, sorted(FOLDER.glob(f"*step={self.saving}.ckpt")), [FOLDER / "last.ckpt"])
            self.saving = None
            trainer.should_stop = enough()


keeps = ModelCheckpoint(FOLDER, monitor="at", mode="max", save_top_k=2, save_last=True, every_n_train_steps=STEPS)
trainer = Trainer(
    max_steps=100_000, callbacks=[Tells(), keeps], logger=False, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False
)
last = FOLDER / "last.ckpt"
data = torch.utils.data.DataLoader(torch.randn(40_000, 64), batch_size=4)
trainer.fit(Model(), data, ckpt_path=last if os.path.exists(last) else None)
