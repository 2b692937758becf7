#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""second_try.py names what passed at its second try only, and nothing else, before the summary."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LUCKY = "test ! -e mark; was=$?; touch mark; exit $((1 - was))"


def run(tests):
    """What ctest, and then second_try.py, print of `tests`: name to shell command."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [f'add_test({name} sh -c "{command.replace("$", chr(92) + "$")}")' for name, command in tests.items()]
        pathlib.Path(folder, "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
        ctest = subprocess.run(["ctest", "--repeat", "until-pass:2"], cwd=folder, capture_output=True, text=True)
        said = subprocess.run([sys.executable, HERE / "second_try.py"], input=ctest.stdout, capture_output=True, text=True, check=True)
        return ctest.stdout, said.stdout


class SecondTry(unittest.TestCase):
    def test_a_lucky_test_is_named_before_the_summary(self):
        _, said = run({"good": "true", "lucky": LUCKY, "bad": "false"})
        before, _, summary = said.partition("% tests passed")
        self.assertIn("passed at the second try only (1): lucky\n", before)
        self.assertIn("1 tests failed out of 3", summary)

    def test_a_plain_run_is_passed_on_as_it_is(self):
        plain, said = run({"good": "true", "bad": "false"})
        self.assertEqual(said, plain)


if __name__ == "__main__":
    unittest.main()
