# SPDX-License-Identifier: Apache-2.0
"""XGBoost: TrainingCheckPoint writes a file each STEPS rounds; a run goes on from the newest."""

import re
import time

import numpy
import xgboost
from evidence import FOLDER, PAUSE, STEPS, began, digest, enough, saved, saves

FOLDER.mkdir(exist_ok=True)


def state_of(model):
    return digest(bytes(model.save_raw("json")))


def numbered():
    found = {int(re.search(r"_(\d+)\.ubj", one.name)[1]): one for one in FOLDER.glob("*.ubj")}
    return sorted(found.items())


class Before(xgboost.callback.TrainingCallback):
    """Stands before TrainingCheckPoint, which counts its rounds so."""

    def before_iteration(self, model, epoch, logs):
        if not hasattr(self, "left"):
            self.left = 1
        return False

    def after_iteration(self, model, epoch, logs):
        time.sleep(PAUSE)
        self.left -= 1
        if self.left == 0:
            saves(model.num_boosted_rounds(), state_of(model))
        return False


class After(xgboost.callback.TrainingCallback):
    def __init__(self, before):
        super().__init__()
        self.before, self.had = before, dict(numbered())

    def after_iteration(self, model, epoch, logs):
        new = [path for number, path in numbered() if number not in self.had]
        if not new:
            return False
        self.had = dict(numbered())
        self.before.left = STEPS
        saved(model.num_boosted_rounds(), new)
        return enough()


rng = numpy.random.default_rng(1)
x = rng.normal(size=(4000, 30))
data = xgboost.DMatrix(x, label=x.sum(axis=1))
model, step = None, 0
if numbered():
    model = xgboost.Booster(model_file=str(numbered()[-1][1]))
    step = model.num_boosted_rounds()
began(step, state_of(model) if step else "")
before = Before()
xgboost.train(
    {"max_depth": 6, "nthread": 1, "eta": 0.01},
    data,
    num_boost_round=100_000,
    xgb_model=model,
    callbacks=[before, xgboost.callback.TrainingCheckPoint(directory=FOLDER, interval=STEPS), After(before)],
)
