#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two machines that share only the bucket: one submits and runs, the other lists, follows, shows
and cancels. Each has its own network, files, processes, host name and boot (apart.py); the bucket
is versitygw's, which verifies signatures."""

import os
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import versity_s3
from test.e2e.kit import apart
from test.e2e.kit.harness import PYTHON, Results, World
from test.e2e.kit.job_kit import clock, follows_closely, lags_of, running

STORE = f"s3://{versity_s3.BUCKET}/team"


class Remote(World):
    """A world on a machine of its own."""

    def __init__(self, number, name, server, hidden=()):
        super().__init__(name)
        self.machine = apart.Machine(number, name, self.root, hidden)
        port = server.endpoint.rsplit(":", 1)[1]
        self.env.update(server.env(f"http://{self.machine.here}:{port}"))
        self.stoker("config", "set", "store", STORE, check=True)

    def command(self, args, cwd):
        return [*self.machine.wrap, f"--wdns={cwd}", "--", *super().command(args, cwd)]

    def close(self, keep=False):
        self.machine.close()
        super().close(keep)


def test_apart(results, server, here, there):
    port = int(server.endpoint.rsplit(":", 1)[1])
    listening = here.machine.listens()
    results.check(
        "both reach the bucket, and not one another",
        here.machine.reaches(here.machine.here, port)
        and there.machine.reaches(there.machine.here, port)
        and not there.machine.reaches(here.machine.there, listening),
    )


def test_followed(results, here, there):
    clock(here, 20)
    job = running(here, here.submit("--name", "followed", "--", PYTHON, "prog.py"))
    listed = {j["id"]: j for j in there.json("ls")}
    results.check("the other lists it", listed.get(job, {}).get("state") == "Running", listed.get(job))
    shown = there.json("show", job)["job"]
    results.check("the other shows it", shown["name"] == "followed", shown)
    follows_closely(results, lags_of(there, job), 8)
    ended = there.job(job)
    results.check("the other sees its end", ended["state"] == "Succeeded", ended.get("result"))
    return job


def test_cancelled(results, here, there):
    job = running(here, here.submit("--name", "endless", "--", "sh", "-c", "sleep 600"))
    there.stoker("cancel", job, check=True)
    waited = here.stoker("wait", job, timeout=60)
    ended = here.job(job)
    results.check("the other cancels", ended["state"] == "Cancelled", (waited.stderr, ended))
    here.wait_for("its machine ends", lambda: not here.instances(), timeout=60)
    results.check("and its machine ends", not here.instances(), here.instances())
    results.check("nothing of it ran on the other", not there.instances(), there.instances())


def test_both(results, here, there):
    """At the same time, each its own, and each sees both."""
    jobs = [w.submit("--name", "own", "--", "sh", "-c", "sleep 2; hostname") for w in (here, there)]
    codes = [w.stoker("wait", jobs[1 - at]).returncode for at, w in enumerate((here, there))]
    said = [w.stoker("logs", jobs[1 - at]).stdout for at, w in enumerate((here, there))]
    results.check(
        "each waits for the other's job, and reads where it ran",
        codes == [0, 0] and there.machine.name in said[0] and here.machine.name in said[1],
        (codes, said),
    )
    records = [here.job(job) for job in jobs]
    results.check("two hosts", records[0].get("host") != records[1].get("host"), records)


def main():
    apart.enter()
    results = Results()
    print(f"as {'an ordinary user' if os.environ.get(apart.USER) != '0' else 'root'}", flush=True)
    with versity_s3.VersityS3(host="0.0.0.0") as server:
        with Remote(1, "birch", server) as here:
            with Remote(2, "maple", server, hidden=[here.root]) as there:
                here.machine.inside("mount", "-t", "tmpfs", "nothing", there.root)
                test_apart(results, server, here, there)
                test_followed(results, here, there)
                test_cancelled(results, here, there)
                test_both(results, here, there)
                there.stoker("gc", check=True)
                results.check("no multipart upload is left", not server.uploads())
    results.finish()


if __name__ == "__main__":
    main()
