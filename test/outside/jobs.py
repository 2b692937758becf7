# SPDX-License-Identifier: Apache-2.0
"""The habits of saving, and the job file with which stoker runs one of them."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
from test.e2e.kit import hostile_names

# Each is a program of habits/. `quick`: so much faster than the others it saves. `odd`: files with
# odd names may lie beside its own in the checkpoint folder. `many`: of files; a busy disk may take
# longer for them than a notice gives, and then it is enough that this is said.
HABITS = {
    "torch_in_place": {},
    "torch_rename": {},
    "safetensors_shards": {},
    "hf_folders": {},
    "sqlite_open": {},
    "sqlite_wal": {},
    "mapped_done": {},
    "log_pointer": {},
    "shell_pipeline": {"shell": True, "odd": False},
    "zarr_tree": {"many": True},
    "npz_in_place": {},
    "npy_sidecar": {},
    "model_optimizer": {},
    "swapped_folder": {},
    "hardlinks": {},
    "gz_stream": {},
    "pickle_rewritten": {},
    "many_small": {"quick": 6},
    "background_cp": {},
    "lightning_last": {},
    "preallocated": {},
    "tar_stream": {"shell": True, "odd": False},
}

ODD_NAMES = len(hostile_names.NAMES) + 2  # those of witness.NAMES


def python():
    """An interpreter with torch and numpy, which some of the habits save by."""
    one = os.environ.get("PYTHON") or "/usr/bin/python3"
    asked = "from importlib.util import find_spec as f; print(bool(f('torch') and f('numpy')))"
    try:
        said = subprocess.run([one, "-c", asked], capture_output=True, text=True).stdout.strip()
    except OSError as error:
        said = str(error)
    if said != "True":
        sys.exit(
            f"{one} has no torch and numpy, by which some habits save: './dev test' brings them, PYTHON names another interpreter ({said})"
        )
    return one


def plant_code(folder):
    """The work directory of every job: the habits, and the names that they use."""
    shutil.copytree(HERE / "habits", folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE.parent / "e2e" / "kit" / "hostile_names.py", folder)


def job_file(world, name, habit, saves, pause, *, quiet=2.0, keep=3, nodes=1, kept="out", odd=(), exit_code=0, look=False):
    """Text of the job file. `kept`: how the outputs come to be kept: "out" is declared, "output"
    is the folder that is always kept, "results" is found at the end."""
    envs = {
        "OUTSIDE_EVIDENCE": str(world.evidence),
        "OUTSIDE_SAVES": str(saves),
        "OUTSIDE_PAUSE": f"{pause:.2f}",
        "OUTSIDE_EXIT": str(exit_code),
        "OUTSIDE_KEPT": kept,
        "OUTSIDE_ODD": ",".join(map(str, odd)),
        "OMP_NUM_THREADS": "1",
    }
    if look:
        envs["OUTSIDE_LOOK"] = "1"
    shell = HABITS[habit].get("shell")
    start = f"exec sh {habit}.sh" if shell else f"exec {python_once()} {habit}.py"
    # A program that is killed alone is its own error, with 137 for a reason; nothing else is
    # forgiven.
    return f"""\
name: {name}
workdir: {world.work / "code"}
num_nodes: {nodes}
stop_grace: 2s
job_recovery: {{recover_on_exit_codes: [137]}}
checkpoints: {{quiet: {int(quiet * 1000)}ms, keep: {keep}}}
{"outputs: [out]" if kept == "out" else ""}
envs: {json.dumps(envs)}
run: {start}
{getattr(world, "container", "")}"""


def python_once(known=[]):  # noqa: B006  # remembers
    if not known:
        known.append(python())
    return known[0]


def evidence(world, job):
    """What the programs of `job` have told, by rank, in the order in which it happened. The last
    line of a killed one may be cut off."""
    found = {}
    for path in sorted(world.evidence.glob(f"{job}-*.jsonl")):
        lines = []
        for line in path.read_bytes().splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                continue
        found[int(path.stem.rsplit("-", 1)[1])] = lines
    return found
