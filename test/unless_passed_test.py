#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""unless_passed.sh skips what passed, and nothing that is another program or other cases."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unless_passed.sh")


class UnlessPassed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = os.path.join(self.folder.name, "program")
        self.build("one")

    def build(self, text):
        with open(self.program, "w", encoding="utf-8") as out:
            out.write(f'#!/bin/sh\n# {text}\nexit "${{RC:-0}}"\n')
        os.chmod(self.program, 0o755)

    def run_it(self, *arguments, **environment):
        return subprocess.run(
            ["bash", SCRIPT, "passed/stamp", self.program, *arguments],
            cwd=self.folder.name,
            env={**os.environ, **environment},
            capture_output=True,
            check=False,
        ).returncode

    def test_what_passed_is_skipped(self):
        self.assertEqual(self.run_it("a"), 0)
        self.assertEqual(self.run_it("a"), 77)
        self.build("one")  # built again, and the same
        self.assertEqual(self.run_it("a"), 77)
        self.assertEqual(self.run_it("a"), 77)

    def test_another_program_runs(self):
        self.assertEqual(self.run_it("a"), 0)
        self.build("two")
        self.assertEqual(self.run_it("a"), 0)
        self.assertEqual(self.run_it("a"), 77)

    def test_other_cases_run(self):
        self.assertEqual(self.run_it("a"), 0)
        self.assertEqual(self.run_it("b"), 0)
        self.assertEqual(self.run_it("b", GTEST_TOTAL_SHARDS="2"), 0)
        self.assertEqual(self.run_it("b", GTEST_TOTAL_SHARDS="2", GTEST_SHARD_INDEX="1"), 0)

    def test_what_failed_runs_again(self):
        self.assertEqual(self.run_it("a"), 0)
        self.build("two")
        self.assertEqual(self.run_it("a", RC="3"), 3)
        self.assertEqual(self.run_it("a", RC="3"), 3)
        self.assertEqual(self.run_it("a"), 0)

    def test_a_program_that_is_built_while_it_runs_is_another_one(self):
        with open(self.program, "w", encoding="utf-8") as out:
            out.write(f'#!/bin/sh\necho "# more" >>{self.program}\n')
        self.assertEqual(self.run_it("a"), 0)
        self.assertEqual(self.run_it("a"), 0)


if __name__ == "__main__":
    unittest.main()
