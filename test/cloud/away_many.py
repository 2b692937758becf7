# SPDX-License-Identifier: Apache-2.0
"""What calls of a function, or runs of a job, cost that looks after a ledger of many jobs: copies of one
that was submitted, each active one with a machine of its own. Requests, the most memory, and the time
on this machine (printed, not judged). Of both clouds: test/ec2/away_many.py, test/gcp/away_many.py."""

import hashlib
import json
import pathlib
import re
from concurrent.futures import ThreadPoolExecutor


def name_of(number):
    return "m" + hashlib.sha256(str(number).encode()).hexdigest()[:7]


def as_other(text, job, other):
    """The same job under another name: its tokens are others, too."""
    told = text.replace(job, other)
    for token in set(re.findall(r'"token": ?"([^"]+)"', told)):
        told = told.replace(token, hashlib.sha256((other + token).encode()).hexdigest()[: len(token)])
    return told


def peak_mb(pid):
    """The most memory that it has had; 0 where it is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0


class Many:
    """`read(key)`, `write(key, text)`: of objects. `stands(record, other)`: the machine of a copy, as if it had been
    asked for; what it says takes the record's place. `call()`: (what it told or None, what it said,
    seconds, most MB, requests by name). `launches`: by these names."""

    def __init__(self, lab, world, job, read, write, stands, call, launches, most_mb):
        self.lab, self.world, self.job = lab, world, job
        self.read, self.write, self.stands, self.call = read, write, stands, call
        self.launches, self.most_mb = launches, most_mb

    def fill(self, active, ended):
        name = self.world.name
        text, spec = (self.read(f"{name}/{each}") for each in (f"records/{self.job}.json", f"jobs/{self.job}/spec.yaml"))
        over = json.dumps({**json.loads(text), "state": "Succeeded"})

        def add(number):
            other = name_of(number)
            alive = number < active
            mine = as_other(text if alive else over, self.job, other)
            if alive:
                mine = json.dumps(self.stands(json.loads(mine), other))
            self.write(f"{name}/records/{other}.json", mine)
            if alive:
                self.write(f"{name}/jobs/{other}/spec.yaml", spec)
                self.write(f"{name}/active/{other}", "")

        with ThreadPoolExecutor(8) as several:
            list(several.map(add, range(active + ended)))

    def called(self, which):
        told, said, took, peak, asked = self.call()
        shown = {key: told[key] for key in ("passed", "changed", "left", "swept")} if told else said
        print(f"      {which}: {took:.1f} s, {peak:.0f} MB at most, asked {dict(asked)}: {shown}", flush=True)
        return told, peak, asked

    def look(self, check, jobs):
        """Calls until all of `jobs` were looked at, and one more."""
        passed = 0
        for number in range(1, 21):
            told, peak, asked = self.called(f"call {number}")
            check("it asks for no machine", told and not set(self.launches) & set(asked), (told, asked))
            check("in less memory than it has", 0 < peak < self.most_mb, peak)
            passed += told["passed"]
            if told["left"] == 0:
                break
        looked = passed >= jobs and told["left"] == 0
        check(f"{number} calls have looked at each of {jobs} jobs, whatever has ended", looked, (passed, told))
        told, peak, asked = self.called("the next call")
        whole = told["passed"] == told["active"] == jobs and told["left"] == 0
        check("where nothing is to do, one call looks at all", whole and not told["changed"], told)
