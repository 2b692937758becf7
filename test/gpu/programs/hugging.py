# SPDX-License-Identifier: Apache-2.0
"""A small GPT-2 of random weights and Hugging Face's Trainer, as its pages use it.

hugging.py STEPS"""

import os
import sys

import torch
from facts import tell
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

folder = os.environ["STOKER_CHECKPOINT_DIR"]


class Words(Dataset):
    # So many that its workers outlast the run: docs/checkpoints.md, what cannot be known.
    def __len__(self):
        return 1 << 16

    def __getitem__(self, i):
        ids = torch.randint(0, 500, (64,), generator=torch.Generator().manual_seed(i))
        return {"input_ids": ids, "labels": ids}


config = GPT2Config(vocab_size=500, n_positions=64, n_embd=128, n_layer=2, n_head=2)
steps = int(sys.argv[1])
arguments = TrainingArguments(
    output_dir=folder,
    max_steps=steps,
    per_device_train_batch_size=16,
    save_steps=steps // 5,
    logging_steps=5,
    report_to="none",
    dataloader_num_workers=2,
    save_total_limit=2,
    disable_tqdm=True,
)
trainer = Trainer(GPT2LMHeadModel(config), arguments, train_dataset=Words())
last = get_last_checkpoint(folder)
tell(last=last and os.path.basename(last), device=str(trainer.args.device))
trainer.train(resume_from_checkpoint=last)
print("result", trainer.state.global_step, flush=True)
