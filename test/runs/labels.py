# SPDX-License-Identifier: Apache-2.0
"""Runs are things: names, tags and notes beside the record, a retry that changes something, and a
shell beside the program."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World
from test.e2e.kit.job_kit import running, texts

JOB = """name: first
workdir: .
hyperparameters:
  lr: 0.1
  depth: 2
envs:
  EPOCHS: "3"
secrets: [KEY]
run: |
  touch here
  echo "lr=$STOKER_HP_lr depth=$STOKER_HP_depth epochs=$EPOCHS memory=$M"
  GATE
"""


def record(world, job):
    """The bytes of the newest revision."""
    folder = world.store / "records" / f"{job}.json.rev"
    return max(p for p in folder.iterdir() if p.name[0].isdigit()).read_bytes()


def test_running(results, world, job):
    at = str(world.state / "work")
    done = world.stoker("ssh", job, "--", "pwd; ls; echo $STOKER_HP_lr $KEY; exit 7")
    said = done.stdout.split()
    results.check("ssh: in its work directory", said and said[0].startswith(at), done)
    results.check("ssh: among its files", "here" in said, done.stdout)
    results.check("ssh: with its variables and secrets", said[-2:] == ["0.1", "s3cr3t"], said)
    results.check("ssh: with the command's exit code", done.returncode == 7, done.returncode)
    done = world.stoker("ssh", job, "--", "touch", "beside")
    results.check("ssh: words of a command", done.returncode == 0, done.stderr)
    done = world.stoker("ssh", job, "--", "ls", "beside")
    results.check("ssh: what it made stays", done.stdout == "beside\n", done)
    world.stoker("rename", job, "baseline", check=True)
    results.check("rename: the new name means it", world.job("baseline")["id"] == job)
    old = world.stoker("show", "first")
    results.check("rename: the old one does not, and the error knows", old.returncode == 1 and "baseline" in old.stderr, old.stderr)


def test_at_once(results, world, job):
    tags = [f"t{n}" for n in range(6)]
    for process in [world.start("tag", job, tag) for tag in tags]:
        results.check("tag: at once", process.wait(60) == 0, process.stderr.read())
    row = world.json("ls")[0]
    results.check("tag: none of six at once is lost", row["tags"] == tags, row)


def test_ended(results, world, job):
    before = record(world, job)
    world.stoker("tag", job, "best", check=True)
    world.stoker("tag", job, *[f"t{n}" for n in range(6)], "--remove", check=True)
    world.stoker("note", job, 'lr too\nhigh, "perhaps"', check=True)
    world.stoker("rename", job, "done", check=True)
    results.check("an ended record stays as it is", record(world, job) == before)
    row = world.json("ls", "--tag", "best")[0]
    results.check(
        "ls: name, tags, note, command",
        (row["name"], row["tags"], row["note"]) == ("done", ["best"], 'lr too high, "perhaps"') and row["command"].startswith("touch here"),
        row,
    )
    results.check("ls --tag: others are left out", world.json("ls", "--tag", "bes") == [])
    results.check("ls --where", world.json("ls", "--where", "tag=best and name=done") != [])
    results.check("ls --where: has it not", world.json("ls", "--where", "tag!=best") == [])
    table = world.stoker("ls").stdout
    results.check("ls: TAGS and NOTE appear", "TAGS" in table and "lr too high" in table, table)
    table = world.stoker("ls", "--columns", "command,tags,note,name").stdout
    results.check("ls --columns", "touch here" in table and "COMMAND" in table, table)
    shown = world.stoker("show", job).stdout
    results.check("show", all(word in shown for word in ("done", "first", "best", "lr too high")), shown)
    results.check("note: is printed", world.stoker("note", job).stdout.startswith("lr too high"))
    results.check("tag: are printed", world.stoker("tag", job).stdout == "best\n")
    for words in (
        ["rename", job, "a b"],
        ["rename", job, job],
        ["tag", job, "a,b"],
        ["tag", job, "none", "--remove"],
        ["note", job, "x" * 2001],
    ):
        done = world.stoker(*words)
        results.check(f"refused: {words[0]} {words[2][:5]}", done.returncode == 2, done)
    done = world.stoker("ssh", job)
    results.check("ssh: of an ended job", done.returncode == 1 and "stoker get" in done.stderr, done.stderr)


def test_retry(results, world, job):
    again = world.submit_retry(job)
    world.stoker("wait", again, check=True)
    results.check(
        "retry: with what was changed, and the rest as it was",
        "lr=0.03 depth=2 epochs=40 memory=1" in texts(world, again),
        texts(world, again),
    )
    spec = world.json("show", again)["spec"]
    results.check("retry: spec.yaml shows it", all(word in spec for word in ("0.03", 'depth": 2', '"40"', "536870912B")), spec)
    results.check("retry: under the present name", world.job(again)["name"] == "done")
    done = world.stoker("retry", again, "--hp", "lr")
    results.check("retry: a slip is named", done.returncode == 2 and "--hp" in done.stderr, done)


class Labelled(World):
    def submit_retry(self, job):
        return self.json(
            "retry", job, "--detach", "--hp", "lr=.03", "--env", "EPOCHS=40", "--env", "M=1", "--memory", "512MiB", env={"KEY": "s3cr3t"}
        )["id"]


def main():
    results = Results()
    with Labelled("labels") as world:
        (world.work / "job.yaml").write_text(JOB.replace("GATE", world.gate()))
        job = world.submit("job.yaml", env={"KEY": "s3cr3t"})
        running(world, job)
        world.wait_for("it has begun", lambda: texts(world, job))
        results.run("running", test_running, results, world, job)
        results.run("at once", test_at_once, results, world, job)
        world.open_gate()
        world.stoker("wait", job, check=True)
        results.run("ended", test_ended, results, world, job)
        results.run("retry", test_retry, results, world, job)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
