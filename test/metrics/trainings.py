#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real trainings, small and many: trainings.py RUNS FOLDER [sick]. Each has a seed and settings of
its own and records its loss and gradient at each step, and its loss and accuracy on held-out data
after each epoch, in a file of its own: FOLDER/017.jsonl. Four kinds: softmax regression and a
network of two layers in numpy, scikit-learn's MLPClassifier, a convolutional network in torch; on
scikit-learn's digits and on classes that it makes up. "sick": with settings that do not learn."""

import json
import sys
import warnings

import numpy as np
import torch
from sklearn.datasets import load_digits, make_classification
from sklearn.neural_network import MLPClassifier

EPOCHS = 24
warnings.filterwarnings("ignore")
torch.set_num_threads(1)
RECORDED = {}


def say(run, step, **values):
    row = {"step": step} | {name: float(value) for name, value in values.items()}
    RECORDED.setdefault(run, []).append(json.dumps(row) + "\n")


def data(rng, made_up):
    if made_up:
        x, y = make_classification(1200, 20, n_informative=8, n_classes=4, class_sep=1.5, random_state=int(rng.integers(1 << 30)))
        x = (x - x.mean(0)) / x.std(0)
    else:
        x, y = load_digits(return_X_y=True)
        x = x / 16
    order = rng.permutation(len(y))
    x, y = x[order], y[order]
    held = len(y) // 5
    return x[held:], y[held:], x[:held], y[:held]


def softmax(z):
    z = np.exp(z - z.max(1, keepdims=True))
    return z / z.sum(1, keepdims=True)


def entropy(p, y):
    return -np.log(p[np.arange(len(y)), y] + 1e-12).mean() if np.isfinite(p).all() else np.nan


def train_numpy(run, rng, rate, hidden):
    x, y, vx, vy = data(rng, bool(rng.integers(2)))
    classes = int(y.max()) + 1
    sizes = [x.shape[1]] + ([int(rng.integers(16, 64))] if hidden else []) + [classes]
    layers = [rng.normal(0, np.sqrt(2 / a), (a, b)) * (1 if hidden else 0.1) for a, b in zip(sizes, sizes[1:])]
    speed = [np.zeros_like(w) for w in layers]
    momentum, batch = rng.choice([0, 0.5, 0.9]), int(rng.choice([16, 32, 64, 128]))
    rate *= (1 - momentum) * rng.uniform(0.1, 0.4)

    def forward(x):
        h = [x]
        for w in layers[:-1]:
            h.append(np.maximum(h[-1] @ w, 0))
        return h, softmax(h[-1] @ layers[-1])

    step = 0
    for epoch in range(EPOCHS):
        for rows in np.array_split(rng.permutation(len(y)), len(y) // batch):
            h, p = forward(x[rows])
            loss = entropy(p, y[rows])
            p[np.arange(len(rows)), y[rows]] -= 1
            back, grads = p / len(rows), []
            for at in reversed(range(len(layers))):
                grads.insert(0, h[at].T @ back)
                back = (back @ layers[at].T) * (h[at] > 0)
            norm = np.sqrt(sum((g**2).sum() for g in grads))
            say(run, step, loss=loss, grad_norm=norm)
            step += 1
            for w, v, g in zip(layers, speed, grads):
                v *= momentum
                v -= rate * g
                w += v
        p = forward(vx)[1]
        say(run, epoch, val_loss=entropy(p, vy), val_acc=(p.argmax(1) == vy).mean())


def train_sklearn(run, rng, rate):
    x, y, vx, vy = data(rng, bool(rng.integers(2)))
    model = MLPClassifier(
        (int(rng.integers(16, 64)),),
        solver=str(rng.choice(["sgd", "adam"])),
        learning_rate_init=rate * rng.uniform(0.005, 0.02),
        batch_size=int(rng.choice([16, 32, 64])),
        random_state=int(rng.integers(1 << 30)),
    )
    step = 0
    for epoch in range(EPOCHS):
        for rows in np.array_split(rng.permutation(len(y)), 20):
            try:
                model.partial_fit(x[rows], y[rows], classes=np.unique(y))
                loss = model.loss_
            except ValueError:  # weights that are not finite
                loss = float("nan")
            say(run, step, loss=loss)
            step += 1
        try:
            p = model.predict_proba(vx)
        except ValueError:
            p = np.full((len(vy), len(np.unique(y))), np.nan)
        say(run, epoch, val_loss=entropy(p, vy), val_acc=(p.argmax(1) == vy).mean())


def train_torch(run, rng, rate):
    from torch import nn

    torch.manual_seed(int(rng.integers(1 << 30)))
    x, y, vx, vy = data(rng, False)
    x, vx = (torch.tensor(a, dtype=torch.float32).view(-1, 1, 8, 8) for a in (x, vx))
    y, vy = torch.tensor(y), torch.tensor(vy)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(float(rng.choice([0, 0.2]))),
        nn.Linear(8 * 16, 10),
    )
    adam = bool(rng.integers(2))
    rate *= rng.uniform(0.5, 2)
    optimizer = (
        torch.optim.Adam(model.parameters(), lr=0.003 * rate) if adam else torch.optim.SGD(model.parameters(), lr=0.03 * rate, momentum=0.9)
    )
    entropy_of = nn.functional.cross_entropy
    step = 0
    for epoch in range(EPOCHS):
        for rows in torch.randperm(len(y)).split(128):
            loss = entropy_of(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            say(run, step, loss=loss.item(), grad_norm=norm)
            step += 1
        model.eval()
        with torch.no_grad():
            p = model(vx)
            say(run, epoch, val_loss=entropy_of(p, vy).item(), val_acc=(p.argmax(1) == vy).float().mean())
        model.train()


def main():
    runs, sick = int(sys.argv[1]), "sick" in sys.argv
    for run in range(runs):
        rng = np.random.default_rng([run, sick])
        # Far too large, or nothing at all.
        rate = 1.0 if not sick else 0.0 if run % 8 >= 4 else 1e6
        kind = run % 4
        if kind < 2:
            train_numpy(run, rng, rate, hidden=kind == 1)
        elif kind == 2:
            train_sklearn(run, rng, max(rate, 1e-12))
        else:
            train_torch(run, rng, rate)
        with open(f"{sys.argv[2]}/{run:03}.jsonl", "w", encoding="ascii") as out:
            out.writelines(RECORDED.pop(run))
    print(f"{runs} trainings", flush=True)


main()
