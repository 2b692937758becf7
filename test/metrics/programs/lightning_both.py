# SPDX-License-Identifier: Apache-2.0
"""Lightning's own model, with the loggers argv[2] ("tensorboard", "csv", or both) and its bar."""

import pathlib
import sys
import time
import warnings

import kept

warnings.filterwarnings("ignore")
import torch
from pytorch_lightning import Callback, Trainer, seed_everything
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.demos.boring_classes import BoringModel
from pytorch_lightning.loggers import CSVLogger, TensorBoardLogger

LOGGERS = sys.argv[2].split("+")
RATE = float(sys.argv[3])
PAUSE = float(sys.argv[4])


class Model(BoringModel):
    # Debian's torch cannot import its sharded tensors under Debian's Python.
    def _register_sharded_tensor_state_dict_hooks_if_available(self):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.layer.parameters(), lr=RATE)

    def training_step(self, batch, batch_idx):
        loss = self.step(batch)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.step(batch), prog_bar=True)


class Pause(Callback):
    def on_train_batch_end(self, trainer, *_):
        kept.at(trainer.global_step)
        time.sleep(PAUSE)


kept.keep("logs/**/events*", "tables/**/metrics.csv")
seed_everything(3)
made = {
    "tensorboard": lambda: TensorBoardLogger("logs", name="run"),
    "csv": lambda: CSVLogger("tables", name="run", flush_logs_every_n_steps=10),
}
trainer = Trainer(
    max_epochs=6,
    logger=[made[one]() for one in LOGGERS],
    log_every_n_steps=2,
    accelerator="cpu",
    enable_model_summary=False,
    callbacks=[ModelCheckpoint("checkpoints", every_n_train_steps=16, save_last=True), Pause()],
)
last = pathlib.Path("checkpoints/last.ckpt")
trainer.fit(Model(), ckpt_path=str(last) if last.exists() else None)
