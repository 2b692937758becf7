# SPDX-License-Identifier: Apache-2.0
"""Each habit in peace, at several paces, and then an interruption notice: how many saves would be
done again, and how the owner is told where it is more than two."""

import re
import time

from test.outside import jobs, oracle

LEAD = "15s"
MOST_LOST = 2
# So many saves before the notice, by the seconds between two of them.
SAVES = {1: 20, 3: 9, 6: 6, 11: 5}
FINAL = ("Succeeded", "Failed", "Cancelled")


class Trial:
    def __init__(self, world, habit, interval):
        self.world, self.habit, self.interval = world, habit, interval
        self.name = f"calm-{habit}-{interval:g}".replace("_", "-").replace(".", "-")
        self.wanted = SAVES.get(int(interval), 8)
        # Between two saves, each time elsewhere.
        self.phase = (sum(habit.encode()) % 10 / 10 + 0.05) * interval
        self.noticed = None

    def submit(self):
        path = self.world.work / f"{self.name}.yaml"
        path.write_text(jobs.job_file(self.world, self.name, self.habit, 1000, self.interval, look=True))
        self.id = self.world.submit(path)

    def step(self):
        """True when the job has ended."""
        events = self.events()
        if not self.noticed:
            saves = [e for e in events if e["e"] == "saved"]
            if len(saves) >= self.wanted and time.time() > saves[-1]["t"] + self.phase:
                self.noticed = self.world.stoker("preempt", self.id, "--in", LEAD, check=True)
            return False
        return self.world.job(self.id)["state"] in FINAL

    def events(self):
        return jobs.evidence(self.world, self.id).get(0, [])

    def verdict(self):
        """A row of the table, and what is wrong, if anything is."""
        made, restored = oracle.lost_saves(self.events())
        shown = self.world.json("show", self.id)["job"]
        logs = self.world.stoker("logs", self.id).stdout
        begun = next((a.get("restore", "") for a in shown["attempts"] if a["number"] == 2), "")
        listed = self.world.json("checkpoints", self.id)
        how = {one["id"]: one["recognised_by"] for one in listed}.get(begun, "")
        lost = made - (restored or 0)
        said = f"whole {begun} ({how})" if how and how != "as-left" else begun or "nothing"
        wrong = []
        # A torn state may only come out of what was left, and then its program has ended on it.
        facts = oracle.Facts({0: self.events()}, {"job": shown}, [], quiet=2.0)
        wrong += [text for _, text in oracle.judge_restores(facts, oracle.collections.Counter())]
        if "as-left" in begun:
            if "as a program left it" not in logs:
                wrong.append("what was left was restored without a word")
        elif lost > MOST_LOST:
            said, more = self.as_left(logs, made)
            wrong += more
        if restored is None:
            wrong.append("no second program began")
        if shown["state"] != "Succeeded":
            wrong.append(f"{shown['state']}: {shown.get('result')}")
        return (self.habit, self.interval, made, restored, lost, said), wrong

    def as_left(self, logs, made):
        """More was lost than two saves: what was left must be kept, named, and of use."""
        found = re.search(r"stoker run --from (\S+/as-left)", logs)
        if not found and "there was no time" in logs:
            enough = jobs.HABITS[self.habit].get("many")
            return "no time, and said", [] if enough else ["there was no time to save it"]
        if not found:
            return "SILENT", ["more than two saves are lost, and nothing says so"]
        path = self.world.work / f"{self.name}.yaml"
        job = self.world.json("run", "--detach", path, "--from", found[1])["id"]
        self.world.stoker("wait", job, timeout=60)
        events = jobs.evidence(self.world, job).get(0, [])
        step = next((e.get("step") for e in events if e["e"] == "restore"), None)
        wrong = [] if step is not None and made - step <= MOST_LOST else [f"'run --from {found[1]}' begins after {step} of {made}"]
        return f"run --from JOB/as-left begins after {step}", wrong


def run(world, results, args):
    paces = [float(one) for one in args.intervals.split(",")]
    waiting = [Trial(world, habit, pace) for pace in sorted(paces, reverse=True) for habit in args.habits.split(",")]
    live, rows = [], []
    while waiting or live:
        while waiting and len(live) < args.parallel:
            live.append(waiting.pop(0))
            live[-1].submit()
        for trial in [trial for trial in live if trial.step()]:
            live.remove(trial)
            row, wrong = trial.verdict()
            rows.append(row)
            results.check(f"calm {' '.join(map(str, row))}", not wrong, "; ".join(wrong))
        time.sleep(0.2)
    print(table(rows, paces))


def table(rows, paces):
    """Markdown: of each habit and pace the saves made, the newest restored, and how."""
    cells = {(row[0], row[1]): row for row in rows}
    lines = ["| habit | " + " | ".join(f"each {pace:g} s" for pace in paces) + " |", "|---|" + "---|" * len(paces)]
    for habit in dict.fromkeys(row[0] for row in rows):
        line = [habit]
        for pace in paces:
            row = cells.get((habit, pace))
            line.append(f"{row[3]} of {row[2]}, {row[5]}" if row else "")
        lines.append("| " + " | ".join(line) + " |")
    lost = [row[4] for row in rows]
    lines.append(f"\ncalm: {len(rows)} trials; saves lost: {sum(lost)} in all, {max(lost)} at most")
    return "\n".join(lines)
