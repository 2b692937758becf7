# SPDX-License-Identifier: Apache-2.0
"""Rooms, layers and who may use whom: read from CMakeLists.txt, which is the only place they are
written down, and checked against the includes."""

import re

LAYER = re.compile(r"^# layer (\d+)\s*$")
ROOM = re.compile(r"\bstoker_room\(\s*([\w/]+)((?:[^()])*)\)")
SIM_LAYER = 3  # the simulator sees no adapter
MAX_FILES = 40  # in one folder
COUNTED = ("src/", "sim/", "test/", "bench/")
FOUND = "test/fuzz/corpus/"  # may have more: nobody looks for a file there


class Rooms:
    def __init__(self, cmake_lists):
        with open(cmake_lists, encoding="utf-8") as source:
            text = source.read()
        self.layers = {}
        self.uses = {}
        self.lines = {}
        self.included = {}  # by room: the rooms that its files include
        layer = None
        starts = {m.start(): m for m in ROOM.finditer(text)}
        position = 0
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            mark = LAYER.match(line)
            if mark:
                layer = int(mark.group(1))
            room = starts.get(position)
            if room:
                self._add(room.group(1), room.group(2), layer, number)
            position += len(line)

    def _add(self, name, arguments, layer, line):
        used = re.search(r"\bUSES\b(.*?)(?:\b(?:LIBS|TESTS|SHARDS)\b|$)", arguments, re.S)
        self.layers[name] = layer
        self.uses[name] = used.group(1).split() if used else []
        self.lines[name] = line

    def check_order(self):
        """A room uses only rooms listed above it, and none of a higher layer."""
        seen = set()
        for name, used in self.uses.items():
            for other in used:
                if other not in seen:
                    yield self.lines[name], "layer", f"{name} uses {other}, which is not above it"
                elif self.layers[other] > self.layers[name]:
                    yield self.lines[name], "layer", f"{name} uses the higher {other}"
            seen.add(name)

    def room_of(self, path):
        """The room of a file below src/, or None: the folder that it lies in."""
        parts = path.split("/")
        return "/".join(parts[1:-1]) if len(parts) > 2 and parts[0] == "src" else None

    def layer_of(self, path):
        return self.layers.get(self.room_of(path))

    def check_includes(self, path, found):
        room = self.room_of(path)
        test = path.endswith("_test.cc") or path.startswith("test/")
        for line, included in found:
            target = included.rpartition("/")[0]
            self.included.setdefault(room, set()).add(target)
            if target not in self.layers:
                if path.startswith("src/") and not (test and included.startswith("test/")):
                    yield line, "include", f'"{included}" does not begin with a room'
                continue
            if path.startswith("sim/") and self.layers[target] > SIM_LAYER:
                yield line, "layer", f"sim/ includes {target} of layer {self.layers[target]}"
            if room is None or target == room or test:
                continue
            if self.layers[target] > self.layers.get(room, -1):
                yield (line, "layer", f"{room} of layer {self.layers.get(room)} includes {target} of layer {self.layers[target]}")
            elif target not in self.uses[room]:
                yield line, "layer", f"{room} includes {target}, which its USES does not name"

    def check_uses(self):
        """Once all files were checked: no room is named that is not used."""
        for room, used in self.uses.items():
            for other in used:
                if room in self.included and other not in self.included[room]:
                    yield self.lines[room], "layer", f"{room} names {other} and does not include it"

    def check_page(self, page, names):
        """The page that explains the tree has a line for each room, and what it names is there."""
        for number, line in enumerate(page.splitlines(), 1):
            for path in re.findall(r"`(\w+(?:/\w+)+\.(?:cc|h))`", line):
                if f"src/{path}" not in names and path not in names:
                    yield number, "room", f"{path} is not there"
        for room in self.layers:
            if not re.search(rf"(?<![\w/]){room}/(?!\w)", page):
                yield 1, "room", f"{room}/ is not on it"


def check_tests_page(page, names):
    """The page of the tests has each folder of them."""
    for folder in sorted({name.split("/")[1] for name in names if re.match(r"test/\w+/", name)}):
        if f"test/{folder}/" not in page:
            yield 1, "room", f"test/{folder}/ is not on it"


def check_slow_cases(listed, cases):
    """What `./dev check` leaves out is there: by an old name it would leave out nothing."""
    for number, case in enumerate(listed.splitlines(), 1):
        if case not in cases:
            yield number, "slow case", f"{case}: no test has that name"


def check_folders(names):
    """No folder is so full that nobody finds the way in it."""
    counts = {}
    for name in names:
        folder = name.rpartition("/")[0]
        if name.startswith(FOUND):
            continue
        if name.startswith(COUNTED):
            counts[folder] = counts.get(folder, 0) + 1
    for folder, count in counts.items():
        if count > MAX_FILES:
            yield folder, 1, "folder", f"{count} files, at most {MAX_FILES}"
