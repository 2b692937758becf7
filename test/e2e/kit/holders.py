# SPDX-License-Identifier: Apache-2.0
"""Jobs on boxes that hold their GPUs, and the evidence of who had which."""

import shutil

from test.e2e.kit.harness import PYTHON
from test.e2e.kit.job_kit import PROGRAMS


class Holders:
    """Jobs that hold their GPUs until they are let go, and what they saw."""

    def __init__(self, pool, name):
        self.evidence = pool.scratch / f"evidence-{name}"
        self.evidence.mkdir()
        self.work = pool.scratch / f"work-{name}"
        self.work.mkdir()
        shutil.copy(PROGRAMS / "gpu_holder.py", self.work)

    def submit(self, world, name, *flags):
        return world.submit("--name", name, *flags, "--", PYTHON, "gpu_holder.py", self.evidence, name, cwd=self.work)

    def starts(self):
        """[(name, host, gpus)] in order."""
        file = self.evidence / "starts"
        lines = file.read_text().splitlines() if file.exists() else []
        return [(line.split() + [""])[:3] for line in lines]

    def let_go(self, *names):
        for name in names:
            (self.evidence / f"go-{name}").touch()

    def clashes(self):
        return sorted(path.name for path in self.evidence.glob("clash-*"))
