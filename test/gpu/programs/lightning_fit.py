# SPDX-License-Identifier: Apache-2.0
"""Lightning as its pages use it: ModelCheckpoint, CSVLogger, and ckpt_path to go on.

lightning_fit.py STEPS"""

import os
import sys

import lightning
import torch
from facts import tell
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.plugins.environments import LightningEnvironment
from torch.utils.data import DataLoader, TensorDataset

folder = os.environ["STOKER_CHECKPOINT_DIR"]
last = os.path.join(folder, "last.ckpt")


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))

    def training_step(self, batch, _):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train_loss", loss)
        return loss

    def on_train_start(self):
        tell(begins_after=self.global_step, device=str(self.device))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


data = torch.randn(64000, 32, generator=torch.Generator().manual_seed(0))
loader = DataLoader(TensorDataset(data, data.sum(1, keepdim=True)), batch_size=32, num_workers=2, persistent_workers=True)
# Not what it finds by itself: where mpi4py is installed, it starts MPI to ask it.
keeper = ModelCheckpoint(dirpath=folder, every_n_train_steps=200, save_last=True, save_top_k=1, monitor="step", mode="max")
trainer = lightning.Trainer(
    max_steps=int(sys.argv[1]),
    devices=1,
    callbacks=[keeper],
    logger=CSVLogger("logs"),
    log_every_n_steps=50,
    enable_progress_bar=False,
    plugins=[LightningEnvironment()],
)
trainer.fit(Model(), loader, ckpt_path=last if os.path.exists(last) else None)
print("result", trainer.global_step, flush=True)
