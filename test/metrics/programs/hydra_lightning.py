# SPDX-License-Identifier: Apache-2.0
"""Lightning's own model under Hydra, which gives each process a folder of its own date, where
TensorBoardLogger writes."""

import os
import pathlib
import sys
import time
import warnings

import kept

warnings.filterwarnings("ignore")
import hydra
import torch
from hydra.core.hydra_config import HydraConfig
from pytorch_lightning import Callback, Trainer, seed_everything
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.demos.boring_classes import BoringModel
from pytorch_lightning.loggers import TensorBoardLogger

SAVED = pathlib.Path("checkpoints").resolve()


class Model(BoringModel):
    def __init__(self, rate):
        super().__init__()
        self.save_hyperparameters()

    # Debian's torch cannot import its sharded tensors under Debian's Python.
    def _register_sharded_tensor_state_dict_hooks_if_available(self):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.layer.parameters(), lr=self.hparams.rate)

    def training_step(self, batch, batch_idx):
        loss = self.step(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.step(batch))


class Pause(Callback):
    def __init__(self, pause):
        self.pause = pause

    def on_train_batch_end(self, trainer, *_):
        kept.at(trainer.global_step)
        time.sleep(self.pause)


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config):
    kept.keep("outputs/**/events*")
    seed_everything(3)
    logger = TensorBoardLogger(HydraConfig.get().runtime.output_dir, name="tb", version="")
    trainer = Trainer(
        max_epochs=6,
        logger=logger,
        log_every_n_steps=2,
        accelerator="cpu",
        enable_model_summary=False,
        enable_progress_bar=False,
        callbacks=[ModelCheckpoint(SAVED, every_n_train_steps=16, save_last=True), Pause(config.pause)],
    )
    last = SAVED / "last.ckpt"
    trainer.fit(Model(config.model.rate), ckpt_path=str(last) if last.exists() else None)


# Hydra takes all words to be its own.
os.makedirs("conf", exist_ok=True)
pathlib.Path("conf/config.yaml").write_text("model:\n  rate: 0.01\n  width: 32\npause: 0.04\napi_token: abcdefghijklmnop12345\n")
del sys.argv[1]
main()
