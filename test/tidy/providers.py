# SPDX-License-Identifier: Apache-2.0
"""Who may name a provider: its folder and the registry. Everybody else asks its broker."""

import re

from test.tidy import cpp

# The words of providers in code, as a whole or at the front of a part of a name.
NAME = re.compile(r"(?:Ec2|Gce|Gcp|Aws|Slurm)(?![a-z])|\b(?:ec2|gce|gcp|aws|slurm)(?![a-z])")
LITERAL = re.compile(r'"(?:ec2|gce|gcp|aws|slurm)"')
COMMENT = re.compile(r"//[^\n]*")
FOLDER = re.compile(r"provider/(?!local/|cloud/|agent/)\w+/")
# docs/decisions/0054-one-line-for-a-provider.md says why each of these may.
FREE = (
    "src/provider/registry.",
    "src/aws/",  # credentials and signatures, which stores need, too
    "src/google/",
    "src/store/",  # buckets of the same companies
    "src/spec/places/",  # sections of the job file, read before there is a provider: a line for each
    "src/spec/text/known_keys.",  # keys of SkyPilot's files
    "src/spec/settings.",  # and those of the settings
)
OWN = re.compile(r"src/provider/(?:ec2|gce|slurm|ssh)/")


def check(name, text):
    """Breaches of one file of shipped code."""
    if not name.startswith("src/") or name.endswith("_test.cc") or name.startswith(FREE) or OWN.match(name):
        return
    for number, path in cpp.includes(text):
        if FOLDER.match(path):
            yield number, "provider", f"{path}: ask its broker (port/broker.h)"
    code = cpp.blank(text)
    for match in NAME.finditer(code):
        yield cpp.line_at(code, match.start()), "provider", f"{match.group()} is named here"
    said = COMMENT.sub("", text)
    for match in LITERAL.finditer(said):
        yield cpp.line_at(said, match.start()), "provider", f"{match.group()} is named here"
