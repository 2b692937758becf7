# SPDX-License-Identifier: Apache-2.0
"""Learns handwritten digits on several nodes: DistributedDataParallel over gloo, CPU.

Every process takes its share of each batch; rank 0 alone saves, all load. It knows nothing of
stoker; started by torchrun, on one machine: torchrun --standalone --nproc_per_node 2 train.py
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CHECKPOINT = os.path.join('checkpoints', 'checkpoint.pt')


def load():
    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32) / 16
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    held = len(labels) // 5
    test, train = order[:held], order[held:]
    return images[train], labels[train], images[test], labels[test]


def train_epoch(model, optimizer, images, labels, epoch, batch):
    """The loss of one pass, averaged over all processes. `batch` counts the rows of all."""
    rank, world = dist.get_rank(), dist.get_world_size()
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(epoch))
    total = torch.zeros(2)
    for rows in order.split(batch):
        mine = rows[rank::world]
        if len(rows) < world:
            continue  # too few for everyone: all skip it
        loss = nn.functional.cross_entropy(model(images[mine]), labels[mine])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += torch.tensor([loss.item() * len(mine), len(mine)])
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


@torch.no_grad()
def accuracy(model, images, labels):
    return (model(images).argmax(1) == labels).float().mean().item()


def resume(model, optimizer):
    """The first epoch to train. Every process must have the same checkpoint, or none."""
    done = 0
    if os.path.exists(CHECKPOINT):
        saved = torch.load(CHECKPOINT)
        model.load_state_dict(saved['model'])
        optimizer.load_state_dict(saved['optimizer'])
        done = saved['epoch']
    seen = [None] * dist.get_world_size()
    dist.all_gather_object(seen, done)
    if len(set(seen)) != 1:
        raise SystemExit(f'the processes resume from different epochs: {seen}')
    return done + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--epochs', type=int, default=20)
    parser.add_argument('--lr', type=float, default=0.003)
    parser.add_argument('--batch', type=int, default=64)
    parser.add_argument('--pause', type=float, default=0, help='seconds to sleep after each epoch')
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group('gloo')
    rank = dist.get_rank()
    train_images, train_labels, test_images, test_labels = load()
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    first = resume(net, optimizer)
    print(f'rank {rank} of {dist.get_world_size()} starts at epoch {first}', flush=True)
    model = DistributedDataParallel(net)

    for epoch in range(first, args.epochs + 1):
        loss = train_epoch(model, optimizer, train_images, train_labels, epoch, args.batch)
        if rank == 0:
            os.makedirs(os.path.dirname(CHECKPOINT), exist_ok=True)
            torch.save({'model': net.state_dict(), 'optimizer': optimizer.state_dict(),
                        'epoch': epoch}, CHECKPOINT)
            score = accuracy(net, test_images, test_labels)
            print(f'epoch {epoch}/{args.epochs}  loss: {loss:.4f}  accuracy: {score:.4f}',
                  flush=True)
        time.sleep(args.pause)
    if rank == 0:
        print(f'test accuracy: {accuracy(net, test_images, test_labels):.4f}', flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == '__main__':
    main()
