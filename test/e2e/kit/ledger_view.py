# SPDX-License-Identifier: Apache-2.0
"""The ledger in a local folder, or in a bucket (bucket_view.py), and the machines beside it, read
without stoker: what the chaos tests go by must not come from the binary that they judge.
docs/ledger.md is the format."""

import hashlib
import json
import os
import pathlib
import signal
import struct

FINAL = ("Succeeded", "Failed", "Cancelled")


def object_bytes(store, key):
    """The current content of an object, or None. Revisions may move on while they are read."""
    for _ in range(20):
        folder = store / (key + ".rev")
        try:
            pointer = next((n for n in revisions(folder) if n.startswith("at-")), None)
            if pointer:
                return (folder / pointer[3:]).read_bytes()
        except FileNotFoundError:
            pass
        try:
            return (store / key).read_bytes()
        except FileNotFoundError:
            if not folder.is_dir():
                return None
    return None


def revisions(folder):
    """Of an object in a local folder; a bucket keeps one."""
    return os.listdir(folder) if isinstance(folder, pathlib.Path) else []


def record(store, job):
    data = object_bytes(store, f"records/{job}.json")
    return json.loads(data) if data else None


def job_ids(store):
    """Of every job that has a record."""
    return {n.removesuffix(".rev").removesuffix(".json") for n in listing(store / "records")}


def listing(folder):
    if not isinstance(folder, pathlib.Path):
        return folder.names()
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def age(path, when):
    """Makes `path` as old as if it had been written at `when`."""
    if isinstance(path, pathlib.Path):
        os.utime(path, (when, when), follow_symlinks=False)
    else:
        path.age(when)


def active(store):
    """Jobs in active/ that have a record; a marker alone is what a killed submit leaves."""
    return [job for job in listing(store / "active") if job in job_ids(store)]


def claims(store, job):
    """(attempt, slot) of every claim."""
    folder = store / "jobs" / job / "claims"
    return [tuple(map(int, n.removesuffix(".json").split("-"))) for n in listing(folder)]


def checkpoints(store, job):
    """[(attempt, seq, step)] of every manifest, oldest first. The step is what the bytes in the
    store say, found by reading them as chaos_trainer wrote them; None = they say nothing."""
    root = store / "jobs" / job / "checkpoints"
    found = []
    for name in listing(root / "manifests"):
        attempt, seq = map(int, name.removesuffix(".json").split("-"))
        try:
            text = (root / "manifests" / name).read_bytes()
        except FileNotFoundError:
            continue  # retention took it
        if not text:
            continue  # only takes the number
        manifest = json.loads(text)
        found.append((attempt, seq, manifest_step(root, manifest)))
    return found


def manifest_step(root, manifest):
    """Step of the newest state that a program would find; raises AssertionError when it is torn."""
    files = {}
    for part in manifest["parts"]:
        for entry in part["files"]:
            if entry.get("kind", "file") != "file":
                continue
            data = (root / entry["object"]).read_bytes()
            assert hashlib.sha256(data).hexdigest() == entry["sha256"], f"{entry['path']}: hash"
            files[entry["path"]] = data
    for single in ("checkpoint.pt", "state.bin"):
        if single in files:
            return decode(files[single], single)
    if "latest" in files:
        folder = files["latest"].decode()
        return decode(files[f"{folder}/model.bin"] + files[f"{folder}/optim.bin"], folder)
    # Without the pointer a program begins anew: as good as no checkpoint.
    return None


def decode(data, what):
    block = struct.Struct("<QQ")
    assert len(data) == 4096 * block.size, f"{what}: {len(data)} bytes"
    step = block.unpack_from(data)[0]
    for i in range(4096):
        assert block.unpack_from(data, i * block.size) == (step, i), f"{what}: torn at block {i}"
    return step


class Processes:
    """Who runs for this world, and for which job: by command lines and environments in /proc."""

    def __init__(self, root):
        self.root = str(root)
        self.boots = {}  # instance folder -> (job, launch)

    def boot(self, folder):
        if folder not in self.boots:
            try:
                boot = json.loads(pathlib.Path(folder, "boot.json").read_bytes())
            except (OSError, ValueError):
                return None, None
            self.boots[folder] = (boot["job"], boot["launch"])
        return self.boots[folder]

    def all(self):
        """[(pid, kind, job)]: kind is machine, agent, init, program, other (a child of a program or
        a setup step) or tool (any other stoker of this world)."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            words, environ = self.of_this_world(name)
            if words:
                found.append((int(name), *self.describe(words, environ)))
        return found

    def of_this_world(self, pid):
        """(command line, environment), or (None, None) for strangers and those that are gone."""
        try:
            words = pathlib.Path("/proc", str(pid), "cmdline").read_bytes()
            environ = pathlib.Path("/proc", str(pid), "environ").read_bytes()
        except OSError:
            return None, None
        words = words.decode(errors="replace").split("\0")
        environ = environ.decode(errors="replace")
        mine = self.root in environ or any(self.root in w for w in words)
        return (words, environ) if mine else (None, None)

    def send(self, pids, number):
        """Pids that the signal reached: only processes of this world, whoever has the pid now."""
        reached = []
        for pid in pids:
            try:
                handle = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            try:
                if self.of_this_world(pid)[0]:
                    signal.pidfd_send_signal(handle, number)
                    reached.append(pid)
            except ProcessLookupError:
                pass
            finally:
                os.close(handle)
        return reached

    def describe(self, words, environ):
        if "__machine" in words[:2] or "__agent" in words[:2]:
            folder = next((w for w in words if "/instances/" in w), "")
            return words[1][2:], self.boot(folder)[0]
        names = dict(e.split("=", 1) for e in environ.split("\0") if "=" in e)
        if "__init" in words[:2]:
            return "init", self.boot(names.get("STOKER_INSTANCE_DIR", ""))[0]
        if "STOKER_JOB_ID" not in names:
            return "tool", None
        trains = any("chaos_trainer" in w for w in words)
        return ("program" if trains else "other"), names["STOKER_JOB_ID"]
