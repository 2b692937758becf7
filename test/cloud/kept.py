#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines of a job that failed (keep_failed), and `stoker ssh` to them, with machines that do not
boot: this test says what their nodes would say. Judged by what the lab has and was asked, and by an
ssh, or a gcloud, of the test's own, which tells what it was called with. By itself, as only a machine
that boots can, one ends in boots.py kept.

    kept.py ec2|gcp [PART…]"""

import json
import os
import pathlib
import signal
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import Ec2Lab, GceLab, enter, play

enter()
from test.e2e.kit.harness import parts_of

KEPT = ("--keep-failed", "30m")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKm4Qb7tJmVYkqDdKQ0pJ6mXn4o0aQmSg0JqYb4r2Xyz"
HERE = "198.51.100.7"
SSH = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done >"$EVIDENCE/words"
while [ $# -gt 0 ]; do
  case $1 in
    -i) cp "$2" "$EVIDENCE/key" ;;
    UserKnownHostsFile=*) eval "cp ${1#*=} $EVIDENCE/known" ;;
  esac
  shift
done
touch "$EVIDENCE/there"
while [ ! -e "$EVIDENCE/go" ]; do sleep 0.05; done
exit 7
"""
GCLOUD = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done >"$EVIDENCE/words"
exit 7
"""


def until_ended(lab, world, job, machine):
    world.wait_for("it is ended", lambda: world.stoker("show", job).returncode == 0 and lab.ended(machine), 100, 0.5)


def test_kept(lab, check):
    with lab.world("kept") as world:
        job, machine = lab.fails(world, *KEPT)
        launch = world.job(job)["launches"][0]
        check("in the write that ends the job its launch is closed as kept", launch["close_reason"] == "kept", launch)
        shown = world.stoker("show", job).stdout
        check("show says until when, what it costs, and how to end it", "is kept until" in shown and f"stoker cancel {job}" in shown, shown)
        listed = [each for each in world.json("ls") if each["id"] == job][0]
        check("so does ls --json", listed["kept_until"] == launch["kept_until"], listed)
        own = str(machine.id)  # at Google a number
        check("ls has the place's own id of its machine", listed["instance"] == own, (listed, launch))
        check("show has it, too, and the name", own in shown and lab.id(machine) in shown, shown)
        place = listed["place"]
        told = [line for line in world.stoker("ls").stdout.splitlines() if job in line]
        check("the place is as --infra takes it", place in shown and place.startswith(lab.infra) and place in told[0], (told, shown))
        told = world.json("gc")["cloud"]["things"]
        over = [each for each in told if each["job"] == job and each["over"]]
        check("gc does not end it", not over and not lab.ended(machine), told)
        done = world.stoker("cancel", job)
        check("cancel ends it, and says so", done.returncode == 0 and "kept no longer" in done.stdout, done.stdout + done.stderr)
        until_ended(lab, world, job, machine)
        check("and the job stays as it ended", world.job(job)["state"] == "Failed")
        plain, machine = lab.fails(world)
        check("without the key nothing is kept", world.job(plain)["launches"][0]["close_reason"] == "done")
        until_ended(lab, world, plain, machine)


def ec2_all(lab, check):
    """`cancel --all` is of what costs, too."""
    with lab.world("all") as world:
        over, _ = lab.fails(world)
        job, machine = lab.fails(world, *KEPT)
        runs = world.submit("--infra", lab.infra, "--instance-type", lab.kind, "--", "false")
        asked = world.stoker("cancel", "--all")
        check(
            "cancel --all names what is kept beside what runs, and asks",
            asked.returncode == 2
            and "2 jobs" in asked.stderr
            and runs in asked.stderr
            and f"{job}; Failed, its machines are kept" in asked.stderr
            and over not in asked.stderr,
            asked.stderr,
        )
        check("and ends nothing yet", not lab.ended(machine))
        done = world.stoker("cancel", "--all", "--yes", "--no-wait")
        told = done.stdout.splitlines()
        check(
            "with --yes it ends both, and says so",
            done.returncode == 0
            and any(job in line and "kept no longer" in line for line in told)
            and any(runs in line for line in told)
            and len(told) == 2,
            done.stdout + done.stderr,
        )
        until_ended(lab, world, job, machine)
        states = (world.job(job)["state"], world.job(runs)["state"])
        check("its job stays Failed, the other is Cancelled", states == ("Failed", "Cancelled"), states)
        none = world.stoker("cancel", "--all")
        check("then there is nothing to cancel", none.returncode == 0 and "no job that has not ended" in none.stderr, none.stderr)


def rules(lab):
    told = lab.below.client("ec2").describe_security_group_rules()["SecurityGroupRules"]
    return [each for each in told if each.get("FromPort") == 22]


def session(world, job, *words):
    """`stoker ssh` that has come to the test's ssh."""
    for name in ("words", "key", "known", "there", "go"):
        (world.evidence / name).unlink(missing_ok=True)
    started = world.start("ssh", job, "--from", HERE, *words, env={"EVIDENCE": str(world.evidence)})
    world.wait_for("ssh is called", lambda: (world.evidence / "there").exists() or started.poll() is not None)
    return started


def expires(lab, text=None):
    """Of the one rule that there is; with `text`, it is set so."""
    (rule,) = rules(lab)
    if text:
        lab.below.client("ec2").create_tags(Resources=[rule["SecurityGroupRuleId"]], Tags=[{"Key": "stoker-expires", "Value": text}])
    return {each["Key"]: each["Value"] for each in rule.get("Tags", [])}.get("stoker-expires")


def doubled(lab, world, job, check):
    """EC2 says that there is such a rule already."""

    def end(started):
        (world.evidence / "go").touch()
        return started.wait(30) == 7

    left = rules(lab)[0]["SecurityGroupRuleId"]
    expires(lab, "2020-01-01T00:00:00Z")
    one = session(world, job)
    until = world.job(job)["launches"][0]["kept_until"]
    check(
        "what a killed one has left is replaced, with the new time",
        len(rules(lab)) == 1 and rules(lab)[0]["SecurityGroupRuleId"] != left and expires(lab) == until,
        rules(lab),
    )
    check("and goes with the new session", end(one) and not rules(lab), rules(lab))

    one = session(world, job)
    two = session(world, job)
    newest = rules(lab)
    check("two at once have one rule", len(newest) == 1, newest)
    children = pathlib.Path(f"/proc/{one.pid}/task/{one.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    check("which the first leaves to the second", one.wait(30) == 128 + signal.SIGKILL and rules(lab) == newest, rules(lab))
    check("that takes it along", end(two) and not rules(lab), rules(lab))

    lab.ec2.faults.add("AuthorizeSecurityGroupIngress", "lost_answer", 1)
    one = session(world, job)
    check("where the answer was lost, the rule is there once", len(rules(lab)) == 1, rules(lab))
    check("and goes", end(one) and not rules(lab), rules(lab))

    own = {"GroupId": newest[0]["GroupId"], "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": f"{HERE}/32"}
    lab.below.client("ec2").authorize_security_group_ingress(**own)
    one = session(world, job)
    check("somebody's own rule will do, and stays", end(one) and len(rules(lab)) == 1, rules(lab))
    lab.below.client("ec2").revoke_security_group_ingress(**own)
    check("nothing else is left", not rules(lab), rules(lab))


def ec2_ssh(lab, check):
    with lab.world("door") as world:
        tools = world.root / "tools"
        tools.mkdir()
        (tools / "ssh").write_text(SSH)
        (tools / "ssh").chmod(0o755)
        world.env["PATH"] = f"{tools}:{world.env['PATH']}"
        job, machine = lab.fails(world, *KEPT, host_keys=[KEY], ssh_user="ubuntu")
        since = len(lab.log)
        started = session(world, job, "--", "ls", "a b")
        words = (world.evidence / "words").read_text().splitlines()
        check(
            "ssh is called with the host key of the report, and no other counts",
            (world.evidence / "known").read_text() == f"{machine.id} {KEY}\n"
            and f"HostKeyAlias={machine.id}" in words
            and "StrictHostKeyChecking=yes" in words,
            words,
        )
        check(
            "with a key of its own, the user of the image, the command",
            "PRIVATE KEY" in (world.evidence / "key").read_text()
            and words[words.index("-l") + 1] == "ubuntu"
            and words[-1] == "'ls' 'a b'",
            words,
        )
        open_now = rules(lab)
        tags = {each["Key"]: each["Value"] for one in open_now for each in one.get("Tags", [])}
        until = world.job(job)["launches"][0]["kept_until"]
        check(
            "port 22 is open to the caller alone, until the machine ends",
            len(open_now) == 1
            and open_now[0]["CidrIpv4"] == f"{HERE}/32"
            and open_now[0]["ToPort"] == 22
            and f"stoker-expires={until}" in open_now[0]["Description"]
            and tags.get("stoker-expires") == until,
            open_now,
        )
        (world.evidence / "go").touch()
        check("it ends with the exit code of ssh", started.wait(30) == 7)
        check("and the port is shut", not rules(lab), rules(lab))
        asked = [name for name in lab.asked(since) if not name.startswith("Describe")]
        check(
            "that is all that is asked for",
            [each for each in asked if "/" not in each]
            == ["AuthorizeSecurityGroupIngress", "SendSSHPublicKey", "RevokeSecurityGroupIngress"],
            asked,
        )

        started = session(world, job)
        os.kill(started.pid, signal.SIGINT)
        (world.evidence / "go").touch()
        check("after Ctrl-C, too", started.wait(30) == 7 and not rules(lab), rules(lab))
        started = session(world, job)
        started.send_signal(signal.SIGKILL)
        started.wait()
        (world.evidence / "go").touch()
        check("killed, it leaves its rule", len(rules(lab)) == 1)
        world.stoker("gc", check=True)
        check("which gc leaves until its time is over", len(rules(lab)) == 1)
        doubled(lab, world, job, check)
        session(world, job).kill()
        (world.evidence / "go").touch()
        lab.below.client("ec2").create_tags(
            Resources=[rules(lab)[0]["SecurityGroupRuleId"]], Tags=[{"Key": "stoker-expires", "Value": "2020-01-01T00:00:00Z"}]
        )
        world.stoker("gc", check=True)
        check("and then removes", not rules(lab), rules(lab))

        policy = world.json("doctor", "--iam", "--infra", "aws/us-east-1")["submitter"]
        world.env.update(lab.env(lab.user("enters", policy)))
        (world.evidence / "go").touch()
        done = world.stoker("ssh", job, "--from", HERE, env={"EVIDENCE": str(world.evidence)})
        check("the printed rights are enough", done.returncode == 7 and not rules(lab), done.stderr)
        less = json.loads(json.dumps(policy))
        less["Statement"] = [each for each in less["Statement"] if each["Sid"] != "Ssh"]
        world.env.update(lab.env(lab.user("keyless", less)))
        done = world.stoker("ssh", job, "--from", HERE, env={"EVIDENCE": str(world.evidence)})
        check(
            "without that to send a key it is said, and the port is shut",
            done.returncode == 1 and "SendSSHPublicKey" in done.stderr and not rules(lab),
            done.stderr,
        )
        world.env.update(lab.env())

        refused = world.stoker("ssh", job, "--rank", "1")
        check("a node that is not there is named", refused.returncode == 2 and "nodes 0 to 0" in refused.stderr, refused.stderr)
        world.stoker("cancel", job)
        late = world.stoker("ssh", job, "--from", HERE)
        check("once it is not kept any more, that is said", late.returncode == 1 and "not there any more" in late.stderr, late.stderr)
        here = world.submit("--", "true")
        world.stoker("wait", here)
        local = world.stoker("ssh", here)
        check(
            "of a job of this machine that has ended it says so, and where what it made is",
            local.returncode == 1 and "not there any more" in local.stderr and f"stoker get {here}" in local.stderr,
            local.stderr,
        )


def gcp_over(lab, check):
    """Its time is over and its VM, which hangs, does not end: whoever clears up next ends it."""
    with lab.world("over") as world:
        job, machine = lab.fails(world, "--keep-failed", "1m")
        check("over: it is kept", not machine.gone and world.job(job)["launches"][0]["close_reason"] == "kept")

        def named():
            return [each["over"] for each in world.json("gc", "--dry-run")["cloud"]["things"] if each["id"] == machine.name]

        world.wait_for("its time is over", lambda: named() not in ([], [""]), 120, 2)
        check("over: who only looks ends nothing", not machine.gone)
        world.stoker("gc", check=True)
        world.wait_for("it is ended", lambda: machine.gone, 20)
        check("over: gc ends it", machine.gone)


def gcp_ssh(lab, check):
    with lab.world("door") as world:
        job, machine = lab.fails(world, *KEPT)
        since = len(lab.log)
        empty = world.root / "empty"
        empty.mkdir()
        none = world.stoker("ssh", job, env={"PATH": str(empty)})
        check("without gcloud that is said", none.returncode == 1 and "gcloud" in none.stderr, (none.returncode, none.stderr))
        tools = world.root / "tools"
        tools.mkdir()
        (tools / "gcloud").write_text(GCLOUD)
        (tools / "gcloud").chmod(0o755)
        env = {"PATH": f"{tools}:{world.env['PATH']}", "EVIDENCE": str(world.evidence)}
        done = world.stoker("ssh", job, "--", "ls", "a b", env=env)
        words = (world.evidence / "words").read_text().splitlines()
        check(
            "gcloud is called with its VM, project and zone, through IAP",
            words[:2] == ["compute", "ssh"]
            and words[2].split("@")[-1] == machine.name
            and words[words.index("--project") + 1] == machine.project
            and words[words.index("--zone") + 1] == machine.zone
            and "--tunnel-through-iap" in words,
            words,
        )
        check("with the command", words[-1] == "--command='ls' 'a b'", words)
        check("its exit code is that of gcloud", done.returncode == 7, done.stderr)
        changed = [each for each in lab.asked(since) if each.endswith(("nsert", "delete"))]
        check("stoker itself changes nothing for that", not changed, changed)
        world.stoker("cancel", job, check=True)
        until_ended(lab, world, job, machine)
        late = world.stoker("ssh", job, env=env)
        check("once it is not kept any more, that is said", late.returncode == 1 and "not there any more" in late.stderr, late.stderr)


if __name__ == "__main__":
    cloud, *names = sys.argv[1:]
    play({"ec2": Ec2Lab, "gcp": GceLab}[cloud], parts_of(globals(), cloud), names)
