# SPDX-License-Identifier: Apache-2.0
"""Names that a file system takes, so somebody's program will use them: for every test that carries
files. Standard library only.

`NAMES` are relative paths in bytes; all of them fit into one folder at once. `plant` writes them,
`read` reads a folder back, in bytes, so that two folders can be compared byte for byte. What only a
bucket can hold is in `BUCKET_KEYS`."""

import hashlib
import os

NAMES = (
    # Taken by stoker, or by what it keeps things in.
    b".tmpfile",
    b".tmp",
    b"dir/.tmp/inside",
    b"model.rev",
    b"x.rev/at-000000000001-0123456789abcdef-0123456789abcdef",
    b"y.rev/unborn",
    b"NAME.stoker-part",
    b".stoker-part",
    b"model.bin",  # beside its own part
    b"model.bin.stoker-part",
    b".stoker-parts/1-2/0",
    b".stoker-done",
    b"ledger.json",
    b"manifest.json",
    b"records/x.json",
    # Long.
    b"n" * 254,
    b"m" * 255,
    "\u00e9".encode() * 127,  # 254 bytes, cut anywhere but between characters it is no UTF-8
    b"/".join([b"d" * 200] * 6),  # more than the 1,024 bytes of a key
    b"/".join([b"e"] * 120),
    # Not UTF-8.
    b"caf\xe9",
    b"\xff\xfe",
    b"overlong\xc0\xaf",
    b"surrogate\xed\xa0\x80",
    b"cut\xe2\x82",
    b"bad\xff/inside",
    # Control characters, and what else drives a terminal or a line.
    b"new\nline",
    b"ends in newline\n",
    b"tab\there",
    b"return\r",
    b"escape\x1b[2J",
    b"bell\x07",
    b"one\x01",
    b"delete\x7f",
    b"dir\n/inside",
    "c1\u0085".encode(),
    "right to left\u202etxt.exe".encode(),
    "zero\u200bwidth".encode(),
    "\ufeffmark".encode(),
    "not a character\ufffe".encode(),
    "replacement\ufffd".encode(),
    # Words of shells, addresses, patterns, tables and other systems.
    b" leads",
    b"trails ",
    b" ",
    b"-rf",
    b"--delete",
    b"~",
    b"$HOME",
    b"`id`",
    b";ls|&",
    b"back\\slash",
    b"quote'",
    b'quote"',
    b"<a>&amp;",
    b"%",
    b"%2F",
    b"%00",
    b"plus+and space",
    b"hash#",
    b"question?a=b&c=d",
    b"*",
    b"[a",
    b"{b}",
    b"a=b",
    b"a,b",
    b"C:",
    b"NUL",
    b"...",
    b"..dots",
    b"dots..",
    b"dot.",
    b".well-known/acme-challenge/x",
    # The same to a careless eye, or to a careless file system.
    b"Case",
    b"case",
    "e\u0301".encode(),
    "\u00e9".encode(),
    "\U0001f600".encode(),
    "\u65e5\u672c\u8a9e/\u65e5".encode(),
)

# With content each; no folder can hold all of them, nor some of them at all.
BUCKET_KEYS = (
    "file",
    "file/below it",
    "double//slash",
    "/leading",
    "up/../out",
    "../out",
    "./here",
    "ends with slash/",
    "long " + "n" * 300,
    "escape\x1b[2J",
    "bell\x07",
    "tab\there",
)


def content(name):
    """What the file `name` holds: of each another one."""
    return hashlib.sha256(name).hexdigest().encode()


def plant(folder, names=NAMES):
    """Writes every one of `names` below `folder`; returns what `read` gives for it."""
    root = os.fsencode(folder)
    for name in names:
        # Part by part: a whole one may be longer than the system takes at once.
        at = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        parts = name.split(b"/")
        for part in parts[:-1]:
            try:
                os.mkdir(part, dir_fd=at)
            except FileExistsError:
                pass
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = inner
        fd = os.open(parts[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=at)
        os.write(fd, content(name))
        os.close(fd)
        os.close(at)
    return {name: content(name) for name in names}


def read(folder):
    """Content by name, in bytes, of every file below `folder`."""
    found = {}
    for at, _, names, fd in os.fwalk(os.fsencode(folder)):
        for name in names:
            path = os.path.relpath(os.path.join(at, name), os.fsencode(folder))
            with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=fd), "rb") as file:
                found[path] = file.read()
    return found


def differences(expected, found):
    """In words, for people: what is missing, more, or other."""
    said = [f"missing {name!r}" for name in sorted(set(expected) - set(found))]
    said += [f"more {name!r}" for name in sorted(set(found) - set(expected))]
    both = set(expected) & set(found)
    return said + [f"other {name!r}" for name in sorted(both) if expected[name] != found[name]]
