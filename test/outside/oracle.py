# SPDX-License-Identifier: Apache-2.0
"""What must hold of a job, judged by what its programs told (habits/witness.py) and by what the
command line says of it. Pure: facts in, breaches out, so that forged facts can show that it fails
where it must (outside_test.py).

A breach is (kind, text). Kinds: torn, double, lost (lines of the log), left, never (ended), result,
stale (a start from less than was committed), outputs. `Facts` says where each fact is from."""

import collections
import dataclasses
import datetime
import re

LINE = re.compile(r"L ([oe]) (\d+) ")
SAID_LOST = re.compile(r"^stoker: .*(lines? lost|missing|damaged)")


@dataclasses.dataclass
class Facts:
    evidence: dict  # rank -> events, in order
    shown: dict  # `stoker show --json`
    logs: list  # of `stoker logs --json`
    listed: list = dataclasses.field(default_factory=list)  # (when, `stoker checkpoints --json`)
    got: dict | None = None  # path in hex -> digest, of what `stoker get` brought
    fate: str = "ends"  # or fails (exit code 7), or cancelled
    quiet: float = 2.0
    taken: dict = dataclasses.field(default_factory=dict)  # attempt -> how the test took it
    ships: float = 5.0  # seconds after which a line has left its machine
    keep: int = 0  # the newest so many checkpoints stay; 0 = all

    def attempts(self):
        return {one["number"]: one for one in self.shown["job"]["attempts"]}


def judge(facts):
    """Every breach, and what is no breach but worth counting: (breaches, counts)."""
    counts = collections.Counter()
    breaches = []
    for one in (judge_end, judge_restores, judge_stale, judge_double, judge_lines, judge_outputs):
        breaches += one(facts, counts)
    return breaches, counts


def judge_end(facts, _counts):
    job = facts.shown["job"]
    state, result = job["state"], job.get("result", {})
    good = {
        "ends": state == "Succeeded",
        "fails": state == "Failed" and result.get("exit_code") == 7,
        "cancelled": state in ("Cancelled", "Succeeded"),
    }[facts.fate]
    return [] if good else [("result", f"{facts.fate}: {state}, {result}")]


def is_as_left(restore):
    return "as-left" in restore


def judge_restores(facts, counts):
    """No program found what it had not saved; what was only left is said to be so."""
    breaches = []
    attempts = facts.attempts()
    for rank, events in facts.evidence.items():
        began, completed = set(), set()
        for event in events:
            if event["e"] == "saving":
                began.add(event["step"])
            elif event["e"] == "saved":
                completed.add(event["step"])
            elif event["e"] == "restore":
                restore = attempts.get(event["attempt"], {}).get("restore", "")
                counts[f"found {event['state']}{' as left' if is_as_left(restore) else ''}"] += 1
                who = f"attempt {event['attempt']} node {rank}, from {restore or 'the beginning'}"
                # Of what rank 0 had saved by then.
                saves = (began, completed) if rank == 0 else saves_until(facts, event["t"])
                text = wrong_restore(event, restore, *saves)
                if text and unknowable(facts, event):
                    counts["halves of a first round"] += 1
                elif text:
                    breaches.append(("torn", f"{who}: {text}"))
    breaches += [("torn", text) for text in unequal_ranks(facts)]
    return breaches


def saves_until(facts, when):
    events = [e for e in facts.evidence.get(0, []) if e["t"] <= when]
    return ({e["step"] for e in events if e["e"] == "saving"}, {e["step"] for e in events if e["e"] == "saved"})


def wrong_restore(event, restore, began, completed):
    if event["state"] not in ("whole", "none"):
        return "" if is_as_left(restore) else event.get("why", event["state"])
    if event["state"] == "none":
        return "it found nothing" if restore and not is_as_left(restore) and completed else ""
    if not restore:
        return f"it found step {event['step']}, and stoker says that nothing was restored"
    return "" if event["step"] in began else f"step {event['step']} was never saved"


def unknowable(facts, event):
    """docs/checkpoints.md: a program that has never written its files before may pause between
    them for longer than `quiet`, and is then committed in halves."""
    if event["state"] not in ("mixed", "dangling", "none"):
        return False
    saving = {}
    for one in facts.evidence.get(0, []):
        if one["t"] > event["t"]:
            break
        if one["e"] == "saving":
            saving[one["step"]] = (one["t"], one["who"])
        elif one["e"] == "saved" and one["step"] in saving:
            began, who = saving[one["step"]]
            if one["step"] == 1 and who == one["who"] and one["t"] - began > facts.quiet:
                return True
    return False


def unequal_ranks(facts):
    found = collections.defaultdict(dict)
    for rank, events in facts.evidence.items():
        for event in events:
            if event["e"] == "restore":
                found[event["attempt"]][rank] = (event["state"], event.get("step"))
    return [f"attempt {attempt}: nodes find {by_rank}" for attempt, by_rank in found.items() if len(set(by_rank.values())) > 1]


def order(identity):
    """(attempt, seq) of a checkpoint's id, or None for one of another kind."""
    found = re.fullmatch(r"(\d+)-(\d+)", identity)
    return (int(found[1]), int(found[2])) if found else None


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def judge_stale(facts, _counts):
    """What `checkpoints` had listed before an attempt was opened is no newer than what that
    attempt began from."""
    breaches = []
    suspects = {one["id"] for _, listed in facts.listed for one in listed if one["suspect"]}
    # Two attempts may fail from a checkpoint between two lists.
    suspects.update(facts.shown["job"].get("suspects", []))
    for number, attempt in facts.attempts().items():
        if not any(e["e"] == "restore" and e["attempt"] == number for events in facts.evidence.values() for e in events):
            continue
        begun = order(attempt.get("restore", "")) or (0, 0)
        opened = seconds(attempt["opened"])
        for when, listed in facts.listed:
            whole = [one["id"] for one in listed if one["whole"] and one["id"] not in suspects]
            newest = max(filter(None, map(order, whole)), default=(0, 0))
            # Newer ones, which proved to be no good only later, may have taken its place.
            newer = sum((order(one) or (0, 0)) > newest for one in suspects)
            cleared = facts.keep > 0 and newer >= facts.keep
            if when < opened and newest > begun and newest[0] < number and not cleared:
                breaches.append(("stale", f"attempt {number} begins from {begun}, although {newest} was listed before"))
                break
    return breaches


def judge_double(facts, counts):
    """One program a rank at a time, one for each attempt: by the kernel's lock, and by the order of
    the evidence, in which nobody appears again once another has begun."""
    breaches = []
    for rank, events in facts.evidence.items():
        gone, now, by_attempt = set(), None, {}
        for event in events:
            who = event["who"]
            if event["e"] == "double":
                breaches.append(("double", f"node {rank}: {event['text']}"))
            if event["e"] == "begin":
                counts["starts"] += 1
                if by_attempt.setdefault(event["attempt"], who) != who:
                    breaches.append(("double", f"node {rank}: a second program in attempt {event['attempt']}"))
            if who != now:
                if who in gone:
                    breaches.append(("double", f"node {rank}: {who} goes on beside {now}"))
                gone.add(now)
                now = who
    return breaches


def judge_lines(facts, counts):
    """Each stream's numbered lines are all there, once, in order, up to the last one that the
    program had flushed; or a line says what is missing."""
    flushed, gone = collections.defaultdict(int), collections.defaultdict(int)
    for rank, events in facts.evidence.items():
        ends = {event["who"]: event["t"] for event in events}
        for event in events:
            if event["e"] == "line":
                key = event["attempt"], rank, event["s"]
                flushed[key] = event["n"]
                if event["t"] < ends[event["who"]] - facts.ships:
                    gone[key] = event["n"]
    found = collections.defaultdict(list)
    said = set()
    for line in facts.logs:
        where = (line["attempt"], line["node"])
        match = LINE.match(line["text"])
        if line["stream"] in "oe" and match and match[1] == line["stream"]:
            found[(*where, match[1])].append(int(match[2]))
        elif (line.get("note") or line["stream"] == "s") and SAID_LOST.match(line["text"]):
            said.add(where)
    breaches = []
    for key in sorted(set(flushed) | set(found)):
        lines, last = found.get(key, []), flushed[key]
        counts["lines"] += len(lines)
        name = f"attempt {key[0]} node {key[1]} stream {key[2]}"
        if no_hole(lines) and len(lines) >= last:
            continue
        text = f"{name}: {len(lines)} lines, {wrong_lines(lines, last)}"
        if key[:2] in said:
            counts["lines lost and said"] += 1
        elif key[0] in facts.taken and gone[key] <= len(lines) and no_hole(lines):
            # What had not left the machine when that was taken away whole, without notice.
            counts["lines lost with their machine"] += last - len(lines)
        else:
            breaches.append(("lost", text))
    return breaches


def no_hole(lines):
    return lines == list(range(1, len(lines) + 1))


def wrong_lines(lines, last):
    twice = [n for n, times in collections.Counter(lines).items() if times > 1]
    missing = sorted(set(range(1, last + 1)) - set(lines))
    return f"{last} flushed; missing {missing[:5]}…, twice {twice[:5]}" + ("" if lines == sorted(lines) else ", out of order")


def judge_outputs(facts, counts):
    """What `get` brings is, byte for byte, what the last program made that came so far."""
    made = [e["made"] for e in facts.evidence.get(0, []) if e["e"] == "outputs"]
    ended = facts.shown["job"]["state"] in ("Succeeded", "Failed")
    if not ended:
        return []
    if not made:
        return [("outputs", "the program made none, and yet it is over")]
    if facts.got is None:
        return [("outputs", "`get` brought nothing")]
    counts["outputs"] += len(made[-1])
    wrong = [f"missing {name(key)}" for key in sorted(set(made[-1]) - set(facts.got))]
    wrong += [f"more {name(key)}" for key in sorted(set(facts.got) - set(made[-1]))]
    wrong += [f"other {name(key)}" for key in sorted(made[-1]) if key in facts.got and facts.got[key] != made[-1][key]]
    return [("outputs", ", ".join(wrong[:6]))] if wrong else []


def name(key):
    return repr(bytes.fromhex(key))


def judge_left(processes, listed, files):
    """`processes` of anybody's jobs that run, `listed` by `stoker ls --json`, `files` of the home
    outside the ledger that are nobody's: all of it after everything has come to rest."""
    breaches = [("left", f"a process: {one}") for one in processes]
    final = ("Succeeded", "Failed", "Cancelled")
    breaches += [("left", f"job {one['id']} is {one['state']}") for one in listed if one["state"] not in final]
    return breaches + [("left", f"a file: {one}") for one in files]


def lost_saves(events):
    """Of a calm job: (saves that were complete when its first attempt ended, the step from which
    its next program would have gone on, or None if none began)."""
    first = events[0]["attempt"] if events else 0
    saves = [e["step"] for e in events if e["e"] == "saved" and e["attempt"] == first]
    later = [e for e in events if e["e"] == "restore" and e["attempt"] != first]
    newest = max(saves, default=0)
    return newest, (later[-1].get("step", 0) if later else None)
