# SPDX-License-Identifier: Apache-2.0
"""XGBoost as it prints its rounds; beside that a table of what its own callbacks were told."""

import json
import pathlib
import sys
import time

import kept
import numpy
import xgboost

RATE = float(sys.argv[2])
PAUSE = float(sys.argv[3])
ROUNDS = 120
own = kept.keep()
table = open(own / "rounds.jsonl", "w", buffering=1)
saved = pathlib.Path("checkpoints/model.json")
saved.parent.mkdir(exist_ok=True)


class Keep(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        at = model.num_boosted_rounds() - 1
        row = {f"{data}-{name}": values[-1] for data, of in evals_log.items() for name, values in of.items()}
        table.write(json.dumps({"step": epoch, **row}) + "\n")
        kept.at(at)
        if at % 10 == 9:
            part = saved.with_name("part.json")
            model.save_model(part)
            part.rename(saved)
        time.sleep(PAUSE)
        return False


random = numpy.random.default_rng(1)
x = random.normal(size=(300, 5))
y = x[:, 0] * 2 + random.normal(size=300)
train, held = xgboost.DMatrix(x[:200], y[:200]), xgboost.DMatrix(x[200:], y[200:])
before = xgboost.Booster(model_file=saved) if saved.exists() else None
rounds = ROUNDS - (before.num_boosted_rounds() if before else 0)
xgboost.train(
    {"eta": RATE, "max_depth": 3, "nthread": 1},
    train,
    rounds,
    evals=[(train, "train"), (held, "eval")],
    xgb_model=before,
    callbacks=[Keep(), xgboost.callback.EvaluationMonitor()],
    verbose_eval=False,
)
