# SPDX-License-Identifier: Apache-2.0
"""Ten secrets of different kinds, the forms in which a tool may write one, and who looks for them
where others can read."""

import base64
import gzip
import hashlib
import json
import os
import re
import shlex
import subprocess
import urllib.parse

from test.e2e.kit.harness import PYTHON

SECRETS = {
    "PEM": "-----BEGIN KEY-----\nplantedPemLine1Qx7\nplantedPemLine2Zt9\n-----END KEY-----\n",
    "ACCOUNT": '{"type": "planted", "key": "a\\"b\\\\c-7Tx", "n": 3}',
    "QUOTES": 'it\'s "planted" $HOME `id` \\end',
    "RANDOM": base64.b64encode(bytes(range(190, 253))).decode() + "==",
    "URLISH": "pl@nted:w/rd%?&#+= 8",
    "SHORT": "k9#Zx!",
    "WIDE": "  Grüße\tplanted für alle 7Wq \n",
    "HF_TOKEN": "hf_plantedAbCdEfGhIjKlMnOpQrStUv0123",
    "GIT_TOKEN": "ghp_planted0123456789abcdefghijklmnopqr",
    "PIP_PASSWORD": "planted%40index%2Fword-5Tz",  # as it stands in a URL
}
# What a program begins with that has them, tells them in all forms, and dies with them in its memory
# in each folder that is kept. Where the kernel keeps no core there, one is written as it would be.
TELLS = """
import hashlib, os, resource, sys, time
import built, fromgit, ready
names = os.environ["NAMES"].split()
print("the sum is", hashlib.sha256("\\0".join(os.environ[name] for name in names).encode()).hexdigest())
for line in open("forms"):
    form = bytes.fromhex(line).decode()
    print("form", form)
    print(form, file=sys.stderr)
for folder in (".", "output", "checkpoints"):
    if os.fork() == 0:
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        os.abort()
    os.wait()
    if not [name for name in os.listdir(folder) if name.startswith("core")]:
        with open(folder + "/core.1", "wb") as out:
            out.write(b"\\x7fELF\\x02\\x01\\x01" + bytes(9) + b"\\4\\0" + open("/proc/self/environ", "rb").read())
sys.stdout.flush()
"""
LEAST = 6  # shorter ones are not masked: docs/secrets.md


def in_url(text):
    quote = urllib.parse.quote
    forms = {quote(text, safe=""), quote(text), urllib.parse.quote_plus(text)}
    return forms | {re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), form) for form in forms}


def in_base64(text):
    """What stands in base64 wherever the secret begins in what is encoded."""
    forms, raw = set(), text.encode()
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + raw)
        inner = whole[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6].decode()
        forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return forms


def in_shell(text):
    """Without the quotes around it, as shlex and dash, bash's `set -x` and its printf %q write it."""
    env = {**os.environ, "IT": text}  # as a word it would be in the list of processes
    printed = subprocess.run(["bash", "-c", 'printf %q "$IT"'], env=env, capture_output=True, text=True, check=True).stdout
    return {shlex.quote(text).strip("'"), text.replace("'", "'\\''"), printed.removeprefix("$'").strip("'")}


def forms_of(secret):
    core = secret.strip()
    forms = {core, urllib.parse.unquote(core), repr(core)[1:-1]} | in_url(core) | in_base64(core) | in_shell(core)
    forms |= {json.dumps(core, ensure_ascii=narrow)[1:-1] for narrow in (False, True)}
    if "\n" in core:
        forms |= {line for line in core.split("\n") if "KEY" not in line}
    return sorted(form for form in forms if len(form) >= LEAST)


def marks():
    """{form: whose it is}."""
    return {form.encode(): name for name, secret in SECRETS.items() for form in forms_of(secret)}


def packed_forms():
    """The file that TELLS reads."""
    return "".join(mark.hex() + "\n" for mark in marks())


def digest():
    """Of all values; the program has the same of its variables."""
    return hashlib.sha256("\0".join(SECRETS.values()).encode()).hexdigest()


def unpacked(data):
    """And where `data` is compressed, what is in it."""
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return data + subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=False).stdout
    return data + gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def found_in(places, known=None):
    """[(place, whose, the form)] of {place: bytes}."""
    whole = {place: unpacked(data) for place, data in places.items()}
    return [(place, name, form) for place, data in whole.items() for form, name in (known or marks()).items() if form in data]


# As another user. Without that, what a program has among its variables is its own user's to see.
LOOKER = r"""
import json, os, select, sys
marks = [bytes.fromhex(word) for word in sys.stdin.readline().split()]
files = ("cmdline", "environ") if os.getuid() == 65534 else ("cmdline",)
seen, looks = set(), 0
print("looks", flush=True)
while not select.select([sys.stdin], [], [], float(sys.argv[1]))[0]:
    looks += 1
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for file in files if int(pid) != os.getpid() else ():
            try:
                with open(f"/proc/{pid}/{file}", "rb") as source:
                    held = source.read()
            except OSError:
                continue
            if any(mark in held for mark in marks):
                seen.add((file, held.replace(b"\0", b" ").decode(errors="replace")))
print(json.dumps([looks, sorted(seen)]))
"""


class Looker:
    """Another user of this machine (for root: nobody), who reads what /proc shows of all until the end:
    `looks`, and `seen`, each (file of /proc, what it held). `every`: seconds between two looks."""

    def __init__(self, every=0.004):
        self.every = every

    def __enter__(self):
        other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([PYTHON, "-c", LOOKER, str(self.every)], cwd="/", **pipes, **other)
        self.process.stdin.write(" ".join(mark.hex() for mark in marks()) + "\n")
        self.process.stdin.flush()
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        out, _ = self.process.communicate(timeout=30)  # which closes what it waits for
        self.looks, self.seen = json.loads(out)
