# SPDX-License-Identifier: Apache-2.0
"""Saves of a library under strace, and whether what the table of layouts says of them is true: the
judge is layout_judge.cc, which knows the table; this brings it what was done to the folder."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from test.e2e.kit.harness import patience

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
CALLS = "open,openat,creat,close,rename,renameat,renameat2,unlink,unlinkat,link,linkat"
# What each is to be known by; none: its files stand for themselves.
LAYOUTS = {
    "transformers": "hf_trainer",
    "lightning": "lightning",
    "dcp": "torch_dcp",
    "deepspeed": "deepspeed",
    "orbax": "orbax",
    "xgboost": "",
}
LINE = re.compile(r"^(\d+)\s+(\w+)\((.*)\)\s+= (-?\d+)(<(.*)>)?")


def trace(world, name, words, environment):
    """Starts the program without stoker until it has saved twice: [(process, what, path, path)],
    below the checkpoint folder."""
    work = world.root / f"alone-{name}"
    shutil.copytree(PROGRAMS, work)
    notes, out = work / "notes", work / "strace"
    notes.mkdir()
    variables = {**os.environ, **environment, "EVIDENCE": str(notes), "SAVE_SECONDS": "1"}
    words = ["strace", "-f", "--seccomp-bpf", "-y", "-qq", "-s", "4096", "-e", f"trace={CALLS}", "-o", str(out), *words]
    with open(work / "output", "wb") as output:
        started = subprocess.Popen(words, cwd=work, env=variables, stdout=output, stderr=output)
    end = time.monotonic() + patience(240)
    try:
        while started.poll() is None and time.monotonic() < end:
            text = (notes / "1.jsonl").read_text() if (notes / "1.jsonl").exists() else ""
            if text.count('"saved"') >= 2:
                (notes / "stop").touch()
            time.sleep(0.2)
    finally:
        if started.poll() is None:
            started.kill()
    if started.wait() != 0:
        raise AssertionError((work / "output").read_text()[-2000:])
    return operations(out, work, work / "checkpoints")


def whole_lines(out):
    """Calls that another process's stood between are put together again."""
    begun = {}
    for line in out.read_text(errors="replace").splitlines():
        pid, _, rest = line.partition(" ")
        rest = rest.strip()
        if rest.endswith("<unfinished ...>"):
            begun[pid] = rest.removesuffix("<unfinished ...>").rstrip()
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", rest)
        yield f"{pid} {begun.pop(pid, '')}{resumed[1]}" if resumed else f"{pid} {rest}"


def operations(out, work, folder):
    found = []

    def below(path, at=None):
        """`path` below the folder, or None. `at`: what it is relative to."""
        whole = os.path.normpath(os.path.join(at or work, path))
        inside = os.path.relpath(whole, folder)
        return None if inside.startswith("..") else inside

    for line in whole_lines(out):
        match = LINE.match(line)
        if not match or int(match[4]) < 0:
            continue
        pid, call, args = match[1], match[2], match[3]
        quoted = re.findall(r'(?:\w+<([^>]*)>, )?"((?:[^"\\]|\\.)*)"', args)
        if call in ("open", "openat", "creat"):
            writes = call == "creat" or re.search(r"O_(WRONLY|RDWR)", args)
            path = below(match[6]) if match[6] and writes else None
            if path:
                found.append((pid, "open", path, ""))
        elif call == "close":
            path = below(re.search(r"<([^>]*)>", args)[1]) if "<" in args else None
            if path:
                found.append((pid, "close", path, ""))
        elif quoted:
            paths = [below(text, at) for at, text in quoted]
            what = {"u": "unlink", "r": "rename", "l": "link"}[call[0]]
            found.append((pid, what, paths[0] or "/", (paths + [""])[1] or "/"))
    return found


def judged(judge, done):
    """What it says of each save: {unit, layout, files, how, problems}."""
    text = "".join(json.dumps(one) + "\n" for one in done)
    told = subprocess.run([judge], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in told.stdout.splitlines()]


def check(results, world, judge, name, words, environment):
    try:
        done = trace(world, name, words, environment)
    except Exception as error:  # noqa: BLE001
        results.check(f"{name}: saves under strace", False, f"{type(error).__name__}: {error}")
        return
    units = judged(judge, done)
    for one in units:
        print(f"      {name}: {one['unit']}: {one['layout'] or 'no layout'}, {one['files']} files, {one['how']}", flush=True)
    wrong = [f"{one['unit']}: {problem}" for one in units for problem in one["problems"]]
    known = [one for one in units if one["layout"] == LAYOUTS[name]]
    if len(known) < 2:
        wrong.append(f"two saves of the layout '{LAYOUTS[name]}' are not found in {units}")
    results.check(f"{name}: what the table says of its layout is true", not wrong, "\n".join(wrong))


def written(*paths):
    return [("1", what, path, "") for path in paths for what in ("open", "close")]


# What each would be, and the word that the judge must say of it; "" = all is as the table has it.
FORGED = {
    "a Trainer's folder": (
        "",
        written(
            "checkpoint-4/model.safetensors", "checkpoint-4/optimizer.pt", "checkpoint-4/rng_state.pth", "checkpoint-4/trainer_state.json"
        ),
    ),
    "another rank's late file": (
        "",
        written(
            "checkpoint-4/model.safetensors",
            "checkpoint-4/optimizer.pt",
            "checkpoint-4/rng_state_0.pth",
            "checkpoint-4/trainer_state.json",
            "checkpoint-4/rng_state_1.pth",
        ),
    ),
    "a model behind the mark": (
        "was written after",
        written(
            "checkpoint-4/optimizer.pt", "checkpoint-4/rng_state.pth", "checkpoint-4/trainer_state.json", "checkpoint-4/model.safetensors"
        ),
    ),
    "no model": ("is required", written("checkpoint-4/optimizer.pt", "checkpoint-4/rng_state.pth", "checkpoint-4/trainer_state.json")),
    "no mark": ("is missing", written("step-1/__0_0.distcp", "step-1/__1_0.distcp")),
    "a file that was renamed": ("", [*written(".tmpAbCdEf"), ("1", "rename", ".tmpAbCdEf", "model.safetensors")]),
    "one that was not": ("not renamed", written("model.safetensors")),
    "a folder that was renamed": (
        "",
        [*written("8.orbax-checkpoint-tmp/_CHECKPOINT_METADATA"), ("1", "rename", "8.orbax-checkpoint-tmp", "8")],
    ),
    "a file in it behind that": (
        "had its name",
        [*written("8.orbax-checkpoint-tmp/_CHECKPOINT_METADATA"), ("1", "rename", "8.orbax-checkpoint-tmp", "8"), *written("8/d/array")],
    ),
    "a mark that is only read": (
        "",
        [
            *written("step-1/.metadata.tmp", "step-1/__0_0.distcp"),
            ("1", "rename", "step-1/.metadata.tmp", "step-1/.metadata"),
            ("1", "close", "step-1/__0_0.distcp", ""),
        ],
    ),
}


def forged(results, judge):
    for name, (word, done) in FORGED.items():
        problems = [each for one in judged(judge, done) for each in one["problems"]]
        good = any(word in one for one in problems) if word else not problems
        results.check(f"the judge of {name}", good, problems)
