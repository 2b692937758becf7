#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From the command to the first line of a program in a container whose image is there: `stoker run
--container IMAGE -- PROGRAM` against the engine's own `run --rm IMAGE PROGRAM`, in turns. Goal: at
most 1.5 times. Engines are those of test/containers, with folders of their own; it needs root."""

import json
import os
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from bench.lib.sandbox import STOKER, Terminal, milliseconds, versus
from test.containers.engines import Engine
from test.e2e.kit.harness import World

RUNS = int(os.environ.get("RUNS", "15"))
IMAGE = "localhost/py:1"
PROGRAM = ["sh", "-c", "echo hello from the program"]


def first_line(words, env, cwd):
    terminal = Terminal(words, env, cwd)
    seconds = terminal.wait_for(b"hello from the program") - terminal.began
    terminal.close()
    return seconds


def compare(kind):
    with World(f"bench-{kind}", binary=STOKER) as world:
        engine = Engine(kind, world)
        world.env.update(engine.env)
        world.env["TERM"] = "dumb"
        alone = [engine.client, "run", "--rm", "--network=host", IMAGE, *PROGRAM]
        job = world.work / "job.yaml"
        job.write_text(f"container: {{image: {IMAGE}, engine: {engine.name}}}\ncommand: {json.dumps(PROGRAM)}\n")
        ours = [STOKER, "run", str(job)]
        by_itself, with_stoker = [], []
        try:
            for _ in range(RUNS + 1):
                by_itself.append(first_line(alone, world.env, str(world.work)))
                with_stoker.append(first_line(ours, world.env, str(world.work)))
                world.wait_for("its end", lambda: not world.instances(), timeout=60)
        finally:
            engine.close()
        versus(
            f"a container of {kind}, to its program's first line, {RUNS} runs",
            f"{engine.name} run alone",
            milliseconds(by_itself[1:]),
            milliseconds(with_stoker[1:]),
            "at most 1.5 times",
        )


for engine_kind in ("podman", "docker"):
    compare(engine_kind)
