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
        read = EventAccumulator(str(inner), size_guidance={"scalars": 0, "tensors": 0},
                                purge_orphaned_data=False)  # fmt: skip
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


READERS = {"tensorboard": of_events, "csv": of_tables, "jsonl": of_lines}


def curves(folder, kind):
    attempts = [READERS[kind](path) for path in sorted(pathlib.Path(folder).iterdir())]
    out = {}
    for number, attempt in enumerate(attempts):
        begins = [points[0][0] for later in attempts[number + 1 :]
                  for name, points in later.items() if name != NO_STEP]  # fmt: skip
        for name, points in attempt.items():
            out.setdefault(name, []).extend(
                point for point in points if not begins or point[0] < min(begins))  # fmt: skip
    return out


if __name__ == "__main__":
    json.dump(curves(sys.argv[1], sys.argv[2]), sys.stdout)
