# SPDX-License-Identifier: Apache-2.0
"""The command line in the orders that people type it, and what is said to those who come from
another tool."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World

# Each line is the same job: A=1, lr 0.1, output "out".
ORDERS = """
--env A=1 --hp lr=0.1 --output out job.yaml
job.yaml --env A=1 --hp lr=0.1 --output out
--env A=1 job.yaml --hp lr=0.1 --output out
--env=A=1 job.yaml --hp=lr=0.1 --output=out
--output out --hp lr=0.1 --env A=1 -q -y job.yaml
-qy --hp lr=0.1 job.yaml --output out --env A=1 -d
--env A=0 --env A=1 --hp lr=0.1 --output out job.yaml
"""
COMMANDS = """
--env A=1 --hp lr=0.1 --output out -- echo --env A=2 job.yaml
--output=out -q --env=A=1 --hp=lr=0.1 -- echo --env A=2 job.yaml
"""
# Wrong: the words, and what the answer must name.
WRONG = [
    ("run job.yaml --env A=1 B=2", "not expected: B=2"),
    ("run --env", "--env"),
    ("run job.yaml --env A=1 B=2", "Give --env again for each: --env B=2"),
    ("run --env A=1 B=2 -- true", "'B=2' is no job file"),
    ("run --hp A=1 B=2", "Give --hp again for each: --hp B=2"),
    ("run --secret A B -- true", "Give --secret again for each: --secret B"),
    ("ls train", "stoker ls --name train"),
    ("ls train", "stoker show train"),
    ("config store /tmp/x", "stoker config set store /tmp/x"),
    ("config store", "stoker config get store"),
    ("run --nodes 2 -- true", "--num-nodes N"),
    ("run -N 2 -- true", "--num-nodes N"),
    ("run --retries 2 -- true", "--max-restarts N"),
    ("run --timeout 2h -- true", "--max-duration 8h"),
    ("run --gres gpu:1 -- true", "--gpus N"),
    ("run --gras 1 -- true", "See 'stoker run --help'"),
    ("sync -av a b", "stoker sync SRC DST"),
    ("prune", "stoker gc"),
    ("fetch", "stoker get JOB"),
    ("get -o d one", "stoker get JOB ./DIR"),
    ("run --env= job.yaml", "'--env=' has no value"),
    ("run --name= job.yaml", "'--name=' has no value"),
    ("run --hp lr=0.1", "nothing to run"),
    ("run job.yaml -- echo", "both a job file and a command"),
    ("run python3 x.py", "stoker run -- python3 x.py"),
    ("run -q --env A=1 python3 x.py --lr 0.1", "stoker run -q --env A=1 -- python3 x.py --lr 0.1"),
    ("run x.py", "stoker run -- python3 x.py"),
    ("run tool", "stoker run -- ./tool"),
    ("run --gpu 1 -- true", "--gpus N"),
    ("run --outptu o -- true", "Did you mean '--output'?"),
    ("run absent.sh", "stoker run -- bash absent.sh"),
    ("run -n", "-n"),
    ("run -d -c job.yaml", "no cluster to choose"),
    ("run -Z -- true", "See 'stoker run --help'"),
    ("ls -l", "--columns A,B,C"),
    ("ls -x", "See 'stoker ls --help'"),
    ("logs -n 3 one", "--tail 3"),
    ("cancel", "stoker cancel --all"),
    ("cancel --all one", "both jobs and --all"),
    ("ls -- x", "'--' is not expected here"),
    ("status", "stoker ls"),
    ("queue", "stoker ls"),
    ("ps", "stoker ls"),
    ("stop", "stoker cancel JOB"),
    ("down", "stoker cancel JOB"),
    ("rm", "stoker rm JOB"),
    ("submit", "stoker run job.yaml"),
    ("launch", "stoker run job.yaml"),
    ("exec", "stoker run job.yaml"),
    ("lgos", "stoker logs"),
]
# Around one job that ended: each pair says the same.
SAME = [
    ("logs -f one", "logs one -f"),
    ("logs -n --tail 1 one", "logs one --tail=1 -n"),
    ("logs --node 0 --attempt 1 one", "logs one --attempt=1 --node=0"),
    ("wait --timeout 9s one", "wait one --timeout=9s"),
    ("cancel --no-wait one", "cancel one --no-wait"),
    ("ls --state succeeded --ids", "ls --ids --state Succeeded"),
    ("get -l one", "get one -l"),
    ("ls --name one --state Succeeded --ids", "ls --ids --state=Succeeded --name=one"),
    ("--json checkpoints one", "checkpoints one --json"),
    ("help logs", "logs --help"),
]


def main():
    results = Results()
    with World("words") as world:
        (world.work / "job.yaml").write_text("run: echo hi\n")
        (world.work / "x.py").write_text("print(1)\n")
        (world.work / "tool").write_text("#!/bin/sh\necho hi\n")
        for orders in (ORDERS, COMMANDS):
            seen = [world.stoker("run", "--dry-run", *words.split()) for words in orders.strip().split("\n")]
            for words, done in zip(orders.strip().split("\n"), seen):
                good = 'A: "1"' in done.stdout and "lr" in done.stdout and "out" in done.stdout
                results.check(f"run {words}", done.returncode == 0 and good and done.stdout == seen[0].stdout, done.stdout + done.stderr)
        for words, said in WRONG:
            done = world.stoker(*words.split())
            results.check(f"{words}: is told", done.returncode == 2 and said in done.stderr, f"{done.returncode} {done.stderr}")
        for line, said in (
            ("python3 x.py --lr 1", "stoker run -- python3 x.py --lr 1"),
            ("echo a; echo b", "stoker run -- bash -c 'echo a; echo b'"),
        ):
            done = world.stoker("run", line)
            results.check(f"run '{line}': is told", done.returncode == 2 and said in done.stderr, done.stderr)
        job = world.submit("-n", "one", "--output", "out", "--", "sh", "-c", "mkdir out; echo a > out/f; echo said")
        world.stoker("wait", job, check=True)
        for first, second in SAME:
            one, other = (world.stoker(*words.split()) for words in (first, second))
            results.check(
                f"{first} is {second}",
                one.returncode == other.returncode == 0 and one.stdout == other.stdout and one.stdout,
                f"{one.stdout}{one.stderr} {other.stdout}{other.stderr}",
            )
        for words, said in (
            ("get --node 5 one", "the job has nodes 0 to 0"),
            ("get --node 5 one checkpoint", "the job has nodes 0 to 0"),
            ("logs --tail=-1 one", "no negative numbers"),
        ):
            done = world.stoker(*words.split())
            results.check(f"{words}: is told", done.returncode == 2 and said in done.stderr, done.stderr)
        done = world.stoker("get", "--node", "0", "one", "./of-0")
        results.check(
            "get --node 0: that is there", done.returncode == 0 and (world.work / "of-0" / "out" / "f").read_text() == "a\n", done.stderr
        )
        none = world.stoker("ls", "--state", "waiting")
        results.check("ls: none in a state is not none at all", none.returncode == 0 and "no job is like that" in none.stderr, none.stderr)
        (world.root / "only3").mkdir()
        (world.root / "only3" / "python3").symlink_to(sys.executable)
        done = world.stoker("run", "--", "python", "x.py", env={"PATH": str(world.root / "only3")})
        results.check(
            "python where only python3 is", done.returncode == 127 and "python3 is there: write python3" in done.stderr, done.stderr
        )
        done = world.stoker("cancel", "one", "--no-wait", job)
        results.check("cancel JOB --flag JOB", done.stdout.count("ended already") == 2, done.stdout)
    results.finish()


main()
