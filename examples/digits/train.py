# SPDX-License-Identifier: Apache-2.0
"""Learns handwritten digits: scikit-learn's bundled 8x8 scans, a small convolutional network, CPU.

Saves a checkpoint after every epoch and goes on from it when it is there. It knows nothing of
stoker, and runs alone: python3 train.py --epochs 20
"""
import argparse
import os
import time

import torch
from sklearn.datasets import load_digits
from torch import nn

CHECKPOINT = os.path.join('checkpoints', 'checkpoint.pt')


def load():
    """Images and labels to train on, and the fifth that is kept for the test."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    held = len(labels) // 5
    test, train = order[:held], order[held:]
    return images[train], labels[train], images[test], labels[test]


def build():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 2 * 2, 10))


def train_epoch(model, optimizer, images, labels, epoch, batch):
    """The mean loss of one pass, in an order that depends on the epoch alone."""
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))
    total = 0.0
    for rows in order.split(batch):
        loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    return total / len(labels)


@torch.no_grad()
def accuracy(model, images, labels):
    return (model(images).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--epochs', type=int, default=20)
    parser.add_argument('--lr', type=float, default=0.002)
    parser.add_argument('--batch', type=int, default=32)
    parser.add_argument('--pause', type=float, default=0, help='seconds to sleep after each epoch')
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    train_images, train_labels, test_images, test_labels = load()
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    first = 1
    if os.path.exists(CHECKPOINT):
        saved = torch.load(CHECKPOINT)
        model.load_state_dict(saved['model'])
        optimizer.load_state_dict(saved['optimizer'])
        first = saved['epoch'] + 1
        print(f'resumed after epoch {saved["epoch"]}', flush=True)

    os.makedirs(os.path.dirname(CHECKPOINT), exist_ok=True)
    for epoch in range(first, args.epochs + 1):
        loss = train_epoch(model, optimizer, train_images, train_labels, epoch, args.batch)
        score = accuracy(model, test_images, test_labels)
        torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(),
                    'epoch': epoch}, CHECKPOINT)
        print(f'epoch {epoch}/{args.epochs}  loss: {loss:.4f}  accuracy: {score:.4f}', flush=True)
        time.sleep(args.pause)
    print(f'test accuracy: {accuracy(model, test_images, test_labels):.4f}', flush=True)


if __name__ == '__main__':
    main()
