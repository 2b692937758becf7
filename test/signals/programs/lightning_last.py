# SPDX-License-Identifier: Apache-2.0
"""A training with Lightning as its pages show it: ModelCheckpoint keeps the best and the last, and
a run goes on from the last. Its best epoch is an early one, so whoever forgets it tells."""

import os
import sys
import time
import warnings

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

warnings.filterwarnings("ignore", ".*(num_workers|logger|GPU).*")
SECONDS = float(sys.argv[1])  # an epoch
SCORES = [0.5, 0.1, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55]


class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, index):
        time.sleep(SECONDS / 10)
        return self.layer(batch).sum()

    def on_train_epoch_start(self):
        print(f"epoch {self.current_epoch} begins", flush=True)

    def on_train_epoch_end(self):
        self.log("score", SCORES[self.current_epoch])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.001)


torch.manual_seed(1)
keeps = ModelCheckpoint("checkpoints", "{epoch}", monitor="score", save_top_k=-1, save_last=True)
trainer = Trainer(
    max_epochs=len(SCORES), callbacks=[keeps], logger=False, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False
)
last = "checkpoints/last.ckpt"
trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(10, 1)), ckpt_path=last if os.path.exists(last) else None)
kept = torch.load(last, weights_only=False)
print(
    "END",
    sorted(os.listdir("checkpoints")),
    os.path.basename(keeps.best_model_path),
    os.path.exists(keeps.best_model_path),
    f"{keeps.best_model_score:.2f}",
    kept["epoch"],
    kept["global_step"],
    flush=True,
)
