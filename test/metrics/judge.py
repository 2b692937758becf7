# SPDX-License-Identifier: Apache-2.0
"""What the tools' own readers have of the files that a job's attempts left (programs/kept.py), cut
where each attempt began. Run in an environment that has tensorboard: judge.py FOLDER KIND."""

import csv
import json
import pathlib
import sys

# Loggers of Lightning write it at step 0 whenever they begin.
NO_STEP = "hp_metric"


def of_events(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    out = {}
    for inner in {path.parent for path in folder.rglob("*tfevents*")}:
        read = EventAccumulator(str(inner), size_guidance={"scalars": 0, "tensors": 0}, purge_orphaned_data=False)
        read.Reload()
        for tag in read.Tags()["scalars"]:
            assert tag not in out, tag
            out[tag] = [[event.step, event.value] for event in read.Scalars(tag)]
    return out


def of_tables(folder):
    out = {}
    for path in folder.rglob("metrics.csv"):
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                for name, value in row.items():
                    if name != "step" and value:
                        out.setdefault(name, []).append([int(row["step"]), float(value)])
    return out


def of_lines(folder):
    out = {}
    for path in folder.rglob("*.jsonl"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            step = row.pop("step")
            for name, value in row.items():
                out.setdefault(name, []).append([step, value])
    return out


def of_wandb(folder, axis="_step"):
    """wandb's own reader of its files, and its own description of the records."""
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    out = {}
    for path in folder.rglob("run-*.wandb"):
        store = DataStore()
        store.open_for_scan(str(path))
        while True:
            try:
                data = store.scan_data()
            except AssertionError:  # the end, where the writer was killed
                break
            if data is None:
                break
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            row = {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            for name, value in row.items():
                if not name.startswith("_"):
                    out.setdefault(name, []).append([int(row[axis]), value])
    return out


def of_mlflow(folder):
    import os

    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    from mlflow.tracking import MlflowClient

    for meta in folder.glob("mlruns/*/*/meta.yaml"):  # empty folders are not kept
        (meta.parent / "artifacts").mkdir(exist_ok=True)
    client = MlflowClient(tracking_uri=(folder / "mlruns").resolve().as_uri())
    out = {}
    for run in client.search_runs([one.experiment_id for one in client.search_experiments()]):
        for name in run.data.metrics:
            assert name not in out, name
            history = client.get_metric_history(run.info.run_id, name)
            out[name] = [[one.step, one.value] for one in history]
    return out


READERS = {
    "tensorboard": of_events,
    "csv": of_tables,
    "jsonl": of_lines,
    "wandb": of_wandb,
    "wandb-counted": lambda folder: of_wandb(folder, "at"),
    "mlflow": of_mlflow,
}


def curves(folder, kind):
    attempts = [READERS[kind](path) for path in sorted(pathlib.Path(folder).iterdir())]
    with_steps = {name for attempt in attempts for name in attempt} - {NO_STEP}
    out = {}
    for number, attempt in enumerate(attempts):
        for name, points in attempt.items():
            begins = [others[0][0] for later in attempts[number + 1 :] for other, others in later.items() if other in (name, *with_steps)]
            out.setdefault(name, []).extend(point for point in points if not begins or point[0] < min(begins))
    return out


if __name__ == "__main__":
    json.dump(curves(sys.argv[1], sys.argv[2]), sys.stdout)
