# SPDX-License-Identifier: Apache-2.0
"""Who may name a provider: its folder and the registry. Everybody else asks its broker."""

import re

from test.tidy import cpp

# The words of providers in code, as a whole or at the front of a part of a name.
NAME = re.compile(r"(?:Ec2|Gce|Gcp|Aws|Slurm)(?![a-z])|\b(?:ec2|gce|gcp|aws|slurm)(?![a-z])")
LITERAL = re.compile(r'"(?:ec2|gce|gcp|aws|slurm)"')
# `local` and `ssh` are English, a verb and a program, too: what names them is a literal or an include.
WORD = re.compile(r'"(?:local|ssh)"')
COMMENT = re.compile(r"//[^\n]*")
FOLDER = re.compile(r"provider/(?!cloud/|agent/)\w+/")
# This machine, which people sit at and nodes run on, whoever lends the job's machines: its state folder,
# what is private there, what it has, and which computer it is.
HERE = re.compile(r"provider/local/local_(?:boot|capacity|private|prospect|provider)\.h")
# docs/decisions/0054-one-line-for-a-provider.md says why each of these may.
FREE = (
    "src/provider/registry.",
    "src/aws/",  # credentials and signatures, which stores need, too
    "src/google/",
    "src/store/",  # buckets of the same companies
    "src/vault/",  # and where they keep secrets
    "src/images/role/",  # and images
    "src/spec/places/",  # keys of job files and settings, read before there is a provider
)
OWN = re.compile(r"src/provider/(?:ec2|gce|slurm|ssh)/")
FREE_WORD = (
    "src/provider/local/",
    "src/job/request.h",  # this machine in records
    "src/spec/text/infra.h",  # … and in job files
    "src/cli/ssh.cc",  # the verb
    "src/client/submit/pins.cc",  # the program: git's
    "src/provider/cloud/ssh_words.cc",  # … and that of `stoker ssh`
)


def check(name, text):
    """Breaches of one file of shipped code."""
    if not name.startswith("src/") or name.endswith("_test.cc") or name.startswith(FREE) or OWN.match(name):
        return
    for number, path in cpp.includes(text):
        here = HERE.fullmatch(path) or (path.startswith("provider/local/") and name.startswith("src/provider/"))
        if FOLDER.match(path) and not here:
            yield number, "provider", f"{path}: ask its broker (port/broker.h)"
    code = cpp.blank(text)
    said = COMMENT.sub("", text)
    found = [(code, match) for match in NAME.finditer(code)] + [(said, match) for match in LITERAL.finditer(said)]
    if not name.startswith(FREE_WORD):
        found += [(said, match) for match in WORD.finditer(said)]
    for where, match in found:
        yield cpp.line_at(where, match.start()), "provider", f"{match.group()} is named here"
