#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs fuzz targets: run.py PROGRAM [TARGET [MINUTES]]; each for so many minutes (default 1), one
after the other. Tries the findings of earlier runs first. Prints a line a target, and at the end
of a finding where its input lies and how to try it again. Exits 1 when there is one.

What a run learns is kept in build/fuzz/learned/TARGET, from which the next one goes on. TARGET
`all` is every one; `--merge TARGET` brings what was learned and reaches more into corpus/."""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STATE = os.path.join(ROOT, "build", "fuzz")
# Of one input. Under sanitizers everything is several times as slow; none takes more than two
# seconds (YAML up to its limit of values), on a machine that has nothing else to do.
LIMITS = ["-timeout=25", "-report_slow_units=25", "-rss_limit_mb=1024", "-malloc_limit_mb=256", "-detect_leaks=1"]
LONGEST = {"archive": 8192, "job_record": 4096, "log_segment": 4096}
ENVIRONMENT = {"ASAN_OPTIONS": "detect_stack_use_after_return=0:allocator_may_return_null=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
LINE = re.compile(r"^#(\d+)\s.*?\bcov: (\d+) ft: (\d+)")
EXECUTED = re.compile(r"^stat::number_of_executed_units:\s+(\d+)")


def folders(target):
    """The corpus of the repository, what runs learned, and what they found."""
    corpus = os.path.join(HERE, "corpus", target)
    learned = os.path.join(STATE, "learned", target)
    findings = os.path.join(STATE, "findings", target)
    for folder in (learned, findings):
        os.makedirs(folder, exist_ok=True)
    return corpus, learned, findings


def base(program, target):
    dictionary = os.path.join(HERE, "words", target)
    words = [f"-dict={dictionary}"] if os.path.exists(dictionary) else []
    return [program, target, f"-max_len={LONGEST.get(target, 16384)}", *LIMITS, *words]


def call(command):
    """The lines that libFuzzer wrote, and its exit code."""
    done = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    return done.stderr.decode(errors="replace").splitlines(), done.returncode


def try_again(program, target, path):
    return " ".join(os.path.relpath(p) for p in (program,)) + f" {target} {os.path.relpath(path)}"


def old_findings(program, target, findings):
    """Those that still fail; the others are mended, and go."""
    left = []
    for name in sorted(os.listdir(findings)):
        path = os.path.join(findings, name)
        _, code = call([*base(program, target), path])
        if code != 0:
            left.append(path)
        else:
            os.remove(path)
    return left


def numbers(lines):
    executed, coverage, features = 0, 0, 0
    for line in lines:
        if found := LINE.match(line):
            executed, coverage, features = (int(group) for group in found.groups())
        elif found := EXECUTED.match(line):
            executed = int(found.group(1))
    return executed, coverage, features


def fuzz(program, target, minutes):
    """Runs one target; returns the paths of what was found."""
    corpus, learned, findings = folders(target)
    found = old_findings(program, target, findings)
    before = set(os.listdir(findings))
    lines, code = call(
        [
            *base(program, target),
            f"-max_total_time={max(1, round(60 * minutes))}",
            "-print_final_stats=1",
            f"-artifact_prefix={findings}/",
            learned,
            corpus,
        ]
    )
    executed, coverage, features = numbers(lines)
    new = sorted(set(os.listdir(findings)) - before)
    found += [os.path.join(findings, name) for name in new]
    print(f"{target:<14}{executed:>10}{coverage:>9}{features:>9}{len(found):>10}", flush=True)
    if code != 0 or found:
        print("\n".join(line for line in lines[-60:] if not line.startswith("#")))
        for path in found:
            print(f"{target}: try it again: {try_again(program, target, path)}", flush=True)
        if not found:
            print(f"{target}: ended with {code}")
    return code != 0 or bool(found)


def merge(program, target):
    """Of what was learned, the smallest set that reaches all that is reached."""
    corpus, learned, _ = folders(target)
    lines, code = call([*base(program, target), "-merge=1", "-reduce_inputs=1", corpus, learned])
    print("\n".join(lines[-3:]))
    return code


def main(argv):
    program = os.path.abspath(argv[1])
    if argv[2:3] == ["--merge"]:
        return merge(program, argv[3])
    known = subprocess.run([program], capture_output=True, check=True).stdout.decode().split()
    chosen = argv[2] if len(argv) > 2 else "all"
    if chosen != "all" and chosen not in known:
        print(f"fuzz: no target {chosen}; there are {' '.join(known)}", file=sys.stderr)
        return 2
    minutes = float(argv[3]) if len(argv) > 3 else 1
    print(f"{'target':<14}{'inputs':>10}{'branches':>9}{'features':>9}{'findings':>10}", flush=True)
    failed = False
    for target in known if chosen == "all" else [chosen]:
        failed = fuzz(program, target, minutes) or failed
    return 1 if failed else 0


sys.exit(main(sys.argv))
